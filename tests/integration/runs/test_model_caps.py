"""Tokens and money of models: capped over steps, processes and crashes, and never paid twice."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from mainspring.app import Application
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Problem
from mainspring.contracts.model import ModelMessage, ModelReply, ModelRequest, Usage
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from mainspring.gate.usage_markers import CLOSE, OPEN, usage_markers
from mainspring.gate.usage_meter import reads_at_most, reads_usually
from mainspring.runs.story import summarize_run
from tests.integration.runs.test_takeover import _crash_at
from tests.kit.bench import Bench, document, step
from tests.kit.lost_worker import lose_workers
from tests.kit.model_doubles import LLM, FakeModels, asking, models_bench

HELLO: dict[str, Any] = {"prompt": "Hello", "max_tokens": 100}
ASKED = ModelRequest("m", (ModelMessage("user", "Hello"),))
READS = reads_usually(ASKED)
# What FakeModels answers by default, at a dollar for a million tokens.
TOOK = 150
COST = Decimal("0.00015")
# A worker that gives no sign of life after its first and is not waited for.
ALONE: dict[str, Any] = {
    "heartbeat_seconds": 60.0,
    "lease_seconds": 60.0,
    "poll_seconds": 60.0,
    "stop_seconds": 0.05,
}


def _asks(number: int, arguments: Mapping[str, Any] = HELLO, **more: Any) -> dict[str, Any]:
    steps = [step(f"s{place}", LLM, arguments, max_retries=0) for place in range(number)]
    return document(*steps, **more)


def _program(**more: Any) -> dict[str, Any]:
    return document(step("a", "test.program", max_retries=0), **more)


async def _used(bench: Bench, run_id: UUID | None = None) -> tuple[int, Decimal, int]:
    """Tokens and dollars in the ledger, and how many rows."""
    row = await bench.application.database.fetchrow(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0)::int8 AS tokens, "
        "coalesce(sum(cost_usd), 0) AS usd, count(*) AS rows FROM llm_usage "
        "WHERE $1::uuid IS NULL OR run_id = $1",
        run_id,
    )
    assert row is not None
    return row["tokens"], row["usd"], row["rows"]


async def _booked(bench: Bench) -> Decimal:
    return Decimal(
        await bench.application.database.fetchval("SELECT coalesce(sum(usd), 0) FROM spend")
    )


async def test_twenty_runs_that_race_for_a_day_s_money_never_overspend_it(bench: Bench) -> None:
    models = FakeModels(seconds=0.02, together=2)
    cap = Decimal("0.001")
    plan = _asks(1, execution={"concurrency": "allow_parallel", "cost_cap_daily_usd": "0.001"})
    async with models_bench(bench, models) as one:
        made = [await one.dispatch(plan) for _ in range(20)]
        async with one.worker(), one.worker():
            runs = [await one.until(run.run_id) for run in made]
    assert models.most > 1
    spent = COST * models.answered
    # The next call would not have fitted, and none that was made went beyond.
    assert 0 < spent <= cap
    assert await _booked(bench) == spent == (await _used(bench))[1]
    assert {run["reason"] for run in runs if run["status"] != "succeeded"} == {"day_budget"}
    assert sum(run["status"] == "succeeded" for run in runs) == models.answered


async def test_twenty_calls_that_race_in_one_run_stay_within_its_tokens(bench: Bench) -> None:
    # One that reads and writes no more than was promised for it.
    reply = ModelReply("Hello.", "outside-1", READS, 50, provider="outside")
    models = FakeModels(seconds=0.02, together=2, reply=reply, obeys=True)
    problems: list[Problem | None] = []

    async def work(ctx: StepContext) -> Any:
        called = await asyncio.gather(*(ctx.called(LLM, HELLO) for _ in range(20)))
        problems.extend(one.problem for one in called)

    async with models_bench(bench, models, asking(work)) as one:
        run = await one.run(_program(execution={"max_llm_tokens": 1_000}))
    used, _, rows = await _used(bench, run["id"])
    assert models.most > 1
    assert rows == models.answered == problems.count(None) >= 1_000 // (READS + 100)
    assert used <= 1_000
    refused = [one for one in problems if one is not None]
    assert {(one.code, one.retryable) for one in refused} == {("llm_tokens", False)}
    assert "max_llm_tokens" in (refused[0].suggestion or "")


async def test_texts_of_many_tokens_cross_the_run_s_tokens_by_one_ask_at_most(
    bench: Bench,
) -> None:
    asked = {**HELLO, "prompt": "a1" * 500, "max_tokens": 16}
    request = ModelRequest("m", (ModelMessage("user", "a1" * 500),))
    most, usual = reads_at_most(request), reads_usually(request)
    models = FakeModels(seconds=0.02, together=2, reply=ModelReply("Hi.", "m", most, 16))

    async def work(ctx: StepContext) -> Any:
        await asyncio.gather(*(ctx.called(LLM, asked) for _ in range(10)))

    async with models_bench(bench, models, asking(work)) as one:
        run = await one.run(_program(execution={"max_llm_tokens": 3_000}))
    assert models.most > 1
    assert 3_000 < (await _used(bench, run["id"]))[0] <= 3_000 + most - usual


async def test_what_a_model_may_write_is_cut_to_what_is_left(bench: Bench) -> None:
    models = FakeModels()
    most = {**HELLO, "max_tokens": 16_000}
    async with models_bench(bench, models) as one:
        run = await one.run(_asks(4, most, execution={"max_llm_tokens": 500}))
    assert [asked.max_tokens for asked in models.requests] == [
        500 - READS,
        500 - READS - TOOK,
        500 - READS - 2 * TOOK,
    ]
    assert (run["status"], run["reason"], run["outcome"]) == ("failed", "llm_tokens", "over_budget")
    assert [call["outcome"] for call in run["calls"]] == ["read"] * 3 + ["denied"]


async def test_a_run_that_has_reached_its_tokens_begins_no_step_but_its_last_words(
    bench: Bench,
) -> None:
    models = FakeModels(reply=ModelReply("More than it should.", "m", 900, 300))
    plan = document(
        step("ask", LLM, HELLO),
        step("free", "test.note", {"mark": "free"}),
        execution={"max_llm_tokens": 1_000, "on_failure": [step("told", "test.note")]},
    )
    async with models_bench(bench, models) as one:
        run = await one.run(plan)
    assert (run["reason"], run["outcome"]) == ("llm_tokens", "over_budget")
    assert {row["step"]: row["status"] for row in run["steps"]} == {
        "ask": "succeeded",
        "free": "failed",
        "told": "succeeded",
    }
    assert bench.outside.keys == {f"{run['id']}/told/1": 1}


async def test_a_program_learns_after_the_call_that_reached_a_cap(bench: Bench) -> None:
    codes: list[list[str | None]] = []

    async def work(ctx: StepContext) -> Any:
        result = [await ctx.used_up()]
        assert (await ctx.called(LLM, HELLO)).problem is None
        result.append(await ctx.used_up())
        codes.append([None if one is None else one.code for one in result])

    for bounds in (
        {"max_llm_tokens": 200},
        {"budget_cap_usd": "0.00019"},
        {"cost_cap_daily_usd": "0.00019"},
    ):
        models = FakeModels(reply=ModelReply("Long.", "m", 100, 100))
        async with models_bench(bench, models, asking(work)) as one:
            await one.run(_program(name=str(bounds), execution=bounds))
    assert codes == [[None, "llm_tokens"], [None, "run_budget"], [None, "day_budget"]]


async def test_an_answer_that_was_paid_for_is_not_paid_for_again_after_a_crash(
    bench: Bench,
) -> None:
    """The crash comes before the step's record; the call's own was written with its cost."""
    models = FakeModels()
    async with models_bench(bench, models) as one:
        run_id = await _crash_at(
            one,
            _asks(2, {**HELLO, "max_tokens": 1_000}, execution={"max_llm_tokens": 600}),
            "step.before",
        )
        assert len(models.requests) == 1
        async with one.worker():
            run = await one.until(run_id)
    assert run["status"] == "succeeded", run["error"]
    assert models.keys == [f"{run_id}/s0/1", f"{run_id}/s1/1"]
    assert run["cost_usd"] == 2 * COST == await _booked(bench)
    assert run["output"]["text"] == "Hello."
    # What the lost worker used counts for the worker that takes over.
    assert [asked.max_tokens for asked in models.requests] == [600 - READS, 600 - READS - TOOK]
    assert await _used(bench, run_id) == (2 * TOOK, 2 * COST, 2)


async def test_an_unanswered_model_call_keeps_its_reservation(bench: Bench) -> None:
    """Its worker is gone while the model thinks: nobody knows what will be charged."""
    slow, quick = FakeModels(seconds=None), FakeModels()
    plan = _asks(1, execution={"max_llm_tokens": 300})
    async with models_bench(bench, slow) as first, models_bench(bench, quick) as second:
        made = await first.dispatch(plan)
        async with first.worker(**ALONE):
            await asyncio.wait_for(slow.started.wait(), 20)
            await lose_workers(bench)
            async with second.worker():
                run = await second.until(made.run_id)
    assert run["status"] == "succeeded", run["error"]
    (asked,) = quick.requests
    assert asked.max_tokens == 300 - (reads_at_most(ASKED) + 100) - READS < 100


async def test_a_run_in_line_does_not_begin_once_the_day_s_money_is_spent(bench: Bench) -> None:
    models = FakeModels()
    plan = _asks(1, execution={"cost_cap_daily_usd": "0.00019"})
    async with models_bench(bench, models) as one:
        free = document(step("a", "test.echo"), name="free")
        models.reply = ModelReply("Long.", "m", 150, 50)
        made = [await one.dispatch(plan) for _ in range(3)]
        async with one.worker():
            runs = [await one.until(run.run_id) for run in made]
            late = await one.until((await one.dispatch(plan)).run_id)
            other = await one.until((await one.dispatch(free)).run_id)
    assert [run["status"] for run in runs] == ["succeeded", "skipped", "skipped"]
    for run in (*runs[1:], late):
        assert (run["status"], run["reason"], run["outcome"]) == (
            "skipped",
            "day_budget",
            "over_budget",
        )
        assert run["steps"] == []
        assert "UTC" in summarize_run(run)["because"]
    assert other["status"] == "succeeded"
    assert len(models.requests) == 1


async def test_a_run_in_line_waits_in_vain_for_a_workspace_that_has_spent_its_day(
    bench: Bench,
) -> None:
    async with models_bench(bench, FakeModels()) as one:
        await one.run(_asks(1))
        made = await one.dispatch(_asks(1, name="another"))
        await bench.application.database.execute(
            "UPDATE workspaces SET cost_cap_daily_usd = 0.0001"
        )
        async with one.worker():
            run = await one.until(made.run_id)
    assert (run["status"], run["reason"], run["steps"]) == ("skipped", "workspace_budget", [])


async def test_what_was_asked_with_the_run_s_token_reaches_its_caps_too(bench: Bench) -> None:
    lines: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        await applications[0].gate.serve(CapabilityCaller(held.actor, held=held), LLM, HELLO)
        for look in (False, True):
            gone = await ctx.used_up(look=look)
            lines.append(None if gone is None else gone.code)

    applications: list[Application] = []
    plan = document(
        step("a", "test.program"), step("b", "test.note"), execution={"max_llm_tokens": TOOK}
    )
    async with models_bench(bench, FakeModels(), asking(work)) as one:
        applications.append(one.application)
        run = await one.run(plan)
    assert lines == [None, "llm_tokens"]
    assert (run["status"], run["reason"], run["cost_usd"]) == ("failed", "llm_tokens", COST)
    assert not bench.outside.keys


MARK = {"model": "mine", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}


async def _report(ctx: StepContext, text: str) -> Problem | None:
    """As the reader of a script's output does it."""
    gone = None
    for mark in usage_markers([text]):
        if isinstance(mark, Usage):
            gone = await ctx.report_usage(
                mark.model, mark.input_tokens, mark.output_tokens, mark.cost_usd
            )
    return gone


