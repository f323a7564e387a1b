"""A call that takes longer than clients wait: progress, an early answer, and the call again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from mainspring.app import application_services
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.mcp import server
from mainspring.surfaces.mcp.server import Context, McpToolMethods, build_server
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench
from tests.kit.mcp import NEW, OLD, RawMcpClient, connected

RUN = "run_automation_once"
CLIENTS_GIVE_UP = 60


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same wait in a second, so that the test need not take as long as clients do."""
    assert server.CLIENT_SECONDS < CLIENTS_GIVE_UP - 10
    monkeypatch.setattr(server, "CLIENT_SECONDS", 1.0)


@asynccontextmanager
async def _client(api: Api, over: str) -> AsyncIterator[Client]:
    if over in ("legacy", "auto"):
        async with connected(api.address, api.token, over) as client:
            yield client
        return
    actor = Actor(api.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)

    async def who(ctx: Context) -> CapabilityCaller:
        return CapabilityCaller(actor)

    async with Client(
        build_server(McpToolMethods(application_services(api.application)), who)
    ) as client:
        yield client


@pytest.mark.parametrize("over", ["legacy", "auto", "pipes"])
async def test_a_client_hears_of_its_run_and_is_answered_before_it_gives_up(
    api: Api, bench: Bench, over: str
) -> None:
    automation = await CapabilityClient(bench).save(source="return 1;")
    heard: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    asked = {"automation_id": automation, "wait_seconds": 300}
    async with _client(api, over) as client:
        late = await client.call_tool(RUN, asked, progress_callback=hear)
        again = await client.call_tool(RUN, asked)

    result: Any = late.structured_content
    assert (result["terminal"], result["timed_out"]) == (False, True)
    assert f"run_id {result['run_id']}" in result["next_step"]
    assert heard
    assert result["run_id"] in heard[0][1]
    assert again.structured_content is not None
    assert again.structured_content["run_id"] == result["run_id"]
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 1


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_progress_comes_as_a_stream_only_where_there_is_any(
    wire: RawMcpClient, bench: Bench, version: str
) -> None:
    wire = replace(wire, version=version)
    automation = await CapabilityClient(bench).save(source="return 1;")
    meta = {"_meta": {"progressToken": "p-1"}}
    envelope = {"io.modelcontextprotocol/protocolVersion": NEW} if version == NEW else {}

    async def send(name: str, arguments: dict[str, Any], **headers: str) -> Any:
        params: dict[str, Any] = {"name": name, "arguments": arguments, **meta}
        params["_meta"] = {**meta["_meta"], **envelope}
        if version == NEW:
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {}
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        return await wire.post(body, mcp_method="tools/call", mcp_name=name, **headers)

    quick = await send("test_echo", {"a": 1})
    no_stream = await send(RUN, {"automation_id": automation}, accept="application/json")
    slow = await send(RUN, {"automation_id": automation})

    for answer in (quick, no_stream):
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["result"]["isError"] is False
    assert slow.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in slow.text.splitlines() if line.startswith("data: ")]
    *progress, last = events
    assert progress
    assert {one["params"]["progressToken"] for one in progress} == {"p-1"}
    assert {one["method"] for one in progress} == {"notifications/progress"}
    assert last["id"] == 7
    assert last["result"]["structuredContent"]["timed_out"] is True
