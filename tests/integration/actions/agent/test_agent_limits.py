"""An agent ends when what it may use is gone, once the call under way is over."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.model import interrupted_reply_error
from mainspring.gate.usage_meter import reads_at_most, reads_usually
from tests.kit.agents import (
    ScriptedModels,
    agents_bench,
    calls,
    capability,
    ends,
    ledger,
    says,
    thinking,
    transcripts,
)
from tests.kit.bench import Bench, document, step

COST = Decimal("0.00015")
LOOK = calls(("test_echo", {"q": 1}))


# Its own bounds, those of the run, the code, and how often the model is asked (None: some times).
LIMITS: list[tuple[dict[str, Any], Any, str, int | None]] = [
    ({"max_turns": 3}, None, "agent_turns", 3),
    ({"max_usd": 0.00016}, None, "agent_budget", 0),
    ({"max_total_tokens": 100}, None, "agent_tokens", 0),
    ({}, {"max_llm_tokens": 5_000}, "llm_tokens", None),
    ({}, {"budget_cap_usd": "0.006"}, "run_budget", None),
    ({}, {"cost_cap_daily_usd": "0.006"}, "day_budget", None),
]


async def test_each_limit_ends_the_agent_as_over_budget(bench: Bench) -> None:
    models = ScriptedModels(reply=LOOK)
    booked = 0
    async with agents_bench(bench, models) as one:
        for own, execution, code, asked in LIMITS:
            models.requests.clear()
            plan = thinking("test.echo", execution=execution, max_tokens=400, name=code, **own)
            run = await one.run(plan)
            stored = await transcripts(one, run["id"])
            ended = (run["status"], run["reason"], run["outcome"])
            assert ended == ("failed", code, "over_budget")
            turns = len(models.requests)
            assert turns == asked if asked is not None else turns > 2
            # Nothing that was under way is lost, on the books or in the transcript.
            assert run["cost_usd"] == COST * turns
            booked += turns
            assert (await ledger(bench))[0] == booked
            assert [len(one["turns"]) for one in stored] == [turns]
            assert run["error"]["suggestion"]


async def test_money_and_tokens_of_its_own_let_it_go_on_until_they_are_gone(bench: Bench) -> None:
    models = ScriptedModels(reply=LOOK, obeys=True)
    async with agents_bench(bench, models) as one:
        cheap = await one.run(thinking("test.echo", max_usd=0.006, max_tokens=400))
        by_money = list(models.requests)
        models.requests.clear()
        short = await one.run(
            thinking("test.echo", max_total_tokens=5_000, max_tokens=400, name="b")
        )
    assert (cheap["reason"], short["reason"]) == ("agent_budget", "agent_tokens")
    assert len(by_money) > 2
    assert cheap["cost_usd"] < Decimal("0.006")
    # What a turn may write is cut to what is left.
    assert next(one.max_tokens for one in models.requests) == 400
    last = models.requests[-1]
    used = 150 * (len(models.requests) - 1)
    assert reads_usually(last) + last.max_tokens <= 5_000 - used


async def test_time_is_up_after_the_call_under_way(bench: Bench) -> None:
    done: list[str] = []

    async def slow(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        done.append(ctx.key)
        return {}

    models = ScriptedModels(reply=calls(("test_slow", {}), ("test_slow", {})), seconds=0.02)
    async with agents_bench(bench, models, capability("test.slow", slow)) as one:
        run = await one.run(thinking("test.slow", max_seconds=0.01))
    assert (run["status"], run["reason"], run["outcome"]) == (
        "failed",
        "agent_seconds",
        "over_budget",
    )
    assert (len(models.requests), done) == (1, [])


async def test_what_a_tool_costs_counts_for_the_agent_too(bench: Bench) -> None:
    models = ScriptedModels(script=[calls(("test_costly", {"usd": 0.5})), ends()])
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking("test.costly", max_usd=0.4))
        free = ScriptedModels(script=[calls(("test_costly", {"usd": 0.25})), ends()])
    assert (run["reason"], run["cost_usd"]) == ("agent_budget", COST + Decimal("0.5"))
    async with agents_bench(bench, free) as one:
        run = await one.run(thinking("test.costly", name="b"))
    assert run["cost_usd"] == 2 * COST + Decimal("0.25")
    (own,) = [call for call in run["calls"] if call["capability"] == "agent.run"]
    assert own["cost_usd"] == 2 * COST
    assert own["result"]["usage"]["cost_usd"] == 0.2503


async def test_an_answer_that_has_come_is_taken_although_the_money_is_gone_with_it(
    bench: Bench,
) -> None:
    models = ScriptedModels(reply=ends(7))
    plan = document(
        *thinking()["plan"], step("then", "test.note"), execution={"max_llm_tokens": 4_000}
    )
    models.reply = calls(("final_answer", {"n": 7}))
    models.reply = type(models.reply)("", "m", 3_000, 2_000, calls=models.reply.calls)
    async with agents_bench(bench, models) as one:
        run = await one.run(plan)
    assert run["steps"][0]["output"] == {"n": 7}
    assert (run["status"], run["reason"], run["outcome"]) == ("failed", "llm_tokens", "over_budget")


async def test_a_provider_that_is_busy_is_asked_again_and_nothing_is_paid_twice(
    bench: Bench,
) -> None:
    models = ScriptedModels(
        script=[LOOK, UpstreamError("Busy.", code="busy", retry_after=0.01), says("x"), ends()]
    )
    plan = document(step("think", "agent_task", thinking("test.echo")["plan"][0]["config"]))
    async with agents_bench(bench, models) as one:
        run = await one.run(plan)
    assert run["output"] == {"n": 1}, run["error"]
    assert [row["status"] for row in run["steps"]] == ["retrying", "succeeded"]
    # The first turn and its tool are answered from the record in the second try.
    assert len(models.requests) == 4
    assert models.keys[1] == models.keys[2]
    assert len(bench.outside.tries) == 1
    assert run["cost_usd"] == 3 * COST
    assert await ledger(bench) == (3, "0.00045")
    own = [call["cost_usd"] for call in run["calls"] if call["capability"] == "agent.run"]
    assert own == [COST, 2 * COST]


async def test_an_answer_that_broke_off_is_booked_at_its_most(bench: Bench) -> None:
    models = ScriptedModels(script=[interrupted_reply_error("It broke off."), ends()])
    plan = document(step("think", "agent_task", thinking(max_tokens=64)["plan"][0]["config"]))
    async with agents_bench(bench, models) as one:
        run = await one.run(plan)
    most = Decimal(reads_at_most(models.requests[0]) + 64) / 1_000_000
    assert run["output"] == {"n": 1}
    assert run["cost_usd"] == most + COST
    assert await ledger(bench) == (2, str((most + COST).normalize()))