def _mark(**changes: Any) -> str:
    return f"{OPEN}{json.dumps({**MARK, **changes})}{CLOSE}"


@pytest.mark.parametrize(
    ("bounds", "code"),
    [
        ({"budget_cap_usd": 1, "cost_cap_daily_usd": 5}, "run_budget"),
        ({"budget_cap_usd": 5, "cost_cap_daily_usd": 1}, "day_budget"),
        ({"budget_cap_usd": 5, "cost_cap_daily_usd": 5, "max_llm_tokens": 100}, "llm_tokens"),
    ],
)
async def test_what_a_script_reports_counts_toward_every_cap(
    bench: Bench, bounds: dict[str, Any], code: str
) -> None:
    lines: list[str | None] = []

    async def work(ctx: StepContext) -> Any:
        while len(lines) < 20:
            gone = await _report(ctx, _mark())
            lines.append(None if gone is None else gone.code)
            if gone is not None:
                raise gone

    async with models_bench(bench, None, asking(work, uses=())) as one:
        run = await one.run(_program(execution=bounds))
        late = await one.run(_program(execution=bounds)) if code == "day_budget" else None
    times = 7 if code == "llm_tokens" else 4
    assert lines == [None] * (times - 1) + [code]
    assert (run["status"], run["reason"], run["outcome"]) == ("failed", code, "over_budget")
    assert run["cost_usd"] == Decimal("0.25") * times == await _booked(bench)
    assert await _used(bench) == (15 * times, run["cost_usd"], times)
    assert late is None or (late["status"], late["reason"]) == ("skipped", "day_budget")


