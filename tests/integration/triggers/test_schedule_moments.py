"""Schedules with single moments, intervals and jitter, through restarts of the scheduler."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.definition.schedules import parse_schedule
from mainspring.triggers.schedule import key_of
from tests.integration.triggers.test_schedule import (
    armed,
    due_of,
    recorded,
    runs_of,
    scheduler_of,
)
from tests.kit.bench import Bench

HOUR = timedelta(hours=1)


class _Crash(Exception):
    """The scheduler's process ends here."""


def crash_at(place: str) -> Any:
    def hook(name: str) -> None:
        if name == place:
            raise _Crash

    return hook


def trigger(**config: Any) -> dict[str, Any]:
    return {"id": "clock", "type": "schedule", "config": {"timezone": "Europe/Berlin", **config}}


def in_hours(hours: int) -> datetime:
    return (datetime.now(UTC) + hours * HOUR).replace(microsecond=0)


async def test_a_moment_starts_one_run_and_the_trigger_is_done(bench: Bench) -> None:
    moment = in_hours(2)
    await armed(bench, trigger(at=moment.isoformat()))
    assert await due_of(bench) == moment
    assert await scheduler_of(bench).once(moment - timedelta(seconds=1)) == 0
    assert await scheduler_of(bench).once(moment) == 1
    assert await due_of(bench) is None
    assert await scheduler_of(bench).once(moment + 48 * HOUR) == 0
    (run,) = await runs_of(bench)
    assert run["payload"]["scheduled_for"] == key_of(moment).removeprefix("at:")
    assert await recorded(bench) == {}


@pytest.mark.parametrize("place", ["due", "fired", "moved", "committed"])
async def test_a_crash_around_a_moment_starts_its_run_exactly_once(
    bench: Bench, place: str
) -> None:
    moment = in_hours(2)
    await armed(bench, trigger(at=moment.isoformat()))
    async with bench.application.database.acquire() as connection:
        assert await connection.fetchval("SELECT count(*) FROM runs") == 0
    crashed = scheduler_of(bench, hook=crash_at(place))
    with pytest.raises(_Crash):
        await crashed._batch(moment, 10)
    assert len(await runs_of(bench)) == (1 if place == "committed" else 0)
    again = scheduler_of(bench)
    await again.once(moment + timedelta(seconds=5))
    await again.once(moment + timedelta(seconds=10))
    (run,) = await runs_of(bench)
    assert run["payload"]["scheduled_for"] == key_of(moment).removeprefix("at:")
    assert await due_of(bench) is None


@pytest.mark.parametrize(
    ("late", "misfire", "runs", "missed"),
    [
        (timedelta(minutes=50), "fire_once", 1, {}),
        (2 * HOUR, "fire_once", 0, {"missed_too_old": 1}),
        (timedelta(minutes=50), "skip", 0, {"missed_skip": 1}),
    ],
)
async def test_a_moment_that_was_missed_follows_the_catch_up_rule(
    bench: Bench, late: timedelta, misfire: str, runs: int, missed: dict[str, int]
) -> None:
    moment = in_hours(2)
    await armed(bench, trigger(at=moment.isoformat(), misfire=misfire))
    await scheduler_of(bench).once(moment + late)
    assert len(await runs_of(bench)) == runs
    assert await recorded(bench) == missed
    assert await due_of(bench) is None


async def test_a_moment_in_the_past_waits_for_nothing(bench: Bench) -> None:
    await armed(bench, trigger(at=in_hours(-2).isoformat()))
    assert await due_of(bench) is None


async def test_every_other_day_goes_on_from_its_anchor_after_downtime(bench: Bench) -> None:
    config = {"every": "2d", "anchor": "2026-01-01T09:00", "timezone": "Europe/Berlin"}
    await armed(bench, trigger(**config))
    due = await due_of(bench)
    times = parse_schedule(config).next_fire_times(due - timedelta(seconds=1), 5)
    assert due == times[0]
    await scheduler_of(bench).once(times[3] + timedelta(seconds=1))
    (run,) = await runs_of(bench)
    assert run["payload"]["scheduled_for"] == key_of(times[3]).removeprefix("at:")
    assert await due_of(bench) == times[4]
    assert await recorded(bench) == {"missed_too_old": 3}


async def test_a_crash_does_not_move_a_fire_time_with_jitter(bench: Bench) -> None:
    await armed(bench, trigger(every="1h", jitter="30m"))
    due = await due_of(bench)
    with pytest.raises(_Crash):
        await scheduler_of(bench, hook=crash_at("moved"))._batch(due, 10)
    assert await due_of(bench) == due
    await scheduler_of(bench).once(due)
    await scheduler_of(bench).once(due)
    (run,) = await runs_of(bench)
    assert run["payload"]["scheduled_for"] == key_of(due).removeprefix("at:")
    following = await due_of(bench)
    assert timedelta(minutes=30) < following - due < timedelta(minutes=90)
