"""The agent interface: model turns, and tool calls through the gate.

An agent's conversation is durable. After a restart or a takeover it is replayed from its beginning:
recorded turns and calls are answered from the record, and the first unrecorded one is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Protocol
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.contracts.model import ModelReply, ModelRequest

AGENT_RUN: Final = "agent.run"
# The action that runs an agent.
AGENT_TASK: Final = "agent_task"


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A capability that an agent may call, with the schema narrowed by the run's grants."""

    id: str
    description: str
    input_schema: Mapping[str, Any]
    # A person must approve such a call before it is executed.
    waits: bool = False
    # Arguments that only accept a secret, which a model can never provide.
    secrets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """A model's answer and its usage."""

    reply: ModelReply
    cost: Decimal
    ms: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """The result of one call: its value or its problem."""

    value: Any = None
    problem: Problem | None = None
    # The status in the record of the call: read, kept, held, denied …
    outcome: str = "read"
    cost: Decimal = Decimal(0)
    ms: int = 0


class AgentSession(Protocol):
    """Passed to the handler of ``agent.run`` only."""

    @property
    def spent(self) -> Decimal:
        """The cost of the conversation up to here, its tools included."""
        ...

    @property
    def seconds(self) -> float:
        """The duration of its turns and calls up to here."""
        ...

    async def begin(self, material: bytes) -> str:
        """Open the conversation about this material; returns its unguessable marker.

        A conversation that was begun about other material is refused.
        """
        ...

    async def tools(self, wanted: Sequence[str]) -> Sequence[AgentTool]:
        """The tools for these names and patterns, limited to the run's grants.

        A pattern is narrowed by the grants; a name that is not granted is an error.
        """
        ...

    async def turn(
        self, number: int, request: ModelRequest, asked: bytes, room: int | None
    ) -> AgentTurn:
        """One model turn, charged once; ``asked`` is a hash of everything before it.

        ``room`` limits the tokens of the turn, input and output together.
        """
        ...

    async def call(
        self, turn: int, place: int, capability: str, arguments: Mapping[str, Any]
    ) -> ToolCallResult:
        """One call through the gate as this run; errors that end the run are raised."""
        ...

    def recorded(self, turn: int, place: int | None = None) -> bool:
        """Whether a turn, or one of its calls, is answered from the record."""
        ...

    def made(self, turn: int, place: int) -> bool:
        """Whether a call may be executed: not if an earlier attempt skipped it."""
        ...

    async def say(self, event: Mapping[str, Any]) -> None:
        """Show progress to observers; it contains nothing that must stay hidden."""
        ...

    def used_up(self) -> Problem | None:
        """The cap of the run that has been reached, if any."""
        ...

    async def keep(self, transcript: Mapping[str, Any]) -> UUID | None:
        """Store the whole conversation as an artifact; None when that was not possible."""
        ...
