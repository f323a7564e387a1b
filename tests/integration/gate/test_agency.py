"""What an agent's turns cost is booked whatever they answer, and ends with what let them begin."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Unauthenticated
from mainspring.contracts.model import ModelReply, ToolCall
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.retention import expire_leftovers
from mainspring.gate.run_tokens import find_pass
from mainspring.gate.usage_meter import reads_at_most
from tests.kit.agents import NUMBER, ScriptedModels, agents_bench, calls, ends, ledger, thinking
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import asking

COST = Decimal("0.00015")
POST = "inbox.post_notification"
POSTED = "SELECT count(*) FROM notifications"
OPEN = "SELECT count(*) FROM reservations WHERE spent IS NULL"


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


def _eager(*tools: Any) -> Any:
    """An agent whose step is tried again as often as a step is."""
    return document(step("think", "agent_task", thinking(*tools)["plan"][0]["config"]))


async def test_arguments_that_nobody_takes_are_paid_for_once_and_given_back(bench: Bench) -> None:
    odd = ModelReply("", "m\ud800", 100, 50, calls=(ToolCall("x", "test_echo", _nested(5_000)),))
    models = ScriptedModels(script=[calls(("test_echo", {"q": _nested(300)})), odd], reply=ends())
    async with agents_bench(bench, models) as one:
        run = await one.run(_eager("test.echo"))
    assert run["output"] == {"n": 1}, run["error"]
    assert [result.startswith("The arguments of a tool") for result in models.tool_results] == [
        True
    ] * 2
    assert run["cost_usd"] == 3 * COST
    assert await ledger(bench) == (3, str((3 * COST).normalize()))
    assert await bench.application.database.fetchval(OPEN) == 0


async def test_an_answer_that_cannot_be_kept_is_booked_and_not_asked_for_again(
    bench: Bench,
) -> None:
    table: dict[str, ModelReply] = {
        "agent_answer_unkept": calls(("test_echo", {"q": object()})),
        "too_many_calls": calls(*[("test_echo", {})] * 12_768),
    }
    for place, (code, reply) in enumerate(table.items(), 1):
        models = ScriptedModels(reply=reply)
        async with agents_bench(bench, models) as one:
            run = await one.run({**_eager("test.echo"), "name": code})
        assert (run["status"], run["reason"], len(models.requests)) == ("failed", code, 1)
        assert run["cost_usd"] == COST
        assert await ledger(bench) == (place, str((place * COST).normalize()))
    assert await bench.application.database.fetchval(OPEN) == 0


async def test_an_agent_begun_with_a_token_ends_with_the_token(bench: Bench) -> None:
    """What it did until then is in the run, with the most that the turn under way can cost."""
    database = bench.application.database
    ended, asked_again = asyncio.Event(), asyncio.Event()
    applications: list[Any] = []
    agents: list[asyncio.Task[Any]] = []

    async def begin(ctx: StepContext) -> Any:
        held = await find_pass(database, (await ctx.start()).token)
        assert held is not None
        given = {"prompt": "Go.", "tools": [POST], "output_schema": NUMBER, "max_tokens": 64}
        called = applications[0].gate.serve(
            CapabilityCaller(held.actor, held=held), "agent.run", given
        )
        agents.append(asyncio.create_task(called))
        await asyncio.wait_for(asked_again.wait(), 20)

    async def wait(ctx: StepContext) -> Any:
        ended.set()
        await asyncio.wait(agents, timeout=20)

    async def hold() -> None:
        asked_again.set()
        await ended.wait()

    models = ScriptedModels(
        reply=calls(("inbox_post_notification", {"title": "n"})), before_answer={2: hold}
    )
    words = (asking(begin, "test.a", uses=("agent.run", POST)), asking(wait, "test.b", uses=()))
    async with agents_bench(bench, models, *words) as one:
        applications.append(one.application)
        run = await one.run(document(step("a", "test.a"), step("b", "test.b")))
    with pytest.raises(Unauthenticated):
        await agents[0]
    assert run["status"] == "succeeded", run["error"]
    assert (len(models.requests), await database.fetchval(POSTED), run["effects"]) == (2, 1, 1)
    most = Decimal(reads_at_most(models.requests[1]) + 64) / 1_000_000
    assert run["cost_usd"] == COST + most
    assert await ledger(bench) == (2, str((COST + most).normalize()))
    assert await database.fetchval("SELECT sum(usd) FROM spend") == COST + most


async def test_an_ask_whose_worker_died_is_booked_at_its_most_and_once(bench: Bench) -> None:
    database = bench.application.database
    models = ScriptedModels(seconds=None)
    async with agents_bench(bench, models) as one:
        made = await one.dispatch(thinking(max_tokens=64))
        async with one.worker():
            await asyncio.wait_for(models.started.wait(), 20)
            most = Decimal(reads_at_most(models.requests[0]) + 64) / 1_000_000
            await database.execute("UPDATE workspaces SET cost_cap_daily_usd = $1", most)
            # A worker that is killed now leaves this row, and nothing else.
            await database.execute("UPDATE reservations SET expires_at = now() - interval '1 s'")
            other = await one.dispatch(thinking(max_tokens=64, name="another"))
            refused = await one.until(other.run_id)
            now = one.application.clock.now()
            assert await ledger(bench) == (0, "0")
            await expire_leftovers(database, now)
            await expire_leftovers(database, now)
            lost = await ledger(bench)
            await one.application.control.cancel(one.application.workspace_id, made.run_id)
            await one.until(made.run_id)
    # Its money is not there for others meanwhile.
    assert refused["reason"] == "workspace_budget"
    assert lost == (1, str(most.normalize()))
    # The one who asked was alive after all, and books nothing more.
    assert await ledger(bench) == lost
    assert await database.fetchval("SELECT sum(usd) FROM spend") == most
    row = await database.fetchrow("SELECT caller, model, run_id FROM llm_usage")
    assert row is not None
    assert (row["caller"], row["model"], row["run_id"]) == ("lost", "unknown", made.run_id)
