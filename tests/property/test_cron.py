"""Cron against an oracle that looks at every minute of a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.definition.cron import Cron, parse_cron

MINUTE = timedelta(minutes=1)
# A zone and a moment shortly before its clocks change.
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 24, 12, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 7, 18, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 31, 18, tzinfo=UTC)),
    # Half an hour only.
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 2, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 2, tzinfo=UTC)),
    # Twice a year, around Ramadan, with the standard time being the summer one.
    ("Africa/Casablanca", datetime(2026, 2, 14, 12, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 3, 21, 12, tzinfo=UTC)),
    # At midnight: a day that begins at one o'clock, and one that ends twice.
    ("Africa/Cairo", datetime(2026, 4, 23, 12, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, 12, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 7, 18, tzinfo=UTC)),
    # A whole day that was left out.
    ("Pacific/Apia", datetime(2011, 12, 29, 12, tzinfo=UTC)),
    ("UTC", datetime(2026, 2, 28, 12, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2026, 6, 1, 12, tzinfo=UTC)),
]
STRETCH = timedelta(hours=50)


@dataclass(frozen=True)
class Fields:
    """The meaning of an expression, kept next to its text."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    elapsed: bool
    both_days: bool

    def fits(self, wall: datetime) -> bool:
        on_date = wall.day in self.days
        on_weekday = wall.isoweekday() % 7 in self.weekdays
        day = (on_date and on_weekday) if self.both_days else (on_date or on_weekday)
        return wall.minute in self.minutes and wall.hour in self.hours and day


@st.composite
def field_texts(draw: st.DrawFn, low: int, high: int) -> tuple[str, frozenset[int]]:
    whole = range(low, high + 1)
    match draw(st.sampled_from(["star", "step", "one", "list", "range", "start"])):
        case "star":
            return "*", frozenset(whole)
        case "step":
            step = draw(st.integers(2, high))
            return f"*/{step}", frozenset(whole[::step])
        case "one":
            value = draw(st.sampled_from(whole))
            return str(value), frozenset({value})
        case "list":
            values = draw(st.lists(st.sampled_from(whole), min_size=1, max_size=4))
            return ",".join(map(str, values)), frozenset(values)
        case "range":
            first, last = sorted(draw(st.tuples(st.sampled_from(whole), st.sampled_from(whole))))
            step = draw(st.integers(1, 5))
            return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))
        case _:
            first, step = draw(st.sampled_from(whole)), draw(st.integers(1, 20))
            return f"{first}/{step}", frozenset(range(first, high + 1, step))


@st.composite
def expressions(draw: st.DrawFn) -> Fields:
    minute, minutes = draw(field_texts(0, 59))
    hour, hours = draw(field_texts(0, 23))
    day, days = draw(st.one_of(st.just(("*", frozenset(range(1, 32)))), field_texts(1, 31)))
    weekday, weekdays = draw(st.one_of(st.just(("*", frozenset(range(7)))), field_texts(0, 6)))
    if weekday.partition("/")[0].isdigit() and "/" in weekday:
        # From a start the steps run up to 7, which is Sunday again.
        first, step = map(int, weekday.split("/"))
        weekdays = frozenset(value % 7 for value in range(first, 8, step))
    return Fields(
        f"{minute} {hour} {day} * {weekday}",
        minutes,
        hours,
        days,
        weekdays,
        elapsed=hour.startswith("*"),
        both_days=day.startswith("*") or weekday.startswith("*"),
    )


@lru_cache(maxsize=len(CHANGES))
def minutes_around(zone: str, change: datetime) -> list[tuple[datetime, datetime]]:
    """Every minute from a day before to three days after, with its wall-clock time."""
    place = ZoneInfo(zone)
    instants = (change + MINUTE * number for number in range(-24 * 60, 76 * 60))
    return [(instant, instant.astimezone(place).replace(tzinfo=None)) for instant in instants]


def oracle(fields: Fields, zone: str, change: datetime, start: datetime) -> list[datetime]:
    """Every firing in the stretch after ``start``, by looking at each minute of it."""
    clock = minutes_around(zone, change)
    if fields.elapsed:
        fired = {instant for instant, wall in clock if fields.fits(wall)}
    else:
        fired = fixed_firings(fields, clock)
    return sorted(instant for instant in fired if start < instant <= start + STRETCH)


def fixed_firings(fields: Fields, clock: list[tuple[datetime, datetime]]) -> set[datetime]:
    fired = set()
    reached = clock[0][1]
    for instant, wall in clock[1:]:
        while reached < wall.replace(fold=0):
            reached += MINUTE
            if fields.fits(reached):
                fired.add(instant)
    return fired


def firings(cron: Cron, zone: str, start: datetime) -> list[datetime]:
    found = []
    timestamp: datetime | None = start
    while timestamp is not None:
        timestamp = cron.after(timestamp, zone)
        if timestamp is None or timestamp > start + STRETCH:
            break
        found.append(timestamp)
    return found


@pytest.mark.parametrize(("zone", "start"), CHANGES)
def test_fixed_and_wildcard_times_fire_as_the_oracle_says_around_clock_changes(
    zone: str, start: datetime
) -> None:
    everything = frozenset(range(1, 32)), frozenset(range(7))
    for minute, hour, minutes, hours in (
        ("30", "2", {30}, {2}),
        ("0", "0", {0}, {0}),
        ("15", "2", {15}, {2}),
        ("0,30", "1,2,3", {0, 30}, {1, 2, 3}),
        ("*/20", "0-3", {0, 20, 40}, {0, 1, 2, 3}),
        ("*/15", "*", {0, 15, 30, 45}, set(range(24))),
        ("30", "*/2", {30}, set(range(0, 24, 2))),
        ("10", "*/23", {10}, {0, 23}),
        ("*", "2", set(range(60)), {2}),
    ):
        fields = Fields(
            f"{minute} {hour} * * *",
            frozenset(minutes),
            frozenset(hours),
            *everything,
            elapsed=hour.startswith("*"),
            both_days=True,
        )
        assert firings(parse_cron(fields.text), zone, start) == oracle(
            fields, zone, start, start
        ), fields.text


@settings(max_examples=60, deadline=None)
@given(fields=expressions(), change=st.sampled_from(CHANGES), minutes=st.integers(0, 1440))
def test_every_expression_fires_as_the_oracle_says(
    fields: Fields, change: tuple[str, datetime], minutes: int
) -> None:
    zone, start = change[0], change[1] + MINUTE * minutes
    cron = parse_cron(fields.text)
    assert firings(cron, zone, start) == oracle(fields, zone, change[1], start)


@settings(max_examples=60, deadline=None)
@given(
    fields=expressions(),
    change=st.sampled_from(CHANGES),
    seconds=st.integers(0, 30 * 3600 * 10**6),
)
def test_the_next_firing_is_later_and_nothing_lies_between(
    fields: Fields, change: tuple[str, datetime], seconds: int
) -> None:
    moment = change[1] + timedelta(microseconds=seconds)
    following = parse_cron(fields.text).after(moment, change[0])
    assert following is not None
    assert following > moment
    assert following.second == following.microsecond == 0
    assert parse_cron(fields.text).after(following - timedelta(microseconds=1), change[0]) == (
        following
    )
