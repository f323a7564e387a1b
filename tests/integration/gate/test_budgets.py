"""Money: promised before a call, settled after it, and never promised twice."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import BudgetExceeded, LimitExceeded
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.rate_limit import count_egress
from mainspring.gate.retention import expire_leftovers
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.gate import Market, gate_bench

PARALLEL: dict[str, Any] = {"concurrency": "allow_parallel", "cost_cap_daily_usd": 1}


def _plan(*arguments: dict[str, Any], action: str = "test.priced", **execution: Any) -> Any:
    steps = [
        step(f"s{place}", action, given, max_retries=0) for place, given in enumerate(arguments)
    ]
    return document(*steps, execution={**PARALLEL, **execution})


async def _ledger(bench: Bench) -> tuple[Decimal, int]:
    """What is booked for today, and how many promises are open."""
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT coalesce(sum(usd), 0) FROM spend) AS booked, "
        "(SELECT count(*) FROM reservations WHERE spent IS NULL) AS open"
    )
    assert row is not None
    return row["booked"], row["open"]


async def _race(bench: Bench, plan: Any, runs: int) -> list[dict[str, Any]]:
    """Many runs at once over two workers."""
    made = [await bench.dispatch(plan) for _ in range(runs)]
    async with bench.worker(), bench.worker():
        return [await bench.until(one.run_id) for one in made]


async def test_twenty_runs_that_race_for_a_day_s_money_never_overspend_it(bench: Bench) -> None:
    market = Market(seconds=0.05)
    async with gate_bench(bench, market) as one:
        runs = await _race(one, _plan({"most": "0.15", "usd": "0.15"}), 20)
    assert market.most > 1
    assert market.spent == Decimal("0.90")
    assert await _ledger(bench) == (Decimal("0.90"), 0)
    reasons = {run["reason"] for run in runs if run["status"] != "succeeded"}
    assert reasons == {"day_budget"}
    assert sum(run["status"] == "succeeded" for run in runs) == 6
    assert sum((run["cost_usd"] for run in runs), Decimal(0)) == Decimal("0.90")
    (refused,) = {run["error"]["suggestion"] for run in runs if run["error"]}
    assert "cost_cap_daily_usd" in refused


async def test_runs_of_many_automations_share_the_workspace_s_day(bench: Bench) -> None:
    await bench.application.database.execute("UPDATE workspaces SET cost_cap_daily_usd = 0.5")
    market = Market(seconds=0.02)
    async with gate_bench(bench, market) as one:
        plan = _plan({"most": "0.1"})
        made = [await one.dispatch({**plan, "name": f"a{place}"}) for place in range(8)]
        async with one.worker(), one.worker():
            runs = [await one.until(run.run_id) for run in made]
        assert market.spent == Decimal("0.5")
        assert {run["reason"] for run in runs} == {None, "workspace_budget"}
        late = await one.run({**plan, "name": "late"})
        assert (late["status"], late["reason"]) == ("skipped", "workspace_budget")
        with pytest.raises(BudgetExceeded) as refused:
            await one.application.gate.serve(_owner(one), "test.priced", {"most": "0.01"})
        assert refused.value.code == "workspace_budget"


def _owner(bench: Bench) -> CapabilityCaller:
    actor = Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    return CapabilityCaller(actor)


async def test_what_a_person_spends_counts_for_the_workspace(bench: Bench) -> None:
    await bench.application.database.execute("UPDATE workspaces SET cost_cap_daily_usd = 0.25")
    async with gate_bench(bench, Market()) as one:
        for _ in range(2):
            await one.application.gate.serve(_owner(one), "test.priced", {"most": "0.1"})
        with pytest.raises(BudgetExceeded):
            await one.application.gate.serve(_owner(one), "test.priced", {"most": "0.1"})
        run = await one.run(_plan({"most": "0.1"}))
    assert run["reason"] == "workspace_budget"


async def test_the_rest_of_a_promise_is_free_again(bench: Bench) -> None:
    market = Market()
    async with gate_bench(bench, market) as one:
        run = await one.run(_plan(*[{"most": "0.9", "usd": "0.05"}] * 3))
    assert (run["status"], run["cost_usd"]) == ("succeeded", Decimal("0.15"))
    assert await _ledger(bench) == (Decimal("0.15"), 0)


async def test_a_run_is_promised_no_more_than_its_own_budget(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as one:
        run = await one.run(_plan({"most": "0.2"}, {"most": "0.2"}, budget_cap_usd=0.3))
    assert (run["status"], run["reason"], run["outcome"]) == ("failed", "run_budget", "over_budget")
    assert run["cost_usd"] == Decimal("0.2")
    assert [call["outcome"] for call in run["calls"]] == ["read", "denied"]
    assert "budget_cap_usd" in run["error"]["suggestion"]


async def test_what_a_failing_call_spent_is_booked_in_a_transaction_or_not(bench: Bench) -> None:
    market = Market()
    async with gate_bench(bench, market) as one:
        for action in ("test.priced", "test.priced_keep"):
            given = {"most": "0.2", "usd": "0.1", "fail": True}
            run = await one.run({**_plan(given, action=action), "name": action})
            assert (run["status"], run["cost_usd"]) == ("failed", Decimal("0.1"))
        good = await one.run(_plan({"most": "0.2", "usd": "0.1"}, action="test.priced_keep"))
    assert (good["status"], good["cost_usd"]) == ("succeeded", Decimal("0.1"))
    assert await _ledger(bench) == (Decimal("0.3"), 0)


async def test_more_than_was_promised_is_booked_and_the_next_call_is_refused(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as one:
        first = await one.run(_plan({"most": "0.1", "usd": "1.5"}, budget_cap_usd=5))
        second = await one.run(_plan({"most": "0.1"}, budget_cap_usd=5))
    assert (first["status"], first["cost_usd"]) == ("succeeded", Decimal("1.5"))
    assert (second["status"], second["reason"]) == ("skipped", "day_budget")


async def test_a_promise_that_a_crash_left_holds_for_a_while_and_then_no_longer(
    bench: Bench,
) -> None:
    database = bench.application.database
    async with gate_bench(bench, Market()) as one:
        saved = await one.save(_plan({"most": "0.5"}))
        await _promise(bench, saved.automation_id, "0.8", "1 hour")
        assert (await one.run(_plan({"most": "0.5"})))["reason"] == "day_budget"
        await database.execute("UPDATE reservations SET expires_at = now() - interval '1 second'")
        assert (await one.run(_plan({"most": "0.5"})))["status"] == "succeeded"
        await database.execute("UPDATE reservations SET expires_at = now() - interval '3 days'")
        assert await expire_leftovers(database, one.application.clock.now()) == 2


async def _promise(bench: Bench, automation_id: UUID, usd: str, lasts: str) -> None:
    await bench.application.database.execute(
        "INSERT INTO reservations (workspace_id, id, automation_id, day, usd, expires_at) "
        f"VALUES ($1, $2, $3, (now() AT TIME ZONE 'UTC')::date, $4, now() + interval '{lasts}')",
        bench.application.workspace_id,
        UUID(int=1),
        automation_id,
        Decimal(usd),
    )


async def test_a_call_that_is_stopped_gives_its_promise_back(bench: Bench) -> None:
    market = Market(seconds=30)
    async with gate_bench(bench, market) as one:
        plan = _plan({"most": "0.5"})
        plan["plan"][0]["timeout_seconds"] = 1
        run = await one.run(plan)
    assert (run["status"], run["cost_usd"]) == ("timed_out", Decimal(0))
    assert await _ledger(bench) == (Decimal(0), 0)


async def test_calls_that_cost_nothing_touch_no_table_of_money(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as one:
        await one.run(document(step("a", "test.echo"), step("b", "test.keep")))
        await one.run(_plan({"most": "0.5"}), mode="dry_run")
    assert await bench.application.database.fetchval("SELECT count(*) FROM spend") == 1
    async with asyncio.timeout(60):
        assert await _ledger(bench) == (Decimal("0.5"), 0)


async def test_an_automation_sends_no_more_in_a_day_than_it_may(bench: Bench) -> None:
    database, space, one = bench.application.database, bench.application.workspace_id, uuid4()
    await count_egress(database, space, one, 600, 1_000)
    with pytest.raises(LimitExceeded) as refused:
        await count_egress(database, space, one, 600, 1_000)
    assert refused.value.code == "egress_cap"
    await count_egress(database, space, one, 300, 1_000)
    await count_egress(database, space, uuid4(), 1_000, 1_000)
    with pytest.raises(LimitExceeded):
        await count_egress(database, space, uuid4(), 1_001, 1_000)
