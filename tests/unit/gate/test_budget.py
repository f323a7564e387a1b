"""A purse: what fits, what is crossed and what is reached, for the run and for its steps."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.errors import OverBudget
from mainspring.gate.budget import Purse, StepBound
from mainspring.gate.step_bounds import place_of

ONE = Decimal(1)


def _bound(cap: str = "0.5", step: str = "a") -> StepBound:
    return StepBound(step, Decimal(cap), (step,))


def _code(problem: OverBudget | None) -> str | None:
    return None if problem is None else problem.code


def test_whatever_is_spent_counts_for_every_step_around_it() -> None:
    purse = Purse(ONE, bounds=[_bound("0.5", "outer"), _bound("0.3", "inner")])
    purse.reserve(Decimal("0.3"))
    with pytest.raises(OverBudget) as refused:
        purse.reserve(Decimal("0.1"))
    assert (refused.value.code, "'inner'" in refused.value.detail) == ("step_budget", True)
    purse.settle(Decimal("0.3"), Decimal("0.2"))
    assert [bound.spent for bound in purse.bounds] == [Decimal("0.2")] * 2
    assert purse.step_crossed() is None
    purse.bounds.pop()
    purse.reserve(Decimal("0.3"))
    purse.settle(Decimal("0.3"), Decimal("0.4"))
    assert _code(purse.step_crossed()) == _code(purse.used_up()) == "step_budget"
    with pytest.raises(OverBudget):
        purse.reserve()


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=30
    )
)  # fmt: skip
def test_what_obeys_its_promise_never_crosses_a_cap(calls: list[tuple[int, int]]) -> None:
    purse = Purse(Decimal(200), bounds=[_bound("100")])
    for promised, spent in calls:
        most = Decimal(promised)
        try:
            purse.reserve(most)
        except OverBudget:
            continue
        purse.settle(most, min(most, Decimal(spent)))
    assert purse.reserved == 0
    assert purse.bounds[0].spent == purse.spent <= 100
    assert purse.step_crossed() is None


def test_a_cap_is_reached_before_it_is_crossed() -> None:
    table = [
        (Purse(ONE, ONE), "run_budget", None),
        (Purse(ONE, Decimal("0.5"), bounds=[_bound()]), None, None),
        (Purse(ONE, Decimal("0.5"), day_cap=ONE, day_spent=ONE), "day_budget", None),
        (Purse(ONE, Decimal("0.5"), day_cap=ONE, day_spent=Decimal(2)), "day_budget", "day_budget"),
        (Purse(ONE, Decimal("0.5"), space_cap=ONE, space_spent=ONE), "workspace_budget", None),
        (Purse(ONE, Decimal("0.5"), space_cap=ONE, space_spent=Decimal(2)), "workspace_budget",
         "workspace_budget"),
        # Others have spent it all: who has spent nothing is not stopped, and cannot spend.
        (Purse(ONE, space_cap=ONE, space_spent=ONE), None, None),
        (Purse(ONE, token_cap=5, tokens=5), "llm_tokens", "llm_tokens"),
    ]  # fmt: skip
    for purse, reached, crossed in table:
        assert (_code(purse.used_up()), _code(purse.crossed())) == (reached, crossed), purse


def test_last_words_cost_nothing_whatever_was_spent() -> None:
    purse = Purse(ONE, Decimal(2), token_cap=5, tokens=9)
    with pytest.raises(OverBudget):
        purse.reserve()
    purse.part()
    purse.reserve()
    assert purse.used_up() is None
    with pytest.raises(OverBudget):
        purse.reserve(Decimal("0.01"))
    # What they say of a model of their own is money all the same.
    purse.settle(Decimal(0), Decimal("0.01"))
    assert _code(purse.used_up()) == "llm_tokens"


def test_the_caps_around_a_step_are_read_from_its_definition() -> None:
    inner = {"step_id": "inner", "action": "x", "budget_cap_usd": "0.1", "config": {}}
    # What looks like a step in a config of another action is data.
    data = {"step_id": "data", "action": "x", "config": {"steps": [{"step_id": "fake"}]}}
    each = {
        "step_id": "each", "action": "for_each", "budget_cap_usd": "0.5",
        "config": {"items": [], "steps": [inner, data]},
    }  # fmt: skip
    last = {"step_id": "last", "action": "x", "config": {}}
    document = {"plan": [each], "execution": {"on_failure": [last]}}
    place = place_of(document, "inner")
    assert [(one.step, one.cap, one.covers) for one in place.bounds] == [
        ("each", Decimal("0.5"), ("each", "inner", "data")), ("inner", Decimal("0.1"), ("inner",)),
    ]  # fmt: skip
    assert not place.last_words
    assert [one.step for one in place_of(document, "data").bounds] == ["each"]
    assert place_of(document, "last").last_words
    for unknown in ("fake", "nobody"):
        assert place_of(document, unknown).bounds == ()
