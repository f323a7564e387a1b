"""Events: facts in the log, each of a declared type.

Whoever tells of a fact and whoever follows the log know it by the protocol here and not
by the table behind it, so the log can move elsewhere without either of them noticing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Two names at least, so that every type says whose it is: drive.file_added.
EVENT_TYPE_PATTERN: Final = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$"
EVENT_TYPE_SAYS: Final = "An event's type is two or more lower-case names with dots between."
LONGEST_EVENT_TYPE: Final = 200
LONGEST_SOURCE: Final = 200

# A place in the order of the log, as the log itself writes it.
EventPosition = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class EventType:
    """A declared kind of event and the shape of its payload."""

    type: str
    description: str
    payload_schema: Mapping[str, Any]


class EventRow(NamedTuple):
    """A fact about to be told; its payload is JSON text."""

    workspace_id: UUID
    id: UUID
    type: str
    source_id: str
    payload: str
    # The run that tells of it, and the event that it repeats.
    run_id: UUID | None = None
    replay_of: UUID | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One fact, in one workspace."""

    id: UUID
    workspace_id: UUID
    type: str
    source_id: str
    payload: Mapping[str, Any]
    created_at: datetime
    run_id: UUID | None = None
    replay_of: UUID | None = None


@dataclass(frozen=True, slots=True)
class EventLogEntry:
    """One place in the log and what stands there."""

    place: EventPosition
    workspace_id: UUID
    # None: what stands there cannot be read.
    event: Event | None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events a list is for."""

    type: str | None = None
    source_id: str | None = None
    since: datetime | None = None
    # Only events older than this one: where the page before ended.
    before: UUID | None = None


class EventLog(Protocol):
    """Publish and subscribe: facts go in at one end and are read in order at the other."""

    async def append(self, tx: Transaction, events: Sequence[EventRow]) -> None:
        """Tells of facts, in the transaction that makes them true."""
        ...

    async def read(
        self, tx: Transaction, after: EventPosition, most: int
    ) -> Sequence[EventLogEntry]:
        """The next entries after a place, oldest first, of all workspaces, none passed over."""
        ...

    async def peek(
        self, tx: Transaction, after: EventPosition
    ) -> tuple[EventLogEntry, bool] | None:
        """The next entry, unread, and whether everything before it is settled."""
        ...

    async def one(self, tx: Transaction, workspace_id: UUID, event_id: UUID) -> Event:
        """One event of a workspace; ``Missing`` once its time in the log is over."""
        ...

    async def list(
        self, tx: Transaction, workspace_id: UUID, query: EventQuery, most: int
    ) -> Sequence[Event]:
        """The newest events of a workspace first."""
        ...
