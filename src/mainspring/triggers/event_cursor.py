"""Where one consumer stands in the event log.

The cursor is one row. Whoever holds it acts for the consumer; the others see that it is held
and look again later.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.event import EventPosition
from mainspring.store.database import Database

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ZERO = UUID(int=0)
_BEGINNING: EventPosition = ("0", _ZERO)

_NOW = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid"
_BEGIN = """
    INSERT INTO event_cursors (consumer, xid, id) VALUES ($1, $2::text::xid8, $3)
    ON CONFLICT (consumer) DO NOTHING
"""
# A database that was copied into another server counts its transactions anew; a cursor
# from before would never see an event again.
_BEGIN_ANEW = """
    UPDATE event_cursors SET xid = $2::text::xid8, id = $3, moved_at = now()
    WHERE consumer = $1 AND xid > $2::text::xid8
"""
_PLACE = "SELECT xid::text AS xid, id FROM event_cursors WHERE consumer = $1"
_HOLD = _PLACE + " FOR UPDATE SKIP LOCKED"
_WHERE = """
    SELECT xid::text AS xid, id, pg_postmaster_start_time() AS server
    FROM event_cursors WHERE consumer = $1
"""
_MOVE = """
    UPDATE event_cursors SET xid = $2::text::xid8, id = $3, moved_at = now() WHERE consumer = $1
"""


class EventCursor:
    """One consumer's cursor, as one of its readers knows it."""

    def __init__(self, database: Database, consumer: str, *, from_beginning: bool) -> None:
        self._database = database
        self._consumer = consumer
        self._from_beginning = from_beginning
        # Where it was when last seen; another reader may have moved it on.
        self.place: EventPosition | None = None

    async def begin(self) -> EventPosition:
        """Makes sure that there is a cursor: what happens from here on will be read."""
        async with self._database.transaction() as tx:
            now = str(await tx.fetchval(_NOW))
            start = _BEGINNING if self._from_beginning else (now, _ZERO)
            await tx.execute(_BEGIN, self._consumer, *start)
            await tx.execute(_BEGIN_ANEW, self._consumer, now, _ZERO)
            row = await tx.fetchrow(_PLACE, self._consumer)
            assert row is not None
        self.place = place = (row["xid"], row["id"])
        return place

    async def look(self, tx: Transaction) -> tuple[EventPosition, datetime] | None:
        """Where it is and since when the server has been up; nothing is held."""
        row = await tx.fetchrow(_WHERE, self._consumer)
        if row is None:
            return None
        self.place = place = (row["xid"], row["id"])
        return place, row["server"]

    async def hold(self, tx: Transaction) -> EventPosition | None:
        """Where it is, kept there until the transaction ends; None if another holds it."""
        row = await tx.fetchrow(_HOLD, self._consumer)
        if row is None:
            return None
        self.place = (row["xid"], row["id"])
        return self.place

    async def move(self, tx: Transaction, place: EventPosition) -> None:
        """To where it is once the transaction is committed."""
        await tx.execute(_MOVE, self._consumer, *place)
