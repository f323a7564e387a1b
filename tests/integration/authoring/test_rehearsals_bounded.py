"""A rehearsal reaches no further, spends no more and stays no longer than it may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

import pytest

from mainspring.contracts.context import CallContext, StepContext
from mainspring.contracts.errors import Invalid, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.definition.validate import read_definition
from mainspring.gate.rehearsal_recording import is_external_read
from mainspring.gate.run_tokens import find_pass
from mainspring.runs.rehearsal.records import RehearsalCandidate, keep_rehearsal
from mainspring.runs.retention import expire_runs
from mainspring.workspace.automations import FIRST_MEMBER, store_content
from mainspring.workspace.pages.embedding_job import PageEmbeddingJob
from tests.integration.workspace.test_consents import bring_in, client
from tests.kit.agents import agents_bench, capability
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step
from tests.kit.members import member
from tests.kit.model_connections import KEY, providing
from tests.kit.model_doubles import asking
from tests.kit.model_server import model_server

ONCE: Final[list[dict[str, Any]]] = [{"inputs": {}}]
REHEARSE: Final = "rehearse_automation"


def _plan(key: str, *, q: int = 1, **execution: Any) -> dict[str, Any]:
    asks = step("ask", "test.ask", {"q": q, "key": key})
    return document(asks, name="asks", execution=execution)


async def test_what_nobody_agreed_to_asks_nobody_whatever_it_adds(bench: Bench) -> None:
    asked: list[Any] = []

    async def answer(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        asked.append(given["q"])
        return {"ok": True}

    outside = capability(
        "test.ask", answer, hosts=frozenset({"shop.example"}), secret_arguments=frozenset({"key"})
    )
    async with agents_bench(bench, None, outside) as one:
        desk, program = CapabilityClient(one), client(CapabilityClient(one))
        for name in ("first", "second"):
            await one.application.vault.set(bench.secret_scope, name, f"the value of {name}")
        await desk.call("publisher_secret_set", {"name": "BILLING", "value": "a published value"})
        first = "{{ secrets.first }}"
        saved = await one.save(_plan(first))
        given = {"automation_id": str(saved.automation_id), "samples": ONCE}
        url = {"url": f"https://shop.example/?key={first}"}
        wider = {
            "a secret": _plan("{{ secrets.second }}"),
            "a published secret": _plan("{{ publisher.BILLING }}"),
            "a place": document(step("ask", "http_fetch", url), name="asks"),
            "money of a day": _plan(first, cost_cap_daily_usd=2),
            "money of a run": _plan(first, budget_cap_usd=2),
            "a model": _plan(first, model="other/model"),
            "a policy": _plan(first, write_policy="auto_confirm_safe"),
        }
        async with one.worker():
            same = {"definition": _plan(first, q=2)}
            told = await program.call(REHEARSE, {**given, "candidate": same})
            assert (told["live_reads"], sorted(asked)) == (True, [1, 2])
            asked.clear()
            for what, definition in wider.items():
                candidate = {**given, "candidate": {"definition": definition}}
                told = await program.call(REHEARSE, candidate)
                assert (told["live_reads"], asked) == (False, []), what
                with pytest.raises(PermissionDenied, match="agreed"):
                    await program.call(REHEARSE, {**candidate, "live_reads": True})
            await _check_refused(one, asked)


async def _check_refused(bench: Bench, asked: list[Any]) -> None:
    """What somebody has refused is agreed to as little as what still waits."""
    capability_client = CapabilityClient(bench)
    operator = CapabilityClient(
        bench, await member(bench.application.database, capability_client.space, Role.OPERATOR)
    )
    brought = {**_plan("{{ secrets.first }}", q=3), "name": "brought in"}
    [made] = await bring_in(bench, brought, over=False)
    assert made.consent is not None
    given = {"automation_id": str(made.saved.automation_id), "samples": ONCE}
    digest = made.consent.digest.hex()
    answer = {"consent_id": str(made.consent.id), "digest": digest, "agree": False}
    for status in ("waiting", "refused"):
        told = await client(capability_client).call(REHEARSE, given)
        assert (told["live_reads"], asked) == (False, []), status
        assert told["firings"][0]["now"]["reason"] == "not_recorded"
        # Anyone who could not agree to it cannot let it ask either.
        with pytest.raises(PermissionDenied):
            await operator.call(REHEARSE, {**given, "live_reads": True})
        if status == "waiting":
            await capability_client.call("answer_consent", answer)
    told = await capability_client.call(REHEARSE, {**given, "live_reads": True})
    assert (told["live_reads"], asked) == (True, [3])


def _costly(cap: float) -> dict[str, Any]:
    execution = {"cost_cap_daily_usd": cap, "budget_cap_usd": 5}
    return document(step("a", "test.a", max_retries=0), name="costly", execution=execution)


async def test_rehearsals_spend_within_the_smaller_day_and_all_of_it_is_reported(
    bench: Bench,
) -> None:
    caps = set[Decimal]()

    async def work(ctx: StepContext) -> Any:
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        caps.add(held.budget.day_cap)
        return await ctx.call("test.buy", {})

    async def buy(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        ctx.spend(Decimal("0.4"))
        return {"bought": True}

    def price(arguments: Mapping[str, Any]) -> Decimal:
        return Decimal("0.4")

    words = (asking(work, "test.a", uses=("test.buy",)), capability("test.buy", buy, price=price))
    async with agents_bench(bench, None, *words) as one:
        desk, database = CapabilityClient(one), bench.application.database
        saved = await one.save(_costly(1))
        given = {"automation_id": str(saved.automation_id), "samples": ONCE * 3}
        async with one.worker():
            # Live, for it is a person who wants it.
            high = {"candidate": {"definition": _costly(100)}, "live_reads": True}
            told = await desk.call(REHEARSE, {**given, **high})
            assert caps == {Decimal(1)}, "the cap in force is the smaller one"
            # Six runs on two sides, and money for two of them.
            assert await database.fetchval("SELECT sum(usd) FROM spend") == Decimal("0.8")
            assert told["spent_usd"] == "0.8"
            sides = [one[side] for one in told["firings"] for side in ("then", "now")]
            assert [side["status"] for side in sides].count("succeeded") == 2
            assert {side["reason"] for side in sides} == {None, "day_budget"}

            low = {"candidate": {"definition": _costly(0.5)}}
            left = await desk.call(REHEARSE, {**given, **low})
        # Nobody works here any more: it is refused where it would be let in.
        await one.save(_costly(0.6))
        both = await desk.call(REHEARSE, {**given, **high, "wait_seconds": 10})
    for told in (left, both):
        assert (told["done"], told["spent_usd"], told["otherwise"]) == (True, "0", 3)
        assert told["summary"].startswith("3 of 3 firings were not rehearsed: Today's runs have")
        for firing in told["firings"]:
            assert (firing["now"]["status"], firing["now"]["reason"]) == ("skipped", "day_budget")
            [difference] = firing["differences"]
            assert difference["says"] == f"It was not rehearsed: {firing['now']['error']}"
    assert {firing["then"]["status"] for firing in both["firings"]} == {"skipped"}
    assert await database.fetchval("SELECT sum(usd) FROM spend") == Decimal("0.8")


async def test_words_become_no_vectors_outside_where_nothing_is_to_be_asked(bench: Bench) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, embeddings="openai") as connected_bench,
    ):
        await connected_bench.call(
            "create_page", type="note", title="Holiday", body="Rules of holidays."
        )
        assert connected_bench.application.embedder is not None
        duty = PageEmbeddingJob(
            connected_bench.application.database, connected_bench.application.embedder
        )
        assert await duty.open()
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        await connected_bench.call("admin_connect_model", connected_bench.operator, **connected)
        while await duty.embed_some():
            pass
        known = Bench(connected_bench.application, bench.outside)
        saved = await known.save(document(step("t", "transform_data", {"output": 1}), name="e"))
        asks = document(
            step("words", "search", {"q": "holiday"}),
            step("meaning", "query", {"q": "days off"}),
            name="e",
        )
        given = {
            "automation_id": str(saved.automation_id),
            "candidate": {"definition": asks},
            "samples": ONCE,
        }
        count = "SELECT count(*) FROM llm_usage"
        before = await connected_bench.application.database.fetchval(count)
        async with known.worker():
            shut = await CapabilityClient(known).call(REHEARSE, {**given, "live_reads": False})
            assert await connected_bench.application.database.fetchval(count) == before
            told = await CapabilityClient(known).call(REHEARSE, {**given, "live_reads": True})
            assert await connected_bench.application.database.fetchval(count) == before + 1
        names = (
            "query",
            "search_space.query",
            "find_overlapping_automations",
            "create_automation_flow",
        )
        for name in names:
            assert is_external_read(connected_bench.application.registry.capabilities[name]), name
            assert not is_external_read(bench.application.registry.capabilities[name]), name
    [firing] = shut["firings"]
    assert (firing["now"]["reason"], firing["now"]["live"]) == ("not_recorded", [])
    assert "query" in firing["now"]["error"], "words alone are asked of nobody"
    [firing] = told["firings"]
    assert [one["capability"] for one in firing["now"]["live"]] == ["query"]


_WAITS: Final = """
    SELECT count(*) FROM pg_locks
    WHERE relation = 'definitions'::regclass AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_what_was_tried_goes_with_its_rehearsal_and_nothing_else_does(bench: Bench) -> None:
    desk, database = CapabilityClient(bench), bench.application.database
    kept = document(step("t", "transform_data", {"output": 1}), name="e")
    saved = await bench.save(kept)
    tried, again = (
        document(step("t", "transform_data", {"output": output}), name="e") for output in (2, 3)
    )
    given = {"automation_id": str(saved.automation_id), "samples": ONCE}
    count = "SELECT count(*) FROM definitions"
    with pytest.raises(Invalid):
        await desk.call(
            REHEARSE,
            {
                **given,
                "candidate": {"definition": tried},
                "samples": [{"inputs": {"no": 1}}],
            },
        )
    assert await database.fetchval(count) == 1, "what never began leaves nothing"
    async with bench.worker():
        for definition in (kept, tried, again):
            await desk.call(REHEARSE, {**given, "candidate": {"definition": definition}})
    assert await database.fetchval(count) == 3
    for table in ("calls", "steps", "runs"):
        await database.execute(f"DELETE FROM {table}")

    # Somebody is about to try one of them again: it is found there, and not yet referred to.
    later = bench.application.clock.now() + timedelta(days=2)
    async with database.transaction() as tx:
        content = await store_content(tx, desk.space, read_definition(again), ())
        expiry = asyncio.create_task(expire_runs(database, later))
        async with asyncio.timeout(60):
            while not expiry.done() and not await database.fetchval(_WAITS):
                await asyncio.sleep(0.01)
        assert not expiry.done(), "it waits for whoever saves"
        await keep_rehearsal(
            tx,
            desk.space,
            generate_id(),
            saved.automation_id,
            RehearsalCandidate(content.digest, (), {"kind": "definition"}),
            (),
            FIRST_MEMBER,
            live_reads=False,
        )
    await expiry
    left = await database.fetch("SELECT document FROM definitions ORDER BY created_at")
    outputs = [row["document"]["plan"][0]["config"]["output"] for row in left]
    assert outputs == [1, 3], "one is of a version, and one is tried again"
    await expire_runs(database, later)
    assert await database.fetchval(count) == 1