async def test_forged_reports_never_take_anything_back(bench: Bench) -> None:
    chance = random.Random(7)
    odd: list[Any] = [-1, -0.5, -1e300, None, "1", True, [], "NaN", 0, 1, 2, 3, 5, 7, 10**15]
    seen: list[tuple[int, Decimal, Decimal]] = []

    async def work(ctx: StepContext) -> Any:
        for _ in range(60):
            text = _mark(**{name: chance.choice(odd) for name in MARK})
            await _report(ctx, text.replace('"NaN"', "NaN"))
            tokens, usd, _ = await _used(bench)
            seen.append((tokens, usd, await _booked(bench)))
        for wrong in (Decimal(-1), Decimal("NaN"), Decimal("Infinity")):
            with pytest.raises(Problem):
                await ctx.report_usage("m", 1, 1, wrong)
        with pytest.raises(Problem):
            await ctx.report_usage("m", -1, 1, Decimal(0))

    bounds = {"budget_cap_usd": 1, "cost_cap_daily_usd": 1}
    async with models_bench(bench, None, asking(work, uses=())) as one:
        run = await one.run(_program(execution=bounds))
    assert run["error"] is None or run["error"]["code"] == "run_budget"
    assert seen == sorted(seen)
    assert all(usd == booked for _, usd, booked in seen)
    assert seen[-1][0] > 0
    # However large the number, one report counts for no more than a run may spend.
    _, usd, rows = await _used(bench)
    assert 0 < usd <= rows


