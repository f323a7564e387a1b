"""Tokens of runs: what they open, for how long, and what they never open."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, PermissionDenied, Problem, Unauthenticated
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.retention import expire_leftovers
from mainspring.gate.run_tokens import find_pass
from mainspring.surfaces.rest.route_access import is_open_to_runs, is_public
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.gate import Market, TokenStep, gate_bench
from tests.kit.outbound_bench import everything

GRANTS: list[dict[str, Any]] = [
    {"capability": "test.echo", "params": {"board": "b1", "max_rows": 10}},
    {"capability": "test.keep"},
    {"capability": "test.hang"},
    {"capability": "automation_kv.set"},
    {"capability": "test.costly"},
    {"capability": "test.mail"},
]
ECHO = {"board": "b1", "max_rows": 3}


@dataclass(slots=True)
class Held:
    """A run in the middle of a step that has handed out its token."""

    bench: Bench
    token_step: TokenStep
    token: str
    run_id: UUID

    async def caller(self) -> CapabilityCaller | None:
        found = await find_pass(self.bench.application.database, self.token)
        return None if found is None else CapabilityCaller(found.actor, held=found)

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        caller = await self.caller()
        assert caller is not None
        return await self.bench.application.gate.serve(caller, name, arguments)

    async def ended(self) -> dict[str, Any]:
        self.token_step.release.set()
        return await self.bench.until(self.run_id)


@asynccontextmanager
async def held_run(bench: Bench, *, beats: float = 0.5, **more: Any) -> AsyncIterator[Held]:
    hand = TokenStep()
    async with gate_bench(bench, Market(), hand) as one:
        plan = document(step("a", "test.hand", {"grants": GRANTS}, max_retries=0), **more)
        made = await one.dispatch(plan)
        async with one.worker(heartbeat_seconds=beats, lease_seconds=max(12.0, 3 * beats)):
            try:
                token = await asyncio.wait_for(hand.tokens.get(), 20)
                yield Held(one, hand, token, made.run_id)
            finally:
                hand.release.set()
                with contextlib.suppress(TimeoutError):
                    await one.until(made.run_id)


async def test_a_token_calls_as_its_run_with_records_of_its_own(bench: Bench) -> None:
    async with held_run(bench) as held:
        assert await held.call("test.echo", ECHO) == ECHO
        assert await held.call("test.keep", {"mark": 1}) == {"id": "real"}
        await held.call("automation_kv.set", {"key": "k", "value": 1})
        drafted = await held.call("test.mail", {"mark": "m"})
        assert drafted["kind"] == "draft"
        await held.call("test.costly", {"usd": "0.25"})
        assert held.token not in await everything(bench)
        run = await held.ended()
    assert run["output"] == {"same": True}
    calls = {call["call"]: (call["capability"], call["outcome"]) for call in run["calls"]}
    assert calls == {
        10_001: ("test.echo", "read"),
        10_002: ("test.keep", "kept"),
        10_003: ("automation_kv.set", "kept"),
        10_004: ("test.mail", "held"),
        10_005: ("test.costly", "read"),
    }
    assert (run["effects"], run["drafts"], run["cost_usd"]) == (2, 1, Decimal("0.25"))
    assert run["outcome"] == "drafts_waiting"
    assert await bench.application.database.fetchval("SELECT count(*) FROM run_tokens") == 0


async def test_what_a_token_is_offered_shows_the_pins(bench: Bench) -> None:
    async with held_run(bench) as held:
        caller = await held.caller()
        assert caller is not None
        offers = {
            one.capability.id: one for one in await held.bench.application.gate.offers(caller)
        }
        assert set(offers) == {grant["capability"] for grant in GRANTS}
        async with served(held.bench.application) as api:
            known = {"Authorization": f"Bearer {held.token}"}
            listed = (await api.anonymous.get("/api/v1/capabilities", headers=known)).json()
        assert {one["id"] for one in listed["capabilities"]} == set(offers)


async def test_a_token_never_reaches_further_than_the_grants(bench: Bench) -> None:
    async with held_run(bench) as held:
        for name, arguments, kind, code in (
            ("test.echo", {"board": "b2", "max_rows": 3}, PermissionDenied, "not_granted"),
            ("test.echo", {"board": "b1", "max_rows": 11}, PermissionDenied, "not_granted"),
            ("test.echo", {}, PermissionDenied, "not_granted"),
            ("test.note", {}, PermissionDenied, "not_granted"),
            ("test.people", {}, PermissionDenied, "not_granted"),
            ("http_fetch", {"url": "https://example.com"}, PermissionDenied, "not_granted"),
            ("no.such", {}, Problem, "unknown_capability"),
            ("Test.echo", ECHO, Problem, "unknown_capability"),
        ):
            with pytest.raises(kind) as refused:
                await held.call(name, arguments)
            assert refused.value.code == code, name
        assert not held.bench.outside.keys
        run = await held.ended()
    assert {call["outcome"] for call in run["calls"]} == {"denied"}
    result = await bench.application.database.fetch(
        "SELECT actor_kind, actor_id, subject FROM audit_log WHERE action = 'grant.refused'"
    )
    assert len(result) == 6
    assert {(row["actor_kind"], row["actor_id"]) for row in result} == {("run", run["id"])}


async def test_a_token_opens_no_route_but_the_capabilities(bench: Bench) -> None:
    async with held_run(bench) as held, served(held.bench.application) as api:
        known = {"Authorization": f"Bearer {held.token}"}
        asked = {}
        for method, path, endpoint in _routes(api):
            if is_public(endpoint):
                continue
            filled = "/".join(
                str(UUID(int=7)) if part.startswith("{") else part for part in path.split("/")
            )
            answer = await api.anonymous.request(method, filled, headers=known, json={})
            asked[method, path] = answer.status_code, is_open_to_runs(endpoint)
        assert len(asked) > 30
        opened = {route for route, (status, _) in asked.items() if status not in (401, 405)}
        assert opened == {route for route, (_, runs) in asked.items() if runs}
        assert {path for _, path in opened} == {
            "/api/v1/capabilities",
            "/api/v1/capabilities/{capability_id}",
        }
        mine = await api.anonymous.post(
            "/api/v1/capabilities/test.echo", headers=known, json={**ECHO}
        )
        assert (mine.status_code, mine.json()) == (200, ECHO)


def _routes(api: Api) -> list[tuple[str, str, Any]]:
    document = api.app.openapi()
    endpoints = {
        (method, context.path): context.endpoint
        for context in _contexts(api)
        for method in context.methods or ()
    }
    return [
        (method.upper(), path, endpoints.get((method.upper(), path)))
        for path, methods in document["paths"].items()
        for method in methods
        if method in {"get", "post", "put", "patch", "delete"}
    ]


def _contexts(api: Api) -> list[Any]:
    return [route for route in api.app.routes if hasattr(route, "endpoint")]


async def _is_refused(held: Held) -> bool:
    return await held.caller() is None


async def test_a_token_dies_with_its_run_at_once(bench: Bench) -> None:
    async with held_run(bench) as held:
        caller = await held.caller()
        assert caller is not None
        await held.ended()
        assert await _is_refused(held)
        # Somebody who was accepted a moment before is refused at the next call.
        with pytest.raises(Unauthenticated):
            await held.bench.application.gate.serve(caller, "test.echo", ECHO)


async def test_a_token_dies_with_the_wish_to_cancel(bench: Bench) -> None:
    async with held_run(bench) as held:
        caller = await held.caller()
        assert caller is not None
        await held.bench.application.control.cancel(
            held.bench.application.workspace_id, held.run_id
        )
        assert await _is_refused(held)
        with pytest.raises(Unauthenticated):
            await held.bench.application.gate.serve(caller, "test.keep", {})
        run = await held.bench.until(held.run_id)
        assert (run["status"], run["calls"]) == ("cancelled", [])


async def test_a_token_dies_with_the_lease_and_with_the_fence(bench: Bench) -> None:
    database = bench.application.database
    # No heartbeat of the worker mends in between what is taken away here.
    async with held_run(bench, beats=60.0) as held:
        await database.execute("UPDATE workers SET lease_until = now() - interval '1 second'")
        assert await _is_refused(held)
        await database.execute("UPDATE workers SET lease_until = now() + interval '1 minute'")
        assert not await _is_refused(held)
        await database.execute("UPDATE runs SET fence = fence + 1")
        assert await _is_refused(held)
        assert await database.fetchval("SELECT count(*) FROM calls") == 0
        await database.execute("UPDATE runs SET fence = fence - 1")


async def test_a_call_whose_run_was_lost_on_the_way_leaves_no_record(bench: Bench) -> None:
    async with held_run(bench) as held:
        calling = asyncio.create_task(held.call("test.hang", {}))
        await asyncio.wait_for(bench.outside.started.wait(), 20)
        await bench.application.database.execute("UPDATE runs SET fence = fence + 1")
        bench.outside.release.set()
        with pytest.raises(Conflict) as refused:
            await calling
        assert refused.value.code == "lease_lost"
        assert await bench.application.database.fetchval("SELECT count(*) FROM calls") == 0
        await bench.application.database.execute("UPDATE runs SET fence = fence - 1")


async def test_a_token_is_of_no_use_to_another_run_and_cannot_be_guessed(bench: Bench) -> None:
    database = bench.application.database
    async with held_run(bench) as held:
        other = await held.bench.dispatch(
            document(step("b", "test.hand", {"grants": [{"capability": "test.note"}]}), name="b")
        )
        second = await asyncio.wait_for(held.token_step.tokens.get(), 20)
        assert second != held.token
        await held.call("test.echo", ECHO)
        with pytest.raises(PermissionDenied):
            await held.call("test.note", {})
        theirs = await database.fetchval(
            "SELECT count(*) FROM calls WHERE run_id = $1", other.run_id
        )
        assert theirs == 0
        changed = [
            held.token[:place]
            + ("A" if held.token[place] != "A" else "B")
            + held.token[place + 1 :]
            for place in range(4, len(held.token))
        ]
        guesses = ["msr_" + secrets.token_urlsafe(32) for _ in range(1_000)]
        odd = [
            "",
            "msr_",
            held.token[:-1],
            held.token + "A",
            held.token.replace("msr_", "msk_"),
            held.token.upper(),
            f" {held.token}",
            f"{held.token}\n",
        ]
        for guess in [*changed, *guesses, *odd]:
            assert await find_pass(database, guess) is None


async def test_who_takes_a_run_over_goes_on_counting(bench: Bench) -> None:
    async with held_run(bench) as held:
        caller = await held.caller()
        assert caller is not None
        assert caller.held is not None
        await held.call("test.echo", ECHO)
        ours = caller.held
        gate, space = bench.application.gate, ours.actor.workspace_id
        held.token = (await gate.start(space, ours.run, ours.fence)).token
        await held.call("test.echo", ECHO)
        numbers = await bench.application.database.fetch("SELECT call FROM calls ORDER BY call")
        assert [row["call"] for row in numbers] == [10_001, 10_002]
        with pytest.raises(Conflict):
            await gate.start(space, ours.run, ours.fence + 1)


async def test_tokens_that_a_crash_left_behind_are_swept_away(bench: Bench) -> None:
    database = bench.application.database
    async with held_run(bench) as held:
        await database.execute("UPDATE run_tokens SET created_at = now() - interval '9 days'")
        now = held.bench.application.clock.now()
        assert await expire_leftovers(database, now) == 0
        await database.execute("UPDATE run_tokens SET fence = fence - 1")
        assert await expire_leftovers(database, now) == 1
