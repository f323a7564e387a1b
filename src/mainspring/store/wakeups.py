"""Wake-ups: LISTEN/NOTIFY hints to other processes that there is new work.

A NOTIFY inside the transaction that it announces would serialise all such commits, so hints are
batched and sent after the commit, on a dedicated connection. A hint may be lost or duplicated:
listeners also poll at an interval and treat a hint as a reason to look, never as a fact.

The empty payload means "look at everything". It replaces hints that are too many to list, and those
that a broken connection may have lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import asyncpg

from mainspring.contracts.errors import Problem
from mainspring.store.database import Database, DedicatedConnection

EVERYTHING = ""
_MOST_PAYLOADS = 1_000
_PAYLOAD_BYTES = 7_999
_GATHER_SECONDS = 0.003
_LAST_WORDS_SECONDS = 1.0
_ALIVE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
# A hint does not need a flush to disk.
_SESSION = {"synchronous_commit": "off"}
_NOTIFY = "SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) AS hint(c, p)"
_TROUBLE = (
    Problem,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)

log = logging.getLogger(__name__)


class WakeupSender:
    """Sends hints: the first one at once, those that follow closely as a batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[str, set[str]] = defaultdict(set)
        self._news = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._task: asyncio.Task[None] | None = None
        self._connection: DedicatedConnection | None = None

    def wake(self, channel: str, payload: str = EVERYTHING) -> None:
        """Record a hint and return; call it after the commit."""
        _note(self._waiting[channel], payload)
        self._quiet.clear()
        self._news.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_for_ever(), name="waker")

    async def aclose(self) -> None:
        """Send pending hints, if that is quick, and stop."""
        if self._task is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_SECONDS):
                    await self._quiet.wait()
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._drop_connection()

    async def _send_for_ever(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self._news.wait()
            self._news.clear()
            taken, self._waiting = self._waiting, defaultdict(set)
            try:
                await self._send(taken)
            except _TROUBLE:
                self._put_back(taken)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            if not self._news.is_set():
                self._quiet.set()
            await asyncio.sleep(_GATHER_SECONDS)

    async def _send(self, used: dict[str, set[str]]) -> None:
        hints = [(channel, payload) for channel, found in used.items() for payload in found]
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._database.dedicated(settings=_SESSION)
        await self._connection.execute(_NOTIFY, [c for c, _ in hints], [p for _, p in hints])

    def _put_back(self, used: dict[str, set[str]]) -> None:
        self._drop_connection()
        for channel, payloads in used.items():
            for payload in payloads:
                _note(self._waiting[channel], payload)
        self._news.set()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


class WakeupListener:
    """Receives the hints of one channel, for one waiting task."""

    def __init__(
        self, database: Database, channel: str, *, line: ChannelSubscription | None = None
    ) -> None:
        self._line = line or ChannelSubscription(database, channel)
        self._found: set[str] = set()
        self._news = asyncio.Event()

    def share_connection(self) -> WakeupListener:
        """A listener for another task on the same channel; both share one connection."""
        return WakeupListener(self._line.database, self._line.channel, line=self._line)

    async def wait(self, seconds: float) -> set[str]:
        """The payloads since the last call, as soon as there are any; empty after the timeout.

        The first call returns "look at everything" once it listens.
        """
        self._line.join(self)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()
        found, self._found = self._found, set()
        return found

    def tell(self, payload: str) -> None:
        """Record a hint and end the wait."""
        _note(self._found, payload)
        self._news.set()

    def nudge(self) -> None:
        """End the wait from inside the process, without a payload."""
        self._news.set()

    def stop_waiting(self) -> None:
        """End all waits for good; every worker receives these hints, so none is lost."""
        self._news.set()

    async def aclose(self) -> None:
        await self._line.leave(self)


class ChannelSubscription:
    """A connection that listens to one channel while it has at least one listener."""

    def __init__(self, database: Database, channel: str) -> None:
        self.database = database
        self.channel = channel
        self._listeners: set[WakeupListener] = set()
        self._listens = False
        self._task: asyncio.Task[None] | None = None

    def join(self, ear: WakeupListener) -> None:
        """Add a listener, and open the connection if there is none."""
        if ear not in self._listeners:
            self._listeners.add(ear)
            if self._listens:
                ear.tell(EVERYTHING)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen_for_ever(), name="listener")

    async def leave(self, ear: WakeupListener) -> None:
        self._listeners.discard(ear)
        if self._task is not None and not self._listeners:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _listen_for_ever(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                connection = await self.database.dedicated()
                pause = _FIRST_PAUSE
                await self._listen(connection)
            except _TROUBLE:
                log.debug("The listener lost its connection and reconnects.")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _listen(self, connection: DedicatedConnection) -> None:
        """Listen until the connection breaks."""
        broken = asyncio.Event()
        connection.add_termination_listener(lambda _: broken.set())
        try:
            await connection.add_listener(self.channel, self._hear)
            self._listens = True
            self._tell(EVERYTHING)
            while not broken.is_set():
                try:
                    async with asyncio.timeout(_ALIVE_SECONDS):
                        await broken.wait()
                except TimeoutError:
                    # A network may drop an idle connection without notifying either end.
                    await connection.execute("SELECT 1", timeout=5.0)
        finally:
            self._listens = False
            connection.terminate()

    def _hear(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        self._tell(str(payload))

    def _tell(self, payload: str) -> None:
        for ear in self._listeners:
            ear.tell(payload)


def _note(found: set[str], payload: str) -> None:
    """Bounded: too many hints, or one that is too long, become "look at everything"."""
    if len(payload.encode()) > _PAYLOAD_BYTES:
        payload = EVERYTHING
    found.add(payload)
    if len(found) > _MOST_PAYLOADS:
        found.clear()
        found.add(EVERYTHING)


# The two ends of a hint as the application uses them, for every transport.


RUNS_CHANNEL = "mainspring_runs"
# A queue, and a run in it that is due.
Due = tuple[str, UUID]


class HintSender(Protocol):
    """Where it is said that runs are due."""

    def due(self, runs: Iterable[Due]) -> None:
        """Notes them and returns; call it after the commit."""

    async def aclose(self) -> None:
        """Says what is noted, if that is quickly done, and stops."""


class HintListener(Protocol):
    """Where a worker hears that it should look, for one waiting task."""

    async def wait(self, seconds: float) -> object:
        """Until there is a reason to look, or the time is over."""

    def nudge(self) -> None:
        """Ends a wait from inside the process."""

    def stop_waiting(self) -> None:
        """Takes no more hints, which others may want, and ends a wait."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PostgresHintSender:
    """By a notification of Postgres, which every worker receives."""

    wakeup_sender: WakeupSender

    def due(self, runs: Iterable[Due]) -> None:
        if any(True for _ in runs):
            self.wakeup_sender.wake(RUNS_CHANNEL)

    async def aclose(self) -> None:
        """The application closes the wake-up sender itself."""
