"""The answer: a month next to its caps, and one sentence for a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mainspring.authoring.forecast.amounts import Basis, CostRange
from mainspring.authoring.forecast.costs import RunCost, StepCost, cost_of_run
from mainspring.authoring.forecast.definition_view import bounds_of
from mainspring.authoring.forecast.forecast import CostForecast, build_forecast, caps_of
from mainspring.authoring.forecast.rates import RunRate, by_count, by_schedule, together, unknown
from mainspring.authoring.forecast.schemas import FORECAST_SCHEMA
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema

NOW = datetime(2026, 11, 15, 18, 30, tzinfo=UTC)
WEEKDAYS = by_schedule({"cron": "0 9 * * 1-5", "timezone": "UTC"}, NOW)
NOTHING_KNOWN = unknown("How often its webhook is called is not known.")


def _run(low: str, usual: str, high: str, basis: Basis = "bounded") -> RunCost:
    return RunCost(CostRange(Decimal(low), Decimal(usual), Decimal(high)), basis, "Why.")


def _made(
    rate: RunRate, run: RunCost, space: Decimal | None = None, **execution: Any
) -> CostForecast:
    bounds = bounds_of({"execution": execution}, space)
    step = StepCost("one", run.span, run.basis, "Why.")
    return build_forecast(rate, run, [step], caps_of(bounds, rate), ["A note."], space)


def test_the_sentence_says_the_month_the_run_the_range_and_the_caps() -> None:
    result = _made(WEEKDAYS, _run("0.01", "0.027", "0.1"))

    assert result.sentence == (
        "About $0.59 a month, between $0.22 and $2.20 ($0.027 a run, 22 runs), at most $22 by "
        "its caps on its schedule; manual runs come on top."
    )
    assert result.as_dict()["usd_per_month"] == {"low": "0.22", "usual": "0.594", "high": "2.2"}


def test_a_month_is_never_above_its_caps() -> None:
    hourly = by_schedule({"cron": "0 * * * *", "timezone": "UTC"}, NOW)
    result = _made(hourly, _run("0.5", "0.8", "1"))

    assert result.caps.month == 30
    assert result.month == CostRange(Decimal(30), Decimal(30), Decimal(30))
    assert any("more than its caps allow" in note for note in result.notes)
    assert result.sentence.startswith("About $30 a month (")


@pytest.mark.parametrize(
    "rate",
    [
        NOTHING_KNOWN,
        together([]),
        by_count([0] * 30, "x"),
        by_count([1] * 30, "x"),
        together([WEEKDAYS, by_count([0] * 30, "x")]),
        together([WEEKDAYS, NOTHING_KNOWN]),
        replace(by_count([1], "x"), basis="by_hand"),
    ],
)
def test_what_was_seen_lately_bounds_nothing_so_the_caps_are_those_of_every_day(
    rate: RunRate,
) -> None:
    result = _made(rate, _run("0.01", "0.02", "0.1"), budget_cap_usd=1, cost_cap_daily_usd=5)

    assert result.caps.month == 150
    assert "at most $150 by its caps" in result.sentence
    assert "schedule" not in result.sentence


def test_a_run_that_lasts_into_another_day_is_held_to_its_own_cap() -> None:
    weekly = by_schedule({"cron": "0 9 * * 1", "timezone": "UTC"}, NOW)
    result = _made(weekly, _run("0", "0", "1", "unknown"), budget_cap_usd=5, cost_cap_daily_usd=1)

    assert result.caps.month == 5 * weekly.high
    assert result.caps.by_schedule


def test_a_workspace_that_allows_less_in_a_day_lowers_the_caps_and_says_so() -> None:
    result = _made(WEEKDAYS, _run("0.01", "0.02", "1"), Decimal("0.1"))

    assert result.as_dict()["caps"] == {
        "usd_per_run": "1",
        "usd_per_day": "0.1",
        "usd_per_month": "3",
    }
    assert any("others share" in note for note in result.notes)
    assert result.month.high == 3


def test_what_nobody_counts_is_said_for_one_run_up_to_the_caps() -> None:
    hook, by_hand = _made(NOTHING_KNOWN, _run("0.01", "0.02", "0.1")), together([])

    assert hook.month == CostRange(Decimal("0.01"), Decimal("0.02"), Decimal(30))
    assert hook.sentence == (
        "About $0.02 a run, and how often it runs is not known; at most $30 by its caps in 30 days."
    )
    assert "a person starts it" in _made(by_hand, _run("0.01", "0.02", "0.1")).sentence


def test_a_schedule_with_a_webhook_is_counted_and_the_rest_left_to_the_caps() -> None:
    result = _made(together([WEEKDAYS, NOTHING_KNOWN]), _run("0.01", "0.02", "0.1"))

    assert result.month == CostRange(Decimal("0.22"), Decimal("0.44"), Decimal(30))
    assert any("how many more" in note for note in result.notes)


def test_a_schedule_of_another_season_says_that_it_does_not_run_now() -> None:
    june = by_schedule({"cron": "0 9 1 6 *", "timezone": "UTC"}, NOW)
    result = _made(june, _run("0.01", "0.02", "0.1"))

    assert result.month == CostRange()
    assert result.sentence == (
        "Not due in the next 30 days; about $0.02 a run, at most $1 by its cap."
    )
    dear = _made(june, _run("0", "0", "1", "unknown"))
    assert dear.sentence == (
        "Not due in the next 30 days; what a run costs is not known before it runs, at most $1 by "
        "its cap."
    )
    assert dear.caps.month == 30


def test_free_is_free_however_often() -> None:
    result = _made(NOTHING_KNOWN, cost_of_run([], bounds_of({})))

    assert result.month == CostRange()
    assert result.sentence.startswith("It costs nothing")


def test_what_is_not_known_at_all_is_not_said_as_nothing() -> None:
    result = _made(WEEKDAYS, _run("0", "0", "1", "unknown"))

    assert "not known before it runs" in result.sentence
    assert "$22" in result.sentence
    assert result.month.high == 22


def test_every_answer_fits_its_schema() -> None:
    assert check_schema(FORECAST_SCHEMA, Limits()) == []
    judge = compile_schema(FORECAST_SCHEMA, Limits())
    for rate in (WEEKDAYS, NOTHING_KNOWN, together([])):
        for run in (_run("0", "0.0000001", "123456.7"), RunCost(CostRange(), "free", "Why.")):
            result = _made(rate, run).as_dict()
            assert judge.findings(result, "") == []
            assert judge.findings({**result, "more": 1}, "") != []
