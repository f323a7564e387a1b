"""Schedules, their calendar and their windows: R5, R6, R7, R8, R13."""

from __future__ import annotations

import contextlib
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from mainspring.app import Application
from mainspring.contracts.errors import Problem
from mainspring.definition.cron import parse_cron
from mainspring.definition.validate import validate
from mainspring.triggers.fire_times import Misfire
from mainspring.triggers.scheduler import Scheduler
from mainspring.workspace.automations import FIRST_MEMBER, save, set_state
from tests.chaos.batteries import battery
from tests.chaos.check import (
    CheckOptions,
    Figure,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    percentile,
    told,
)
from tests.chaos.single_application import house_alone
from tests.crash import schedulers, verdict
from tests.crash.crash_bench import own_arena
from tests.property import test_schedules as calendar

_MINUTE = timedelta(minutes=1)


async def many_schedulers(asked: CheckOptions) -> Verdict:
    """R5."""
    triggers, minutes, pace = asked.of((100, 4, 20.0), (300, 10, 20.0), check=(50, 3, 20.0))
    figures: list[Figure] = []
    against: list[str] = []
    for kills in (False, True):
        async with own_arena(lease=2.0) as (bench, _):
            storm = await schedulers.plant(bench, triggers, pace)
            await schedulers.strike_schedulers(
                storm, asked.chance(), minutes=minutes, workers=4, schedulers=3, kills=kills
            )
            await schedulers.settle(storm, 120)
            found = await schedulers.offences(storm)
            found += verdict.offences(await verdict.gather(bench), schedulers.SPOTS)
            nexts = await schedulers.waiting_for(bench)
            expected = len(schedulers.promised(storm.firsts, nexts))
            late = await schedulers.delays(storm, later=True)
        name = "with a scheduler killed each minute" if kills else "undisturbed"
        figures.append(exactly(f"runs {name}", len(bench.runs), expected))
        figures.append(none_of(f"missed, doubled or wrong {name}", found))
        delay = percentile(late, 0.99)
        figures.append(
            told(f"p99 of the start {name}", f"{delay:.2f} s")
            if kills or asked.is_shared
            else at_most("p99 of the start", delay, 2, "s")
        )
        against += found
    return Verdict(figures, against)


_REFUSED = (
    "",
    "* * * *",
    "0 * * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * 32 * *",
    "* * * 13 *",
    "* * * 0 *",
    "* * * * 8",
    "*/0 * * * *",
    "5-1 * * * *",
    "a * * * *",
    "1,,2 * * * *",
    "1- * * * *",
    "-1 * * * *",
    "* * * foo *",
    "* * * * bar",
    "@dayly",
    "@reboot",
    "H * * * *",
    "0 0 15W * *",
    "1.5 * * * *",
    "* * * * * /bin/true",
    "*/ * * * *",
    "1/2/3 * * * *",
)
_NEVER = ("0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 4 *")
_COSTLY = (*_NEVER, "0 0 29 2 *", "0 0 29 2 1#5", "59 23 31 12 0", "* * * * *", "0 0 L 2 *")


async def cron(asked: CheckOptions) -> Verdict:
    """R6."""
    rows, chance = asked.of(3_000, 40_000, check=1_500), asked.chance()
    agreed, wrong = 0, []
    for _ in range(rows):
        text, zone = _expression(chance), chance.choice(calendar.ZONES)
        place = ZoneInfo(zone)
        start = datetime(2024, 1, 1, tzinfo=UTC) + _MINUTE * chance.randrange(3 * 525_600)
        one, other = calendar.others(text, start.astimezone(place))
        if one != other or not calendar.steady(one, place) or calendar.reaches_seven(text):
            continue
        agreed += 1
        if (ours := parse_cron(text).after(start, zone)) != one:
            wrong.append(f"{text!r} in {zone} after {start}: {ours}, two others {one}")
    accepted = [text for text in _REFUSED if not _is_refused(text)]
    return Verdict(
        [
            none_of(f"wrong of {agreed:,} rows where two other libraries agree", wrong),
            at_least("share of rows on which they agree", agreed / rows, 0.3),
            none_of(f"of {len(_REFUSED)} invalid ones accepted", accepted),
            at_most("most that one expression costs", max(map(_cost_ms, _COSTLY)), 20, "ms"),
            await battery(
                "around clock changes, against the written policy:",
                ["tests/property/test_cron.py", "tests/unit/definition/test_cron.py"],
            ),
        ],
        [*wrong, *accepted],
    )


