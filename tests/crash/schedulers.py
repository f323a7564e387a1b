"""A storm over schedulers and workers, and the verdict: one run for each due moment.

A minute of the schedulers' time lasts as long as the storm says. What a schedule waited
for at the beginning and at the end says which moments there were; the rows of the runs say
which were served, and how often.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from mainspring.store.database import Connection
from mainspring.workspace.automations import set_state
from tests.crash.crash_bench import CrashBench
from tests.crash.worker_pool import WorkerProcess

MINUTE = timedelta(minutes=1)
SPOTS = frozenset({("enter", ""), ("keep", "")})
# A trigger and the fire time that its run belongs to.
Pair = tuple[UUID, datetime]
_TOGETHER = 20


@dataclass(slots=True)
class SchedulerStress:
    """Schedulers and workers at work, in a time of their own."""

    bench: CrashBench
    since: datetime
    pace: float
    firsts: Mapping[UUID, datetime]
    schedulers: list[WorkerProcess]

    @property
    def minute(self) -> float:
        """Seconds that a minute lasts."""
        return 60 / self.pace

    def start_scheduler(self, **more: Any) -> WorkerProcess:
        member = self.bench.pool.start(
            role="scheduler", since=self.since.timestamp(), pace=self.pace, **more
        )
        self.schedulers.append(member)
        return member

    @property
    def alive(self) -> list[WorkerProcess]:
        return [member for member in self.schedulers if member.alive]

    def end(self) -> None:
        """Kills the schedulers: from here on nothing fires and everything can be counted."""
        for member in self.alive:
            member.kill()

    def real(self, timestamp: datetime) -> datetime:
        """When a moment of the schedulers' time came."""
        return self.since + (timestamp - self.since) / self.pace


PLAN: Final = (
    {"step_id": "enter", "action": "ledger.apply", "config": {}},
    {"step_id": "keep", "action": "ledger.keep", "config": {}},
)


async def plant(
    bench: CrashBench, triggers: int, pace: float, plan: Sequence[Mapping[str, Any]] = PLAN
) -> SchedulerStress:
    """So many schedules of every minute, and the time in which they wait for it."""
    config = {
        "cron": "* * * * *",
        "timezone": "Europe/Berlin",
        "misfire": "fire_all",
        "catch_up_seconds": 86_400,
    }
    for first in range(0, triggers, _TOGETHER):
        slugs = [f"t{number}" for number in range(first, min(first + _TOGETHER, triggers))]
        automation = await bench.save(
            {
                "schema_version": "1.2",
                "name": f"clock {first}",
                "goal": "Be started once for each minute.",
                "plan": list(plan),
                "triggers": [{"id": slug, "type": "schedule", "config": config} for slug in slugs],
                "execution": {"concurrency": "allow_parallel"},
            }
        )
        async with bench.application.database.transaction() as tx:
            await set_state(tx, bench.application.workspace_id, automation, "active")
    # All of them wait for the same minute.
    database = bench.application.database
    await database.execute(
        "UPDATE triggers SET next_due_at = (SELECT max(next_due_at) FROM triggers) "
        "WHERE type = 'schedule'"
    )
    since = await database.fetchval("SELECT now()")
    return SchedulerStress(bench, since, pace, await waiting_for(bench), [])


async def waiting_for(bench: CrashBench) -> dict[UUID, datetime]:
    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch(
            "SELECT id, next_due_at FROM triggers WHERE type = 'schedule'"
        )

    return {row["id"]: row["next_due_at"] for row in await bench.ask(read)}


