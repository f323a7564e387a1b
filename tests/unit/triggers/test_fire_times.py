"""What a schedule does about moments that have come: on time, missed, too old, too many."""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.cron import parse_cron
from mainspring.definition.cron_periods import between, count
from mainspring.definition.schedules import parse_schedule
from mainspring.triggers.fire_times import FirePlan, Misfire, plan
from mainspring.triggers.schedule import key_of, payload_of, read_schedule
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def planned(
    due: str,
    now: str,
    misfire: Misfire = "fire_once",
    *,
    cron: str = "*/5 * * * *",
    zone: str = "UTC",
    window: timedelta = HOUR,
    limits: Limits = LIMITS,
) -> FirePlan:
    return plan(
        parse_schedule({"cron": cron, "timezone": zone}), at(due), at(now), misfire, window, limits
    )


def reasons(made: FirePlan) -> dict[str, int]:
    found: Counter[str] = Counter()
    for missed in made.missed:
        found[missed.reason] += missed.moments
    return dict(found)


@pytest.mark.parametrize("misfire", ["skip", "fire_once", "fire_all"])
@pytest.mark.parametrize("now", ["2026-01-01T12:00:00", "2026-01-01T12:00:29.999999"])
def test_a_moment_that_is_on_time_fires_under_every_policy(misfire: Misfire, now: str) -> None:
    made = planned("2026-01-01T12:00", now, misfire, window=timedelta(0))
    assert made == FirePlan((at("2026-01-01T12:00"),), (), at("2026-01-01T12:05"))


@pytest.mark.parametrize(
    ("misfire", "window", "fired", "recorded"),
    [
        ("skip", 12 * HOUR, 0, {"missed_skip": 72}),
        ("fire_once", 12 * HOUR, 1, {"missed_superseded": 71}),
        ("fire_all", 12 * HOUR, 72, {}),
        ("skip", HOUR, 0, {"missed_skip": 72}),
        ("fire_once", HOUR, 1, {"missed_superseded": 11, "missed_too_old": 60}),
        ("fire_all", HOUR, 12, {"missed_too_old": 60}),
        ("fire_once", timedelta(0), 0, {"missed_too_old": 72}),
        ("fire_all", timedelta(0), 0, {"missed_too_old": 72}),
    ],
)
def test_six_hours_of_silence_follow_the_policy_to_the_run(
    misfire: Misfire, window: timedelta, fired: int, recorded: dict[str, int]
) -> None:
    made = planned("2026-01-01T00:05", "2026-01-01T06:00:30", misfire, window=window)
    assert len(made.fire) == fired
    assert reasons(made) == recorded
    assert all(missed.moments == 1 for missed in made.missed)
    assert made.next_due == at("2026-01-01T06:05")
    if fired:
        assert made.fire[-1] == at("2026-01-01T06:00")


@pytest.mark.parametrize(
    ("misfire", "fired"),
    [("skip", ["06:00"]), ("fire_once", ["06:00"]), ("fire_all", ["05:50", "05:55", "06:00"])],
)
def test_a_wake_up_on_the_dot_fires_that_moment_and_judges_the_others(
    misfire: Misfire, fired: list[str]
) -> None:
    made = planned("2026-01-01T05:00", "2026-01-01T06:00", misfire, window=timedelta(minutes=15))
    assert [f"{moment:%H:%M}" for moment in made.fire] == fired
    assert len(made.fire) + len(made.missed) == 13


def test_the_newest_fire_when_there_are_more_than_may() -> None:
    limits = replace(LIMITS, missed_moments=10)
    made = planned(
        "2026-01-01T00:05", "2026-01-01T06:01", "fire_all", window=12 * HOUR, limits=limits
    )
    assert made.fire[0] == at("2026-01-01T05:15")
    assert made.fire[-1] == at("2026-01-01T06:00")
    assert reasons(made) == {"missed_too_many": 62}


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_what_is_too_much_to_record_one_by_one_is_one_record_for_each_reason(limit: int) -> None:
    limits = replace(LIMITS, missed_moments=2, missed_records=limit)
    made = planned("2026-01-01T00:05", "2026-01-01T06:01", "fire_all", limits=limits)
    together = [(missed.moment, missed.reason, missed.moments) for missed in made.missed[:2]]
    assert together == [
        (at("2026-01-01T00:05"), "missed_too_old", 60),
        (at("2026-01-01T05:05"), "missed_too_many", 10 - limit),
    ]
    assert [missed.moments for missed in made.missed[2:]] == [1] * limit
    assert made.fire == (at("2026-01-01T05:55"), at("2026-01-01T06:00"))


