"""A forecast says what is so: its numbers are those of its data, whatever the data are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import mean
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.forecast.costs import CostEvidence, cost_of, cost_of_run, paying_of
from mainspring.authoring.forecast.definition_view import bounds_of
from mainspring.authoring.forecast.forecast import CostForecast, build_forecast, caps_of
from mainspring.authoring.forecast.forecaster import MeasuredRuns, PastRun, cost_of_runs
from mainspring.authoring.forecast.rates import (
    RunRate,
    by_schedule,
    rate_from_history,
    together,
    unknown,
)
from mainspring.authoring.forecast.step_frequency import count_step_frequencies
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import Price
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)
KNOWN = CostEvidence(prices={"": Price(Decimal(3), Decimal(15))}, unpriced={"dear": "Not known."})
NOW = datetime(2026, 11, 15, 18, 30, tzinfo=UTC)
USD = r"\$([0-9][0-9,]*(?:\.[0-9]+)?)"

money = st.decimals(0, 200, places=4, allow_nan=False)
caps = st.sampled_from(["0", "0.0005", "0.1", "0.123", "1", "5", "17.77", "1234.4"])
prompts = st.fixed_dictionaries({"prompt": st.sampled_from(["Look.", "{{ inputs.x }}", ""])})
steps = st.fixed_dictionaries(
    {
        "step_id": st.just("one"),
        "action": st.sampled_from(["agent_task", "automation_llm_complete", "transform_data"]),
        "config": prompts,
    },
    optional={"when": st.just("{{ inputs.x }}"), "budget_cap_usd": caps},
)
crons = st.sampled_from(["0 9 * * *", "*/30 * * * 1", "0 0 31 * *", "0 9 1 6 *", "* * * * *"])
schedules = st.builds(lambda cron: by_schedule({"cron": cron, "timezone": "UTC"}, NOW), crons)
ages = st.timedeltas(timedelta(), timedelta(days=40))
watched = st.builds(
    lambda since, moments: rate_from_history(
        [NOW - ago for ago in moments], NOW - since, NOW, "It"
    ),
    ages,
    st.lists(ages, max_size=9),
)
rates = st.lists(st.one_of(schedules, watched, st.just(unknown("Nobody knows."))), max_size=3)


def _forecast(
    document: dict[str, Any],
    found: Sequence[RunRate],
    costs: Sequence[Decimal],
    space: Decimal | None,
) -> CostForecast:
    bounds, rate = bounds_of(document, space), together(found)
    paying = paying_of(count_step_frequencies(document, bounds, WORDS, LIMITS), bounds, WORDS, ())
    each = [cost_of(step, bounds, WORDS, KNOWN) for step in paying]
    run = cost_of_run(each, bounds)
    if costs:
        run = cost_of_runs(_past(costs), bounds)
    return build_forecast(rate, run, each, caps_of(bounds, rate), [], space)


def _past(costs: Sequence[Decimal]) -> MeasuredRuns:
    return MeasuredRuns([PastRun(generate_id(), cost, 1, {}) for cost in costs], nearly=False)


def _number(found: str) -> Decimal:
    return Decimal(found.replace(",", ""))


def _holds(message: str, pattern: str) -> list[Decimal]:
    found = re.search(pattern, message)
    return [] if found is None else [_number(one) for one in found.groups()]


def _near(told: Decimal, real: Decimal) -> bool:
    """What is said in two digits or more lies within a tenth."""
    return abs(told - real) <= real / 10 + Decimal("0.000001")


@given(
    plan=st.lists(steps, max_size=3),
    execution=st.fixed_dictionaries(
        {}, optional={"budget_cap_usd": caps, "cost_cap_daily_usd": caps, "model": st.just("dear")}
    ),
    found=rates,
    costs=st.lists(money, max_size=45),
    space=st.none() | money,
)
@settings(max_examples=150, deadline=None)
def test_every_number_of_a_forecast_is_that_of_its_data(
    plan: list[Any],
    execution: dict[str, Any],
    found: list[RunRate],
    costs: list[Decimal],
    space: Decimal | None,
) -> None:
    result = _forecast({"plan": plan, "execution": execution}, found, costs, space)
    run_usd = Decimal(execution.get("budget_cap_usd", 1))
    day_usd = Decimal(execution.get("cost_cap_daily_usd", 1))
    day_usd = day_usd if space is None else min(day_usd, space)
    only_schedules = bool(found) and all(rate.basis == "schedule" for rate in found)
    allowed = day_usd * 30
    if only_schedules and result.rate.high:
        allowed = min(allowed, run_usd * result.rate.high)

    assert result.caps.month == allowed
    assert 0 <= result.month.low <= result.month.usual <= result.month.high <= allowed
    assert ("on its schedule" in result.sentence) <= (only_schedules and allowed < day_usd * 30)
    for most in _holds(result.sentence, f"at most {USD} by its caps"):
        assert most >= allowed
        assert _near(most, allowed)
        assert result.caps.by_schedule == ("manual runs come on top" in result.sentence)
    for low, high in [_holds(result.sentence, f"between {USD} and {USD} ")] * (
        "between" in result.sentence
    ):
        assert low <= result.month.low <= result.month.high <= high
    for runs in _holds(result.sentence, r", ([0-9,]+) runs?\)"):
        assert runs == result.rate.usual == sum(rate.usual for rate in found)
    if not result.rate.open_ended and not result.rate.high and result.run.basis != "free":
        assert result.sentence.startswith("Not due in the next 30 days")
    if allowed:
        assert "at most $0 by its caps" not in result.sentence


@given(costs=st.lists(money, min_size=2, max_size=60), cap=caps)
@settings(max_examples=100, deadline=None)
def test_run_costs_are_reported_as_recorded(costs: list[Decimal], cap: str) -> None:
    bounds = bounds_of({"execution": {"budget_cap_usd": cap, "cost_cap_daily_usd": 9999}})
    result = cost_of_runs(_past(costs), bounds)
    pattern = f"Its last ([0-9]+) live runs .* cost {USD} on average, from {USD} to {USD}\\."
    number, average, least, most = _holds(result.why, pattern)

    assert number == len(costs)
    assert _near(average, mean(costs))
    assert least <= min(costs)
    assert max(costs) <= most
    assert _near(least, min(costs))
    assert _near(most, max(costs))
    assert result.span.high <= Decimal(cap)
    assert ("so no more is reckoned" in result.why) == (max(costs) > Decimal(cap))


@given(since=ages, moments=st.lists(ages, max_size=9))
@settings(max_examples=100, deadline=None)
def test_what_was_seen_was_seen_in_the_stretch_that_is_named(
    since: timedelta, moments: list[timedelta]
) -> None:
    inside = [ago for ago in moments if ago <= since]
    result = rate_from_history([NOW - ago for ago in inside], NOW - since, NOW, "It").why
    words = {"not once": 0, "once": 1, "twice": 2}
    times = re.match("It (not once|once|twice|[0-9]+ times)", result)
    assert times is not None
    named = times[1]
    number = words[named] if named in words else int(named.split()[0])
    if whole := re.search("in the last (?:day|([0-9]+) days)", result):
        stretch = timedelta(days=int(whole[1] or 1))
        assert stretch <= since
        assert number == sum(ago < stretch for ago in inside)
    else:
        short = re.search("looking back less than ([0-9]+) (minute|hour)", result)
        assert short is not None
        unit = timedelta(**{f"{short[2]}s": 1})
        assert since < int(short[1]) * unit <= since + unit
        assert number == len(inside)
