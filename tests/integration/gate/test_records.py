"""Records: what is kept of a call, what is hidden in it, and when it is written."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import LimitExceeded, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.gate import Market, gate_bench
from tests.kit.loopback_doubles import local_server
from tests.kit.outbound_bench import everything

SECRET = "pl4nted/s3cret+value"
SPELLINGS = [
    SECRET,
    base64.b64encode(SECRET.encode()).decode(),
    SECRET.encode().hex(),
    SECRET.replace("/", "%2F").replace("+", "%2B"),
    SECRET[::-1],
]


@pytest_asyncio.fixture
async def open_one(bench: Bench) -> AsyncIterator[tuple[Bench, Market, str]]:
    """A bench that may reach one loopback address, and a secret to send there."""

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    market = Market()
    async with local_server(answer) as server:
        pair = f"127.0.0.1:{server.port}"
        async with gate_bench(bench, market, egress_allow=frozenset({pair})) as one:
            await one.application.vault.set(one.secret_scope, "api_key", SECRET)
            yield one, market, pair


def _ask(pair: str) -> dict[str, Any]:
    headers = {"Authorization": "Bearer {{ secrets.api_key }}"}
    return step("ask", "http_fetch", {"url": f"http://{pair}/x", "headers": headers})


async def test_a_secret_that_comes_back_later_in_the_run_is_hidden_everywhere(
    open_one: tuple[Bench, Market, str],
) -> None:
    bench, market, pair = open_one
    for spelling in SPELLINGS:
        market.leak = spelling
        run = await bench.run(
            document(
                _ask(pair),
                step("call", "test.leak"),
                step("action", "test.tell"),
                step("onwards", "test.echo", {"text": "{{ call.text }}"}),
                step("broken", "test.leak", {"fail": True}, max_retries=0),
            )
        )
        assert run["status"] == "failed"
        outputs = {row["step"]: row["output"] for row in run["steps"]}
        # Of base64 the last sign or two also depend on what comes after.
        assert outputs["call"]["text"].startswith("[secret api_key]"), spelling
        assert outputs["action"]["told"].startswith("<[secret api_key]")
        assert outputs["onwards"]["text"].startswith("[secret api_key]")
        assert run["error"]["detail"].startswith("It says [secret api_key]")
    stored = await everything(bench)
    assert not [spelling for spelling in SPELLINGS if spelling in stored]


async def test_a_run_that_was_taken_over_still_hides_what_it_used(
    open_one: tuple[Bench, Market, str],
) -> None:
    bench, market, pair = open_one
    market.leak = SECRET
    wait = step("wait", "delay", {"seconds": 1})
    run = await bench.run(document(_ask(pair), wait, step("call", "test.leak")))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"]["text"] == "[secret api_key]"
    assert SECRET not in await everything(bench)


async def test_each_use_of_a_secret_is_written_to_the_audit_log_once(
    open_one: tuple[Bench, Market, str],
) -> None:
    bench, _, pair = open_one
    run = await bench.run(document(_ask(pair), step("b", "test.echo")))
    (entry,) = await bench.application.database.fetch(
        "SELECT actor_kind, actor_id, subject, detail FROM audit_log WHERE action = 'secret.used'"
    )
    assert (entry["actor_kind"], entry["actor_id"]) == ("run", run["id"])
    assert entry["subject"] == "api_key"
    assert entry["detail"] == {
        "capability": "http_fetch",
        "host": pair.partition(":")[0],
        "call": f"{run['id']}/ask/1",
    }


def _visitor(bench: Bench, role: Role = Role.OWNER) -> CapabilityCaller:
    return CapabilityCaller(
        Actor(bench.application.workspace_id, "member", FIRST_MEMBER, generate_id(), role)
    )


async def _direct(bench: Bench) -> list[tuple[str, str]]:
    rows = await bench.application.database.fetch(
        "SELECT capability, outcome FROM direct_calls ORDER BY at"
    )
    return [(row["capability"], row["outcome"]) for row in rows]


async def test_reads_of_people_are_recorded_together_and_writes_at_once(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as one:
        gate, caller = one.application.gate, _visitor(one)
        await gate.serve(caller, "test.keep", {"mark": 1, "slug": "thing"})
        assert await _direct(bench) == [("test.keep", "kept")]
        for number in range(50):
            await gate.serve(caller, "test.echo", {"n": number})
        with pytest.raises(PermissionDenied):
            await gate.serve(_visitor(one, Role.VIEWER), "test.keep", {})
    # The gate is closed with the application, and nothing is lost.
    found = await _direct(bench)
    assert sorted(set(found)) == [
        ("test.echo", "read"),
        ("test.keep", "denied"),
        ("test.keep", "kept"),
    ]
    assert found.count(("test.echo", "read")) == 50
    result = await bench.application.database.fetch(
        "SELECT action, subject, detail FROM audit_log ORDER BY id"
    )
    # The arguments of somebody who may not call are not looked at.
    assert [row["subject"] for row in result] == ["thing", None]
    calls = await bench.application.database.fetch(
        "SELECT id FROM direct_calls WHERE capability = 'test.keep' ORDER BY id"
    )
    assert [row["detail"]["call"] for row in result] == [str(row["id"]) for row in calls]
    assert [(row["action"], row["detail"]["outcome"]) for row in result] == [
        ("test.keep", "kept"),
        ("test.keep", "denied"),
    ]


async def test_records_of_direct_calls_are_kept_for_a_month(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as one:
        for _ in range(2):
            await one.application.gate.serve(_visitor(one), "test.keep", {})
    database, clock = bench.application.database, bench.application.clock
    await database.execute(
        "UPDATE direct_calls SET at = now() - interval '31 days' "
        "WHERE id = (SELECT min(id::text)::uuid FROM direct_calls)"
    )
    housekeeper = Housekeeper(database, bench.application.blobs, clock, bench.application.limits)
    removed = await housekeeper.once(clock.now() + timedelta(seconds=1))
    assert (removed.direct_calls, removed.failed) == (1, ())
    assert len(await _direct(bench)) == 1


async def test_one_caller_may_come_only_so_often(bench: Bench) -> None:
    few = replace(Limits(), direct_burst=3, direct_per_second=1)
    async with gate_bench(bench, Market(), limits=few) as one:
        first, second = _visitor(one), _visitor(one)
        for _ in range(3):
            await one.application.gate.serve(first, "test.echo", {})
        with pytest.raises(LimitExceeded) as refused:
            await one.application.gate.serve(first, "test.echo", {})
        assert refused.value.retry_after is not None
        assert 0 < refused.value.retry_after <= 1
        await one.application.gate.serve(second, "test.echo", {})


async def test_an_edit_leaves_the_run_under_way_as_it_was_and_binds_the_next(bench: Bench) -> None:
    def plan(*allowed: str) -> dict[str, Any]:
        grants = [
            {"capability": "test.hang"},
            {"capability": "automation_kv.set", "params": {"key": [*allowed]}},
        ]
        shape = {"type": "object", "properties": {"key": {"type": "string"}}}
        keep = step("keep", "automation_kv.set", {"key": "{{ inputs.key }}", "value": 1})
        steps = [step("wait", "test.hang"), keep]
        return document(*steps, grants=grants, inputs={"schema": shape})

    first = await bench.dispatch(plan("a", "b"), inputs={"key": "b"})
    async with bench.worker():
        await asyncio.wait_for(bench.outside.started.wait(), 20)
        second = await bench.dispatch(plan("a"), inputs={"key": "b"})
        bench.outside.release.set()
        before, after = await bench.until(first.run_id), await bench.until(second.run_id)
    assert (before["version"], before["status"]) == (1, "succeeded")
    assert (after["version"], after["status"], after["reason"]) == (2, "failed", "not_granted")
