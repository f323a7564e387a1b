"""Confirming over MCP: the client opens the page, and only the person's answer there counts."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from mcp import Client, StdioServerParameters
from mcp_types import ElicitRequestURLParams, ElicitResult

from mainspring.app import application_services
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.mcp import server
from mainspring.surfaces.mcp.server import Context, McpToolMethods, build_server
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.workspaces import add_workspace, rename_workspace
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.drafts import Office, office
from tests.kit.mcp import OLD, RawMcpClient, connected, problem_of

OVER = ["legacy", "auto", "pipes-legacy", "pipes-auto"]
# A child process that forwards to the server, as clients start it that know no HTTP.
FORWARDED = ["bridge-legacy", "bridge-auto"]
AN_ID = "01900000-0000-7000-8000-0000000000c7"
ACCEPT = ElicitResult(action="accept", content={"confirm": True})


@dataclass(slots=True)
class Opened:
    """A client that answers each elicitation as configured, and keeps what it was asked."""

    answer: ElicitResult = field(default_factory=lambda: ACCEPT)
    then: Callable[[Any], Awaitable[Any]] | None = None
    asked: list[Any] = field(default_factory=list)
    later: set[asyncio.Task[Any]] = field(default_factory=set)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        if self.then is not None:
            # The person answers on the page, while the client goes on.
            self.later.add(asyncio.ensure_future(self.then(params)))
        return self.answer


@dataclass(frozen=True, slots=True)
class Place:
    """Where drafts are made, and the server in front of it."""

    office: Office
    api: Api

    async def draft(self, client: Client, text: str = "Hello") -> str:
        made = await client.call_tool("telegram_push", {"text": text})
        content: Any = made.structured_content
        return str(content["draft_id"])

    @property
    def sent(self) -> list[str]:
        return [one["text"] for one in self.office.telegram.messages]


@pytest_asyncio.fixture
async def place(bench: Bench) -> AsyncIterator[Place]:
    async with office(bench) as here, served(here.bench.application) as api:
        yield Place(here, api)


def _patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(server, "CLIENT_SECONDS", seconds)


@asynccontextmanager
async def _client(api: Api, over: str, opened: Opened | None) -> AsyncIterator[Client]:
    """The official client, over HTTP, or over a pipe as ``mainspring mcp`` serves it."""
    way, _, mode = over.rpartition("-")
    if way == "bridge":
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "mainspring", "mcp", "--url", api.address],
            env={**os.environ, "MAINSPRING_TOKEN": api.token},
        )
        async with Client(started, mode=mode, elicitation_callback=opened) as client:
            yield client
        return
    if way == "pipes":
        actor = Actor(
            api.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER, by_program=True
        )

        async def who(ctx: Context) -> CapabilityCaller:
            return CapabilityCaller(actor)

        here = build_server(McpToolMethods(application_services(api.application)), who)
        async with Client(here, mode=mode, elicitation_callback=opened) as client:
            yield client
        return
    chosen = "toolset=default,approvals"
    async with connected(api.address, api.token, mode, opens=opened, query=chosen) as client:
        yield client


@pytest.mark.parametrize("over", OVER)
async def test_a_client_that_accepts_everything_gets_nothing_sent(
    place: Place, over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _patience(monkeypatch, 0.5)
    opened = Opened()
    async with _client(place.api, over, opened) as client:
        draft = await place.draft(client)
        answer = await client.call_tool("confirm_action", {"draft_id": draft})
        again = await client.call_tool("confirm_action", {"draft_id": draft})

    url = ""
    for one in (answer, again):
        result: Any = one.structured_content
        url = result["url"]
        assert (result["status"], result["outcome"]) == ("pending", "not_sent")
        assert url.endswith(f"/inbox?draft={draft}")
    assert place.office.telegram.requests == []
    assert (await place.office.row(draft))["status"] == "pending"
    assert len(opened.asked) == 2
    for params in opened.asked:
        assert isinstance(params, ElicitRequestURLParams)
        # No credential is in it: who opens it has to sign in.
        assert params.url == url
        assert "Hello" in params.message


@pytest.mark.parametrize("over", [*OVER, *FORWARDED])
async def test_the_call_answers_what_came_of_the_persons_yes(place: Place, over: str) -> None:
    async def agree(params: Any) -> None:
        draft = params.url.rpartition("=")[2]
        await place.office.confirm(draft)

    opened = Opened(then=agree)
    async with _client(place.api, over, opened) as client:
        draft = await place.draft(client, "with a yes")
        answer = await client.call_tool("confirm_action", {"draft_id": draft})
        again = await client.call_tool("confirm_action", {"draft_id": draft})

    result: Any = answer.structured_content
    assert (result["status"], result["outcome"]) == ("confirmed", "sent")
    assert result["result"] == {"message_id": 101}
    assert again.structured_content == result
    assert place.sent == ["with a yes"]
    row = await place.office.row(draft)
    assert row["answered_kind"] == "member"


@pytest.mark.parametrize("over", OVER)
async def test_the_call_answers_the_persons_no(place: Place, over: str) -> None:
    async def decline(params: Any) -> None:
        draft = params.url.rpartition("=")[2]
        await place.office.ask("discard_action", {"draft_id": draft})

    async with _client(place.api, over, Opened(then=decline)) as client:
        draft = await place.draft(client)
        answer = await client.call_tool("confirm_action", {"draft_id": draft})

    result: Any = answer.structured_content
    assert (result["status"], result["outcome"]) == ("declined", "not_sent")
    assert place.sent == []


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_page_that_is_not_opened_is_not_waited_for(
    place: Place, over: str, action: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test would not end in time if the call waited.
    _patience(monkeypatch, 3600.0)
    opened = Opened(answer=ElicitResult(action=action))
    async with _client(place.api, over, opened) as client:
        draft = await place.draft(client)
        answer = await client.call_tool("confirm_action", {"draft_id": draft})

    assert answer.is_error
    result = problem_of(answer.model_dump(by_alias=True))
    assert result["code"] == "person_needed"
    assert result["url"].endswith(f"/inbox?draft={draft}")
    assert place.sent == []


@pytest.mark.parametrize("over", OVER)
async def test_a_client_without_elicitation_gets_the_link(place: Place, over: str) -> None:
    async with _client(place.api, over, None) as client:
        draft = await place.draft(client)
        answer = await client.call_tool("confirm_action", {"draft_id": draft})

    assert answer.is_error
    assert problem_of(answer.model_dump(by_alias=True))["code"] == "person_needed"
    assert place.sent == []


@pytest.mark.parametrize("over", ["legacy", "auto"])
async def test_what_the_person_writes_on_the_page_is_what_is_sent(place: Place, over: str) -> None:
    async def rewrite(params: Any) -> None:
        draft = params.url.rpartition("=")[2]
        edits = {"text": "the person's words"}
        shown = await place.office.ask("edit_action", {"draft_id": draft, "edits": edits})
        given = {"draft_id": draft, "hash": shown["hash"]}
        await place.office.ask("confirm_action", given)

    async with _client(place.api, over, Opened(then=rewrite)) as client:
        draft = await place.draft(client)
        given = {"draft_id": draft, "edits": {"text": "the program's words"}}
        answer = await client.call_tool("confirm_action", given)

    result: Any = answer.structured_content
    assert result["outcome"] == "sent"
    assert place.sent == ["the person's words"]


@pytest.mark.parametrize(
    ("capability", "arguments", "page"),
    [
        ("answer_approval", {"approval_id": AN_ID, "decision": "approved"}, f"item={AN_ID}"),
        (
            "answer_consent",
            {"consent_id": AN_ID, "digest": "a2c4" * 16, "agree": True},
            f"item={AN_ID}",
        ),
        ("decide_standing_rule", {"rule_id": AN_ID, "decision": "accept"}, "tab=rules"),
    ],
)
async def test_every_other_answer_of_a_person_leads_to_its_page_too(
    place: Place, capability: str, arguments: dict[str, Any], page: str
) -> None:
    opened = Opened()
    async with _client(place.api, "legacy", opened) as client:
        answer = await client.call_tool(capability, arguments)

    assert answer.is_error
    result = problem_of(answer.model_dump(by_alias=True))
    assert result["code"] == "person_needed"
    assert [one.url for one in opened.asked] == [result["url"]]
    assert result["url"].endswith(f"/inbox?{page}")


async def _hello(wire: RawMcpClient, elicitation: dict[str, Any]) -> httpx2.Response:
    info = {"name": "a client", "version": "1"}
    params = {"protocolVersion": OLD, "capabilities": {"elicitation": elicitation}}
    return await wire.send("initialize", {**params, "clientInfo": info})


async def test_form_mode_alone_is_no_way_to_a_person(place: Place) -> None:
    wire = RawMcpClient(place.api.anonymous, place.api.address, place.api.token)
    without_url: list[dict[str, Any]] = [{}, {"form": {}}]
    for modes in without_url:
        answer = await _hello(wire, modes)
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers


async def test_the_stream_of_a_call_asks_the_client_and_tells_that_it_is_done(
    place: Place,
) -> None:
    """Nothing answers the request: another process may get that answer."""
    wire = RawMcpClient(place.api.anonymous, place.api.address, place.api.token)
    session = (await _hello(wire, {"form": {}, "url": {}})).headers["mcp-session-id"]
    draft = (await wire.call("telegram_push", {"text": "Hi"}))["structuredContent"]["draft_id"]
    asking = asyncio.create_task(
        replace(wire).send(
            "tools/call",
            {"name": "confirm_action", "arguments": {"draft_id": draft}},
            mcp_session_id=session,
        )
    )
    await _recorded(place, "confirm_action", "denied")
    await place.office.confirm(draft)
    answer = await asking

    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [one[6:] for one in answer.text.splitlines() if one.startswith("data: ")]
    create, complete, last = map(json.loads, lines)
    assert (create["method"], create["params"]["mode"]) == ("elicitation/create", "url")
    assert complete == {
        "jsonrpc": "2.0",
        "method": "notifications/elicitation/complete",
        "params": {"elicitationId": create["params"]["elicitationId"]},
    }
    assert last["result"]["structuredContent"]["outcome"] == "sent"


async def _recorded(place: Place, capability: str, outcome: str) -> None:
    """Returns once such a call is on record."""
    database = place.api.application.database
    query = "SELECT count(*) FROM direct_calls WHERE capability = $1 AND outcome = $2"
    async with asyncio.timeout(60):
        while not await database.fetchval(query, capability, outcome):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_no_client_is_asked_to_open_a_page_that_no_server_shows(
    place: Place, mode: str
) -> None:
    space = place.api.application.workspace_id
    actor = Actor(space, "member", FIRST_MEMBER, role=Role.OWNER, by_program=True)

    async def who(ctx: Context) -> CapabilityCaller:
        return CapabilityCaller(actor)

    opened = Opened()
    alone = build_server(
        McpToolMethods(application_services(place.api.application), lambda: False), who
    )
    async with Client(alone, mode=mode, elicitation_callback=opened) as client:
        draft = await place.draft(client)
        answer = await client.call_tool("confirm_action", {"draft_id": draft})

    result = problem_of(answer.model_dump(by_alias=True))
    assert result["code"] == "person_needed"
    assert f"mainspring drafts confirm {draft}" in result["suggestion"]
    assert opened.asked == []
    assert place.sent == []


@pytest.mark.parametrize("over", OVER)
async def test_several_drafts_are_answered_by_a_person_on_one_page(place: Place, over: str) -> None:
    drafts: list[str] = []

    async def answer(params: Any) -> None:
        await place.office.confirm(drafts[0])
        await place.office.ask("discard_action", {"draft_id": drafts[1]})

    opened = Opened(then=answer)
    async with _client(place.api, over, opened) as client:
        drafts += [await place.draft(client, text) for text in ("the first", "the second")]
        result: Any = (
            await client.call_tool("confirm_actions", {"draft_ids": drafts})
        ).structured_content

    assert [one["status"] for one in result["results"]] == ["confirmed", "declined"]
    assert [one["draft_id"] for one in result["results"]] == drafts
    assert place.sent == ["the first"]
    (asked,) = opened.asked
    assert isinstance(asked, ElicitRequestURLParams)
    assert asked.url.endswith("/inbox")
    assert "2 drafts" in asked.message
    assert "the first" in asked.message
    assert "the second" in asked.message


@pytest.mark.parametrize("over", ["legacy", "auto"])
async def test_a_client_that_accepts_everything_gets_none_of_several_sent(
    place: Place, over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _patience(monkeypatch, 0.5)
    async with _client(place.api, over, Opened()) as client:
        drafts = [await place.draft(client, text) for text in ("one", "two")]
        result: Any = (
            await client.call_tool("confirm_actions", {"draft_ids": drafts})
        ).structured_content
    async with _client(place.api, over, None) as client:
        plain: Any = (
            await client.call_tool("confirm_actions", {"draft_ids": drafts})
        ).structured_content

    for draft, one in zip(drafts, result["results"], strict=True):
        assert (one["status"], one["outcome"]) == ("pending", "not_sent")
        assert one["url"].startswith("http")
        assert one["url"].endswith(f"/inbox?draft={draft}")
    assert [one["error"]["code"] for one in plain["results"]] == ["person_needed"] * 2
    assert place.sent == []


async def test_the_page_is_that_of_the_workspace_for_a_person_of_several(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _patience(monkeypatch, 0.5)
    application = place.api.application
    async with application.database.transaction() as tx:
        await add_workspace(tx, FIRST_MEMBER, "Another", Role.OWNER)
        await rename_workspace(tx, application.workspace_id, "The team")
    opened = Opened()
    async with _client(place.api, "legacy", opened) as client:
        draft = await place.draft(client)
        answer: Any = await client.call_tool("confirm_action", {"draft_id": draft})
        given = {"approval_id": AN_ID, "decision": "approved"}
        await client.call_tool("answer_approval", given)

    named = f"workspace={application.workspace_id}"
    assert [one.url.partition("/inbox?")[2] for one in opened.asked] == [
        f"draft={draft}&{named}",
        f"item={AN_ID}&{named}",
    ]
    assert all(one.message.startswith("In the workspace 'The team': ") for one in opened.asked)
    assert answer.structured_content["url"] == opened.asked[0].url
