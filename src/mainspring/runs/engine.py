"""What every execution needs, gathered once by the worker."""

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
    """One version of an automation, ready to run."""

    program: CompiledDefinition
    grants: tuple[Grant, ...]
    name: str
    created_by: UUID
    # The size of the inputs' schema, which says how long judging by it may take.
    inputs_bytes: int = 0
    # The secrets that its definition names.
    secrets: frozenset[str] = frozenset()
    # Whether its runs may cost money.
    may_cost: bool = False
    # The integrations that its steps are sure to need an account of.
    accounts: frozenset[str] = frozenset()
    # The tools from outside that it was compiled with, by name; None for one that was not there.
    tools: Mapping[str, Capability | None] = field(default_factory=dict)


async def _nothing(workspace_id: UUID) -> None:
    """For models that need no preparation."""
    del workspace_id


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts around an execution; none of them belongs to one run."""

    gate: Gate
    # True once a unit is durable; false when it was refused by its fence.
    writer: GroupWriter[RunCommit, bool]
    clock: Clock
    limits: Limits
    watch: Watcher
    hook: Hook
    # A number in [0, 1) that spreads the pauses between attempts.
    chance: Callable[[], float]
    # What came of a question that a step has asked.
    answers: Answers
    # Loads what asking a model takes, for runs of a workspace that may do so.
    prepare_models: Callable[[UUID], Awaitable[None]] = _nothing
