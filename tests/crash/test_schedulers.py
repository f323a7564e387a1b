"""Schedulers and workers killed and frozen: each due moment still starts exactly one run."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from mainspring.runs.health import judge, read_health_signals
from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash import verdict
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.schedulers import (
    MINUTE,
    SPOTS,
    offences,
    plant,
    settle,
    strike_schedulers,
    until_past,
    waiting_for,
)

TRIGGERS, MINUTES, PACE = 60, 5, 60.0


async def test_three_schedulers_and_four_workers_start_one_run_for_each_moment(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        storm = await plant(bench, TRIGGERS, PACE)
        await strike_schedulers(storm, chance, minutes=MINUTES, workers=4, schedulers=3)
        await settle(storm, 60)
        assert len(bench.runs) >= TRIGGERS * MINUTES
        assert await offences(storm) == []
        assert verdict.offences(await verdict.gather(bench), SPOTS) == []


@pytest.mark.parametrize("point", ["due", "fired", "moved", "committed"])
async def test_a_scheduler_killed_at_a_commit_point_loses_and_doubles_nothing(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, point: str
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        storm = await plant(bench, 5, PACE)
        begin = min(storm.firsts.values())
        for number in range(2):
            # Each time another life ends at the same place.
            victim = storm.start_scheduler(point=point)
            assert await bench.until_ended(victim, 20) == -signal.SIGKILL, number
        storm.start_scheduler()
        await until_past(storm, begin + 2 * MINUTE)
        storm.end()
        assert await offences(storm) == []


async def test_a_frozen_scheduler_shows_as_overdue_and_health_comes_back_by_itself(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        storm = await plant(bench, 1, pace=1.0)
        member = storm.start_scheduler()
        await _rewind(bench, 0)
        await _until_runs(bench, 1)
        member.signal(signal.SIGSTOP)
        # As if it had been silent for longer than anybody waits.
        await _rewind(bench, 61)
        assert await _overdue(bench) == ("overdue", 1)
        member.signal(signal.SIGCONT)
        await _until_runs(bench, 2)
        assert await _overdue(bench) == ("ok", 0)


async def test_a_scheduler_frozen_in_the_middle_keeps_nobody_from_its_schedules(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=1.0) as bench:
        storm = await plant(bench, 5, PACE)
        begin = min(storm.firsts.values())
        sleeper = storm.start_scheduler(point="moved", fate="freeze")

        async def asleep() -> bool:
            return sleeper.frozen

        await bench.until(asleep, 20, "the scheduler has frozen with schedules in its hands")
        assert min((await waiting_for(bench)).values()) == begin
        storm.start_scheduler()
        await until_past(storm, begin + 2 * MINUTE)
        sleeper.signal(signal.SIGCONT)
        await until_past(storm, begin + 4 * MINUTE)
        assert sleeper.alive
        storm.end()
        assert await offences(storm) == []


async def _rewind(bench: CrashBench, seconds: int) -> None:
    async def rewind(connection: Connection) -> None:
        await connection.execute(
            "UPDATE triggers SET next_due_at = now() - make_interval(secs => $1)", float(seconds)
        )

    await bench.ask(rewind)


async def _until_runs(bench: CrashBench, count: int) -> None:
    async def there() -> bool:
        async def read(connection: Connection) -> bool:
            return bool(await connection.fetchval("SELECT count(*) >= $1 FROM runs", count))

        found: bool = await bench.ask(read)
        return found

    await bench.until(there, 20, f"there are {count} runs")


async def _overdue(bench: CrashBench) -> tuple[str, int]:
    async def read(connection: Connection) -> tuple[str, int]:
        vitals = await read_health_signals(connection)
        schedules = next(c for c in judge(vitals).checks if c.name == "schedules")
        return "ok" if schedules.ok else "overdue", vitals.overdue_schedules

    found: tuple[str, int] = await bench.ask(read)
    return found