def _expression(chance: random.Random) -> str:
    """An expression that every library can read."""

    def field(low: int, high: int) -> str:
        one, two = sorted((chance.randint(low, high), chance.randint(low, high)))
        return chance.choice(
            [
                "*",
                str(one),
                f"{one}-{two}",
                f"{one},{two}",
                f"*/{chance.randint(2, 20)}",
                f"{one}-{two}/{chance.randint(1, 5)}",
            ]
        )

    days = chance.choice([("*", "*"), ("*", field(0, 6)), (field(1, 28), "*")])
    month = chance.choice(["*", field(1, 12)])
    return f"{field(0, 59)} {field(0, 23)} {days[0]} {month} {days[1]}"


def _is_refused(text: str) -> bool:
    try:
        parse_cron(text)
    except Problem:
        return True
    return False


def _cost_ms(text: str) -> float:
    """The processor's time to read an expression and find its next moment; the best of three."""
    found = []
    for _ in range(3):
        began = time.process_time()
        with contextlib.suppress(Problem):
            parse_cron(text).after(datetime(2026, 3, 1, tzinfo=UTC), "America/New_York")
        found.append((time.process_time() - began) * 1000)
    return min(found)


async def clocks(asked: CheckOptions) -> Verdict:
    """R7."""
    zones = calendar.ZONES if asked.size == "full" else calendar.ZONES[::3]
    broken: list[str] = []
    for zone in zones:
        _hold(
            broken,
            zone,
            calendar.test_twenty_six_months_of_schedules_miss_nothing_and_repeat_nothing,
            zone,
        )
    backward = [
        (text, step)
        for step in (timedelta(hours=-1), timedelta(seconds=-1))
        for text in ("* * * * *", "*/15 * * * *", "0 * * * *", "30 2 * * *")
    ]
    stepped: list[str] = []
    for text, step in backward:
        _hold(
            stepped,
            f"{text} {step}",
            calendar.test_a_clock_that_is_set_back_repeats_and_loses_nothing,
            text,
            step,
        )
    for misfire, step, fired, reasons in _FORWARD:
        _hold(
            stepped,
            f"{misfire} {step}",
            calendar.test_a_clock_that_is_set_forward_follows_the_catch_up_policy,
            misfire,
            step,
            fired,
            reasons,
        )
    return Verdict(
        [
            none_of(f"of {len(zones)} zones with a day or a quarter missed or repeated", broken),
            none_of(f"of {len(backward) + len(_FORWARD)} steps of the clock gone wrong", stepped),
            await battery(
                "on a real database:",
                ["tests/integration/triggers/test_schedule.py"],
                "clock_set_back or clock_changes",
            ),
        ],
        [*broken, *stepped],
    )


_HOUR, _DAYS = timedelta(hours=1), timedelta(days=3)
_FORWARD: tuple[tuple[Misfire, timedelta, int, dict[str, int]], ...] = (
    ("skip", _HOUR, 0, {"missed_skip": 4}),
    ("fire_once", _HOUR, 1, {"missed_superseded": 3}),
    ("fire_all", _HOUR, 4, {}),
    ("skip", _DAYS, 0, {"missed_skip": 288}),
    ("fire_once", _DAYS, 1, {"missed_superseded": 3, "missed_too_old": 284}),
    ("fire_all", _DAYS, 4, {"missed_too_old": 284}),
)


