"""The scheduler: fires schedules when they are due.

One transaction locks due schedules, starts their runs, records what was missed and stores the next
fire times. A scheduler that dies in the middle has done nothing, and any number of them work
concurrently without a leader: locked rows are skipped, and the dedup key of a fire time prevents a
second run.

The database's clock determines what is due. A schedule that cannot be parsed is disabled with a
record; one that cannot be fired for another reason is backed off and stays overdue, where it is
visible. Neither blocks the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Invalid, Problem, describe_for_log
from mainspring.contracts.limits import Limits
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.missed_fire_times import KEPT, MissedFireTime, record_missed
from mainspring.runs.rows import Hook, no_hook
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Database, is_lost_connection
from mainspring.store.database_errors import is_collision, is_storage_full
from mainspring.triggers.fire_times import FirePlan, plan
from mainspring.triggers.schedule import key_of, payload_of, read_schedule
from mainspring.workspace import schedules
from mainspring.workspace.schedules import DueSchedule, ScheduleAdvance, list_coming_schedules

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Prefetching: while nothing is due, the versions that will be due soon are loaded.

AHEAD = timedelta(seconds=30)
# At most as many as the cache holds.
MOST = 5_000
# No prefetch starts this close to a fire time: punctuality comes first.
_QUIET_SECONDS = 0.1


class VersionPrefetcher:
    """Loads the versions that schedules are about to run."""

    def __init__(self, database: Database, versions: VersionCache) -> None:
        self._database = database
        self._versions = versions

    async def look(self, now: datetime, seconds: float) -> None:
        """Prefetch during the time until the next fire time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds - _QUIET_SECONDS
        if loop.time() >= end:
            return
        async with self._database.acquire() as connection:
            found = await list_coming_schedules(connection, now, now + AHEAD, MOST)
        for workspace_id, automation_id, version in found:
            if loop.time() >= end:
                return
            # A version that cannot be loaded is reported at its fire time.
            with contextlib.suppress(Problem):
                await self._versions.get(workspace_id, automation_id, version)


log = logging.getLogger(__name__)

Time = Callable[["Transaction"], Awaitable[datetime]]

# Schedules of one transaction, and roughly its maximum number of runs and records.
BATCH = 500
_MOST_ROWS = 5_000
# Runs whose inputs are slow to validate start as they are ready, not when all of them are.
_MOST_SECONDS = 1.0
# The poll interval at which new schedules are noticed.
POLL_SECONDS = 1.0
# Shortly after the due time, so that the database's clock has passed it as well.
_SLACK = 0.002
# The retry interval for due schedules that another scheduler has locked.
_HELD_SECONDS = 0.05
_AWAY_SECONDS = 0.2
# The backoff of a schedule that could not be fired.
_ASIDE_SECONDS = 30.0


async def database_time(tx: Transaction) -> datetime:
    """One clock for all schedulers, independent of the clocks of their machines."""
    row = await tx.fetchrow("SELECT now() AS now")
    assert row is not None
    now: datetime = row["now"]
    return now


@dataclass(frozen=True, slots=True)
class _ScheduleDecision:
    """A due schedule and the plan for it."""

    schedule: DueSchedule
    plan: FirePlan
    requests: list[RunRequest]
    missed: list[MissedFireTime]

    @property
    def rows(self) -> int:
        return len(self.requests) + len(self.missed)


def _is_passing(error: Exception) -> bool:
    """Whether an error is transient and unrelated to the schedules, so that they are retried."""
    return is_lost_connection(error) or is_collision(error) or is_storage_full(error)


