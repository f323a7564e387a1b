"""What an agent is given beside a call's own context: turns of a model, and tools at the gate.

An agent's conversation is durable. It is walked from its beginning whenever the run is taken
over; what has happened already is answered from the record, and the first thing that has not
is done for real.
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
# The action that is one such call.
AGENT_TASK: Final = "agent_task"


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A capability that an agent may call, with the schema as the run's grants narrow it."""

    id: str
    description: str
    input_schema: Mapping[str, Any]
    # A person must agree before such a call is done.
    waits: bool = False
    # Arguments that are a secret or nothing, which a model can never give.
    secrets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What a model answered, and what that took."""

    reply: ModelReply
    cost: Decimal
    ms: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """What came of one call: its value or its problem."""

    value: Any = None
    problem: Problem | None = None
    # As the record of the call has it: read, kept, held, denied …
    outcome: str = "read"
    cost: Decimal = Decimal(0)
    ms: int = 0


class AgentSession(Protocol):
    """Given to the handler of ``agent.run`` and to no other."""

    @property
    def spent(self) -> Decimal:
        """What the conversation has cost up to this place in it, its tools included."""
        ...

    @property
    def seconds(self) -> float:
        """How long its turns and its calls took up to this place in it."""
        ...

    async def begin(self, material: bytes) -> str:
        """Opens the conversation about this material; its mark, which nobody can guess.

        One that was begun about something else is refused.
        """
        ...

    async def tools(self, wanted: Sequence[str]) -> Sequence[AgentTool]:
        """What these names and patterns stand for, as far as the run was granted it.

        A pattern is narrowed by the grants; a name that is not granted is a problem.
        """
        ...

    async def turn(
        self, number: int, request: ModelRequest, asked: bytes, room: int | None
    ) -> AgentTurn:
        """One answer of the model, paid for once; ``asked`` is a hash of all that led to it.

        With room for so many tokens it reads and writes no more than that.
        """
        ...

    async def call(
        self, turn: int, place: int, capability: str, arguments: Mapping[str, Any]
    ) -> ToolCallResult:
        """One call through the gate as this run; what ends the run is raised."""
        ...

    def recorded(self, turn: int, place: int | None = None) -> bool:
        """Whether a turn, or a call of it, is answered from the record."""
        ...

    def made(self, turn: int, place: int) -> bool:
        """Whether a call may be made: not one that an earlier try passed over."""
        ...

    async def say(self, event: Mapping[str, Any]) -> None:
        """Tells whoever watches, with nothing in it that must not be shown."""
        ...

    def used_up(self) -> Problem | None:
        """Which cap of the run has been reached, if one has."""
        ...

    async def keep(self, transcript: Mapping[str, Any]) -> UUID | None:
        """Keeps the whole conversation as an artifact; None when that was not possible."""
        ...
