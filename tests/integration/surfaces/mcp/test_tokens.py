"""The token decides what is available: nothing without one, and no more than it grants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest_asyncio

from mainspring.app import build_application
from mainspring.contracts.context import RunRef
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.run_tokens import mint
from mainspring.workspace.automations import FIRST_MEMBER, ensure_workspace
from mainspring.workspace.tokens import TokenLimits, make_token, revoke_token
from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.loopback_doubles import answer, local_server
from tests.kit.mcp import NEW, OLD, RawMcpClient, problem_of

ECHO = {"name": "test.echo", "arguments": {}}


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Makes tokens, and lets their holders speak."""

    bench: Bench
    client: RawMcpClient

    async def holder(
        self, bounds: TokenLimits | None = None, workspace_id: UUID | None = None
    ) -> RawMcpClient:
        application = self.bench.application
        async with application.database.transaction() as tx:
            place = workspace_id or application.workspace_id
            _, plain = await make_token(tx, place, FIRST_MEMBER, "a test", bounds)
        return replace(self.client, token=plain)


@pytest_asyncio.fixture
async def issuer(bench: Bench, wire: RawMcpClient) -> TokenIssuer:
    return TokenIssuer(bench, wire)


async def test_without_a_known_token_there_is_nothing(wire: RawMcpClient, bench: Bench) -> None:
    forms: list[Mapping[str, str]] = [
        {},
        {"authorization": "Bearer msk_" + "A" * 43},
        {"authorization": "Bearer msr_" + "A" * 43},
        {"authorization": f"Basic {wire.token}"},
        {"authorization": str(wire.token)},
        {"cookie": f"mainspring_session={wire.token}"},
        {"x_api_key": str(wire.token)},
    ]
    nobody = replace(wire, token=None)
    for version in (OLD, NEW):
        for headers in forms:
            answer = await replace(nobody, version=version).send("tools/call", ECHO, **headers)

            assert answer.status_code == 401, headers
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert str(wire.token) not in answer.text
    assert not bench.outside.tries


async def test_a_token_in_the_address_is_refused_even_with_a_valid_header(
    wire: RawMcpClient, bench: Bench
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ECHO}
    for query in (f"access_token={wire.token}", f"token={wire.token}", "x=1"):
        known = {"authorization": f"Bearer {wire.token}"}
        alone = await wire.http.post(f"{wire.address}/mcp?{query}", json=body)
        both = await wire.http.post(f"{wire.address}/mcp?{query}", json=body, headers=known)

        assert alone.status_code == 401
        assert both.status_code == 422
        assert str(wire.token) not in both.text
    assert not bench.outside.tries


async def test_a_token_is_refused_once_it_is_revoked_or_has_expired(issuer: TokenIssuer) -> None:
    application = issuer.bench.application
    async with application.database.transaction() as tx:
        stored, plain = await make_token(tx, application.workspace_id, FIRST_MEMBER, "a test")
    revoked = replace(issuer.client, token=plain)
    soon = datetime.now(UTC) + timedelta(seconds=1)
    expiring = await issuer.holder(TokenLimits(expires_at=soon))
    assert (await revoked.send("tools/list")).status_code == 200

    async with application.database.transaction() as tx:
        await revoke_token(tx, application.workspace_id, stored.id)
    assert (await revoked.send("tools/list")).status_code == 401
    async with asyncio.timeout(60):
        while (await expiring.send("tools/list")).status_code != 401:
            await asyncio.sleep(0.05)
    assert (await expiring.send("tools/call", ECHO)).status_code == 401
    assert not issuer.bench.outside.tries


async def test_a_limited_token_sees_and_calls_what_it_names_and_nothing_else(
    issuer: TokenIssuer,
) -> None:
    limited = await issuer.holder(TokenLimits(capabilities=("test.echo",)))
    for version in (OLD, NEW):
        one = replace(limited, version=version)
        assert (await one.tools()).keys() == {"test_echo"}
        assert (await one.call("test.echo", {"a": 1}))["structuredContent"] == {"a": 1}
        other = await one.error("tools/call", {"name": "publish_event", "arguments": {}})
        missing = await one.error("tools/call", {"name": "no_such_tool", "arguments": {}})
        assert other["code"] == missing["code"] == -32602
        assert other["message"] == missing["message"].replace("no_such_tool", "publish_event")


