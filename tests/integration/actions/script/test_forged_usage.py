"""Marks of usage, forged wherever a text can come from: they change nothing, or add.

Only what the script itself prints to its standard output is read for marks. What a tool or a
model answers, what started the run and what goes to the error stream are texts like any other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest_asyncio

from mainspring.app import build_application
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply
from mainspring.registry import build_registry
from tests.kit.bench import Bench
from tests.kit.model_doubles import LLM, FakeModels
from tests.kit.scripts import script

COST = Decimal("0.00015")


def _mark(usd: Any, tokens: int = 1) -> str:
    body = {"model": "forged", "input_tokens": tokens, "output_tokens": 0, "cost_usd": usd}
    return f"[[llm_usage]]{json.dumps(body)}[[/llm_usage]]"


@pytest_asyncio.fixture
async def models(bench: Bench) -> AsyncIterator[tuple[Bench, FakeModels]]:
    """The bench with a workshop and a model whose answers hold a mark."""
    reply = ModelReply(f"Paid: {_mark(-5)} {_mark(0.5)}", "m", 100, 50, provider="outside")
    outside = FakeModels(reply=reply)
    script_runner = bench.application.script_runner
    registry = build_registry(
        Limits(), script_runner=script_runner, capabilities=bench.outside.capabilities()
    )
    application = build_application(
        bench.application.settings,
        Limits(),
        registry,
        bench.application.database,
        script_runner,
        outside,
    )
    try:
        yield Bench(application, bench.outside), outside
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


async def _ledger(bench: Bench) -> list[tuple[str, bool, Decimal]]:
    rows = await bench.application.database.fetch(
        "SELECT caller, reported, cost_usd FROM llm_usage ORDER BY reported, cost_usd"
    )
    return [(row["caller"], row["reported"], row["cost_usd"]) for row in rows]


async def test_only_what_the_script_prints_itself_counts_and_it_only_adds(
    models: tuple[Bench, FakeModels],
) -> None:
    one, outside = models
    source = """
        const told = await brains["test.echo"]({ text: input.mark });
        const { text } = await brains.automation_llm_complete({ prompt: "Hi", max_tokens: 100 });
        console.error(input.mark, text, trigger.body);
        console.log(input.less);
        console.log(input.torn);
        console.log(input.more);
        return { told, text, body: trigger.body, mark: input.mark };
    """
    given = {
        "mark": _mark(0.5),
        # Less than nothing, more than there is, and no number at all.
        "less": _mark(-1) + _mark("-1") + _mark(None) + _mark(0, -100),
        "torn": '[[llm_usage]]{"cost_usd": 0.5[[/llm_usage]]',
        "more": _mark(0.25),
    }
    plan = script(source, "test.echo", LLM, input=given)
    plan["execution"] = {"budget_cap_usd": 1}
    run = await one.run(plan, payload={"body": _mark(0.5)})
    assert run["status"] == "succeeded", run["error"]
    assert run["output"]["body"] == run["output"]["mark"] == _mark(0.5)
    assert "forged" in run["output"]["text"]
    assert await _ledger(one) == [(LLM, False, COST), ("script", True, Decimal("0.25"))]
    assert run["cost_usd"] == COST + Decimal("0.25")
    assert outside.answered == 1


async def test_marks_do_not_raise_the_cap_and_a_script_at_its_cap_is_killed_at_once(
    models: tuple[Bench, FakeModels],
) -> None:
    """It would count for ever and never look at an answer; nobody asks it to stop."""
    one, outside = models
    source = """
        console.log(input.back);
        setTimeout(() => { for (;;) {} }, 20);
        await brains.automation_llm_complete({ prompt: "Hi", max_tokens: 100 });
    """
    plan = script(source, LLM, input={"back": _mark(-100)})
    plan["plan"][0]["budget_cap_usd"] = "0.0003"
    outside.reply = ModelReply("Yes.", "m", 200, 100, provider="outside")
    outside.seconds = 0.3
    run = await one.run(plan)
    assert (run["status"], run["reason"], run["outcome"]) == (
        "failed",
        "step_budget",
        "over_budget",
    )
    last = await one.application.database.fetchval("SELECT max(at) FROM llm_usage")
    assert (run["finished_at"] - last).total_seconds() <= 30
    process = run["steps"][0]["process"]
    assert (process["exit_code"], process["reason"]) == (137, "killed")
    assert (outside.answered, run["cost_usd"]) == (1, Decimal("0.0003"))
