"""Events: entries of the event log, each of a declared type.

Producers and consumers use the protocol here and not the table behind it, so the log can be moved
without changing either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# At least two parts, so that every type names its source: drive.file_added.
EVENT_TYPE_PATTERN: Final = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$"
EVENT_TYPE_SAYS: Final = "An event type is two or more lower-case names, separated by dots."
LONGEST_EVENT_TYPE: Final = 200
LONGEST_SOURCE: Final = 200

# A position in the log, in the log's own format.
EventPosition = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class EventType:
    """A declared type of event and the schema of its payload."""

    type: str
    description: str
    payload_schema: Mapping[str, Any]


class EventRow(NamedTuple):
    """An event to append; its payload is JSON text."""

    workspace_id: UUID
    id: UUID
    type: str
    source_id: str
    payload: str
    # The run that emits it, and the event that it repeats.
    run_id: UUID | None = None
    replay_of: UUID | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one workspace."""

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
    """One position in the log and its event."""

    place: EventPosition
    workspace_id: UUID
    # None when the event cannot be decoded.
    event: Event | None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """The conditions of an event list."""

    type: str | None = None
    source_id: str | None = None
    since: datetime | None = None
    # Only events older than this one: the end of the previous page.
    before: UUID | None = None


class EventLog(Protocol):
    """Publish and subscribe: events are appended and read in order."""

    async def append(self, tx: Transaction, events: Sequence[EventRow]) -> None:
        """Append events in the transaction that they describe."""
        ...

    async def read(
        self, tx: Transaction, after: EventPosition, most: int
    ) -> Sequence[EventLogEntry]:
        """The next entries after a position, oldest first, of all workspaces, without gaps."""
        ...

    async def peek(
        self, tx: Transaction, after: EventPosition
    ) -> tuple[EventLogEntry, bool] | None:
        """The next entry, not decoded, and whether everything before it is committed."""
        ...

    async def one(self, tx: Transaction, workspace_id: UUID, event_id: UUID) -> Event:
        """One event of a workspace; ``NotFound`` once it has expired."""
        ...

    async def list(
        self, tx: Transaction, workspace_id: UUID, query: EventQuery, most: int
    ) -> Sequence[Event]:
        """The newest events of a workspace first."""
        ...