async def test_a_script_that_is_taken_over_does_not_report_twice(bench: Bench) -> None:
    hung, go_on = asyncio.Event(), asyncio.Event()

    async def work(ctx: StepContext) -> Any:
        for cost in (0.25, 0.25, 0.125):
            await _report(ctx, _mark(cost_usd=cost))
        if not hung.is_set():
            hung.set()
            await go_on.wait()
        await _report(ctx, _mark(cost_usd=0.0625))
        return "done"

    async with models_bench(bench, None, asking(work, uses=())) as one:
        made = await one.dispatch(_program(execution={"cost_cap_daily_usd": 5}))
        async with one.worker(**ALONE):
            await asyncio.wait_for(hung.wait(), 20)
            await lose_workers(bench)
            async with one.worker():
                run = await one.until(made.run_id)
    assert run["status"] == "succeeded", run["error"]
    assert run["cost_usd"] == Decimal("0.6875") == await _booked(bench)
    assert (await _used(bench))[2] == 4


async def test_a_run_that_had_used_all_before_a_crash_does_not_go_on_after_it(bench: Bench) -> None:
    hung, tries = asyncio.Event(), []

    async def work(ctx: StepContext) -> Any:
        tries.append(await _report(ctx, _mark(input_tokens=100)))
        hung.set()
        await asyncio.Event().wait()

    async with models_bench(bench, None, asking(work, uses=())) as one:
        made = await one.dispatch(_program(execution={"max_llm_tokens": 100}))
        async with one.worker(**ALONE):
            await asyncio.wait_for(hung.wait(), 20)
            await lose_workers(bench)
            async with one.worker():
                run = await one.until(made.run_id)
    assert [one.code for one in tries if one is not None] == ["llm_tokens"]
    assert (run["status"], run["reason"], run["cost_usd"]) == (
        "failed",
        "llm_tokens",
        Decimal("0.25"),
    )
