"""A step's own cap, and what a cap that is crossed stops: on every way money can be spent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Problem
from mainspring.contracts.model import ModelReply, interrupted_reply_error
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from tests.integration.runs.test_takeover import _crash_at
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import LLM, FakeModels, asking, models_bench

HELLO: dict[str, Any] = {"prompt": "Hello", "max_tokens": 100}
# What an answer of FakeModels comes to; less than 0.0002 is set aside for it.
COST = Decimal("0.00015")
# Enough for three answers and not for a fourth.
CAP = "0.0005"


def _ask(name: str, **more: Any) -> dict[str, Any]:
    return step(name, LLM, HELLO, **{"max_retries": 0, **more})


def _loop(*steps: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return step("each", "for_each", {"items": [1, 2, 3, 4, 5], "steps": list(steps)}, **more)


def _told(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return run["status"], run["reason"], run["outcome"]


STOPPED = ("failed", "step_budget", "over_budget")


@pytest.mark.parametrize("capped", ["each", "inner"])
async def test_a_step_s_cap_holds_over_all_its_items_and_for_nothing_else(
    bench: Bench, capped: str
) -> None:
    models = FakeModels()
    inner, outer = ({"budget_cap_usd": CAP} if capped == name else {} for name in ("inner", "each"))
    plan = document(_ask("before"), _loop(_ask("inner", **inner), **outer), _ask("after"))
    async with models_bench(bench, models) as one:
        run = await one.run(plan)
    assert _told(run) == STOPPED
    assert f"Step '{capped}' spent $0.00045 of its ${CAP} budget, and" in run["error"]["detail"]
    assert "budget_cap_usd" in run["error"]["suggestion"]
    assert run["error"]["failed_step_id"] == "each"
    # The one before it, and three within.
    assert (models.answered, run["cost_usd"]) == (4, 4 * COST)


async def test_a_step_s_cap_holds_over_its_attempts(bench: Bench) -> None:
    models = FakeModels(
        script=[interrupted_reply_error("It broke off.", retry_after=0.0) for _ in range(9)]
    )
    plan = document(_ask("a", max_retries=8, retry_backoff="none", budget_cap_usd=CAP))
    async with models_bench(bench, models) as one:
        run = await one.run(plan)
    assert _told(run) == STOPPED
    # Each is booked at its most, and a third would not have fitted.
    assert len(models.requests) == 2
    assert run["cost_usd"] <= Decimal(CAP) < run["cost_usd"] * 3 / 2


async def test_a_worker_that_takes_a_run_over_knows_what_the_step_had_spent(bench: Bench) -> None:
    models = FakeModels()
    async with models_bench(bench, models) as one:
        plan = document(_loop(_ask("inner"), budget_cap_usd=CAP))
        run_id = await _crash_at(one, plan, "step.before")
        assert models.answered == 1
        async with one.worker():
            run = await one.until(run_id)
    assert _told(run) == STOPPED
    assert (models.answered, run["cost_usd"]) == (3, 3 * COST)


async def test_a_program_knows_its_steps_cap_and_cannot_exceed_it(bench: Bench) -> None:
    lines: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        async def say(problem: Problem | None) -> None:
            lines.append(None if problem is None else problem.code)

        for _ in range(3):
            await say((await ctx.called(LLM, HELLO)).problem)
            await say(await ctx.used_up())
        # A promise that does not fit is refused; what costs nothing is not.
        await say((await ctx.called(LLM, HELLO)).problem)
        await say((await ctx.called("test.echo", {})).problem)
        await say(await ctx.report_usage("mine", 1, 1, Decimal("0.0001")))
        await say((await ctx.called("test.echo", {})).problem)

    action = asking(work, uses=(LLM, "test.echo"))
    plan = document(step("a", "test.program", budget_cap_usd=CAP))
    async with models_bench(bench, FakeModels(), action) as one:
        run = await one.run(plan)
    assert lines == [None] * 6 + ["step_budget", None, "step_budget", "step_budget"]
    # It went on as if nothing had been said, and its step has failed all the same.
    assert _told(run) == STOPPED
    assert run["cost_usd"] == 3 * COST + Decimal("0.0001")


async def test_what_is_asked_with_the_run_s_token_counts_for_the_step_around_it(
    bench: Bench,
) -> None:
    codes: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        token = (await ctx.start()).token
        for _ in range(2):
            held = await find_pass(bench.application.database, token)
            assert held is not None
            try:
                await applications[0].gate.serve(
                    CapabilityCaller(held.actor, held=held), LLM, HELLO
                )
                codes.append(None)
            except Problem as problem:
                codes.append(problem.code)
        gone = await ctx.used_up(look=True)
        codes.append(None if gone is None else gone.code)

    applications: list[Any] = []
    async with models_bench(bench, FakeModels(), asking(work)) as one:
        applications.append(one.application)
        run = await one.run(document(_loop(step("a", "test.program"), budget_cap_usd=CAP)))
    # Two in the first item, one in the second; then nothing fits, and nothing has crossed it.
    assert (
        codes
        == [None, None, None, None, "step_budget", None] + ["step_budget", "step_budget", None] * 3
    )
    assert (run["status"], run["cost_usd"]) == ("succeeded", 3 * COST)


async def test_calls_that_race_with_the_run_s_token_are_promised_the_step_s_money_once(
    bench: Bench,
) -> None:
    """Each comes with a budget of its own, as from another process."""
    codes: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        token = (await ctx.start()).token
        held = [await find_pass(bench.application.database, token) for _ in range(6)]

        async def ask(one: Any) -> None:
            try:
                await applications[0].gate.serve(CapabilityCaller(one.actor, held=one), LLM, HELLO)
                codes.append(None)
            except Problem as problem:
                codes.append(problem.code)

        await asyncio.gather(*map(ask, held))

    applications: list[Any] = []
    models = FakeModels(together=2)
    async with models_bench(bench, models, asking(work)) as one:
        applications.append(one.application)
        run = await one.run(document(step("a", "test.program", budget_cap_usd=CAP)))
    assert run["status"] == "succeeded", run["error"]
    assert set(codes) == {None, "step_budget"}
    assert 2 <= codes.count(None) == models.answered <= 3
    assert run["cost_usd"] == codes.count(None) * COST


async def test_an_answer_that_took_more_than_the_step_may_spend_fails_the_step(
    bench: Bench,
) -> None:
    models = FakeModels(reply=ModelReply("Long.", "m", 400, 200))
    async with models_bench(bench, models) as one:
        run = await one.run(document(_ask("a", budget_cap_usd=CAP), _ask("b")))
    assert _told(run) == STOPPED
    assert run["cost_usd"] == Decimal("0.0006")
    assert [row["status"] for row in run["steps"]] == ["failed"]
    booked = await bench.application.database.fetchval("SELECT sum(usd) FROM spend")
    assert (booked, models.answered) == (run["cost_usd"], 1)


@pytest.mark.parametrize(
    ("execution", "space", "code"),
    [
        ({"budget_cap_usd": CAP}, None, "run_budget"),
        ({"cost_cap_daily_usd": CAP}, None, "day_budget"),
        ({}, CAP, "workspace_budget"),
    ],
)
async def test_a_cap_that_is_crossed_stops_the_run_and_leaves_it_its_last_words(
    bench: Bench, execution: dict[str, Any], space: str | None, code: str
) -> None:
    """They may say what happened, also as a program, and spend nothing more."""
    lines: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        await applications[0].gate.serve(
            CapabilityCaller(held.actor, held=held), "test.note", {"mark": "token"}
        )
        for given in (("test.note", {"mark": "said"}), (LLM, HELLO)):
            problem = (await ctx.called(*given)).problem
            lines.append(None if problem is None else problem.code)
        gone = await ctx.used_up(look=True)
        lines.append(None if gone is None else gone.code)

    applications: list[Any] = []
    models = FakeModels(reply=ModelReply("Long.", "m", 400, 200))
    last = [
        step("note", "test.note", {"mark": "last"}),
        step("tell", "test.program"),
        _ask("think"),
        step("never", "test.note"),
    ]
    plan = document(
        _ask("a"), step("free", "test.note"), execution={**execution, "on_failure": last}
    )
    await bench.application.database.execute(
        "UPDATE workspaces SET cost_cap_daily_usd = $1", _usd(space)
    )
    action = asking(work, uses=(LLM, "test.note"))
    async with models_bench(bench, models, action) as one:
        applications.append(one.application)
        run = await one.run(plan)
    assert _told(run) == ("failed", code, "over_budget")
    assert {row["step"]: row["status"] for row in run["steps"]} == {
        "a": "succeeded",
        "free": "failed",
        "note": "succeeded",
        "tell": "succeeded",
        "think": "failed",
    }
    assert lines == [None, code, None]
    assert run["error"]["on_failure"]["code"] == code
    assert (models.answered, run["cost_usd"]) == (1, Decimal("0.0006"))


def _usd(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