async def strike_schedulers(
    storm: SchedulerStress,
    chance: random.Random,
    *,
    minutes: int,
    workers: int,
    schedulers: int,
    kills: bool = True,
) -> None:
    """In every minute a scheduler is killed, and a worker in every second one.

    Some blows fall right after the full minute, when everybody fires, some anywhere.
    """
    for _ in range(schedulers):
        storm.start_scheduler()
    pool = [storm.bench.pool.start() for _ in range(workers)]
    await storm.bench.until_at_work(*pool)
    begin = min(storm.firsts.values())
    for number in range(minutes):
        wait = (storm.real(begin + MINUTE * number) - await _now(storm.bench)).total_seconds()
        scatter = storm.minute if chance.random() < 0.5 else 0.15
        await asyncio.sleep(max(wait, 0) + chance.uniform(0, scatter))
        if kills:
            chance.choice(storm.alive).kill()
            storm.start_scheduler()
            if number % 2:
                victims = [one for one in storm.bench.pool.alive if one not in storm.schedulers]
                chance.choice(victims).kill()
                storm.bench.pool.start()
    await until_past(storm, begin + MINUTE * minutes)
    storm.end()


async def until_past(storm: SchedulerStress, timestamp: datetime, seconds: float = 60.0) -> None:
    async def past() -> bool:
        return min((await waiting_for(storm.bench)).values()) > timestamp

    await storm.bench.until(past, seconds, f"every schedule has gone past {timestamp}")


async def _now(bench: CrashBench) -> datetime:
    async def read(connection: Connection) -> datetime:
        now: datetime = await connection.fetchval("SELECT now()")
        return now

    found: datetime = await bench.ask(read)
    return found


async def settle(storm: SchedulerStress, seconds: float) -> None:
    """Waits until every run there is has ended; from here on they are the bench's runs."""
    storm.bench.runs = [row["id"] for row in await _runs(storm.bench)]
    await storm.bench.until_final(seconds)


async def _runs(bench: CrashBench) -> list[Any]:
    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch(
            "SELECT id, trigger_id, status, payload, started_at FROM runs "
            "WHERE trigger_type = 'schedule' ORDER BY id"
        )

    rows: list[Any] = await bench.ask(read)
    return rows


async def offences(storm: SchedulerStress) -> list[str]:
    """Moments that were not served, or more than once, and gaps between succeeded runs."""
    assert not storm.alive, "somebody is still firing"
    rows = await _runs(storm.bench)
    found = Counter((row["trigger_id"], _moment(row, "scheduled_for")) for row in rows)
    expected = promised(storm.firsts, await waiting_for(storm.bench))
    against = [f"missed: {pair}" for pair in expected - found.keys()]
    against += [f"started for nothing: {pair}" for pair in found.keys() - expected]
    against += [f"started {count} times: {pair}" for pair, count in found.items() if count > 1]
    return against + gaps(rows)


def promised(firsts: Mapping[UUID, datetime], nexts: Mapping[UUID, datetime]) -> set[Pair]:
    """Every minute from the one a schedule waited for to before the one it waits for now."""
    return {
        (trigger, first + MINUTE * number)
        for trigger, first in firsts.items()
        for number in range((nexts[trigger] - first) // MINUTE)
    }


def gaps(rows: Sequence[Any]) -> list[str]:
    """Stretches of time that no succeeded run of a schedule was given."""
    covered: dict[UUID, datetime] = {}
    against = []
    for row in sorted(rows, key=lambda row: _moment(row, "scheduled_for")):
        if row["status"] != "succeeded":
            continue
        trigger, since = row["trigger_id"], _moment(row, "last_fired_at")
        if since > covered.setdefault(trigger, since):
            against.append(f"nothing covered {covered[trigger]} to {since} of {trigger}")
        covered[trigger] = max(covered[trigger], _moment(row, "scheduled_for"))
    return against


async def delays(storm: SchedulerStress, *, later: bool = False) -> list[float]:
    """Seconds from each moment to the start of its run, in order.

    The first minute may come while the processes still start; later ones leave it out.
    """
    first = min(storm.firsts.values())
    return sorted(
        (row["started_at"] - storm.real(_moment(row, "scheduled_for"))).total_seconds()
        for row in await _runs(storm.bench)
        if row["started_at"] is not None and not (later and _moment(row, "scheduled_for") <= first)
    )


def _moment(row: Any, name: str) -> datetime:
    return datetime.fromisoformat(row["payload"][name])
