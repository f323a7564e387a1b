"""Its own runs: which of them count, and what a month of them comes to."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mainspring.authoring.forecast.amounts import CostRange
from mainspring.authoring.forecast.costs import RunCost, StepCost, paying_of
from mainspring.authoring.forecast.definition_view import bounds_of
from mainspring.authoring.forecast.forecaster import (
    CostShape,
    PastRun,
    choose,
    cost_of_runs,
    measure_step,
    shape_of,
    span_of,
)
from mainspring.authoring.forecast.step_frequency import count_step_frequencies
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)


def _document(prompt: str = "Look.", **more: Any) -> dict[str, Any]:
    think = {"step_id": "think", "action": "agent_task", "config": {"prompt": prompt, **more}}
    say = {"step_id": "say", "action": "transform_data", "config": {"output": "x"}}
    return {"plan": [think, say]}


def _shaped(document: Mapping[str, Any]) -> CostShape:
    bounds = bounds_of(document)
    places = count_step_frequencies(document, bounds, WORDS, LIMITS)
    return shape_of(paying_of(places, bounds, WORDS, ()), bounds)


def _runs(document: Mapping[str, Any] | None, *costs: str, version: int = 1) -> list[PastRun]:
    return [PastRun(generate_id(), Decimal(cost), version, document) for cost in costs]


def test_runs_of_the_same_plan_count_whatever_else_was_changed() -> None:
    before = {**_document(), "triggers": [{"type": "webhook"}], "description": "Other words."}
    before["plan"][1]["config"] = {"output": "something else"}
    found = choose(_runs(before, "0.01", "0.02", "0.03"), _shaped(_document()), _shaped)

    assert found is not None
    assert not found.nearly
    result = cost_of_runs(found, bounds_of({}))
    assert (result.basis, result.span) == (
        "measured",
        CostRange(Decimal("0.01"), Decimal("0.02"), Decimal("0.03")),
    )
    assert result.why == (
        "Its last 3 live runs with the same paid steps cost $0.02 on average, from $0.01 to $0.03."
    )


def test_runs_with_another_prompt_are_reported_as_nearly_the_same() -> None:
    found = choose(_runs(_document("See."), "0.01", "0.02", "0.03"), _shaped(_document()), _shaped)

    assert found is not None
    assert found.nearly
    assert "nearly the same" in cost_of_runs(found, bounds_of({})).why


def test_runs_of_the_same_plan_are_preferred_to_earlier_ones() -> None:
    runs = [
        *_runs(_document(), "0.01", "0.01", "0.01", version=2),
        *_runs(_document("See."), "5", "5", "5"),
    ]
    found = choose(runs, _shaped(_document()), _shaped)

    assert found is not None
    assert [run.cost_usd for run in found.runs] == [Decimal("0.01")] * 3


def test_runs_with_another_model_too_few_runs_and_lost_definitions_tell_nothing() -> None:
    shape = _shaped(_document())
    costs = ("0.01", "0.02", "0.03")

    assert choose(_runs(_document(model="small"), *costs), shape, _shaped) is None
    assert choose(_runs(_document("Look. " * 3_000), *costs), shape, _shaped) is None
    assert choose(_runs(_document(), *costs[:2]), shape, _shaped) is None
    assert choose(_runs(None, *costs), shape, _shaped) is None
    assert choose([], shape, _shaped) is None


def test_one_run_far_out_among_many_is_left_out_of_the_range_but_not_of_the_average() -> None:
    costs = [Decimal(1), *[Decimal(5)] * 38, Decimal(49)]

    assert span_of(costs) == CostRange(Decimal(5), Decimal(6), Decimal(6))
    assert span_of(costs[-5:]) == CostRange(Decimal(5), Decimal("13.8"), Decimal(49))


def test_a_measured_range_stays_below_a_cap_that_was_lowered_since() -> None:
    found = choose(_runs(_document(), "0.5", "0.6", "0.7"), _shaped(_document()), _shaped)

    assert found is not None
    lowered = bounds_of({"execution": {"budget_cap_usd": "0.55"}})
    result = cost_of_runs(found, lowered)
    assert (result.span.low, result.span.high) == (Decimal("0.5"), Decimal("0.55"))
    # What they cost is reported as it was.
    assert "cost $0.60 on average, from $0.50 to $0.70. A run may cost $0.55 now" in result.why


def test_the_dearest_of_many_runs_is_reported_though_no_range_is_made_of_it() -> None:
    costs = ["0.01", *["0.04"] * 28, "0.9"]
    found = choose(_runs(_document(), *costs), _shaped(_document()), _shaped)

    assert found is not None
    result = cost_of_runs(found, bounds_of({}))
    assert result.span.high < Decimal("0.1")
    assert "30 live runs" in result.why
    assert "from $0.01 to $0.90. The range excludes outliers" in result.why


def test_one_run_that_cost_money_is_enough_to_call_a_plan_not_free() -> None:
    free = {"plan": [{"step_id": "say", "action": "transform_data", "config": {"output": 1}}]}

    assert choose(_runs(free, "0", "0"), _shaped(free), _shaped) is None
    found = choose(_runs(free, "0.25"), _shaped(free), _shaped)
    assert found is not None
    assert cost_of_runs(found, bounds_of({})).why.endswith("paid steps cost $0.25.")


def test_many_measured_runs_even_out_and_reckoned_ones_do_not() -> None:
    span = CostRange(Decimal(1), Decimal(2), Decimal(3))
    reckoned = RunCost(span, "bounded", "")
    measured = RunCost(span, "measured", "", Decimal(1), 100)

    assert reckoned.of_many(100, 100, 100) == CostRange(Decimal(100), Decimal(200), Decimal(300))
    even = measured.of_many(100, 100, 100)
    assert Decimal(170) < even.low < Decimal(173)
    assert Decimal(227) < even.high < Decimal(230)
    # What few runs told is worth less, and never more than the widest there is.
    assert RunCost(span, "measured", "", Decimal(1), 3).of_many(1, 1, 1) == span
    assert measured.of_many(0, 0, 0) == CostRange()


def test_a_step_is_measured_by_its_own_asks() -> None:
    found = choose(_runs(_document(), "0.5", "0.6", "0.7"), _shaped(_document()), _shaped)
    assert found is not None
    asked = StepCost("think", CostRange(high=Decimal(1)), "bounded", "")
    spent = dict(zip(found.ids, (Decimal(3), Decimal(6)), strict=False))

    bounds = bounds_of({"execution": {"budget_cap_usd": 9, "cost_cap_daily_usd": 5}})
    result = measure_step(asked, spent, found, bounds)
    assert (result.basis, result.span) == (
        "measured",
        CostRange(Decimal(0), Decimal(3), Decimal(5)),
    )
    assert measure_step(asked, {}, found, bounds) == asked
