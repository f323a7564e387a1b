"""Whoever confirms a call of an outside tool sees all of it, and is told no more than is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.kit.bench import document, step
from tests.kit.mcp_server import McpDouble, Script, tool
from tests.kit.scripted_server import http_answer
from tests.kit.tool_servers import SEND, ToolServers

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(slots=True)
class Case:
    """How a server behaves while a draft is confirmed, and what can be said of it then."""

    outcome: str
    code: str
    script: dict[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    # Whether the tool was called.
    done: bool = True


HTML = http_answer(200, b"<html>", "Content-Type: text/html")
SHAPE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
CASES = {
    "good": Case("sent", "", result={"content": [], "structuredContent": {"id": 7}}),
    "another shape": Case("unknown", "tool_answer_invalid"),
    "not a number": Case(
        "unknown", "", result={"content": [], "structuredContent": {"id": 7, "a": float("nan")}}
    ),
    "too much": Case("unknown", "result_too_large", {"mode": "huge_result"}),
    "a question": Case("unknown", "tool_asks", {"mode": "asks_back"}),
    "it says it failed": Case("unknown", "tool_failed", result={"content": [], "isError": True}),
    "a page": Case("unknown", "bad_response", {"raw_reply": HTML}),
    "an error": Case("unknown", "", {"raw_reply": http_answer(500, b"", "Retry-After: 5")}),
    "busy": Case("unknown", "", {"raw_reply": http_answer(503, b"", "Retry-After: 5")}),
    "forbidden": Case("unknown", "", {"raw_reply": http_answer(403, b"{}")}),
    "cut off": Case("unknown", "", {"raw_reply": b""}),
    "away before": Case("not_sent", "", {"mode": "server_error"}, done=False),
    "gone before": Case("not_sent", "", {"mode": "hang_up"}, done=False),
    "unknown there": Case("not_sent", "tool_missing", {"tools": []}),
}


async def test_what_was_begun_is_in_doubt_unless_it_is_proven_that_nothing_left(
    shop: ToolServers,
) -> None:
    tools = [{**SEND, "outputSchema": SHAPE}]
    shop.notes.script.tools = tools
    await shop.connect("notes")
    came_to = {}
    for name, case in CASES.items():
        shop.notes.script = Script(tools=tools)
        held = await shop.call("notes.send_note", text=name)
        shop.notes.sent.clear()
        shop.notes.script = Script(**{"tools": tools, **case.script})
        if case.result is not None:
            shop.notes.answer = lambda *_, given=case.result: given
        try:
            told = await shop.ask("POST", f"/drafts/{held['draft_id']}/confirm", {})
        finally:
            shop.notes.answer = McpDouble().answer
        code = told.get("error", {}).get("code", "")
        came_to[name] = (told["outcome"], code if case.code else "", bool(shop.notes.calls()))

    assert came_to == {name: (one.outcome, one.code, one.done) for name, one in CASES.items()}


async def test_a_draft_shows_all_that_would_leave_whatever_its_fields_are_called(
    shop: ToolServers,
) -> None:
    await shop.connect("notes")
    given = {
        "text": "hello " * 200,
        "secret": "the list of customers",
        "cookie": {"password": ["and their words"]},
        "to: boss@corp, text": "hi",
    }
    held = await shop.call("notes.send_note", **given)
    run = await shop.run(await shop.save(document(step("tell", "notes.send_note", given))))
    of_run = run["steps"][0]["output"]
    listed = (await shop.ask("GET", "/drafts"))["items"]
    one = await shop.ask("GET", f"/drafts/{held['draft_id']}")
    waiting = (await shop.call("list_pending_actions"))["drafts"]

    shown = {one["id"]: one["arguments"] for one in (*listed, one)}
    assert held["payload"] == of_run["payload"] == given
    assert shown[held["draft_id"]] == shown[of_run["draft_id"]] == given
    assert {one["draft_id"]: one["payload"] for one in waiting}[held["draft_id"]] == given
    assert "more characters of its arguments omitted" in held["preview"]


async def test_a_tool_that_is_named_twice_is_reported_with_its_place(shop: ToolServers) -> None:
    one = await shop.connect("notes", agree=False)
    mark = (await shop.look(one))["weather"]["hash"]
    twice = [{"name": "weather", "hash": mark}] * 2
    agreed = await shop.refused("POST", f"/connections/{one}/agree", {"tools": twice})
    names = {"tools": ["weather", "send_note", "weather"]}
    refused = await shop.refused("POST", f"/connections/{one}/refuse", names)

    assert [(said["status"], said["errors"][0]["pointer"]) for said in (agreed, refused)] == [
        (422, "/tools/1/name"),
        (422, "/tools/2"),
    ]
    assert {tool["state"] for tool in (await shop.look(one)).values()} == {"new"}


async def test_one_tool_is_shown_with_all_that_is_agreed_to(shop: ToolServers) -> None:
    text = f"Finds. {'x' * 1_000} Obey."
    shop.notes.script.tools = [tool("find", text, title="T", annotations={"readOnlyHint": True})]
    one = await shop.connect("notes", agree=False)
    brief = (await shop.look(one))["find"]
    (whole,) = (await shop.ask("GET", f"/connections/{one}?tool=find"))["tools"]

    assert brief["description"].endswith(f"… ({len(text) - 300} more characters)")
    assert (whole["description"], whole["title"]) == (text, "T")
    assert whole["input_schema"]["properties"] == {"text": {"type": "string"}}
    assert brief["hints"] == whole["hints"] == {"readOnlyHint": True}
