"""Schedules: single moments, intervals, several times, excluded days and jitter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.definition.schedules import Schedule, describe_schedule, parse_schedule

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def schedule(zone: str = BERLIN, seed: str = "", **config: Any) -> Schedule:
    if "except_" in config:
        config["except"] = config.pop("except_")
    return parse_schedule({**config, "timezone": zone}, seed)


def following(read: Schedule, most: int = 3, now: datetime = NOW) -> list[str]:
    return [moment.strftime("%Y-%m-%dT%H:%M") for moment in read.next_fire_times(now, most)]


def test_a_moment_fires_once_in_its_time_zone() -> None:
    assert following(schedule(at="2026-11-19T15:00")) == ["2026-11-19T14:00"]
    assert following(schedule(at="2026-11-19T15:00:00Z")) == ["2026-11-19T15:00"]
    assert following(schedule(at="2026-11-18T13:00")) == []


def test_several_moments_fire_in_order_and_each_once() -> None:
    read = schedule(at=["2026-12-01T09:00", "2026-11-19T09:00", "2026-12-01T08:00:00Z"])
    assert following(read) == ["2026-11-19T08:00", "2026-12-01T08:00"]


@pytest.mark.parametrize(
    ("at", "instant"),
    [
        # 02:30 does not exist on the first day, and exists twice on the second.
        ("2026-03-29T02:30", "2026-03-29T01:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30"),
    ],
)
def test_a_local_moment_follows_the_policy_for_clock_changes(at: str, instant: str) -> None:
    assert following(schedule(at=at), now=datetime(2026, 1, 1, tzinfo=UTC)) == [instant]


def test_every_other_day_keeps_the_local_time_across_a_clock_change() -> None:
    read = schedule(every="2d", anchor="2026-03-26T09:00")
    found = following(read, 4, datetime(2026, 3, 1, tzinfo=UTC))
    assert found == [
        "2026-03-26T08:00",
        "2026-03-28T08:00",
        "2026-03-30T07:00",
        "2026-04-01T07:00",
    ]


def test_an_interval_in_hours_is_elapsed_time_across_a_clock_change() -> None:
    read = schedule(every="12h", anchor="2026-03-28T18:00")
    found = following(read, 3, datetime(2026, 3, 1, tzinfo=UTC))
    assert found == ["2026-03-28T17:00", "2026-03-29T05:00", "2026-03-29T17:00"]


def test_every_third_week_counts_from_its_anchor_and_never_before_it() -> None:
    read = schedule(every="3w", anchor="2026-12-04T16:00")
    assert following(read) == ["2026-12-04T15:00", "2026-12-25T15:00", "2027-01-15T15:00"]


def test_an_anchor_with_an_offset_is_a_local_time_of_the_zone() -> None:
    read = schedule(every="1d", anchor="2026-07-01T07:00:00Z")
    assert following(read, 1) == ["2026-11-19T08:00"]


def test_without_an_anchor_weeks_begin_on_monday_at_midnight() -> None:
    found = schedule("UTC", every="2w").next_fire_times(NOW, 4)
    assert {(one.weekday(), one.hour, one.minute) for one in found} == {(0, 0, 0)}


def test_several_times_are_one_schedule_and_coinciding_ones_fire_once() -> None:
    read = schedule(times=[{"cron": "0 9 * * *"}, {"every": "1d", "anchor": "2026-11-01T09:00"}])
    assert following(read) == ["2026-11-19T08:00", "2026-11-20T08:00", "2026-11-21T08:00"]
    mixed = schedule(times=[{"cron": "0 9 * * 1"}, {"at": "2026-11-19T15:00"}])
    assert following(mixed, 2) == ["2026-11-19T14:00", "2026-11-23T08:00"]


def test_excluded_dates_ranges_and_holidays_do_not_fire() -> None:
    read = schedule(cron="0 9 * * *", except_={"dates": ["2026-11-19", "2026-11-21/2026-12-24"]})
    assert following(read) == ["2026-11-20T08:00", "2026-12-25T08:00", "2026-12-26T08:00"]
    holidays = schedule(cron="0 9 * * *", except_={"holidays": ["DE-BY"]})
    # Epiphany is a holiday in Bavaria, and not in Berlin.
    after = datetime(2027, 1, 5, 12, tzinfo=UTC)
    assert following(holidays, 1, after) == ["2027-01-07T08:00"]
    berlin = schedule(cron="0 9 * * *", except_={"holidays": "DE-BE"})
    assert following(berlin, 1, after) == ["2027-01-06T08:00"]


def test_an_excluded_day_is_a_day_in_the_time_zone_of_the_schedule() -> None:
    read = schedule("America/New_York", cron="0 22 * * *", except_={"dates": ["2026-11-18"]})
    assert following(read, 1) == ["2026-11-20T03:00"]


def test_a_schedule_whose_every_time_is_excluded_has_no_next_one() -> None:
    assert following(schedule(cron="0 9 25 12 *", except_={"holidays": "DE"})) == []


def test_jitter_is_the_same_each_time_and_differs_between_triggers() -> None:
    one, other = (schedule(cron="0 * * * *", jitter="30m", seed=name) for name in "ab")
    now = NOW + timedelta(minutes=30)
    plain = schedule(cron="0 * * * *").next_fire_times(now, 24)
    first = one.next_fire_times(now, 24)
    assert first == one.next_fire_times(now, 24)
    assert first != other.next_fire_times(now, 24)
    delays = [moment - due for moment, due in zip(first, plain, strict=True)]
    assert all(timedelta(0) <= delay < timedelta(minutes=30) for delay in delays)
    assert len(set(delays)) > 10


def test_a_fire_time_that_was_delayed_is_found_from_every_instant_before_it() -> None:
    read = schedule(cron="0 9 * * *", jitter="2h", seed="trigger")
    moment = read.after(NOW)
    assert moment is not None
    tick = timedelta(microseconds=1)
    assert read.after(moment - tick) == moment
    later = read.after(moment)
    assert later is not None
    assert later - moment > timedelta(hours=21)


def test_without_a_trigger_the_times_have_no_jitter() -> None:
    read = schedule(cron="0 9 * * *", jitter="2h")
    assert following(read, 1) == ["2026-11-19T08:00"]


@pytest.mark.parametrize(
    ("config", "pointer", "code"),
    [
        ({}, "/cron", "required"),
        ({"cron": "0 9 * * *", "at": "2026-11-19T15:00"}, "/at", "schedule_times"),
        ({"cron": "0 9 * * *", "anchor": "2026-11-19T15:00"}, "/anchor", "schedule_times"),
        ({"cron": 5}, "/cron", "type"),
        ({"cron": "0 9 * *"}, "/cron", "cron_fields"),
        ({"at": []}, "/at", "schedule_moment"),
        ({"at": "2026-11-19"}, "/at", "schedule_moment"),
        ({"at": "tomorrow"}, "/at", "schedule_moment"),
        ({"at": "1815-06-18T11:00"}, "/at", "schedule_moment"),
        ({"at": ["2026-11-19T15:00", 5]}, "/at/1", "schedule_moment"),
        ({"every": "30s"}, "/every", "schedule_interval"),
        ({"every": "0m"}, "/every", "schedule_interval"),
        ({"every": "999999w"}, "/every", "schedule_interval"),
        ({"every": "2d", "anchor": "Monday"}, "/anchor", "schedule_moment"),
        ({"times": []}, "/times", "schedule_times"),
        ({"times": [5]}, "/times/0", "type"),
        ({"times": [{"cron": "@daily"}, {}]}, "/times/1/cron", "required"),
        ({"times": [{"times": []}]}, "/times/0/cron", "required"),
        ({"cron": "@daily", "jitter": "2d"}, "/jitter", "schedule_jitter"),
        ({"cron": "@daily", "jitter": "25h"}, "/jitter", "schedule_jitter"),
        ({"cron": "@daily", "except": []}, "/except", "type"),
        ({"cron": "@daily", "except": {"dates": "x"}}, "/except/dates", "schedule_dates"),
        ({"cron": "@daily", "except": {"dates": ["x"]}}, "/except/dates/0", "schedule_dates"),
        (
            {"cron": "@daily", "except": {"dates": ["2026-02-02/2026-02-01"]}},
            "/except/dates/0",
            "schedule_dates",
        ),
        ({"cron": "@daily", "except": {"holidays": "XX"}}, "/except/holidays", "unknown_holidays"),
        (
            {"cron": "@daily", "except": {"holidays": ["DE", "DE-XX"]}},
            "/except/holidays/1",
            "unknown_holidays",
        ),
        ({"cron": "@daily", "except": {"holidays": 5}}, "/except/holidays", "unknown_holidays"),
        ({"cron": "@daily", "except": {"holidays": [5]}}, "/except/holidays/0", "unknown_holidays"),
    ],
)
def test_a_config_that_is_no_schedule_is_refused_at_its_place(
    config: dict[str, Any], pointer: str, code: str
) -> None:
    with pytest.raises(Invalid) as caught:
        parse_schedule({**config, "timezone": BERLIN})
    assert [(one.pointer, one.code) for one in caught.value.findings] == [(pointer, code)]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"at": "2026-11-19T15:00"}, "once, on 19 November 2026 at 15:00"),
        (
            {"at": ["2026-11-19T15:00", "2026-12-01T09:00"]},
            (
                "2 times, the first on 19 November 2026 at 15:00 and the last on 1 December 2026 "
                "at 09:00"
            ),
        ),
        ({"every": "90m"}, "every 90 minutes"),
        (
            {"every": "1h", "anchor": "2026-11-19T15:30"},
            "every hour from 19 November 2026 at 15:30",
        ),
        (
            {"every": "2d", "anchor": "2026-11-02T09:00"},
            "every 2 days at 09:00, counted from 2 November 2026",
        ),
        ({"every": "1w"}, "every week at 00:00"),
        (
            {"cron": "*/30 * * * *", "except": {"holidays": ["DE-BY", "AT"]}, "jitter": "5m"},
            (
                "every 30 minutes, except on public holidays in DE-BY and AT, delayed by up to 5 "
                "minutes"
            ),
        ),
        (
            {"every": "1d", "except": {"dates": ["2026-12-24/2026-12-26"]}, "jitter": "1h"},
            (
                "every day at 00:00, except from 24 December 2026 to 26 December 2026, delayed by "
                "up to 1 hour"
            ),
        ),
        (
            {"every": "1d", "except": {"dates": ["2026-12-24", "2026-12-31"]}},
            "every day at 00:00, except on 2 dates or ranges",
        ),
        (
            {"times": [{"cron": "*/30 * * * *"}, {"every": "2h"}, {"at": "2026-11-19T15:00"}]},
            "every 30 minutes, every 2 hours and once, on 19 November 2026 at 15:00",
        ),
    ],
)
def test_a_schedule_is_described_in_a_sentence(config: dict[str, Any], sentence: str) -> None:
    assert describe_schedule(parse_schedule({**config, "timezone": BERLIN})) == sentence


def test_the_closest_two_fire_times_are_found_across_parts() -> None:
    assert schedule(at="2026-11-19T15:00").closest is None
    assert schedule(every="90m").closest == timedelta(minutes=90)
    both = schedule(times=[{"cron": "0 9 * * *"}, {"cron": "10 9 * * *"}])
    assert both.closest == timedelta(minutes=10)
