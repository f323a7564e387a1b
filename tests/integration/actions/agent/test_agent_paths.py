"""An agent is the same for every caller: a step, a script, or a program with the run's token."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from mainspring.app import Application
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Problem
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from tests.kit.agents import (
    FINAL,
    NUMBER,
    Loss,
    ScriptedModels,
    agents_bench,
    calls,
    ends,
    ledger,
    pieces,
    thinking,
)
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import asking
from tests.kit.scripts import script

COST = Decimal("0.00015")
ASK: dict[str, Any] = {
    "prompt": "Go.",
    "tools": ["inbox.post_notification"],
    "output_schema": NUMBER,
}
POST = calls(("inbox_post_notification", {"title": "once"}))


async def test_a_script_lets_agents_work_and_goes_on_after_a_crash(bench: Bench) -> None:
    source = """
    const ask = { tools: ["inbox.post_notification"], output_schema: %s };
    const first = await brains.agent.run({ prompt: "Go.", ...ask });
    const second = await brains["agent.run"]({ prompt: "Again.", ...ask });
    return [first.output.n, second.output.n, first.usage.output_tokens];
    """
    plan = script(source % '{"type":"object","required":["n"],"properties":{"n":{}}}')
    plan["plan"][0]["config"]["grants"] = [
        {"tool": "agent.run"},
        {"tool": "inbox.post_notification"},
    ]
    loss = Loss(bench)
    models = ScriptedModels(script=[POST, ends(1), POST, ends(0), ends(2)])
    models.before_answer[4] = loss.happen
    async with agents_bench(bench, models) as one:
        run_id = await loss.until(one, plan)
        async with one.worker():
            run = await one.until(run_id)
    assert (run["status"], run["output"]) == ("succeeded", [1, 2, 100]), run["error"]
    assert await bench.application.database.fetchval("SELECT count(*) FROM notifications") == 2
    assert (run["effects"], len(models.requests)) == (2, 5)
    assert run["cost_usd"] == 5 * COST
    assert await ledger(bench) == (5, "0.00075")
    numbers = [c["call"] for c in run["calls"] if c["capability"] == "inbox.post_notification"]
    assert len(set(numbers)) == 2


async def test_a_program_with_the_run_s_token_has_agents_too(bench: Bench) -> None:
    applications: list[Application] = []
    got: list[Any] = []

    async def work(ctx: StepContext) -> Any:
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        caller = CapabilityCaller(held.actor, held=held)
        got.append((await applications[0].gate.serve(caller, "agent.run", ASK))["output"])
        got.append((await ctx.called("agent.run", ASK)).value["output"])
        with pytest.raises(Problem) as refused:
            await applications[0].gate.serve(caller, "agent.run", {**ASK, "tools": ["test.note"]})
        got.append(refused.value.code)

    models = ScriptedModels(script=[POST, ends(1), POST, ends(2)])
    program = asking(work, uses=("agent.run", "inbox.post_notification"))
    async with agents_bench(bench, models, program) as one:
        applications.append(one.application)
        run = await one.run(document(step("a", "test.program")))
    assert got == [{"n": 1}, {"n": 2}, "not_granted"]
    # Counted once: what the token did, and what the step's own agent did.
    assert (run["effects"], run["cost_usd"]) == (2, 4 * COST), run["error"]
    assert await ledger(bench) == (4, "0.0006")


async def test_two_agents_side_by_side_keep_their_records_apart(bench: Bench) -> None:
    async def work(ctx: StepContext) -> Any:
        asked = ({**ASK, "prompt": f"Go {n}."} for n in range(4))
        called = await asyncio.gather(*(ctx.called("agent.run", one) for one in asked))
        return [one.value["kind"] for one in called]

    models = ScriptedModels(seconds=0.01, reply=calls((FINAL, {"n": 1})))
    models.script = [POST] * 4
    program = asking(work, uses=("agent.run", "inbox.post_notification"))
    async with agents_bench(bench, models, program) as one:
        run = await one.run(document(step("a", "test.program")))
    assert run["output"] == ["done"] * 4, run["error"]
    assert (run["effects"], run["cost_usd"]) == (4, 8 * COST)
    places = {(c["attempt"], c["call"]) for c in run["calls"]}
    assert len(places) == len(run["calls"]) == 8


async def test_agent_run_can_be_a_step_itself(bench: Bench) -> None:
    models = ScriptedModels(script=[calls(("test_echo", {"a": 1})), ends(5)])
    config = {**ASK, "tools": ["test.echo"]}
    async with agents_bench(bench, models) as one:
        run = await one.run(document(step("think", "agent.run", config, max_retries=0)))
        shown = await pieces(one, run["id"])
    assert run["output"]["output"] == {"n": 5}, run["error"]
    assert shown[-1]["kind"] == "answer"
    assert run["cost_usd"] == 2 * COST


async def test_a_trial_asks_the_model_and_pretends_what_would_write(bench: Bench) -> None:
    models = ScriptedModels(script=[POST, ends()])
    plan = thinking("inbox.post_notification")
    async with agents_bench(bench, models) as one:
        made = await one.dispatch(plan, mode="dry_run")
        async with one.worker():
            run = await one.until(made.run_id)
    assert (run["output"], run["effects"]) == ({"n": 1}, 0), run["error"]
    assert "suppressed" in models.tool_results[0]
    assert await bench.application.database.fetchval("SELECT count(*) FROM notifications") == 0


async def test_a_trial_without_a_model_answers_in_the_shape_that_was_asked_for(
    bench: Bench,
) -> None:
    impossible = {"type": "string", "pattern": "^a{7}$"}
    async with agents_bench(bench, None) as one:
        found = []
        for name, shape in (("a", NUMBER), ("b", impossible), ("c", None)):
            made = await one.dispatch(thinking(output_schema=shape, name=name), mode="dry_run")
            async with one.worker():
                found.append((await one.until(made.run_id))["output"])
        live = await one.run(thinking(name="d"))
    assert found[0] == {"n": 0}
    assert found[1]["kind"] == "noop"
    assert found[1]["reason"].startswith(found[2]["text"])
    assert "No model is connected" in found[2]["text"]
    assert "could be generated" in found[1]["reason"]
    assert live["reason"] == "no_model"
