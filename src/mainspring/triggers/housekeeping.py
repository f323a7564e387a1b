"""Housekeeping: hourly deletion of expired data.

Each task deletes expired data: runs with their steps and calls, dedup keys, events, artifacts, read
messages, abandoned sign-ins and undecided proposals. Any number of processes may do this
concurrently. A failed task is logged and does not stop the others; it is retried an hour later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mainspring.contracts.errors import describe_for_log
from mainspring.gate.retention import expire_direct_calls, expire_leftovers, expire_usage
from mainspring.runs.retention import expire_firings, expire_runs
from mainspring.store.event_expiry import expire_events
from mainspring.workspace.accounts.sign_ins import expire_account_sign_ins
from mainspring.workspace.artifacts.expiry import expire_artifacts, sweep_orphans
from mainspring.workspace.connections.sign_ins import expire_sign_ins
from mainspring.workspace.inbox import expire_notifications
from mainspring.workspace.proposals import expire_proposals
from mainspring.workspace.push_subscriptions import expire_push_messages

if TYPE_CHECKING:
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.limits import Limits
    from mainspring.store.database import Database
    from mainspring.workspace.artifacts.blobs import BlobStore

log = logging.getLogger(__name__)

HOUR = 3600.0
# Soon after the start, but not immediately: start-up has priority.
_FIRST_SECONDS = (60.0, 600.0)
_MESSAGE_DAYS = 90


@dataclass(slots=True)
class CleanupReport:
    """What one round deleted, and which tasks failed."""

    runs: int = 0
    firings: int = 0
    events: int = 0
    partitions: int = 0
    artifacts: int = 0
    orphans: int = 0
    messages: int = 0
    direct_calls: int = 0
    leftovers: int = 0
    usage: int = 0
    sign_ins: int = 0
    proposals: int = 0
    failed: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The counts that are not zero."""
        counted = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        del counted["failed"]
        return ", ".join(f"{name} {count}" for name, count in counted.items() if count)


class Housekeeper:
    """Runs the housekeeping tasks of one process."""

    def __init__(self, database: Database, blobs: BlobStore, clock: Clock, limits: Limits) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._limits = limits

    async def run(self, stop: asyncio.Event) -> None:
        """Run until stopped; the current batch is then rolled back."""
        pause = random.uniform(*_FIRST_SECONDS)
        while not await _is_set_within(stop, pause):
            round_ = asyncio.create_task(self.once(self._clock.now()))
            ending = asyncio.create_task(stop.wait())
            await asyncio.wait({round_, ending}, return_when=asyncio.FIRST_COMPLETED)
            for task in (round_, ending):
                task.cancel()
            await asyncio.gather(round_, ending, return_exceptions=True)
            pause = HOUR * random.uniform(0.9, 1.1)

    async def once(self, now: datetime) -> CleanupReport:
        """One round of all tasks, logged in one line when it deleted anything."""
        removed = CleanupReport()
        for name, chore in self._chores(now, removed):
            try:
                await chore()
            except Exception as error:
                removed.failed += (name,)
                log.warning("Housekeeping task %s failed: %s", name, describe_for_log(error))
        if removed.sentence():
            log.info("Housekeeping removed: %s", removed.sentence())
        return removed

    def _chores(
        self, now: datetime, removed: CleanupReport
    ) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        async def runs() -> None:
            removed.runs, dropped = await expire_runs(self._database, now)
            removed.partitions += len(dropped)

        async def firings() -> None:
            removed.firings = await expire_firings(self._database, now)

        async def events() -> None:
            before = now - timedelta(days=self._limits.event_days)
            removed.events, dropped = await expire_events(self._database, before)
            removed.partitions += len(dropped)

        async def artifacts() -> None:
            removed.artifacts = await expire_artifacts(self._database, self._blobs, now)

        async def orphans() -> None:
            removed.orphans = await sweep_orphans(self._database, self._blobs, now)

        async def messages() -> None:
            before = now - timedelta(days=_MESSAGE_DAYS)
            removed.messages = await expire_notifications(self._database, before)
            removed.messages += await expire_push_messages(self._database, before)

        async def direct_calls() -> None:
            before = now - timedelta(days=self._limits.direct_call_days)
            removed.direct_calls = await expire_direct_calls(self._database, before)

        async def leftovers() -> None:
            removed.leftovers = await expire_leftovers(self._database, now)

        async def usage() -> None:
            before = now - timedelta(days=self._limits.usage_days)
            removed.usage = await expire_usage(self._database, before)

        chores = (
            runs,
            firings,
            events,
            artifacts,
            orphans,
            messages,
            direct_calls,
            leftovers,
            usage,
        )
        named = [(chore.__name__, chore) for chore in chores]
        return [
            *named,
            ("sign_ins", lambda: self._sign_ins(now, removed)),
            ("proposals", lambda: self._proposals(now, removed)),
        ]

    async def _sign_ins(self, now: datetime, removed: CleanupReport) -> None:
        removed.sign_ins = await expire_sign_ins(self._database, now)
        removed.sign_ins += await expire_account_sign_ins(self._database, now)

    async def _proposals(self, now: datetime, removed: CleanupReport) -> None:
        removed.proposals = await expire_proposals(self._database, now)


async def _is_set_within(stop: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
    return stop.is_set()