@pytest.mark.parametrize("misfire", ["skip", "fire_once", "fire_all"])
def test_a_year_of_missed_minutes_is_planned_quickly_and_in_little_memory(
    misfire: Misfire,
) -> None:
    due, now = "2025-01-01T00:00", "2026-01-01T00:00:45"
    window = timedelta(days=30)
    tracemalloc.start()
    began = time.process_time()
    made = planned(due, now, misfire, cron="* * * * *", zone="Europe/Berlin", window=window)
    spent = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made.fire) + sum(reasons(made).values()) == 525_601
    assert len(made.missed) <= LIMITS.missed_records + 2
    assert peak < 2_000_000
    assert spent < RUNAWAY


def test_a_clock_that_was_set_back_fires_nothing() -> None:
    made = planned("2026-01-01T12:05", "2026-01-01T11:05", "fire_all")
    assert made == FirePlan((), (), at("2026-01-01T12:05"))


def test_a_stored_moment_was_promised_even_if_the_rules_of_its_zone_have_changed() -> None:
    made = planned("2026-01-01T12:02", "2026-01-01T12:02:05", "skip")
    assert made == FirePlan((at("2026-01-01T12:02"),), (), at("2026-01-01T12:05"))
    late = planned("2026-01-01T12:02", "2026-01-01T12:06", "skip")
    assert [missed.moment for missed in late.missed] == [
        at("2026-01-01T12:02"),
        at("2026-01-01T12:05"),
    ]


def test_a_schedule_without_another_moment_comes_to_rest() -> None:
    made = planned("9999-12-31T23:59", "9999-12-31T23:59:05", cron="59 23 31 12 *")
    assert made.fire == (at("9999-12-31T23:59"),)
    assert made.next_due is None


@pytest.mark.parametrize(
    ("zone", "cron", "day"),
    [
        # A gap that ends at midnight moves a time of one day into the next.
        ("America/Nuuk", "30 23 * * *", "2026-03-28"),
        ("Africa/Cairo", "30 0 * * *", "2026-04-24"),
        ("America/Havana", "30 0 * * *", "2026-11-01"),
        ("Pacific/Apia", "0 9 * * *", "2011-12-30"),
        ("Australia/Lord_Howe", "*/10 * * * *", "2026-04-05"),
        ("Europe/Berlin", "*/15 * * * *", "2026-10-25"),
    ],
)
def test_walking_and_counting_keep_to_the_policy_for_clock_changes(
    zone: str, cron: str, day: str
) -> None:
    first, until = at(day) - timedelta(days=3), at(day) + timedelta(days=4)
    read, moment, slow = parse_cron(cron), parse_cron(cron).after(first, zone), []
    while moment is not None and moment < until:
        slow.append(moment)
        moment = read.after(moment, zone)
    assert list(between(read, zone, first + timedelta(seconds=1), until)) == slow
    assert count(read, zone, first + timedelta(seconds=1), until) == len(slow)


@pytest.mark.parametrize(
    "config",
    [
        None,
        [],
        "*/5 * * * *",
        {},
        {"cron": "*/5 * * * *"},
        {"cron": 5, "timezone": "UTC"},
        {"cron": "*/5 * * *", "timezone": "UTC"},
        {"cron": "0 0 30 2 *", "timezone": "UTC"},
        {"cron": "@daily", "timezone": "UTC", "misfire": "sometimes"},
        {"cron": "@daily", "timezone": "UTC", "misfire": ["skip"]},
        {"cron": "@daily", "timezone": "UTC", "catch_up_seconds": -1},
        {"cron": "@daily", "timezone": "UTC", "catch_up_seconds": True},
        {"cron": "@daily", "timezone": "UTC", "catch_up_seconds": 10**12},
    ],
)
def test_a_stored_config_that_cannot_be_read_is_refused_in_a_sentence(config: object) -> None:
    with pytest.raises(Invalid) as caught:
        read_schedule(config)
    assert caught.value.detail.endswith((".", "?"))


def test_keys_and_payloads_are_the_same_in_every_zone() -> None:
    berlin = datetime.fromisoformat("2026-05-26T09:00:00+02:00")
    assert key_of(berlin) == key_of(berlin.astimezone(UTC)) == "at:2026-05-26T07:00:00Z"
    made = payload_of(berlin, berlin + timedelta(seconds=1), berlin - timedelta(days=1))
    assert made == {
        "fired_at": "2026-05-26T07:00:01Z",
        "scheduled_for": "2026-05-26T07:00:00Z",
        "last_fired_at": "2026-05-25T07:00:00Z",
    }
