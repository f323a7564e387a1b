"""Schedules through years and clock changes: every moment once, fired or recorded."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from cron_converter import Cron as OtherCron
from croniter import croniter  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.limits import Limits
from mainspring.definition.cron import Cron, parse_cron
from mainspring.definition.cron_periods import between, count
from mainspring.definition.schedules import CronTimes, Schedule, parse_schedule
from mainspring.triggers.fire_times import ON_TIME, FirePlan, Misfire, plan
from tests.property.test_cron import CHANGES, Fields, expressions

LIMITS = Limits()
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
# Ten zones: none, the usual two, half an hour, at midnight, quarters of an hour, Ramadan,
# a change whose gap ends at midnight, and the far east.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Havana",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "America/Nuuk",
    "Pacific/Chatham",
    "Africa/Cairo",
]
BEGIN = datetime(2025, 1, 1, 0, 0, 30, tzinfo=UTC)
END = datetime(2027, 3, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def asked(cron: Cron, zone: str, first: datetime, until: datetime) -> list[datetime]:
    """The slow and certain way."""
    found, moment = [], cron.after(first - timedelta(microseconds=1), zone)
    while moment is not None and moment < until:
        found.append(moment)
        moment = cron.after(moment, zone)
    return found


@settings(max_examples=60, deadline=None)
@given(
    fields=expressions(),
    change=st.sampled_from(CHANGES),
    microseconds=st.integers(0, 20 * 3600 * 10**6),
    hours=st.integers(0, 60),
)
def test_walking_and_counting_name_what_asking_one_by_one_names(
    fields: Fields, change: tuple[str, datetime], microseconds: int, hours: int
) -> None:
    zone, cron = change[0], parse_cron(fields.text)
    first = change[1] + timedelta(microseconds=microseconds)
    until = first + timedelta(hours=hours)
    slow = asked(cron, zone, first, until)
    assert list(between(cron, zone, first, until)) == slow
    assert count(cron, zone, first, until) == len(slow)


@settings(max_examples=80, deadline=None)
@given(
    fields=expressions(),
    change=st.sampled_from(CHANGES),
    hours=st.integers(0, 40),
    late=st.integers(0, 2 * 10**6),
    misfire=st.sampled_from(get_args(Misfire)),
    window=st.sampled_from([0, 60, 3_600, 43_200, 2_592_000]),
    most=st.sampled_from([0, 1, 5, 100]),
    records=st.sampled_from([0, 1, 5, 1_000]),
)
def test_every_moment_that_has_come_is_fired_or_recorded_once(
    fields: Fields,
    change: tuple[str, datetime],
    hours: int,
    late: int,
    misfire: Misfire,
    window: int,
    most: int,
    records: int,
) -> None:
    zone, cron = change[0], parse_cron(fields.text)
    due = cron.after(change[1], zone)
    assert due is not None
    now = due + timedelta(hours=hours, milliseconds=late)
    limits = replace(LIMITS, missed_moments=most, missed_records=records)
    made = plan(
        Schedule(zone, (CronTimes(cron, zone),)),
        due,
        now,
        misfire,
        timedelta(seconds=window),
        limits,
    )

    moments = asked(cron, zone, due, now + timedelta(microseconds=1))
    assert told(made, moments) == moments
    assert made.next_due == cron.after(now, zone)
    late_ones = [moment for moment in made.fire if now - moment >= ON_TIME]
    assert len(late_ones) <= {"skip": 0, "fire_once": 1, "fire_all": most}[misfire]
    assert all(now - moment < timedelta(seconds=window) for moment in late_ones)
    assert {moment for moment in moments if now - moment < ON_TIME} <= set(made.fire)


def told(made: FirePlan, moments: list[datetime]) -> list[datetime]:
    """What a plan accounts for, in its order: records of several represent the next ones."""
    found: list[datetime] = []
    for missed in made.missed:
        start = moments.index(missed.moment)
        found += moments[start : start + missed.moments]
    return [*found, *made.fire]


@settings(max_examples=150, deadline=None)
@given(
    fields=expressions(),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]),
    minutes=st.integers(0, 3 * 525_600),
)
def test_cron_agrees_with_two_other_libraries_wherever_they_agree(
    fields: Fields, zone: str, minutes: int
) -> None:
    place = ZoneInfo(zone)
    start = (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).astimezone(place)
    one, other = others(fields.text, start)
    if one != other or not steady(one, place) or reaches_seven(fields.text):
        return
    assert parse_cron(fields.text).after(start, zone) == one


def reaches_seven(text: str) -> bool:
    """Whether a day of the week is counted up from a number: to 7, a Sunday, or to 6 elsewhere."""
    return any(re.match(r"\d+/", part) for part in text.split()[4].split(","))


def others(text: str, start: datetime) -> tuple[datetime, datetime]:
    one: datetime = croniter(text, start).get_next(datetime)
    return one.astimezone(UTC), OtherCron(text).schedule(start).next().astimezone(UTC)


def steady(timestamp: datetime, place: ZoneInfo) -> bool:
    """Whether the clocks do not change around it; there, our own policy decides."""
    around = [(timestamp + DAY * days).astimezone(place).utcoffset() for days in (-1, 0, 1)]
    return len(set(around)) == 1


def test_the_two_other_libraries_agree_often_enough_to_tell_something() -> None:
    chance, agreed = random.Random(7), 0
    texts = [
        "*/7 * * * *",
        "5 4 * * *",
        "0 9 * * 1-5",
        "30 8,17 1,15 * *",
        "0 0 31 * *",
        "1-59/2 * * * *",
        "0 22 * * 0",
        "15 3 1 1,7 *",
        "*/20 6-18 * * *",
        "0 12 29 2 *",
    ]
    for text in texts:
        for _ in range(20):
            minutes = chance.randrange(3 * 525_600)
            start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
            one, other = others(text, start)
            agreed += one == other
            assert one != other or parse_cron(text).after(start, "UTC") == one, (text, start)
    assert agreed >= 180


@dataclass(slots=True)
class Life:
    """One schedule through simulated time; a moment that fires twice ends the test."""

    text: str
    zone: str
    misfire: Misfire = "fire_all"
    window: timedelta = MONTH
    fired: list[datetime] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    due: datetime | None = None

    def begin(self, now: datetime) -> Life:
        self.due = parse_cron(self.text).after(now, self.zone)
        return self

    def wake(self, now: datetime, limits: Limits = LIMITS) -> list[datetime]:
        """What a scheduler does that looks at this schedule now."""
        assert self.due is not None
        made = plan(
            parse_schedule({"cron": self.text, "timezone": self.zone}),
            self.due,
            now,
            self.misfire,
            self.window,
            limits,
        )
        assert not set(made.fire) & set(self.fired[-len(made.fire) - 1 :])
        self.fired += made.fire
        for missed in made.missed:
            self.reasons[missed.reason] += missed.moments
        self.due = made.next_due
        return list(made.fire)


def lived(text: str, zone: str, chance: random.Random) -> list[datetime]:
    """26 months, woken at the moment itself or up to three days late."""
    life = Life(text, zone).begin(BEGIN)
    limits = replace(LIMITS, missed_moments=1_000)
    while life.due is not None and life.due < END:
        late = chance.choice([timedelta(0), chance.random() * DAY, 3 * DAY])
        life.wake(life.due + late + timedelta(milliseconds=3), limits)
    assert not life.reasons
    assert sorted(set(life.fired)) == life.fired
    return [moment for moment in life.fired if moment < END]


@pytest.mark.parametrize("zone", ZONES)
def test_twenty_six_months_of_schedules_miss_nothing_and_repeat_nothing(zone: str) -> None:
    chance, place = random.Random(zone), ZoneInfo(zone)

    daily = lived("30 2 * * *", zone, chance)
    days = [moment.astimezone(place).date() for moment in daily]
    assert days == list(calendar(days[0], days[-1]))
    assert days[0] <= BEGIN.astimezone(place).date() + DAY
    assert days[-1] >= END.astimezone(place).date() - DAY

    hourly = lived("0 * * * *", zone, chance)
    assert hourly == [
        instant for instant in quarters_of(BEGIN, END) if instant.astimezone(place).minute == 0
    ]

    # Every zone here keeps to quarters of an hour, so elapsed time does too.
    quarters = lived("*/15 * * * *", zone, chance)
    assert {later - earlier for earlier, later in pairwise(quarters)} == {timedelta(minutes=15)}
    assert quarters[0] - BEGIN < timedelta(minutes=15)
    assert END - quarters[-1] <= timedelta(minutes=15)


def calendar(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + DAY * number


def quarters_of(first: datetime, until: datetime) -> Iterator[datetime]:
    """Every quarter of an hour: where whole hours of all zones lie."""
    instant = first.replace(second=0)
    while instant < until:
        if instant > first:
            yield instant
        instant += timedelta(minutes=15)


@pytest.mark.parametrize("step", [timedelta(hours=-1), -SECOND])
@pytest.mark.parametrize("text", ["* * * * *", "*/15 * * * *", "0 * * * *", "30 2 * * *"])
def test_a_clock_that_is_set_back_repeats_and_loses_nothing(text: str, step: timedelta) -> None:
    life = Life(text, "Europe/Berlin", "skip").begin(BEGIN)
    span = DAY * (3 if text.startswith("30") else 0) + timedelta(hours=5)
    now, until = BEGIN, BEGIN + span
    while now < until:
        life.wake(now)
        now += 20 * SECOND
    now, until = now + step, now + span
    while now < until:
        life.wake(now)
        now += 20 * SECOND
    assert not life.reasons
    assert life.fired == asked(parse_cron(text), "Europe/Berlin", BEGIN, now - 20 * SECOND)


@pytest.mark.parametrize(
    ("misfire", "step", "fired", "reasons"),
    [
        ("skip", timedelta(hours=1), 0, {"missed_skip": 4}),
        ("fire_once", timedelta(hours=1), 1, {"missed_superseded": 3}),
        ("fire_all", timedelta(hours=1), 4, {}),
        ("skip", 3 * DAY, 0, {"missed_skip": 288}),
        ("fire_once", 3 * DAY, 1, {"missed_superseded": 3, "missed_too_old": 284}),
        ("fire_all", 3 * DAY, 4, {"missed_too_old": 284}),
    ],
)
def test_a_clock_that_is_set_forward_follows_the_catch_up_policy(
    misfire: Misfire, step: timedelta, fired: int, reasons: dict[str, int]
) -> None:
    life = Life("*/15 * * * *", "Europe/Berlin", misfire, timedelta(hours=1)).begin(BEGIN)
    now = BEGIN + timedelta(minutes=14, seconds=31)
    assert len(life.wake(now)) == 1
    stepped = now + timedelta(minutes=1) + step
    assert len(life.wake(stepped)) == fired
    assert life.reasons == Counter(reasons)
    assert life.due is not None
    assert life.due > stepped