def _hold(broken: list[str], name: str, shown: Any, *arguments: Any) -> None:
    try:
        shown(*arguments)
    except AssertionError as error:
        broken.append(f"{name}: {str(error)[:200]}")


_POLICIES: tuple[Misfire, ...] = ("skip", "fire_once", "fire_all")
_WINDOWS = ((43_200, "12 h", (0, 1, 72)), (None, "1 h", (0, 1, 12)))
_COUNTED = """
    SELECT count(f.run_id)::int AS runs,
        coalesce(sum(f.moments) FILTER (WHERE f.run_id IS NOT NULL OR f.reason IS NOT NULL), 0)::int
            AS told
    FROM firings f JOIN triggers t ON t.workspace_id = f.workspace_id AND t.id = f.source_id
    WHERE t.slug = $1
"""


async def silence(asked: CheckOptions) -> Verdict:
    """R8."""
    del asked
    figures = []
    async with house_alone() as application:
        for window, _, _ in _WINDOWS:
            for misfire in _POLICIES:
                await _every_five_minutes(application, misfire, window)
        first = await application.database.fetchval("SELECT max(next_due_at) FROM triggers")
        await application.database.execute("UPDATE triggers SET next_due_at = $1", first)
        wake = first + timedelta(hours=5, minutes=55, seconds=30)
        await Scheduler(application.database, application.dispatcher, application.limits).once(wake)
        for window, name, expected in _WINDOWS:
            rows = [
                await application.database.fetchrow(_COUNTED, _slug(misfire, window))
                for misfire in _POLICIES
            ]
            runs, told_of = zip(*((row["runs"], row["told"]) for row in rows if row), strict=True)
            figures.append(exactly(f"runs with a window of {name}", runs, expected))
            figures.append(exactly("ticks with a run or a reason", told_of, (72, 72, 72)))
    return Verdict(figures)


def _slug(misfire: Misfire, window: int | None) -> str:
    return f"{misfire}_{window or 'default'}"


async def _every_five_minutes(
    application: Application, misfire: Misfire, window: int | None
) -> None:
    """An active automation with such a schedule."""
    config: dict[str, Any] = {"cron": "*/5 * * * *", "timezone": "UTC", "misfire": misfire}
    if window is not None:
        config["catch_up_seconds"] = window
    slug = _slug(misfire, window)
    document = {
        "schema_version": "1.2",
        "name": slug,
        "goal": "Be missed.",
        "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
        "triggers": [{"id": slug, "type": "schedule", "config": config}],
        "execution": {"concurrency": "allow_parallel"},
    }
    report = validate(document, application.registry, application.limits)
    assert report.definition is not None, report.findings
    async with application.database.transaction() as tx:
        stored = await save(
            tx, application.workspace_id, report.definition, report.grants, FIRST_MEMBER, via="page"
        )
        await set_state(tx, application.workspace_id, stored.automation_id, "active")


async def windows(asked: CheckOptions) -> Verdict:
    """R13."""
    minutes, triggers = asked.of((7, 10), (67, 20), check=(5, 10))
    plan = ({"step_id": "work", "action": "crash.stumble", "config": {"percent": 25}},)
    async with own_arena(lease=2.0, failures=1_000_000) as (bench, _):
        storm = await schedulers.plant(bench, triggers, 30.0, plan)
        await schedulers.strike_schedulers(
            storm, asked.chance(), minutes=minutes, workers=3, schedulers=2
        )
        await schedulers.settle(storm, 120)
        rows = await schedulers._runs(bench)
        against = schedulers.gaps(rows)
        unfired = [one for one in await schedulers.offences(storm) if one not in against]
    statuses = [row["status"] for row in rows]
    return Verdict(
        [
            none_of("gaps between the windows of runs that succeeded", against),
            none_of("windows of nobody, or given twice", unfired),
            at_least("failed runs among them", statuses.count("failed"), 1),
            told("runs", len(rows)),
            told("kills", minutes + minutes // 2),
        ],
        [*against, *unfired],
    )
