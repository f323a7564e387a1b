"""Event log readers: process every event in order, with effects that commit once.

A consumer has one cursor. Its reader reads the next events and prepares their effects without
holding a lock; then it locks the cursor and, if it is still at the start of the batch, lets the
handler act and moves the cursor in the same transaction: after a kill, either all of that happened
or none of it. Any number of processes may read for one consumer; one of them holds the cursor lock
at a time and the others retry shortly after.

A batch that fails is retried in smaller parts until the failing event is alone; that event is
skipped, with a record, so that no event blocks the following ones for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import InternalError, Problem
from mainspring.contracts.event import Event, EventLog, EventLogEntry, EventPosition
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database, convert_driver_error, is_lost_connection
from mainspring.store.database_errors import log_and_convert_error
from mainspring.store.events import EventTable
from mainspring.store.wakeups import WakeupListener

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# How much of the event log is handled at once.

# How often a single event may lose the connection to a running server.
_MOST_LOST = 5


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The next entries, the cursor position when they were read, and the server's start time."""

    place: EventPosition
    server: datetime
    entries: Sequence[EventLogEntry]

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries if entry.event is not None]


class EventBatchSizer:
    """Adapts the batch size to the outcome of previous batches."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = most
        # The current batch, the one that failed, and how often the connection was lost over one
        # event.
        self._under_way: EventBatch | None = None
        self._lost: EventBatch | None = None
        self._lost_alone = 0

    def begin(self, batch: EventBatch | None) -> None:
        """Start a batch: a connection lost from here on may have been lost because of it."""
        self._under_way = batch

    def passed(self) -> None:
        self.size = min(self.size * 2, self._most)

    def halve(self) -> None:
        self.size = max(self.size // 2, 1)

    def lighter(self, batch: EventBatch) -> EventBatch:
        """Half the size of the failed batch, if the same server is still running."""
        lost, self._lost = self._lost, None
        if lost is None or (lost.place, lost.server) != (batch.place, batch.server):
            self._lost_alone = 0
            return batch
        self.size = max(len(lost.entries) // 2, 1)
        return replace(batch, entries=batch.entries[: self.size])

    def note_lost(self, error: Exception) -> None:
        """Record a lost batch; a full disk or a conflict is never caused by its events."""
        self._lost = self._under_way
        alone = self._lost is not None and len(self._lost.entries) == 1
        if alone and is_lost_connection(convert_driver_error(error)):
            self._lost_alone += 1

    def takes_blame(self) -> bool:
        """Whether the single event has lost the connection often enough to be skipped."""
        if self._lost_alone < _MOST_LOST:
            return False
        self._lost_alone = 0
        return True


# The position of one consumer in the event log.

_ZERO = UUID(int=0)
_BEGINNING: EventPosition = ("0", _ZERO)

_NOW = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid"
_BEGIN = """
    INSERT INTO event_cursors (consumer, xid, id) VALUES ($1, $2::text::xid8, $3)
    ON CONFLICT (consumer) DO NOTHING
"""
# Transaction ids restart in a restored database; a cursor from before would never see another
# event.
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
        # The last seen position; another reader may have moved it since.
        self.place: EventPosition | None = None

    async def begin(self) -> EventPosition:
        """Create the cursor if there is none: later events will be read."""
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
        """The position and the server's start time, without a lock."""
        row = await tx.fetchrow(_WHERE, self._consumer)
        if row is None:
            return None
        self.place = place = (row["xid"], row["id"])
        return place, row["server"]

    async def hold(self, tx: Transaction) -> EventPosition | None:
        """The position, locked until the transaction ends; None if another reader holds it."""
        row = await tx.fetchrow(_HOLD, self._consumer)
        if row is None:
            return None
        self.place = (row["xid"], row["id"])
        return self.place

    async def move(self, tx: Transaction, place: EventPosition) -> None:
        """Set the position to take effect when the transaction commits."""
        await tx.execute(_MOVE, self._consumer, *place)


log = logging.getLogger(__name__)

AfterCommit = Callable[[], None]


@dataclass(frozen=True, slots=True)
class PartialBatch:
    """The result of a handler that processed only the first events of a batch, at least one."""

    taken: int
    after: AfterCommit | None = None


