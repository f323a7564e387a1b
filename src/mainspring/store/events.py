"""The event log: events are appended in the transaction that they describe.

Readers are ordered by (xid, id) and stop before the oldest open transaction, so a late commit with
a smaller id is never skipped. Only this module knows the table.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from mainspring.contracts.errors import NotFound
from mainspring.contracts.event import Event, EventLogEntry, EventPosition, EventQuery, EventRow
from mainspring.contracts.limits import Limits
from mainspring.store.statement_parts import StatementPart

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.wakeups import WakeupSender

__all__ = [
    "EVENTS_CHANNEL",
    "EVENTS_PART",
    "EventNotifier",
    "EventRow",
    "EventTable",
    "append_events",
]

EVENTS_CHANNEL = "mainspring_events"
# The limit of one read, as text; a single event always fits. Measuring a payload means serialising
# it, so a few are measured at first and more while they are small.
_READ_BYTES = 4_194_304
_FIRST_READ = 32
_HINT_SECONDS = 0.05

_APPEND = """
    INSERT INTO events (workspace_id, id, type, source_id, payload, run_id, replay_of)
    SELECT e.workspace_id, e.id, e.type, e.source_id, e.payload::jsonb, e.run_id, e.replay_of
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[],
        $7::uuid[]) AS e(workspace_id, id, type, source_id, payload, run_id, replay_of)
"""

# The same as a part of one statement; $1 are workspaces and $2 the runs that emit the event.
_TOLD = """
    INSERT INTO events (workspace_id, id, type, source_id, payload, run_id)
    SELECT ($1::uuid[])[e.n], e.id, e.type, e.source_id, e.payload::jsonb, ($2::uuid[])[e.n]
    FROM unnest({}::int4[], {}::uuid[], {}::text[], {}::text[], {}::text[])
        AS e(n, id, type, source_id, payload)
"""
EVENTS_PART = StatementPart(_TOLD, (None,) * 5)

# The payload is sent as text: an invalid one must not hide the other events.
_READ = """
    SELECT workspace_id, id, xid::text AS xid, type, source_id, payload, created_at, run_id,
        replay_of, ahead + octet_length(payload) AS bytes
    FROM (
        SELECT *, sum(octet_length(payload))
            OVER (ORDER BY xid, id ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS ahead
        FROM (
            SELECT workspace_id, id, xid, type, source_id, payload::text AS payload, created_at,
                run_id, replay_of
            FROM events
            WHERE (xid, id) > ($1::text::xid8, $2::uuid)
              AND xid < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY xid, id
            LIMIT $3
            OFFSET 0
        ) AS next
    ) AS measured
    WHERE ahead < $4
    ORDER BY measured.xid, id
"""

_ONE = """
    SELECT workspace_id, id, type, source_id, payload::text AS payload, created_at, run_id,
        replay_of
    FROM events WHERE workspace_id = $1 AND id = $2 AND created_at > now() - $3::interval
"""

_LIST = """
    SELECT workspace_id, id, type, source_id, payload::text AS payload, created_at, run_id,
        replay_of
    FROM events
    WHERE workspace_id = $1 AND created_at > now() - $2::interval
      AND ($3::text IS NULL OR type = $3)
      AND ($4::text IS NULL OR source_id = $4)
      AND ($5::timestamptz IS NULL OR created_at >= $5)
      AND ($6::uuid IS NULL OR id < $6)
    ORDER BY id DESC
    LIMIT $7
"""

_NEXT = """
    SELECT workspace_id, id, e.xid::text AS xid,
        e.xid < pg_snapshot_xmin(pg_current_snapshot()) AS settled
    FROM events e
    WHERE (e.xid, id) > ($1::text::xid8, $2::uuid) ORDER BY e.xid, id LIMIT 1
"""


class EventTable:
    """The table of the log; implements the ``EventLog`` protocol."""

    def __init__(self, limits: Limits) -> None:
        self._kept = timedelta(days=limits.event_days)

    async def append(self, tx: Transaction, events: Sequence[EventRow]) -> None:
        """Append events inside the caller's transaction."""
        await append_events(tx, events)

    async def read(
        self, tx: Transaction, after: EventPosition, most: int
    ) -> Sequence[EventLogEntry]:
        """The next entries after a position, oldest first, without gaps."""
        found: list[EventLogEntry] = []
        room, some = _READ_BYTES, _FIRST_READ
        while room > 0 and len(found) < most:
            wanted = min(some, most - len(found))
            rows = await tx.fetch(_READ, *after, wanted, room)
            found += [_build_log_entry(row) for row in rows]
            if len(rows) < wanted:
                break
            after = found[-1].place
            room -= int(rows[-1]["bytes"])
            some *= 2
        return found

    async def peek(
        self, tx: Transaction, after: EventPosition
    ) -> tuple[EventLogEntry, bool] | None:
        """The next entry, not decoded, and whether everything before it is committed."""
        row = await tx.fetchrow(_NEXT, *after)
        if row is None:
            return None
        return EventLogEntry((row["xid"], row["id"]), row["workspace_id"], None), bool(
            row["settled"]
        )

    async def one(self, tx: Transaction, workspace_id: UUID, event_id: UUID) -> Event:
        """One event of a workspace, while it is in the log."""
        row = await tx.fetchrow(_ONE, workspace_id, event_id, self._kept)
        event = None if row is None else _build_event(row)
        if event is None:
            raise NotFound(
                "There is no such event.",
                code="no_event",
                suggestion=f"Events are kept for {self._kept.days} days.",
            )
        return event

    async def list(
        self, tx: Transaction, workspace_id: UUID, query: EventQuery, most: int
    ) -> Sequence[Event]:
        """The newest events of a workspace first; invalid ones are left out."""
        found: list[Event] = []
        before = query.before
        while len(found) < most:
            rows = await tx.fetch(
                _LIST,
                workspace_id,
                self._kept,
                query.type,
                query.source_id,
                query.since,
                before,
                most - len(found),
            )
            if not rows:
                break
            found += [event for event in map(_build_event, rows) if event is not None]
            before = rows[-1]["id"]
        return found


class EventNotifier:
    """Notifies readers of the log: at once after idle time, then at an interval.

    Readers poll often while there is something to read, so a busy log needs few hints.
    """

    def __init__(self, wakeup_sender: WakeupSender) -> None:
        self._wakeup_sender = wakeup_sender
        self._last = float("-inf")

    def tell(self) -> None:
        """Record a hint and return; call it after the commit."""
        now = time.monotonic()
        if now - self._last >= _HINT_SECONDS:
            self._last = now
            self._wakeup_sender.wake(EVENTS_CHANNEL)


async def append_events(tx: Transaction, events: Sequence[EventRow]) -> None:
    """Append events inside the caller's transaction."""
    if events:
        await tx.execute(_APPEND, *(list(column) for column in zip(*events, strict=True)))


def _build_log_entry(row: Any) -> EventLogEntry:
    return EventLogEntry((row["xid"], row["id"]), row["workspace_id"], _build_event(row))


def _build_event(row: Any) -> Event | None:
    try:
        payload = orjson.loads(row["payload"])
    except ValueError:
        # The table can contain numbers that no JSON parser accepts.
        return None
    if not isinstance(payload, dict):
        return None
    return Event(
        row["id"],
        row["workspace_id"],
        row["type"],
        row["source_id"],
        payload,
        row["created_at"],
        row["run_id"],
        row["replay_of"],
    )