class Scheduler:
    """Fires the schedules of all workspaces."""

    def __init__(
        self,
        database: Database,
        dispatcher: Dispatcher,
        limits: Limits,
        *,
        foresight: VersionPrefetcher | None = None,
        time: Time = database_time,
        poll: float = POLL_SECONDS,
        hook: Hook = no_hook,
    ) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._limits = limits
        self._foresight = foresight
        self._time = time
        self._poll = poll
        self._hook = hook
        # Schedules in backoff, and until when by the monotonic clock.
        self._aside: dict[UUID, float] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Fire due schedules until stopped; no error ends it."""
        while not stop.is_set():
            pause = await self._round()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()

    async def once(self, now: datetime | None = None) -> int:
        """Fire one batch of due schedules; returns how many."""
        try:
            return await self._batch(now, BATCH)
        except Exception as error:
            if _is_passing(error):
                raise
            log.exception("A batch of schedules failed: %s", describe_for_log(error))
        return await self._one_by_one(now)

    async def _round(self) -> float:
        """One round; returns how long to sleep."""
        try:
            seconds = await self._until_due()
            if seconds > 0:
                return min(seconds + _SLACK, self._poll)
            return 0.0 if await self.once() else _HELD_SECONDS
        except Exception as error:
            # The storage check reports a full disk once.
            if not is_lost_connection(error) and not is_storage_full(error):
                log.exception("The scheduler failed and continues: %s", describe_for_log(error))
            return _AWAY_SECONDS

    async def _until_due(self) -> float:
        async with self._database.acquire() as connection:
            first = await schedules.load_next_due(connection, self._skipped_schedules())
            now = await self._time(connection)
        began = _steady()
        if first is None:
            return self._poll
        seconds = (first - now).total_seconds()
        if self._foresight is not None:
            await self._foresight.look(now, seconds)
        # Subtract the time that the prefetch has taken.
        return seconds - (_steady() - began)

    async def _one_by_one(self, now: datetime | None) -> int:
        """Fire one schedule at a time to isolate the failing one, and back it off."""
        fired = 0
        for _ in range(BATCH):
            held: list[UUID] = []
            try:
                if not await self._batch(now, 1, held):
                    break
                fired += 1
            except Exception as error:
                if _is_passing(error) or not held:
                    raise
                log.warning("Schedule %s could not be fired; retrying later.", *held)
                self._aside[held[0]] = _steady() + _ASIDE_SECONDS
        return fired

    async def _batch(self, now: datetime | None, most: int, held: list[UUID] | None = None) -> int:
        made: list[DispatchResult | Problem] = []
        async with self._database.transaction() as tx:
            moment = now or await self._time(tx)
            due = await schedules.claim_due_schedules(tx, moment, most, self._skipped_schedules())
            if held is not None:
                held += [schedule.trigger_id for schedule in due]
            decisions = [one async for one in self._affordable(due, moment)]
            if not decisions:
                return 0
            self._hook("due")
            missed = [entry for decision in decisions for entry in decision.missed]
            # A fixed order, because the lanes of each workspace are locked on the way.
            requests = sorted(
                (request for decision in decisions for request in decision.requests),
                key=attrgetter("workspace_id"),
            )
            for _, group in groupby(requests, key=attrgetter("workspace_id")):
                asked = list(group)
                answers = await self._dispatcher.take(tx, asked)
                missed += _record_refused(asked, answers)
                made += answers
            self._hook("fired")
            await record_missed(tx, missed)
            await schedules.move(tx, [_move(decision) for decision in decisions])
            self._hook("moved")
        self._hook("committed")
        self._dispatcher.wake(made)
        return len(decisions)

    async def _affordable(
        self, due: Sequence[DueSchedule], now: datetime
    ) -> AsyncIterator[_ScheduleDecision]:
        """What fits into one transaction; the rest is still due afterwards."""
        rows, end = 0, _steady() + _MOST_SECONDS
        for schedule in due:
            decision = self._decide(schedule, now)
            requests = [await self._dispatcher.prepare(one) for one in decision.requests]
            yield replace(decision, requests=requests)
            rows += decision.rows
            if rows >= _MOST_ROWS or _steady() >= end:
                return

    def _decide(self, schedule: DueSchedule, now: datetime) -> _ScheduleDecision:
        try:
            return _decision(schedule, now, self._plan(schedule, now))
        except Problem as problem:
            log.error(
                "Schedule %s cannot be read and is disabled: %s",
                schedule.trigger_id,
                problem.detail,
            )
            record = _to_missed_fire_time(schedule, schedule.due_at, "unreadable")
            return _ScheduleDecision(schedule, FirePlan((), (), None), [], [record])

    def _plan(self, schedule: DueSchedule, now: datetime) -> FirePlan:
        read = read_schedule(schedule.config, schedule.trigger_id)
        if not isinstance(schedule.inputs, Mapping):
            raise Invalid("The stored inputs are not an object.", code="unreadable")
        return plan(read.schedule, schedule.due_at, now, read.misfire, read.catch_up, self._limits)

    def _skipped_schedules(self) -> list[UUID]:
        now = _steady()
        self._aside = {one: until for one, until in self._aside.items() if until > now}
        return list(self._aside)


def _decision(schedule: DueSchedule, now: datetime, made: FirePlan) -> _ScheduleDecision:
    requests = [_request(schedule, moment, now) for moment in made.fire]
    missed = [
        _to_missed_fire_time(schedule, one.moment, one.reason, one.moments) for one in made.missed
    ]
    return _ScheduleDecision(schedule, made, requests, missed)


def _request(schedule: DueSchedule, timestamp: datetime, now: datetime) -> RunRequest:
    last = schedule.last_fired_at
    return RunRequest(
        schedule.workspace_id,
        schedule.automation_id,
        trigger_type="schedule",
        trigger_id=schedule.trigger_id,
        static=schedule.inputs,
        payload=payload_of(timestamp, now, last),
        key=key_of(timestamp),
        key_expires_at=now + KEPT,
        last_fired_at=last,
        measured=True,
    )


def _to_missed_fire_time(
    schedule: DueSchedule, timestamp: datetime, reason: str, moments: int = 1
) -> MissedFireTime:
    key = key_of(timestamp)
    return MissedFireTime(schedule.workspace_id, schedule.trigger_id, key, reason, moments)


def _record_refused(
    asked: Sequence[RunRequest], answers: Sequence[DispatchResult | Problem]
) -> list[MissedFireTime]:
    """Record the fire times that could not even become a failed run."""
    return [
        MissedFireTime(request.workspace_id, request.source_id, request.key or "", answer.code)
        for request, answer in zip(asked, answers, strict=True)
        if isinstance(answer, Problem)
    ]


def _move(decision: _ScheduleDecision) -> ScheduleAdvance:
    fire = decision.plan.fire
    return ScheduleAdvance(decision.schedule, decision.plan.next_due, fire[-1] if fire else None)


def _steady() -> float:
    return asyncio.get_running_loop().time()
