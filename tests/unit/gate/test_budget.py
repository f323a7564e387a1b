"""A budget: what fits, what is crossed and what is reached, for the run and for its steps."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.errors import BudgetExceeded
from mainspring.gate.run_budget import (
    RunBudget,
    StepBudget,
    find_step_budgets,
    tokens_exhausted_error,
)

ONE = Decimal(1)


def _bound(cap: str = "0.5", step: str = "a") -> StepBudget:
    return StepBudget(step, Decimal(cap), (step,))


def _code(problem: BudgetExceeded | None) -> str | None:
    return None if problem is None else problem.code


def test_whatever_is_spent_counts_for_every_step_around_it() -> None:
    budget = RunBudget(ONE, bounds=[_bound("0.5", "outer"), _bound("0.3", "inner")])
    budget.reserve(Decimal("0.3"))
    with pytest.raises(BudgetExceeded) as refused:
        budget.reserve(Decimal("0.1"))
    assert (refused.value.code, "'inner'" in refused.value.detail) == ("step_budget", True)
    budget.settle(Decimal("0.3"), Decimal("0.2"))
    assert [bound.spent for bound in budget.bounds] == [Decimal("0.2")] * 2
    assert budget.step_crossed() is None
    budget.bounds.pop()
    budget.reserve(Decimal("0.3"))
    budget.settle(Decimal("0.3"), Decimal("0.4"))
    assert _code(budget.step_crossed()) == _code(budget.used_up()) == "step_budget"
    with pytest.raises(BudgetExceeded):
        budget.reserve()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=30))
def test_what_obeys_its_promise_never_crosses_a_cap(calls: list[tuple[int, int]]) -> None:
    budget = RunBudget(Decimal(200), bounds=[_bound("100")])
    for promised, spent in calls:
        most = Decimal(promised)
        try:
            budget.reserve(most)
        except BudgetExceeded:
            continue
        budget.settle(most, min(most, Decimal(spent)))
    assert budget.reserved == 0
    assert budget.bounds[0].spent == budget.spent <= 100
    assert budget.step_crossed() is None


def test_a_cap_is_reached_before_it_is_crossed() -> None:
    table = [
        (RunBudget(ONE, ONE), "run_budget", None),
        (RunBudget(ONE, Decimal("0.5"), bounds=[_bound()]), None, None),
        (RunBudget(ONE, Decimal("0.5"), day_cap=ONE, day_spent=ONE), "day_budget", None),
        (
            RunBudget(ONE, Decimal("0.5"), day_cap=ONE, day_spent=Decimal(2)),
            "day_budget",
            "day_budget",
        ),
        (RunBudget(ONE, Decimal("0.5"), space_cap=ONE, space_spent=ONE), "workspace_budget", None),
        (
            RunBudget(ONE, Decimal("0.5"), space_cap=ONE, space_spent=Decimal(2)),
            "workspace_budget",
            "workspace_budget",
        ),
        # Others have spent it all: who has spent nothing is not stopped, and cannot spend.
        (RunBudget(ONE, space_cap=ONE, space_spent=ONE), None, None),
        (RunBudget(ONE, token_cap=5, tokens=5), "llm_tokens", "llm_tokens"),
    ]
    for budget, reached, crossed in table:
        assert (_code(budget.used_up()), _code(budget.find_crossed_cap())) == (reached, crossed), (
            budget
        )


def test_last_words_cost_nothing_whatever_was_spent() -> None:
    budget = RunBudget(ONE, Decimal(2), token_cap=5, tokens=9)
    with pytest.raises(BudgetExceeded):
        budget.reserve()
    budget.part()
    budget.reserve()
    assert budget.used_up() is None
    with pytest.raises(BudgetExceeded):
        budget.reserve(Decimal("0.01"))
    # What they say of a model of their own is money all the same.
    budget.settle(Decimal(0), Decimal("0.01"))
    assert _code(budget.used_up()) == "llm_tokens"


def test_the_caps_around_a_step_are_read_from_its_definition() -> None:
    inner = {"step_id": "inner", "action": "x", "budget_cap_usd": "0.1", "config": {}}
    # What looks like a step in a config of another action is data.
    data = {"step_id": "data", "action": "x", "config": {"steps": [{"step_id": "fake"}]}}
    each = {
        "step_id": "each",
        "action": "for_each",
        "budget_cap_usd": "0.5",
        "config": {"items": [], "steps": [inner, data]},
    }
    last = {"step_id": "last", "action": "x", "config": {}}
    document = {"plan": [each], "execution": {"on_failure": [last]}}
    place = find_step_budgets(document, "inner")
    assert [(one.step, one.cap, one.covers) for one in place.bounds] == [
        ("each", Decimal("0.5"), ("each", "inner", "data")),
        ("inner", Decimal("0.1"), ("inner",)),
    ]
    assert not place.last_words
    assert [one.step for one in find_step_budgets(document, "data").bounds] == ["each"]
    assert find_step_budgets(document, "last").last_words
    for unknown in ("fake", "nobody"):
        assert find_step_budgets(document, unknown).bounds == ()


def test_the_whole_cap_can_be_reserved_and_not_a_cent_more() -> None:
    budget = RunBudget(ONE, bounds=[_bound("1")])
    budget.reserve(ONE)
    with pytest.raises(BudgetExceeded) as refused:
        budget.reserve(Decimal("0.01"))
    assert refused.value.code == "run_budget"
    assert "this call can cost $0.01; it was not made" in refused.value.detail
    assert budget.reserved == ONE


def test_a_call_that_costs_nothing_is_made_until_the_cap_is_crossed() -> None:
    RunBudget(ONE, ONE).reserve()
    within = _bound("1")
    within.spent = ONE
    RunBudget(Decimal(9), bounds=[within]).reserve()
    with pytest.raises(BudgetExceeded, match=r"; this call was not made"):
        RunBudget(ONE, Decimal("1.01")).reserve()
    within.spent = Decimal("1.01")
    with pytest.raises(BudgetExceeded) as refused:
        RunBudget(Decimal(9), bounds=[within]).reserve()
    assert refused.value.code == "step_budget"


def test_a_budget_that_is_overspent_refuses_even_with_a_negative_reservation() -> None:
    with pytest.raises(BudgetExceeded):
        RunBudget(ONE, Decimal(2), reserved=Decimal(-2)).reserve()
    within = _bound("1")
    within.spent = Decimal(2)
    with pytest.raises(BudgetExceeded):
        RunBudget(Decimal(9), reserved=Decimal(-2), bounds=[within]).reserve()


def test_a_run_ends_when_a_cap_is_reached() -> None:
    within = _bound("0.5")
    within.spent = Decimal("0.5")
    budget = RunBudget(ONE, Decimal("0.5"), bounds=[_bound("0.9"), within])
    found = budget.used_up()
    assert found is not None
    assert found.detail == "Step 'a' spent $0.50 of its $0.50 budget and was stopped."
    assert budget.step_crossed() is None
    within.spent = Decimal("0.51")
    assert _code(budget.step_crossed()) == "step_budget"


def test_nothing_spent_reaches_no_cap() -> None:
    nothing = RunBudget(Decimal(0), day_cap=Decimal(0), space_cap=Decimal(0), bounds=[_bound("0")])
    assert nothing.used_up() is None
    assert nothing.find_crossed_cap() is None


def test_tokens_are_counted_up_to_their_cap() -> None:
    assert RunBudget(ONE, token_cap=5, tokens=4).out_of_tokens() is None
    assert RunBudget(ONE, tokens=10**9).out_of_tokens() is None
    found = RunBudget(ONE, token_cap=5, tokens=6).out_of_tokens()
    assert found is not None
    assert "may use 5 model tokens; 6 are" in found.detail
    assert "read up to" not in found.detail
    assert "read up to 7." in tokens_exhausted_error(1, 5, 7).detail


def test_last_words_begin_once() -> None:
    budget = RunBudget(ONE)
    budget.part()
    budget.spent, budget.tokens = ONE, 3
    budget.part()
    assert budget.parted == (Decimal(0), 0)
    assert _code(budget.used_up()) == "run_budget"


def test_a_run_has_no_cap_of_a_day_unless_it_is_given_one() -> None:
    rich = RunBudget(Decimal(10**12), day_spent=Decimal(10**9), space_spent=Decimal(10**9))
    assert rich.find_crossed_cap() is None


def test_a_day_or_a_step_that_has_money_left_goes_on() -> None:
    within = _bound("0.5")
    within.spent = Decimal("0.1")
    budget = RunBudget(ONE, Decimal("0.1"), day_cap=ONE, day_spent=Decimal("0.1"), bounds=[within])
    assert budget.used_up() is None
