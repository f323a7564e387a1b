"""One ask of a model: what it may cost, what it is booked at, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import LimitExceeded, Problem
from mainspring.contracts.model import (
    DEFAULT_MODEL,
    ModelMessage,
    ModelReply,
    ModelRequest,
    Price,
    interrupted_reply_error,
)
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.capability_offers import schema_for
from mainspring.gate.run_tokens import find_pass
from mainspring.gate.usage_meter import reads_at_most
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import LLM, FakeModels, asking, models_bench

HELLO: dict[str, Any] = {"prompt": "Hello", "max_tokens": 1_000}
READS = reads_at_most(ModelRequest("m", (ModelMessage("user", "Hello"),)))
DEAR = Price(Decimal(1), Decimal(2), Decimal("0.1"), Decimal("1.25"))


async def _ledger(bench: Bench) -> list[dict[str, Any]]:
    rows = await bench.application.database.fetch("SELECT * FROM llm_usage ORDER BY at, id")
    return [dict(row) for row in rows]


async def _promised(bench: Bench) -> tuple[int, Decimal]:
    """How many promises are open, and what is booked."""
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT count(*) FROM reservations WHERE spent IS NULL) AS open, "
        "(SELECT coalesce(sum(usd), 0) FROM spend) AS booked"
    )
    assert row is not None
    return row["open"], row["booked"]


def _one(arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return document(step("a", LLM, arguments, **{"max_retries": 0, **more}))


async def test_a_call_s_own_cap_cuts_what_is_written_or_keeps_the_call_from_being_made(
    bench: Bench,
) -> None:
    free = Price(Decimal(0), Decimal(0))
    # Dearer when it reads more than what is asked here.
    long = Price(Decimal(1), Decimal(1), above=(READS - 1, Price(Decimal(1), Decimal(5))))
    models = FakeModels(prices={"dear": DEAR, "free": free, "long": long})
    refused: dict[str, Problem | None] = {}

    async def work(ctx: StepContext) -> Any:
        for name, model, most in (
            ("plain", "small", 0.0002),
            ("dear", "dear", 0.0002),
            ("long", "long", 0.0002),
            ("roomy", "small", 5),
            ("free", "free", 0.000001),
            ("short", "small", READS / 1_000_000),
        ):
            called = await ctx.called(LLM, {**HELLO, "model": model, "max_usd": most})
            refused[name] = called.problem

    async with models_bench(bench, models, asking(work)) as one:
        run = await one.run(document(step("a", "test.program")))
    assert run["status"] == "succeeded", run["error"]
    # What may be put aside to be read again is the dearest way to read it.
    dear = int((Decimal(200) - READS * Decimal("1.25")) / 2)
    assert [asked.max_tokens for asked in models.requests] == [
        200 - READS,
        dear,
        (200 - READS) // 5,
        1_000,
        1_000,
    ]
    problem = refused.pop("short")
    assert set(refused.values()) == {None}
    assert problem is not None
    assert (problem.code, problem.kind, problem.retryable) == ("call_budget", "over_budget", False)
    assert "max_usd" in (problem.suggestion or "")
    assert len(await _ledger(bench)) == 5
    assert (await _promised(bench))[0] == 0


class _Reading(FakeModels):
    """Models to which every character is a token."""

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        reply = await FakeModels.complete(self, request, key=key)
        return replace(reply, input_tokens=len(request.messages[0].content), output_tokens=1)


async def test_no_kind_of_text_costs_more_than_was_promised_for_it(bench: Bench) -> None:
    models = _Reading(together=5, seconds=0.05)
    given = {"prompt": "a1b2c3d4e5" * 100, "max_tokens": 16}
    ask = step("ask", LLM, given, max_retries=0)
    async with models_bench(bench, models) as one:
        dear = await one.run(_one({**given, "max_usd": 0.0008}))
        await bench.application.database.execute("UPDATE workspaces SET cost_cap_daily_usd = 0.006")
        made = [await one.dispatch(document(ask, name=f"run {place}")) for place in range(10)]
        async with one.worker():
            runs = [await one.until(run.run_id) for run in made]
    assert (dear["reason"], dear["cost_usd"]) == ("call_budget", 0)
    assert {run["reason"] for run in runs} == {None, "workspace_budget"}
    assert models.most == 5
    assert (await _promised(bench))[1] == Decimal("0.005005")


async def test_a_grant_bounds_what_one_call_may_cost(bench: Bench) -> None:
    codes: list[Any] = []
    shown: list[Any] = []

    async def work(ctx: StepContext) -> Any:
        for most in (0.0003, 0.0002, None):
            given = HELLO if most is None else {**HELLO, "max_usd": most}
            problem = (await ctx.called(LLM, given)).problem
            codes.append(None if problem is None else problem.code)
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        capability = bench.application.registry.capabilities[LLM]
        shown.append(schema_for(capability, CapabilityCaller(held.actor, held=held)))

    models = FakeModels()
    grants = [{"capability": LLM, "params": {"max_usd": 0.0002}}]
    async with models_bench(bench, models, asking(work, uses=())) as one:
        await one.run(document(step("a", "test.program"), grants=grants))
    assert codes == ["not_granted", None, "not_granted"]
    assert [asked.max_tokens for asked in models.requests] == [200 - READS]
    assert shown[0]["properties"]["max_usd"]["maximum"] == 0.0002


class _Rising(FakeModels):
    """Models whose price goes up while they think."""

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        reply = await FakeModels.complete(self, request, key=key)
        self.prices["small"] = Price(Decimal(50), Decimal(50))
        return reply


async def test_a_price_that_changes_meanwhile_is_the_one_of_the_next_ask(bench: Bench) -> None:
    models = _Rising(prices={"small": Price(Decimal(2), Decimal(2))})
    async with models_bench(bench, models) as one:
        run = await one.run(
            document(*(step(name, LLM, {**HELLO, "model": "small"}) for name in ("a", "b")))
        )
    first, second = await _ledger(bench)
    assert (first["cost_usd"], second["cost_usd"]) == (Decimal("0.0003"), Decimal("0.0075"))
    prices = [row["price"]["output_usd_per_million"] for row in (first, second)]
    assert prices == ["2", "50"]
    assert run["cost_usd"] == Decimal("0.0078") == (await _promised(bench))[1]


async def test_a_model_without_a_price_is_asked_once_the_operator_has_set_one(
    bench: Bench,
) -> None:
    models = FakeModels()
    plan = _one({**HELLO, "model": "new"})
    async with models_bench(bench, models) as one:
        before = await one.run(plan)
        models.prices["new"] = Price(Decimal(1), Decimal(1))
        after = await one.run(plan)
    assert (before["reason"], before["cost_usd"]) == ("unknown_price", 0)
    assert (after["status"], after["cost_usd"]) == ("succeeded", Decimal("0.00015"))
    assert len(models.requests) == 1


async def test_how_an_ask_ended_decides_what_it_is_booked_at(bench: Bench) -> None:
    """One table: busy is free and tried again, cut off is its most, cut short is what it took."""
    most = (READS + 1_000) / Decimal(1_000_000)
    reply = ModelReply("Fine.", "m", 100, 50, provider="p")
    busy = LimitExceeded("It is busy.", code="model_busy", retryable=True, retry_after=0.0)
    short = ModelReply("And so", "m", 100, 1_000, stop_reason="max_tokens", provider="p")
    read_before = ModelReply("Yes.", "m", 1_000, 10, 400, provider="p", stored_tokens=500)
    table: list[tuple[str, list[ModelReply | BaseException], str, list[Decimal]]] = [
        ("busy", [busy, busy, reply], "succeeded", [Decimal("0.00015")]),
        ("always busy", [busy] * 9, "failed", []),
        (
            "cut off once",
            [interrupted_reply_error("…", retry_after=0.0), reply],
            "succeeded",
            [most, Decimal("0.00015")],
        ),
        ("cut short", [short], "succeeded", [Decimal("0.0011")]),
        # 100 new at 1, 400 read before at 0.1, 500 put aside at 1.25, 10 written at 2.
        ("dear", [read_before], "succeeded", [Decimal("0.000785")]),
        (
            "more than was asked for",
            [ModelReply("Long.", "m", 5_000, 5_000)],
            "succeeded",
            [Decimal("0.01")],
        ),
        ("beyond belief", [ModelReply("Hi.", "m", 10**30, 1)], "failed", [most]),
    ]
    for name, output, status, costs in table:
        models = FakeModels(script=list(output), prices={"dear": DEAR})
        given = {**HELLO, "model": "dear" if name == "dear" else "small"}
        plan = _one(given, max_retries=3, retry_backoff="none")
        async with models_bench(bench, models) as one:
            run = await one.run({**plan, "name": name})
        rows = [row for row in await _ledger(bench) if row["run_id"] == run["id"]]
        assert (run["status"], [row["cost_usd"] for row in rows]) == (status, costs), name
        assert run["cost_usd"] == sum(costs), name
        if name == "dear":
            assert (rows[0]["input_tokens"], rows[0]["cached_tokens"]) == (1_000, 400)
            assert rows[0]["price"]["stored_usd_per_million"] == "1.25"
        if name == "cut short":
            assert run["output"]["stop_reason"] == "max_tokens"
    assert await _promised(bench) == (0, sum(row["cost_usd"] for row in await _ledger(bench)))


async def test_every_ask_is_in_the_ledger_with_all_that_is_known_of_it(bench: Bench) -> None:
    """By a step, an item of a loop, a program and the token of a run; with odd names too."""
    models = FakeModels(
        seconds=0.002,
        script=[
            ModelReply("Hi.", "", 10, 5, provider="p\x00"),
            ModelReply("Hi.", "x\x00" * 500, 10, 5, provider="p"),
            interrupted_reply_error("…"),
        ],
    )
    models.reply = ModelReply("Hi.", "m", 10, 5, 2, provider="p")

    async def work(ctx: StepContext) -> Any:
        await ctx.called(LLM, HELLO)
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        await applications[0].gate.serve(CapabilityCaller(held.actor, held=held), LLM, HELLO)

    applications: list[Any] = []
    plan = document(
        step("plain", LLM, HELLO),
        step(
            "each",
            "for_each",
            {
                "items": [1, 2],
                "steps": [step("inner", LLM, HELLO, max_retries=1, retry_backoff="none")],
            },
        ),
        step("program", "test.program"),
    )
    async with models_bench(bench, models, asking(work)) as one:
        applications.append(one.application)
        run = await one.run(plan)
    assert run["status"] == "succeeded", run["error"]
    rows = await _ledger(bench)
    places = [(row["step"], row["item"], row["attempt"], row["call"]) for row in rows]
    assert places == [
        ("plain", "", 1, 1),
        ("inner", "0", 1, 1),
        ("inner", "1", 1, 1),
        ("inner", "1", 2, 1),
        ("program", "", 1, 1),
        ("program", "", 1, 10_001),
    ]
    assert {(row["caller"], row["run_id"], row["automation_id"]) for row in rows} == {
        (LLM, run["id"], run["automation_id"])
    }
    assert all(row["ms"] > 0 and row["cost_usd"] > 0 and row["price"] for row in rows)
    # A reply without a name, and one that never came, go by the name that was asked for.
    assert [row["model"] for row in rows] == [
        DEFAULT_MODEL,
        ("x " * 100).strip(),
        DEFAULT_MODEL,
        "m",
        "m",
        "m",
    ]
    assert [row["provider"] for row in rows] == ["p", "p", "", "p", "p", "p"]
    assert [row["cached_tokens"] for row in rows] == [0, 0, 0, 2, 2, 2]
