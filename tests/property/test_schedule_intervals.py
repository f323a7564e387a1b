"""Intervals, excluded days and jitter through years and clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.definition.schedules import Schedule, parse_schedule
from tests.property.test_schedules import ZONES


def _wall(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day)  # noqa: DTZ001 - hypothesis takes bounds without a zone


TICK = timedelta(microseconds=1)
zones = st.sampled_from(ZONES)
instants = st.datetimes(_wall(2024, 1, 1), _wall(2030, 1, 1), timezones=st.just(UTC))
anchors = st.datetimes(_wall(2023, 1, 1), _wall(2027, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0).isoformat()
)
days_or_weeks = st.one_of(
    st.integers(1, 40).map(lambda number: f"{number}d"),
    st.integers(1, 9).map(lambda number: f"{number}w"),
)
minutes_or_hours = st.one_of(
    st.integers(1, 5_000).map(lambda number: f"{number}m"),
    st.integers(1, 100).map(lambda number: f"{number}h"),
)


def length(interval: str) -> timedelta:
    unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[interval[-1]]
    return timedelta(**{unit: int(interval[:-1])})


@settings(max_examples=200, deadline=None)
@given(zone=zones, every=days_or_weeks, anchor=anchors, now=instants)
def test_days_and_weeks_are_exactly_that_far_apart_on_the_calendar(
    zone: str, every: str, anchor: str, now: datetime
) -> None:
    schedule = parse_schedule({"every": every, "anchor": anchor, "timezone": zone})
    found = list(islice(schedule.iterate(now), 60))
    assert len(found) == 60
    assert all(earlier < later for earlier, later in pairwise([now, *found]))
    place, clock = ZoneInfo(zone), datetime.fromisoformat(anchor)
    local = [moment.astimezone(place) for moment in found]
    usual = [one for one in local if one.time() == clock.time()]
    # Only a time that a clock change skips is moved, and to a later one.
    for moved in (one for one in local if one.time() != clock.time()):
        wall = datetime.combine(moved.date(), clock.time())
        if wall > moved.replace(tzinfo=None):
            wall -= timedelta(days=1)
        assert (
            wall.replace(tzinfo=place).astimezone(UTC).astimezone(place).replace(tzinfo=None)
            != wall
        )
    for one in usual:
        assert (one.date() - clock.date()) % length(every) == timedelta(0)
        assert one.fold == 0
    for earlier, later in pairwise(usual):
        assert (later.date() - earlier.date()) % length(every) == timedelta(0)


@settings(max_examples=200, deadline=None)
@given(zone=zones, every=minutes_or_hours, anchor=anchors, now=instants)
def test_minutes_and_hours_are_exactly_that_far_apart_in_elapsed_time(
    zone: str, every: str, anchor: str, now: datetime
) -> None:
    schedule = parse_schedule({"every": every, "anchor": anchor, "timezone": zone})
    found = schedule.next_fire_times(now, 50)
    assert len(found) == 50
    assert found[0] > now
    assert {later - earlier for earlier, later in pairwise(found)} == {length(every)}
    first = schedule.after(datetime(2000, 1, 1, tzinfo=UTC))
    assert first is not None
    assert (found[0] - first) % length(every) == timedelta(0)
    assert found[0] == first or found[0] - now <= length(every)


dates = st.dates(date(2025, 1, 1), date(2025, 12, 31))
parts = st.one_of(
    st.sampled_from(["0 9 * * *", "*/20 * * * *", "30 2 * * *", "0 0 * * 1"]).map(
        lambda cron: {"cron": cron}
    ),
    st.builds(lambda every, anchor: {"every": every, "anchor": anchor}, days_or_weeks, anchors),
    st.sampled_from(["7h", "90m", "45m"]).map(lambda every: {"every": every}),
    st.lists(instants.map(lambda one: one.isoformat()), min_size=1, max_size=3).map(
        lambda moments: {"at": moments}
    ),
)
excluded = st.one_of(
    st.none(),
    st.builds(
        lambda days, regions: {"dates": [str(day) for day in days], "holidays": regions},
        st.lists(dates, max_size=5),
        st.sampled_from([[], ["DE-BY"], ["US", "JP"]]),
    ),
)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    config: dict[str, Any] = {
        "times": draw(st.lists(parts, min_size=1, max_size=3)),
        "timezone": draw(zones),
    }
    left_out = draw(excluded)
    if left_out is not None:
        config["except"] = left_out
    if draw(st.booleans()) and len(config["times"]) == 1:
        config["jitter"] = draw(st.sampled_from(["7s", "20m"]))
    return parse_schedule(config, "some trigger")


@settings(max_examples=150, deadline=None)
@given(
    schedule=schedules(),
    first=st.datetimes(_wall(2024, 12, 1), _wall(2026, 1, 1), timezones=st.just(UTC)),
    hours=st.integers(0, 24 * 40),
)
def test_walking_and_counting_name_what_asking_one_by_one_names(
    schedule: Schedule, first: datetime, hours: int
) -> None:
    until = first + timedelta(hours=hours)
    slow, moment = [], schedule.after(first - TICK)
    while moment is not None and moment < until:
        slow.append(moment)
        moment = schedule.after(moment)
    assert list(schedule.between(first, until)) == slow
    assert schedule.count(first, until) == len(slow)
    place = ZoneInfo(schedule.zone)
    if not schedule.jitter:
        assert not any(schedule.excluded.covers(one.astimezone(place).date()) for one in slow)
