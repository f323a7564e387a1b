"""What a run costs: what each number rests on, and the caps that always hold."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from mainspring.authoring.forecast.costs import (
    CostEvidence,
    PastConversation,
    RunCost,
    StepCost,
    cost_of,
    cost_of_run,
    paying_of,
    same_model,
)
from mainspring.authoring.forecast.definition_view import bounds_of
from mainspring.authoring.forecast.step_frequency import count_step_frequencies
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import Price
from mainspring.registry import build_registry
from tests.kit.gate import Market

LIMITS = Limits()
WORDS = build_registry(LIMITS, capabilities=Market().capabilities())
PRICE = Price(Decimal(3), Decimal(15))
KNOWN = CostEvidence(prices={"": PRICE, "small": Price(Decimal("0.1"), Decimal("0.4"))})
LLM = "automation_llm_complete"
NONE, ONE = Decimal(0), Decimal(1)


def _step(action: str, config: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    given = {"step_id": more.pop("step_id", "one"), "action": action, "config": config or {}}
    return {**given, "max_retries": 0, **more}


def _agent(prompt: str = "Say what is new.", **more: Any) -> dict[str, Any]:
    return _step("agent_task", {"prompt": prompt, **more})


def _loop(items: Any, *steps: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return _step("for_each", {"items": items, "steps": list(steps)}, step_id="loop", **more)


def _costs(*plan: Any, known: CostEvidence = KNOWN, **execution: Any) -> list[StepCost]:
    document = {"plan": list(plan), "execution": execution}
    bounds = bounds_of(document)
    steps = paying_of(count_step_frequencies(document, bounds, WORDS, LIMITS), bounds, WORDS, ())
    return [cost_of(step, bounds, WORDS, known) for step in steps]


def _run(*plan: Any, known: CostEvidence = KNOWN, **execution: Any) -> RunCost:
    costs = _costs(*plan, known=known, **execution)
    return cost_of_run(costs, bounds_of({"execution": execution}))


def test_a_plan_that_asks_nobody_is_free() -> None:
    found = _run(_step("transform_data", {"output": 1}), _step("search", {"q": "x"}))

    assert found.basis == "free"
    assert found.span.high == 0


def test_an_agent_that_never_ran_is_reckoned_from_its_texts_and_bounded_by_its_caps() -> None:
    short, long = _run(_agent()), _run(_agent("Say what is new. " * 1_000))

    assert (short.basis, long.basis) == ("bounded", "bounded")
    assert 0 < short.span.low < short.span.usual < short.span.high
    # Seventeen thousand characters more are a little over four thousand tokens to read.
    more = (long.span.usual - short.span.usual) / PRICE.cost(4_250, 0)
    assert Decimal("0.9") < more < Decimal("1.1")
    assert short.span.high == 1
    assert _run(_agent(), budget_cap_usd="0.25").span.high == Decimal("0.25")
    assert _run(_agent(max_usd=0.1)).span.high == Decimal("0.1")
    assert _run({**_agent(), "budget_cap_usd": 0.05}).span.high == Decimal("0.05")
    # A run cannot spend more than its day.
    assert _run(_agent(), cost_cap_daily_usd="0.3").span.high == Decimal("0.3")


def test_tokens_bound_a_cheap_model_before_money_does() -> None:
    found = _run(_agent(model="small", max_turns=2, max_tokens=1_000), max_llm_tokens=10_000)

    assert found.span.high == KNOWN.prices["small"].cost(8_000, 2_000)
    tight = _run(_agent(model="small", max_total_tokens=500), max_llm_tokens=10_000)
    assert tight.span.high == KNOWN.prices["small"].cost(0, 500)


def test_tools_make_an_agent_read_more_and_more_often() -> None:
    alone, with_tools = _run(_agent()), _run(_agent(tools=["search", "get_page"]))

    assert with_tools.span.usual > alone.span.usual * 3


def test_what_an_expression_fills_in_is_reckoned_with() -> None:
    bare = _run(_agent(documents=[{"text": "x"}]))
    filled = _run(_agent(documents=[{"text": "{{ steps.read.pages }}"}]))

    assert filled.span.usual - bare.span.usual == PRICE.cost(2_000 - 1, 0)
    # The least is reckoned as if nothing came in.
    assert filled.span.low <= bare.span.low


def test_one_ask_without_expressions_is_bounded_by_what_it_sends_and_may_write() -> None:
    step = _step(LLM, {"prompt": "Hello", "max_tokens": 100, "model": "small"})
    found = _run(step)

    assert found.span.high == KNOWN.prices["small"].most(64 + 16 + 5, 100)
    again = _run({**step, "max_retries": 3})
    assert again.span.high == found.span.high * 4
    assert again.span.usual == found.span.usual


def test_items_of_a_loop_multiply_and_an_open_list_says_so() -> None:
    step = _step(LLM, {"prompt": "Hello", "max_tokens": 10, "model": "small"})
    one, three = _run(step), _run(_loop([1, 2, 3], step))
    [open_list] = _costs(_loop("{{ inputs.names }}", step))

    assert three.span.usual == one.span.usual * 3
    assert three.span.low == one.span.low * 3
    assert open_list.span.usual == one.span.usual * 5
    assert open_list.span.low == 0
    assert open_list.span.high > one.span.high * 500
    assert "items" in open_list.why
    capped = _costs(_loop("{{ inputs.names }}", step, budget_cap_usd="0.001"))
    assert capped[0].span.high == Decimal("0.001")


def test_a_condition_halves_the_low_end_alone() -> None:
    sure, maybe = _run(_agent()), _run({**_agent(), "when": "{{ inputs.x }}"})

    assert maybe.span.low == sure.span.low / 2
    assert maybe.span.usual == sure.span.usual


def test_where_every_step_has_a_condition_a_run_may_cost_nothing() -> None:
    sure = cost_of_run(_costs(_agent()), bounds_of({}))
    maybe = cost_of_run(_costs(_agent()), bounds_of({}), may_do_nothing=True)

    assert (sure.span.low > 0, maybe.span.low) == (True, NONE)
    assert maybe.span.usual == sure.span.usual
    assert "condition" in maybe.why


def test_steps_after_a_failure_belong_to_the_upper_end() -> None:
    step = _step(LLM, {"prompt": "Hello", "model": "small"})
    found = _run(_step("transform_data"), on_failure=[step])

    assert (found.span.low, found.span.usual) == (NONE, NONE)
    assert found.span.high > 0


def test_what_the_workspace_paid_for_the_same_model_counts_before_any_guess() -> None:
    asks = tuple(
        PastConversation("agent.run", "small-20260101", ((1_000 * n, 100, 0),) * 2)
        for n in (1, 2, 3)
    )
    known = CostEvidence(prices=KNOWN.prices, talks=asks)
    [found] = _costs(_agent(model="small"), known=known)
    price = KNOWN.prices["small"]

    assert found.basis == "similar"
    assert found.span.usual == price.cost(4_000, 200)
    assert found.span.low == price.cost(2_000, 200)
    assert "3 conversations" in found.why
    # Other models, other callers and too few tell nothing.
    for others in (
        asks[:2],
        tuple(PastConversation("x", "small", one.asks) for one in asks),
        tuple(PastConversation("agent.run", "large", one.asks) for one in asks),
    ):
        [other] = _costs(
            _agent(model="small"), known=CostEvidence(prices=KNOWN.prices, talks=others)
        )
        assert other.basis == "bounded"


def test_a_model_without_a_price_is_reported_and_left_to_the_caps() -> None:
    reason = "What 'gpt-x' costs is not known, so it would not be asked."
    [found] = _costs(_agent(model="gpt-x"), known=CostEvidence(unpriced={"gpt-x": reason}))

    assert (found.basis, found.span.usual, found.span.high) == ("unknown", NONE, ONE)
    assert found.note == reason


def test_a_model_that_the_run_decides_is_unknown() -> None:
    [found] = _costs(_agent(model="{{ inputs.model }}"))

    assert found.basis == "unknown"


def test_an_ask_that_its_cap_cannot_pay_for_is_reported_before_it_is_refused() -> None:
    [found] = _costs(_step(LLM, {"prompt": "Hello", "max_tokens": 1_000}), budget_cap_usd="0.01")

    assert "refused" in found.note
    assert "$0.015" in found.note
    assert _costs(_step(LLM, {"prompt": "Hello", "max_tokens": 10}))[0].note == ""


def test_a_call_with_a_price_is_bounded_by_it() -> None:
    [found] = _costs(_step("test.priced", {"most": "0.03"}))
    [gap] = _costs(_step("test.priced", {}))

    assert (found.basis, found.span.usual, found.span.high) == (
        "bounded",
        Decimal("0.03"),
        Decimal("0.03"),
    )
    assert (gap.basis, gap.span.high) == ("unknown", ONE)


@pytest.mark.parametrize("named", [{"grants": [{"tool": LLM}]}, {}])
def test_a_script_that_may_ask_a_model_is_unknown_up_to_its_caps(named: dict[str, Any]) -> None:
    source = 'import { brains } from "https://brains/sdks/automation-sdk-v1.ts";\n'
    asks = source + 'return await brains.automation_llm_complete({ prompt: "x" });'
    [found] = _costs(_step("script", {"source": asks, **named}))
    [free] = _costs(_step("script", {"source": source + "return 1;"}))

    assert (found.basis, found.span.low, found.span.high) == ("unknown", NONE, ONE)
    assert found.span.usual > 0
    assert free.basis == "free"
    # A script may print what a model of its own took; nobody can see that beforehand.
    assert "reports itself" in _run(_step("script", {"source": source + "return 1;"})).why


def test_a_run_is_as_sure_as_its_least_sure_step() -> None:
    assert _run(_agent(), _step("not.there")).basis == "unknown"
    assert _run(_agent(), _step("transform_data")).basis == "bounded"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("claude-x", "claude-x", True),
        ("claude-x-20260101", "claude-x", True),
        ("claude-x", "work/claude-x", True),
        ("claude-x-mini", "claude-x", False),
        ("", "", False),
        ("gpt-5", "gpt-5-1", True),
        ("gpt-5", "gpt-51", False),
    ],
)
def test_a_provider_may_add_its_date_to_the_name_of_a_model(
    one: str, other: str, same: bool
) -> None:
    assert same_model(one, other) is same


HOSTILE: list[Any] = [
    None,
    1,
    "x",
    [],
    [None],
    [[]],
    [{}],
    [{"action": None, "config": 3}],
    [{"action": "agent_task", "config": {"prompt": ["x"], "tools": {"a": 1}, "documents": "x"}}],
    [
        {
            "action": "agent_task",
            "config": {
                "prompt": "{{" * 50_000,
                "max_turns": 10**400,
                "max_tokens": -5,
                "max_usd": float("nan"),
                "max_total_tokens": True,
                "model": ["x"],
            },
        }
    ],
    [
        {
            "action": "agent_task",
            "config": {
                "prompt": "\ud800",
                "tools": ["*" * 200, {"tool": 4}],
                "output_schema": {"a": 10**30, "b": float("inf")},
            },
        }
    ],
    [{"action": LLM, "config": {"messages": [1, {"content": {}}], "max_tokens": "9"}}],
    [{"action": "for_each", "config": {"items": {}, "steps": "x"}, "budget_cap_usd": "lots"}],
    [{"action": "script", "config": {"source": 7, "grants": [None, {"tool": []}]}}],
    [{"action": "test.priced", "config": {"most": "much"}, "max_retries": "often"}],
]


def test_nothing_that_a_document_may_hold_makes_it_fail() -> None:
    deep: Any = [{"action": LLM, "config": {"prompt": "x"}}]
    for _ in range(60):
        deep = [{"action": "for_each", "config": {"items": "{{ x }}", "steps": deep}}]
    for plan in [*HOSTILE, deep]:
        for execution in ({}, {"budget_cap_usd": -1, "max_llm_tokens": None, "on_failure": plan}):
            document = {"plan": plan, "execution": execution}
            bounds = bounds_of(document)
            steps = paying_of(
                count_step_frequencies(document, bounds, WORDS, LIMITS), bounds, WORDS, ()
            )
            costs = [cost_of(step, bounds, WORDS, KNOWN) for step in steps]
            span = cost_of_run(costs, bounds).span
            assert 0 <= span.low <= span.usual <= span.high <= 1
            assert all(cost.as_dict()["usual"] for cost in costs)
