"""automation_llm_complete: what it asks, what it answers, what it costs and who may call it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import NotFound, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import DEFAULT_MODEL, ModelReply, Price, interrupted_reply_error
from mainspring.contracts.roles import Role
from mainspring.gate.retention import expire_usage
from mainspring.gate.usage_meter import read_usage
from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.mcp import RawMcpClient
from tests.kit.members import member
from tests.kit.model_doubles import LLM, FakeModels, asking, models_bench

HELLO: dict[str, Any] = {"prompt": "Hello"}
# What is wrong, and where that is said to be.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "/messages"),
    ({**HELLO, "messages": [{"role": "user", "content": "x"}]}, "/messages"),
    ({"messages": []}, "/messages"),
    ({"messages": "x"}, "/messages"),
    ({"prompt": ""}, "/prompt"),
    ({"messages": [{"role": "system", "content": "x"}]}, "/messages/0/role"),
    ({"messages": [{"role": "user", "content": ["x"]}]}, "/messages/0/content"),
    ({"messages": [{"role": "user"}]}, "/messages/0/content"),
    ({**HELLO, "max_tokens": 0}, "/max_tokens"),
    ({**HELLO, "max_tokens": 16_001}, "/max_tokens"),
    ({**HELLO, "max_tokens": 1.5}, "/max_tokens"),
    ({**HELLO, "temperature": 1.01}, "/temperature"),
    ({**HELLO, "temperature": -0.1}, "/temperature"),
    ({**HELLO, "system": 7}, "/system"),
    ({**HELLO, "model": ""}, "/model"),
    ({**HELLO, "top_p": 1}, "/top_p"),
]


def _plan(*arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    steps = [step(f"s{n}", LLM, given, max_retries=0) for n, given in enumerate(arguments)]
    return document(*steps, **more)


async def _ledger(bench: Bench) -> list[dict[str, Any]]:
    rows = await bench.application.database.fetch("SELECT * FROM llm_usage ORDER BY at, id")
    return [dict(row) for row in rows]


async def _money(bench: Bench) -> tuple[Decimal, int]:
    """What is booked, and how many promises are open."""
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT coalesce(sum(usd), 0) FROM spend) AS booked, "
        "(SELECT count(*) FROM reservations WHERE spent IS NULL) AS open"
    )
    assert row is not None
    return row["booked"], row["open"]


async def test_a_run_asks_and_gets_the_token_usage(bench: Bench) -> None:
    models = FakeModels(
        script=[ModelReply("Yes.\x00", "small-2", 1_000, 10, 400, "max_tokens", "outside")],
        prices={"small": Price(Decimal(2), Decimal(10), Decimal("0.5"))},
    )
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    given = {
        "messages": [*talk, {"role": "user", "content": "c"}],
        "system": "Be brief.",
        "model": "small",
        "max_tokens": 500,
        "temperature": 0.5,
    }
    async with models_bench(bench, models) as one:
        run = await one.run(_plan(given))
        async with bench.application.database.acquire() as link:
            (row,) = await read_usage(link, one.application.workspace_id, run["id"])
    assert run["output"] == {
        "text": "Yes.\ufffd",
        "model": "small-2",
        "usage": {"input_tokens": 1_000, "output_tokens": 10},
        "stop_reason": "max_tokens",
    }
    (asked,) = models.requests
    assert (asked.model, asked.system, asked.max_tokens) == ("small", "Be brief.", 500)
    assert [one.content for one in asked.messages] == ["a", "b", "c"]
    assert asked.temperature == 0.5
    assert models.keys == [f"{run['id']}/s0/1"]
    # 600 new, 400 read before, 10 written.
    usd = Decimal("0.0012") + Decimal("0.0002") + Decimal("0.0001")
    assert run["cost_usd"] == usd == run["calls"][0]["cost_usd"]
    assert await _money(bench) == (usd, 0)
    stored = {
        name: row[name] for name in ("step", "call", "caller", "provider", "model", "reported")
    }
    assert stored == {
        "step": "s0",
        "call": 1,
        "caller": LLM,
        "provider": "outside",
        "model": "small-2",
        "reported": False,
    }
    assert (row["input_tokens"], row["output_tokens"], row["cached_tokens"]) == (1_000, 10, 400)
    assert row["cost_usd"] == usd
    assert row["price"]["output_usd_per_million"] == "10"


async def test_the_automation_s_model_is_asked_where_a_call_names_none(bench: Bench) -> None:
    models = FakeModels()
    async with models_bench(bench, models) as one:
        await one.run(_plan(HELLO, {**HELLO, "model": "small"}))
        await one.run(_plan(HELLO, name="mine", execution={"model": "small"}))
    assert [asked.model for asked in models.requests] == [DEFAULT_MODEL, "small", "small"]
    assert {asked.max_tokens for asked in models.requests} == {1_024}


async def test_what_is_wrong_is_said_with_its_place_and_nobody_is_asked(bench: Bench) -> None:
    models = FakeModels()

    async def work(ctx: StepContext) -> Any:
        for given, pointer in WRONG:
            problem = (await ctx.called(LLM, given)).problem
            assert problem is not None, given
            assert problem.code == "arguments_invalid", given
            assert pointer in [finding.pointer for finding in problem.findings], given
        return "all"

    async with models_bench(bench, models, asking(work)) as one:
        run = await one.run(document(step("a", "test.program", max_retries=0)))
    assert run["output"] == "all", run["error"]
    assert models.requests == []
    assert await _ledger(bench) == []


async def test_a_grant_s_ceiling_binds_and_wants_to_be_met_in_the_open(bench: Bench) -> None:
    models, codes = FakeModels(), {}

    async def work(ctx: StepContext) -> Any:
        for most in (None, 201, 200):
            given = HELLO if most is None else {**HELLO, "max_tokens": most}
            problem = (await ctx.called(LLM, given)).problem
            codes[most] = None if problem is None else (problem.code, problem.detail)

    grants = [{"capability": LLM, "params": {"max_tokens": 200}}]
    async with models_bench(bench, models, asking(work, uses=())) as one:
        await one.run(document(step("a", "test.program"), grants=grants))
    assert codes[200] is None
    assert codes[201] == ("not_granted", "max_tokens is above what is granted.")
    assert codes[None] == (
        "not_granted",
        "The grant bounds max_tokens, and the call leaves it out.",
    )
    assert [asked.max_tokens for asked in models.requests] == [200]


async def test_a_model_whose_price_nobody_knows_is_not_asked(bench: Bench) -> None:
    models = FakeModels()
    async with models_bench(bench, models) as one:
        run = await one.run(_plan({**HELLO, "model": "nobody-knows"}))
    assert (run["status"], run["reason"]) == ("failed", "unknown_price")
    assert run["error"]["errors"][0]["pointer"] == "/model"
    assert "operator" in run["error"]["suggestion"]
    assert (models.requests, await _ledger(bench)) == ([], [])
    assert await _money(bench) == (Decimal(0), 0)


async def test_without_a_model_a_run_fails_with_a_reason_and_a_dry_run_continues(
    bench: Bench,
) -> None:
    async with models_bench(bench, None) as one:
        live = await one.run(_plan(HELLO))
        dry = await one.run(_plan(HELLO), mode="dry_run")
        verify = await one.run(_plan(HELLO), mode="verify")
    for run in (live, verify):
        assert (run["status"], run["reason"]) == ("failed", "no_model")
        assert run["error"]["suggestion"]
    assert (dry["status"], dry["output"]["kind"]) == ("succeeded", "suppressed")
    assert dry["calls"][0]["outcome"] == "pretended"
    assert await _ledger(bench) == []


async def test_a_trial_asks_a_model_that_is_there_and_pays(bench: Bench) -> None:
    models = FakeModels()
    async with models_bench(bench, models) as one:
        for mode in ("dry_run", "verify"):
            run = await one.run(_plan(HELLO), mode=mode)
            assert (run["status"], run["output"]["text"]) == ("succeeded", "Hello.")
            assert run["cost_usd"] == Decimal("0.00015")
    assert len(models.requests) == len(await _ledger(bench)) == 2


async def test_what_a_provider_refuses_is_free_and_what_broke_off_is_booked_at_its_most(
    bench: Bench,
) -> None:
    given = {**HELLO, "max_tokens": 200}
    broken: list[tuple[BaseException, bool]] = [
        (UpstreamError("It is busy.", code="busy"), False),
        (interrupted_reply_error("It broke off in the middle."), True),
        (RuntimeError("a surprise"), True),
    ]
    for error, paid in broken:
        async with models_bench(bench, FakeModels(script=[error])) as one:
            run = await one.run(_plan(given, name=str(paid) + type(error).__name__))
        assert run["status"] == "failed"
        assert "surprise" not in str(run)
        rows = [row for row in await _ledger(bench) if row["run_id"] == run["id"]]
        assert len(rows) == paid
        assert run["cost_usd"] == sum(row["cost_usd"] for row in rows)
        assert all(row["output_tokens"] == 200 for row in rows)
    booked, still_promised = await _money(bench)
    assert booked == sum(row["cost_usd"] for row in await _ledger(bench)) > 0
    assert still_promised == 0


async def test_an_answer_that_does_not_come_is_not_waited_for_and_is_booked(bench: Bench) -> None:
    async with models_bench(bench, FakeModels(seconds=None), limits=Limits(model_seconds=1)) as one:
        late = await one.run(_plan(HELLO))
    models = FakeModels(seconds=None)
    async with models_bench(bench, models) as one:
        made = await one.dispatch(_plan(HELLO, name="cancelled"))
        async with one.worker():
            await asyncio.wait_for(models.started.wait(), 20)
            await one.application.control.cancel(one.application.workspace_id, made.run_id)
            cancelled = await one.until(made.run_id)
    assert (late["status"], late["reason"]) == ("timed_out", "model_timeout")
    assert cancelled["status"] == "cancelled"
    booked = [row["cost_usd"] for row in await _ledger(bench)]
    assert [late["cost_usd"], cancelled["cost_usd"]] == booked
    assert min(booked) > 0
    assert (await _money(bench))[1] == 0


async def test_an_answer_with_impossible_counts_is_booked_at_its_most(bench: Bench) -> None:
    models = FakeModels(script=[ModelReply("Hi.", "m", -5, -5)])
    async with models_bench(bench, models) as one:
        run = await one.run(_plan({**HELLO, "max_tokens": 300}))
    (row,) = await _ledger(bench)
    # The answer is not what it should be, and it was paid for all the same.
    assert (run["status"], run["reason"]) == ("failed", "result_invalid")
    assert run["cost_usd"] == row["cost_usd"] > 0
    assert row["output_tokens"] == 300


@asynccontextmanager
async def _surfaces(bench: Bench) -> AsyncIterator[tuple[Any, RawMcpClient]]:
    async with models_bench(bench, FakeModels()) as one, served(one.application) as api:
        yield api, RawMcpClient(api.client, api.address, api.token)


async def test_nobody_but_a_run_is_offered_it_over_rest_or_mcp(bench: Bench) -> None:
    async with _surfaces(bench) as (api, wire):
        listed = (await api.client.get("/api/v1/capabilities")).json()["capabilities"]
        called = await api.client.post(f"/api/v1/capabilities/{LLM}", json=HELLO)
        tools = await wire.tools()
        refused = await wire.send("tools/call", {"name": LLM, "arguments": HELLO})
        for role in Role:
            caller = await member(bench.application.database, bench.application.workspace_id, role)
            with pytest.raises(NotFound):
                await api.application.gate.serve(caller, LLM, HELLO)
    assert LLM not in {one["id"] for one in listed}
    assert LLM not in tools
    assert (called.status_code, called.json()["code"]) == (404, "unknown_capability")
    assert "unknown_capability" in refused.text or "There is no" in refused.text
    assert await _ledger(bench) == []


async def test_a_program_with_the_run_s_token_asks_over_mcp_and_rest(bench: Bench) -> None:
    answers: list[Any] = []
    models = FakeModels()

    async def work(ctx: StepContext) -> Any:
        token = (await ctx.start()).token
        async with served(applications[0]) as api:
            known = {"Authorization": f"Bearer {token}"}
            path = f"/api/v1/capabilities/{LLM}"
            answers.append((await api.anonymous.post(path, json=HELLO, headers=known)).json())
            wire = RawMcpClient(api.anonymous, api.address, token)
            answers.append((await wire.call(LLM, HELLO))["structuredContent"])
        return "done"

    applications: list[Any] = []
    async with models_bench(bench, models, asking(work)) as one:
        applications.append(one.application)
        run = await one.run(document(step("a", "test.program", max_retries=0)))
    assert run["status"] == "succeeded", run["error"]
    assert [str(answer).count("Hello.") for answer in answers] == [1, 1]
    assert [row["call"] for row in await _ledger(bench)] == [10_001, 10_002]
    assert run["cost_usd"] == Decimal("0.0003")


async def test_the_ledger_outlives_its_runs_and_is_emptied_by_its_age(bench: Bench) -> None:
    async with models_bench(bench, FakeModels()) as one:
        await one.run(_plan(HELLO))
        now = one.application.clock.now()
    database = bench.application.database
    assert await expire_usage(database, now - timedelta(days=1)) == 0
    await database.execute("UPDATE llm_usage SET at = at - interval '2 days'")
    assert await expire_usage(database, now - timedelta(days=1)) == 1
