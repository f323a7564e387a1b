"""How much of the event log is handled at once.

A batch that fails is tried again in halves until the event that breaks it stands alone. A
connection that is lost is nobody's fault at first; if the same server loses it again and
again over the same batch, that is halved too, and in the end one event alone is blamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mainspring.contracts.event import Event, EventLogEntry, EventPosition
from mainspring.store.database import convert_driver_error, is_lost_connection

# How often one event alone may lose the connection to a server that is still there.
_MOST_LOST = 5


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The next entries, where the cursor stood when they were read, and in which server."""

    place: EventPosition
    server: datetime
    entries: Sequence[EventLogEntry]

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries if entry.event is not None]


class EventBatchSizer:
    """The size of the next batch, from what became of the ones before."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = most
        # The batch that is being handled, the one that could not be, and how often the
        # connection was lost over one event.
        self._under_way: EventBatch | None = None
        self._lost: EventBatch | None = None
        self._lost_alone = 0

    def begin(self, batch: EventBatch | None) -> None:
        """Lost from here on, the connection may have been lost because of this batch."""
        self._under_way = batch

    def passed(self) -> None:
        self.size = min(self.size * 2, self._most)

    def halve(self) -> None:
        self.size = max(self.size // 2, 1)

    def lighter(self, batch: EventBatch) -> EventBatch:
        """Half of what could not be handled before, if the same server is still there."""
        lost, self._lost = self._lost, None
        if lost is None or (lost.place, lost.server) != (batch.place, batch.server):
            self._lost_alone = 0
            return batch
        self.size = max(len(lost.entries) // 2, 1)
        return replace(batch, entries=batch.entries[: self.size])

    def note_lost(self, error: Exception) -> None:
        """Remembers what was being handled; a full disk or a collision is never its fault."""
        self._lost = self._under_way
        alone = self._lost is not None and len(self._lost.entries) == 1
        if alone and is_lost_connection(convert_driver_error(error)):
            self._lost_alone += 1

    def takes_blame(self) -> bool:
        """Whether the event that stands alone has lost the connection often enough."""
        if self._lost_alone < _MOST_LOST:
            return False
        self._lost_alone = 0
        return True