class StalePreparation(Exception):
    """Raised by a handler when its preparation is outdated and must be repeated."""


# Processes events inside the transaction that moves the cursor; its result is called after the
# commit.
Handle = Callable[["Transaction", Sequence[Event]], Awaitable[PartialBatch | AfterCommit | None]]
# Does slow work before the transaction begins, and returns the handler of the events.
Prepare = Callable[[Sequence[Event]], Awaitable[Handle]]
# Records an event that could not be handled, in the transaction that skips it.
PassedOver = Callable[["Transaction", EventLogEntry, Problem], Awaitable[None]]
Hook = Callable[[str], None]

MOST = 500
# The poll interval when a caller waits for new events.
SPACING = 0.02
# The poll intervals: idle; recently busy; entries that wait for an older open transaction.
_IDLE_SECONDS, _BUSY_SECONDS, _UNSETTLED_SECONDS = 0.25, 0.05, 0.01
_BUSY_LOOKS = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
# Not caused by the event: the same batch is retried when the database has recovered.
_PASSING = frozenset(
    {"database_unavailable", "storage_full", "database_collision", "database_slow"}
)


async def only_log(tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
    """For consumers whose skipped events need no record."""
    del tx, entry, problem


def no_hook(point: str) -> None:
    del point


class EventLogReader:
    """Reads the log for one consumer.

    A new consumer begins with the next event, or with the oldest event in the log.
    """

    def __init__(
        self,
        database: Database,
        consumer: str,
        handle: Handle | None = None,
        *,
        prepare: Prepare | None = None,
        events: EventLog | None = None,
        listener: WakeupListener | None = None,
        passed_over: PassedOver = only_log,
        from_beginning: bool = False,
        most: int = MOST,
        spacing: float = SPACING,
        hook: Hook = no_hook,
    ) -> None:
        self._database = database
        self._events: EventLog = events or EventTable(Limits())
        self._consumer = consumer
        self._cursor = EventCursor(database, consumer, from_beginning=from_beginning)
        self._handle = handle
        self._prepare = prepare
        self._listener = listener
        self._passed_over = passed_over
        self._hook = hook
        self._portions = EventBatchSizer(most)
        self._unsettled = False
        # Events arrive in bursts: the minimum time between two wake-ups.
        self._spacing = spacing
        self._followed_at = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Read until stopped; waits while the database is unavailable."""
        nudging = asyncio.create_task(self._nudge_at(stop), name="log-reader-stop")
        pause, looks = _FIRST_PAUSE, 0
        try:
            while not stop.is_set():
                try:
                    passed = await self.once()
                except Exception as error:
                    self._cursor.place = None
                    problem = convert_driver_error(error)
                    log.debug("Event reader %r is paused: %s", self._consumer, problem.detail)
                    await self._sleep(stop, pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                    continue
                pause = _FIRST_PAUSE
                looks = _BUSY_LOOKS if passed else max(looks - 1, 0)
                if not passed:
                    await self._rest(stop, _BUSY_SECONDS if looks else _IDLE_SECONDS)
        finally:
            nudging.cancel()
            await asyncio.gather(nudging, return_exceptions=True)
            if self._listener is not None:
                await self._listener.aclose()

    async def begin(self) -> None:
        """Create the cursor if there is none: later events will be read."""
        await self._cursor.begin()

    async def once(self) -> int:
        """Process the next events; returns how many, 0 when there are none."""
        place = self._cursor.place or await self._cursor.begin()
        async with self._database.acquire() as connection:
            coming = await self._events.peek(connection, place)
        self._unsettled = coming is not None and not coming[1]
        if coming is None or self._unsettled:
            return 0
        while True:
            batch = await self._read()
            if batch is None:
                return 0
            if self._portions.takes_blame():
                return await self._pass_over(_breaks_off())
            passed = await self._tried(batch)
            if passed is not None:
                return passed

    async def _tried(self, batch: EventBatch) -> int | None:
        """The number of processed events; None if the batch must be retried or reduced."""
        try:
            passed = await self._pass(batch)
        except StalePreparation:
            # A smaller batch is prepared faster, and its preparation is less likely to be outdated.
            self._portions.halve()
            return None
        except Exception as error:
            if _is_passing(error):
                self._portions.note_lost(error)
                raise
            if self._portions.size == 1:
                return await self._pass_over(error)
            self._portions.halve()
            return None
        if passed:
            self._portions.passed()
        return passed

    async def _read(self) -> EventBatch | None:
        """Read the entries after the cursor, without a lock."""
        async with self._database.acquire() as connection:
            found = await self._cursor.look(connection)
            if found is None:
                return None
            place, server = found
            entries = await self._events.read(connection, place, self._portions.size)
        return self._portions.lighter(EventBatch(place, server, entries)) if entries else None

    async def _pass(self, batch: EventBatch) -> int:
        """Process one batch: its effects and the cursor move commit together."""
        self._portions.begin(None)
        handle = await self._prepared(batch.events)
        async with self._database.transaction() as tx:
            if await self._cursor.hold(tx) != batch.place:
                return 0
            self._hook("read")
            self._portions.begin(batch)
            taken, after = await self._act(tx, handle, batch)
            self._hook("handled")
            await self._cursor.move(tx, taken[-1].place)
            self._hook("moved")
        self._hook("committed")
        self._cursor.place = taken[-1].place
        if after is not None:
            after()
        return len(taken)

    async def _prepared(self, events: Sequence[Event]) -> Handle | None:
        if not events or self._prepare is None:
            return self._handle
        return await self._prepare(events)

    async def _act(
        self, tx: Transaction, handle: Handle | None, batch: EventBatch
    ) -> tuple[Sequence[EventLogEntry], AfterCommit | None]:
        """The entries that were processed, and what to call after the commit."""
        entries, events = batch.entries, batch.events
        after = await handle(tx, events) if events and handle is not None else None
        if isinstance(after, PartialBatch):
            entries, after = _until(entries, events[after.taken].id), after.after
        for entry in entries:
            if entry.event is None:
                await self._leave_record(tx, entry, _unreadable())
        return entries, after

    async def _pass_over(self, error: Exception) -> int:
        """Skip the next event, which failed even alone."""
        log.error("Event reader %r skips an event.", self._consumer, exc_info=error)
        failed_at = self._cursor.place
        try:
            return await self._step_over(failed_at, log_and_convert_error(error))
        except Exception as second:
            if _is_passing(second):
                raise
        return await self._step_over(failed_at, None)

    async def _step_over(self, failed_at: EventPosition | None, problem: Problem | None) -> int:
        """Move the cursor past one event, unless another reader has moved it already."""
        async with self._database.transaction() as tx:
            place = await self._cursor.hold(tx)
            if place is None or place != failed_at:
                return 0
            coming = await self._events.peek(tx, place)
            if coming is None:
                return 0
            if problem is not None:
                await self._leave_record(tx, coming[0], problem)
            await self._cursor.move(tx, coming[0].place)
        return 1

    async def _leave_record(self, tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
        log.warning(
            "Event reader %r could not handle event %s: %s",
            self._consumer,
            entry.place[1],
            problem.detail,
        )
        await self._passed_over(tx, entry, problem)

    async def _rest(self, stop: asyncio.Event, seconds: float) -> None:
        if self._unsettled:
            seconds = _UNSETTLED_SECONDS
        if self._listener is None or self._unsettled:
            await self._sleep(stop, seconds)
        else:
            await self._listener.wait(seconds)
            now = asyncio.get_running_loop().time()
            early = self._followed_at + self._spacing - now
            if early > 0:
                await self._sleep(stop, early)
            self._followed_at = now + max(early, 0.0)

    async def _sleep(self, stop: asyncio.Event, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await stop.wait()

    async def _nudge_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        if self._listener is not None:
            self._listener.nudge()


def _until(entries: Sequence[EventLogEntry], event_id: UUID) -> Sequence[EventLogEntry]:
    """The entries before an event."""
    return list(takewhile(lambda entry: entry.place[1] != event_id, entries))


def _is_passing(error: Exception) -> bool:
    return convert_driver_error(error).code in _PASSING


def _breaks_off() -> Problem:
    return InternalError(
        "The database connection was lost every time this event was handled.",
        code="event_breaks_off",
        retryable=False,
    )


def _unreadable() -> Problem:
    return InternalError("The event cannot be read.", code="event_unreadable", retryable=False)
