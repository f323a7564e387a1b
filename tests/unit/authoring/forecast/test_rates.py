"""How often it runs: schedules are counted, events are looked up, nothing is made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from croniter import croniter  # type: ignore[import-untyped]

from mainspring.authoring.forecast.rates import (
    RunRate,
    by_count,
    by_schedule,
    daily,
    rate_from_history,
    together,
    unknown,
)

NOW = datetime(2026, 11, 15, 18, 30, tzinfo=UTC)


def _schedule(cron: Any, zone: Any = "UTC") -> RunRate:
    return by_schedule({"cron": cron, "timezone": zone}, NOW)


@pytest.mark.parametrize("cron", ["0 9 * * 1-5", "*/7 1-3 * * *", "0 0 1 * *", "15 4,16 * * *"])
def test_a_schedule_is_counted_moment_by_moment(cron: str) -> None:
    walk, until = croniter(cron, NOW), NOW + timedelta(days=30)
    moments = []
    while (moment := walk.get_next(datetime)) < until:
        moments.append(moment)
    found = _schedule(cron)

    assert (found.low, found.usual, found.high) == (len(moments),) * 3
    assert found.basis == "schedule"


def test_a_moment_that_is_now_still_counts_and_one_in_thirty_days_does_not() -> None:
    assert _schedule("30 18 * * *").usual == 30


def test_a_schedule_for_another_season_does_not_run_this_month() -> None:
    assert _schedule("0 9 1 6 *").usual == 0


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        (None, "UTC"),
        ("0 9 * * *", None),
        ("nonsense", "UTC"),
        ("0 9 * * *", "Mars/Base"),
        (17, ["UTC"]),
        ("0 9 * * *", "../../etc"),
        ("0 9 * * *", "\x00"),
        ("0 0 30 2 *", "UTC"),
    ],
)
def test_a_schedule_with_a_gap_is_unknown_and_only_its_caps_bound_it(cron: Any, zone: Any) -> None:
    found = _schedule(cron, zone)

    assert (found.basis, found.open_ended, found.usual) == ("unknown", True, 0)
    assert found.why.endswith(".")


def test_events_of_some_days_become_a_month_with_a_range_around_it() -> None:
    even, uneven = by_count([10] * 7, "x"), by_count([0, 0, 0, 0, 0, 0, 70], "x")

    assert (even.usual, uneven.usual) == (300, 300)
    assert 200 < even.low < 300 < even.high < 400
    assert uneven.low == 0
    assert uneven.high > even.high
    assert "70 times in the last 7 days" in even.why


def test_what_was_never_seen_may_still_come() -> None:
    found = by_count([0] * 7, "page.ingested would have started it")

    assert (found.low, found.usual, found.basis) == (0, 0, "observed")
    assert found.high == 13


def test_only_whole_days_that_were_watched_are_counted_and_reported() -> None:
    moments = [NOW - timedelta(minutes=5 * number) for number in range(4)]
    moments.append(NOW - timedelta(days=2.4))

    assert daily(moments, NOW - timedelta(days=2.6), NOW) == [4, 0]
    assert daily(moments, NOW - timedelta(days=3), NOW) == [4, 0, 1]
    result = rate_from_history(moments, NOW - timedelta(days=2.6), NOW, "x")
    assert (result.usual, result.why) == (60, "x 4 times in the last 2 days.")


def test_a_period_of_less_than_a_day_is_reported_as_such() -> None:
    young = NOW - timedelta(minutes=10)
    nothing = rate_from_history([], young, NOW, "x")
    some = rate_from_history([NOW - timedelta(minutes=5)] * 4, young, NOW, "x")

    assert (nothing.basis, nothing.open_ended) == ("unknown", True)
    assert "not once, looking back less than 11 minutes" in nothing.why
    # Reckoned as if it were a day, and how many more may come is not known.
    assert (some.basis, some.usual, some.open_ended) == ("observed", 120, True)
    assert "4 times, looking back less than 11 minutes" in some.why
    assert "less than 3 hours" in rate_from_history([], NOW - timedelta(hours=2.5), NOW, "x").why
    assert "less than 1 minute," in rate_from_history([], NOW, NOW, "x").why


def test_several_triggers_add_up_and_are_as_sure_as_the_least_sure() -> None:
    morning, noon = _schedule("0 9 * * *"), _schedule("0 12 * * 1")
    both = together([morning, noon])

    assert both.usual == morning.usual + noon.usual
    assert both.basis == "schedule"

    with_caller = together([morning, unknown("Nobody knows.")])
    assert (with_caller.basis, with_caller.usual) == ("unknown", morning.usual)
    assert with_caller.open_ended


def test_equal_triggers_are_reported_with_their_count() -> None:
    twice = together([_schedule("0 9 * * *")] * 2)

    assert twice.usual == 60
    assert twice.why.startswith("Each of 2 triggers: ")
    assert "30 times" in twice.why
    assert together([unknown("Nobody knows.")] * 2).why == "Nobody knows."


def test_without_a_trigger_a_person_starts_it() -> None:
    found = together([])

    assert (found.basis, found.open_ended) == ("by_hand", True)
