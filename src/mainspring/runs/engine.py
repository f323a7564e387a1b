"""The dependencies of every execution, assembled once by the worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.clock import Clock
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.program import CompiledDefinition
from mainspring.gate.call import Gate
from mainspring.runs.questions import Answers
from mainspring.runs.rows import Hook, RunCommit, Watcher
from mainspring.store.group_commit import GroupWriter


@dataclass(frozen=True, slots=True)
class LoadedVersion:
    """One version of an automation, compiled."""

    program: CompiledDefinition
    grants: tuple[Grant, ...]
    name: str
    created_by: UUID
    # The size of the input schema, which determines how long validation may take.
    inputs_bytes: int = 0
    # The secrets that its definition names.
    secrets: frozenset[str] = frozenset()
    # Whether its runs may cost money.
    may_cost: bool = False
    # The integrations that its steps certainly need an account of.
    accounts: frozenset[str] = frozenset()
    # The MCP tools that it was compiled with, by name; None for one that was missing.
    tools: Mapping[str, Capability | None] = field(default_factory=dict)


def _tell_nobody(run_id: UUID) -> None:
    """For engines without waiting callers."""
    del run_id


async def _nothing(workspace_id: UUID) -> None:
    """For models that need no preparation."""
    del workspace_id


@dataclass(frozen=True, slots=True)
class Engine:
    """The dependencies of an execution; none of them belongs to one run."""

    gate: Gate
    # True once a commit is durable; False when it was refused by its fencing token.
    writer: GroupWriter[RunCommit, bool]
    clock: Clock
    limits: Limits
    watch: Watcher
    hook: Hook
    # A random number in [0, 1) for the jitter of backoff.
    chance: Callable[[], float]
    # The result of a question that a step has asked.
    answers: Answers
    # Loads what calling a model needs, for runs of a workspace that may do so.
    prepare_models: Callable[[UUID], Awaitable[None]] = _nothing
    # Notifies waiting callers after a commit that may answer them.
    announce: Callable[[UUID], None] = _tell_nobody