async def test_a_limited_role_sees_what_it_may_call_and_is_refused_the_rest(
    issuer: TokenIssuer,
) -> None:
    viewer = await issuer.holder(TokenLimits(role=Role.VIEWER))
    tools = await viewer.tools()

    assert tools
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())
    assert "test_echo" in tools
    refused = await viewer.call("test.note", {})
    assert refused["isError"] is True
    assert problem_of(refused)["code"] == "role_too_small"
    assert not issuer.bench.outside.keys


async def test_a_token_of_another_workspace_sees_only_its_own(issuer: TokenIssuer) -> None:
    application, elsewhere = issuer.bench.application, generate_id()
    async with application.database.transaction() as tx:
        await ensure_workspace(tx, elsewhere, "Elsewhere")
        await tx.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')",
            elsewhere,
            FIRST_MEMBER,
        )
    there = await issuer.holder(workspace_id=elsewhere)
    tools = await issuer.client.tools()
    made = await there.call("publish_event", {"type": "mcp.elsewhere"})
    assert made["isError"] is False, made
    row = await application.database.fetchrow(
        "SELECT workspace_id FROM events WHERE type = 'mcp.elsewhere'"
    )
    assert row is not None
    assert row["workspace_id"] == elsewhere
    assert (await there.tools()).keys() == tools.keys()


class Running:
    """A run that hangs in a step, and its token."""

    def __init__(self, bench: Bench, run_id: UUID, wire: RawMcpClient) -> None:
        self.bench = bench
        self.run_id = run_id
        self.client = wire

    async def end(self) -> None:
        self.bench.outside.release.set()
        await self.bench.until(self.run_id)


@asynccontextmanager
async def _running(
    bench: Bench, wire: RawMcpClient, grants: Sequence[Mapping[str, Any]]
) -> AsyncIterator[Running]:
    plan = step("wait", "test.hang")
    made = await bench.dispatch(document(plan, grants=[{"capability": "test.hang"}, *grants]))
    async with bench.worker():
        await asyncio.wait_for(bench.outside.started.wait(), 20)
        row = await bench.application.database.fetchrow(
            "SELECT fence, automation_id FROM runs WHERE id = $1", made.run_id
        )
        assert row is not None
        run = RunRef(made.run_id, row["automation_id"], "wait")
        async with bench.application.database.transaction() as tx:
            begun = await mint(
                tx, bench.application.workspace_id, run, row["fence"], datetime.now(UTC)
            )
        yield Running(bench, made.run_id, replace(wire, token=begun.token, version=NEW))
        bench.outside.release.set()


async def test_a_run_sees_its_grants_with_their_pins_and_its_token_dies_with_it(
    issuer: TokenIssuer,
) -> None:
    grants = [{"capability": "publish_event", "params": {"type": "mcp.pinned"}}]
    async with _running(issuer.bench, issuer.client, grants) as going:
        tools = await going.client.tools()
        fits = await going.client.call("publish_event", {"type": "mcp.pinned"})
        wider = await going.client.call("publish_event", {"type": "mcp.other"})
        other = await going.client.error("tools/call", ECHO)
        over_rest = await issuer.client.http.get(
            f"{issuer.client.address}/api/v1/automations",
            headers={"authorization": f"Bearer {going.client.token}"},
        )
        await going.end()
        late = await going.client.send("tools/list")

    assert tools.keys() == {"test_hang", "publish_event"}
    assert tools["publish_event"]["inputSchema"]["properties"]["type"]["const"] == "mcp.pinned"
    assert fits["isError"] is False, fits
    assert wider["isError"] is True
    assert problem_of(wider)["status"] == 403
    assert other["message"] == "There is no tool called 'test.echo'."
    assert over_rest.status_code == late.status_code == 401


async def test_a_token_is_never_sent_on_to_another_system(bench: Bench) -> None:
    async def speak(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, head, content_type="text/plain"))

    async with local_server(speak) as upstream, AsyncExitStack() as stack:
        pair = f"127.0.0.1:{upstream.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({pair}))
        application = build_application(
            settings, Limits(), bench.application.registry, bench.application.database
        )
        stack.push_async_callback(application.wakeup_sender.aclose)
        stack.push_async_callback(application.egress.aclose)
        api = await stack.enter_async_context(served(application))
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=30))
        grants = [{"capability": "http_fetch", "params": {"hosts": [pair]}}]
        wire = RawMcpClient(http, api.address, api.token)
        going = await stack.enter_async_context(_running(bench, wire, grants))
        fetched = await going.client.call("http_fetch", {"url": f"http://{pair}/"})

    assert fetched["isError"] is False, fetched
    [head] = upstream.requests
    assert b"authorization" not in head.lower()
    for token in (api.token, str(going.client.token)):
        assert token.encode() not in head
        assert token not in str(fetched)
