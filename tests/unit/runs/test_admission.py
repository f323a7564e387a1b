"""Reasons not to start a run."""

from __future__ import annotations

from decimal import Decimal

from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.model import Execution
from mainspring.runs.run_requests import ChainLength, CostAllowance, RunChain, lane_of

LIMITS = Limits()


def _reason(refusal: object) -> object:
    return getattr(refusal, "reason", None)


def test_a_chain_may_reach_its_limits_and_not_pass_them() -> None:
    assert RunChain(depth=LIMITS.chain_depth).refusal(LIMITS) is None
    assert _reason(RunChain(depth=LIMITS.chain_depth + 1).refusal(LIMITS)) == "chain_depth"
    assert RunChain(length=ChainLength(LIMITS.chain_runs - 1)).refusal(LIMITS) is None
    assert _reason(RunChain(length=ChainLength(LIMITS.chain_runs)).refusal(LIMITS)) == "chain_runs"


def test_a_day_s_cap_is_reached_when_it_is_spent() -> None:
    execution = Execution()
    assert CostAllowance(Decimal("0.99")).refusal(execution) is None
    assert _reason(CostAllowance(Decimal("1.00")).refusal(execution)) == "day_budget"


def test_an_automation_that_never_cost_anything_is_never_refused() -> None:
    assert CostAllowance().refusal(Execution(cost_cap_daily_usd=Decimal(0))) is None


def test_an_estimate_from_history_above_the_run_s_cap_is_refused_with_its_basis() -> None:
    refusal = CostAllowance(Decimal(0), Decimal("1.50")).refusal(Execution())
    assert refusal is not None
    assert refusal.problem is not None
    assert (refusal.reason, refusal.outcome) == ("estimate_over_budget", "over_budget")
    assert "$1.5000 on average" in refusal.problem.detail


def test_a_lane_belongs_to_one_automation_and_one_key() -> None:
    one, other = generate_id(), generate_id()
    lanes = {lane_of(one, None), lane_of(one, "a"), lane_of(one, "b"), lane_of(other, "a")}
    assert len(lanes) == 4
    assert lane_of(one, "a") == lane_of(one, "a")
    assert all(0 <= lane < 2**63 for lane in lanes)
