"""Group commit: many tasks, one writer, one transaction.

A task submits a unit and waits; the writer sends everything that is queued as one statement in one
transaction, so that a hundred runs share one flush to disk. A unit's future is resolved only after
the commit that contains it.

When the connection breaks during a commit, the outcome is unknown. The same units are sent again:
what they write is keyed, so a second write changes nothing. An unavailable database is retried. A
writer without a loss policy also waits for disk space: it records finished work, which must not be
lost. Units that repeatedly break the connection would be retried for ever; a writer with a loss
policy sends them one by one and rejects the one that does it, so that the others are written.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import asyncpg

from mainspring.contracts.errors import UpstreamError
from mainspring.store.database import Database, is_lost_connection
from mainspring.store.database_errors import is_storage_full

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")
# Returns one result per unit, in order; it runs outside a transaction and must open its own if it
# sends more than one statement.
Flush = Callable[
    ["asyncpg.Connection[asyncpg.Record]", Sequence[Unit]], Awaitable[Sequence[Answer]]
]

# The planner has no statistics for tables that are new or were just filled; with these settings it
# can only choose the index scans that every statement here is written for.
_PLANNER = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
}


# After this many lost connections, the units of a group are sent one by one.
_GROUP_LOSSES = 2


@dataclass(frozen=True, slots=True)
class ConnectionLossPolicy:
    """When to reject a unit: after this many lost connections over this many seconds.

    A server that restarts breaks connections too, but not for long.
    """

    losses: int = 3
    seconds: float = 20.0

    def is_over(self, losses: int, seconds: float, units: int) -> bool:
        most = self.losses if units == 1 else min(_GROUP_LOSSES, self.losses)
        return losses >= most and seconds >= self.seconds


class GroupWriter(Generic[Unit, Answer]):
    """One connection, one loop, any number of waiting tasks.

    Without ``patience`` no unit is ever rejected because of a lost connection.
    """

    def __init__(
        self,
        database: Database,
        flush: Flush[Unit, Answer],
        *,
        most: int = 256,
        patience: ConnectionLossPolicy | None = None,
        gather: float = 0.0,
    ) -> None:
        self._database = database
        self._flush = flush
        self._most = most
        # Seconds that a small group waits for more units: batching makes non-urgent writes cheaper.
        self._gather = gather
        self._burst = most // (8 if gather else 2)
        self._patience = patience
        self._waiting: list[tuple[Unit, asyncio.Future[Answer]]] = []
        self._arrived = asyncio.Event()
        self._has_burst = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._closed = False
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    @property
    def waiting(self) -> int:
        """Units without a started transaction."""
        return len(self._waiting)

    def submit(self, unit: Unit) -> asyncio.Future[Answer]:
        """A future that resolves once the unit is durable, or fails if it is rejected."""
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self._closed:
            # A task that outlived the writer must not open a connection that nobody closes.
            done.cancel()
            return done
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._loop(), name="group-writer")
        self._waiting.append((unit, done))
        self._arrived.set()
        if len(self._waiting) >= self._burst:
            self._has_burst.set()
        return done

    async def write(self, unit: Unit) -> Answer:
        """Submit a unit and wait for its result."""
        return await self.submit(unit)

    async def aclose(self) -> None:
        """Write everything queued or in progress, then stop.

        A caller that limits the wait (a worker stopping while the database is down) still gets a
        stopped task and a closed connection.
        """
        try:
            while self._task is not None and not self._task.done() and self._unwritten():
                await asyncio.sleep(0.005)
        finally:
            self._closed = True
            task, self._task = self._task, None
            for _, done in self._waiting:
                done.cancel()
            self._waiting.clear()
            try:
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            finally:
                self._drop_connection()

    def _unwritten(self) -> bool:
        return bool(self._waiting) or self._busy

    async def _loop(self) -> None:
        while True:
            await self._arrived.wait()
            if len(self._waiting) < self._burst:
                await self._gathered()
            taken = self._waiting[: self._most]
            del self._waiting[: self._most]
            if len(self._waiting) < self._burst:
                self._has_burst.clear()
            if not self._waiting:
                self._arrived.clear()
            if taken:
                self._busy = True
                await self._send(taken)
                self._busy = False

    async def _gathered(self) -> None:
        """Let other tasks join the group. A large group does not wait."""
        if not self._gather:
            # One iteration of the event loop lets every ready task submit its unit.
            await asyncio.sleep(0)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._gather):
                await self._has_burst.wait()

    async def _send(self, taken: list[tuple[Unit, asyncio.Future[Answer]]]) -> None:
        try:
            accepted = await self._flushed([unit for unit, _ in taken])
        except asyncio.CancelledError:
            for _, done in taken:
                done.cancel()
            raise
        except Exception as error:
            await self._one_by_one(taken, error)
            return
        answers = zip(taken, accepted, strict=True)
        try:
            for (_, done), yes in answers:
                _answer(done, yes)
                if self._gather:
                    # Resolve the futures in batches, so that other tasks run in between.
                    await asyncio.sleep(0)
        finally:
            for (_, done), yes in answers:
                _answer(done, yes)

    async def _one_by_one(
        self, taken: list[tuple[Unit, asyncio.Future[Answer]]], error: Exception
    ) -> None:
        """A unit that the database rejects must not fail the others of its group."""
        for unit, done in taken:
            try:
                if len(taken) == 1:
                    raise error
                (yes,) = await self._flushed([unit])
            except Exception as single:
                if not done.done():
                    done.set_exception(self._database.problem_of(single))
            else:
                if not done.done():
                    done.set_result(yes)

    async def _flushed(self, units: Sequence[Unit]) -> Sequence[Answer]:
        began, pause, losses = time.monotonic(), 0.02, 0
        while True:
            connection = None
            try:
                connection = await self._open()
                return await self._flush(connection, units)
            except Exception as error:
                if self._waits_for_space(error):
                    self._database.storage.note_failure()
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, 1.0)
                    continue
                if not (is_lost_connection(error) or self._broken()):
                    raise
                # A failed connection attempt says nothing about the units.
                losses += connection is not None
                self._drop_connection()
                spent = time.monotonic() - began
                if self._patience and self._patience.is_over(losses, spent, len(units)):
                    raise _connection_lost_error() from error
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)

    def _waits_for_space(self, error: Exception) -> bool:
        """Without a loss policy, units wait for disk space: they record finished work."""
        return self._patience is None and is_storage_full(error) and not self._broken()

    def _broken(self) -> bool:
        return self._connection is not None and self._connection.is_closed()

    async def _open(self) -> asyncpg.Connection[asyncpg.Record]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._database.dedicated(settings=_PLANNER)
        return self._connection

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


def _answer(done: asyncio.Future[Answer], answer: Answer) -> None:
    if not done.done():
        done.set_result(answer)


def _connection_lost_error() -> UpstreamError:
    return UpstreamError(
        "The database connection was lost every time this was recorded.",
        code="not_recorded",
        suggestion="Try again in a few seconds.",
        retry_after=5.0,
    )
