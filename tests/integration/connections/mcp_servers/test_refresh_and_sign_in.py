"""Servers are refreshed once a day by one process; sign-in works when the person returns."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from mainspring.connections.mcp_servers.tool_discovery import McpToolDiscovery
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Problem
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.mcp_server import tool
from tests.kit.people import browser
from tests.kit.tool_servers import ODD, ToolServers

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOBODY = "01900000-0000-7000-8000-0000000000ff"


async def test_two_processes_that_look_once_a_day_do_not_both_look(shop: ToolServers) -> None:
    one = await shop.connect("notes")
    application = shop.application
    watchers = [
        McpToolDiscovery(
            application.database, application.mcp_clients, application.clock, application.limits
        )
        for _ in range(3)
    ]
    idle = [await watcher.once() for watcher in watchers]
    await application.database.execute("UPDATE mcp_connections SET harvest_due_at = now()")
    shop.notes.script.tools.append(tool("get_more"))
    shop.notes.sent.clear()
    done = await asyncio.gather(*(watcher.once() for watcher in watchers))
    tools = await shop.look(one)
    due = await application.database.fetchval(
        "SELECT harvest_due_at > now() + interval '20 hours' FROM mcp_connections"
    )

    assert (idle, sum(done)) == ([0, 0, 0], 1)
    assert len(shop.notes.calls("tools/list")) == 1
    assert (tools["get_more"]["state"], due) == ("new", True)


async def test_the_watch_looks_at_what_is_due_until_it_is_stopped(shop: ToolServers) -> None:
    one = await shop.connect("notes")
    application = shop.application
    await application.database.execute("UPDATE mcp_connections SET harvest_due_at = now()")
    shop.notes.script.tools.append(tool("get_more"))
    watcher = McpToolDiscovery(
        application.database, application.mcp_clients, application.clock, application.limits
    )
    stop = asyncio.Event()
    watching = asyncio.create_task(watcher.run(stop))
    async with asyncio.timeout(60):
        while "get_more" not in await shop.look(one):
            await asyncio.sleep(0.02)
        stop.set()
        await watching

    assert watching.exception() is None


async def test_a_server_that_is_away_is_tried_again_and_its_tools_stay(shop: ToolServers) -> None:
    one = await shop.connect("notes")
    application = shop.application
    shop.notes.script.mode = "server_error"
    await application.database.execute("UPDATE mcp_connections SET harvest_due_at = now()")
    watcher = McpToolDiscovery(
        application.database, application.mcp_clients, application.clock, application.limits
    )
    done = await watcher.once()
    shown = (await shop.ask("GET", f"/connections/{one}"))["connection"]
    soon = await application.database.fetchval(
        "SELECT harvest_due_at < now() + interval '2 hours' FROM mcp_connections"
    )

    assert (done, soon, shown["tools"]["agreed"]) == (1, True, 3)
    assert shown["health"] == "failing"
    assert shown["harvest_error"]["detail"]


async def test_signing_in_elsewhere_returns_to_a_workspace_with_tools(
    shop: ToolServers,
) -> None:
    shop.notes.script.oauth = True
    async with browser(shop.api, FIRST_MEMBER) as mine:
        given = {"alias": "notes", "server_url": shop.notes.url, "auth": "oauth"}
        made = await shop.ask("POST", "/connections", given)
        async with httpx2.AsyncClient(verify=False) as away:
            sent_back = (await away.get(made["sign_in_url"])).headers["location"]
        place = urlsplit(sent_back)
        query = f"{place.query}&session_state=x"
        # As a browser comes from another site: without its cookie.
        first = await shop.api.anonymous.get(place.path, params=dict(parse_qsl(query)))
        unknown = await shop.api.anonymous.get(
            place.path, params={**dict(parse_qsl(query)), "again": "1"}
        )
        back = await mine.client.get(place.path, params={**dict(parse_qsl(query)), "again": "1"})
        twice = await mine.client.get(place.path, params={**dict(parse_qsl(query)), "again": "1"})
    shown = (await shop.ask("GET", "/connections"))["connections"][0]
    await shop.call("notes.search_notes", text="a")

    assert made["connection"]["health"] == "sign_in"
    assert (first.status_code, "refresh" in first.text) == (200, True)
    assert "script" not in first.headers["content-security-policy"]
    assert unknown.status_code == 401
    assert (back.status_code, "notes is connected" in back.text) == (200, True)
    assert twice.status_code == 404
    assert (shown["health"], shown["tools"]["agreed"]) == ("ok", 3)


async def test_coming_back_with_nonsense_is_a_page_that_says_so(shop: ToolServers) -> None:
    path = f"/api/v1/connections/{NOBODY}/sign-in/callback"
    async with browser(shop.api, FIRST_MEMBER) as mine:
        answers = [
            await mine.client.get(path),
            await mine.client.get(path, params={"state": "x" * 5_000, "code": "c"}),
            await mine.client.get(path, params={"state": "<script>", "error": "<b>no</b>"}),
            await mine.client.get(f"{path}?state=a&state=b&code=c"),
            await mine.client.get(f"{path.replace(NOBODY, 'nobody')}?state=a&code=c"),
        ]
    led = await shop.api.anonymous.get(path, params={"state": '"><script>alert(1)</script>'})

    assert {answer.status_code for answer in answers} == {404}
    assert all(answer.headers["content-type"].startswith("text/html") for answer in answers)
    assert "<script>" not in led.text
    assert not any("<b>no" in answer.text for answer in answers)


async def test_what_is_not_there_is_reported_as_such(shop: ToolServers) -> None:
    one = await shop.connect("notes")
    agree = {"tools": [{"name": "no_such", "hash": "0" * 64}]}
    refusal = await shop.refused("POST", f"/connections/{one}/agree", agree)

    assert (refusal["status"], refusal["errors"][0]["pointer"]) == (404, "/tools/0/name")
    assert (await shop.refused("GET", f"/connections/{NOBODY}"))["code"] == "connection_missing"
    assert (await shop.refused("GET", f"/connections/{one}?tool=no"))["status"] == 404
    with pytest.raises(Problem):
        await shop.application.gate.direct(
            CapabilityCaller(Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=Role.EDITOR)),
            "disconnect_mcp_server",
            {"connection_id": one},
        )
    assert ODD["name"] in await shop.look(one)
