"""What is sent to the MCP server, well or badly formed, and what it answers.

Every result is judged by the schema of the version it was asked for in (tests/kit/mcp.py).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
import pytest_asyncio
from mcp.shared.tool_name_validation import validate_tool_name

from mainspring.app import Application, build_application, build_registry
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.surfaces.mcp.server import message_limits
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.mcp import NEW, OLD, VERSIONS, RawMcpClient, connected, error_of, problem_of

PARSE, INVALID, UNKNOWN, PARAMS = -32700, -32600, -32601, -32602


async def test_each_tool_has_schemas_a_title_and_hints_in_every_version(wire: RawMcpClient) -> None:
    for version in VERSIONS:
        whole = replace(wire, version=version, query="toolset=all&output_schemas=1")
        tools = await whole.tools()

        assert {"test_echo", "publish_event", "send_email"} <= tools.keys()
        assert "http_fetch" not in tools  # for runs alone
        for name, tool in tools.items():
            assert validate_tool_name(name).is_valid, name
            assert tool["title"]
            assert tool["description"]
            assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
            jsonschema_rs.meta.validate(tool["inputSchema"])
            jsonschema_rs.meta.validate(tool["outputSchema"])
            assert not [key for key in tool["inputSchema"] if key.startswith("x-")]
            assert tool["annotations"].keys() >= {
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            }
        assert tools["test_echo"]["annotations"]["readOnlyHint"] is True
        assert tools["send_email"]["annotations"]["openWorldHint"] is True
        assert tools["publish_event"]["annotations"]["readOnlyHint"] is False
        assert tools["publish_event"]["annotations"]["openWorldHint"] is False


async def test_a_value_comes_as_structured_content_and_as_the_same_text(wire: RawMcpClient) -> None:
    for version in VERSIONS:
        one = replace(wire, version=version)
        given = {"words": "grün ☂", "none": None, "deep": [{"n": 1.5}]}
        made = await one.call("test.echo", given)

        assert made["isError"] is False
        assert made["structuredContent"] == given
        [text] = made["content"]
        assert text["type"] == "text"
        assert json.loads(text["text"]) == given


async def test_a_value_fits_the_schema_that_was_shown_for_it(wire: RawMcpClient) -> None:
    tools = await replace(wire, query="output_schemas=1").tools()
    made = await wire.call("publish_event", {"type": "mcp.told"})
    held = await wire.call("test.mail", {"mark": "x"})

    assert jsonschema_rs.is_valid(tools["publish_event"]["outputSchema"], made["structuredContent"])
    assert held["structuredContent"]["kind"] == "draft"
    assert jsonschema_rs.is_valid(tools["test_mail"]["outputSchema"], held["structuredContent"])


async def test_a_problem_is_an_error_result_that_says_where_and_what_to_do(
    wire: RawMcpClient,
) -> None:
    for version in [OLD, NEW]:
        one = replace(wire, version=version)
        wrong = await one.call("publish_event", {"type": 5, "bogus": True})
        broken = await one.call("test.wrong_shape", {})
        never = await one.call("test.flaky", {"failures": 1, "permanent": True})

        assert wrong["isError"] is broken["isError"] is never["isError"] is True
        assert ("structuredContent" in wrong) is (version == NEW)
        problem = problem_of(wrong)
        assert problem["status"] == 422
        assert problem["code"] == "arguments_invalid"
        assert "instance" not in problem
        assert {found["pointer"] for found in problem["errors"]} == {"/type", "/bogus"}
        assert "/bogus" in wrong["content"][0]["text"]
        assert problem_of(broken)["code"] == "result_invalid"
        assert problem_of(never)["code"] == "never"
        assert never["content"][0]["text"].startswith("This can never work.")


async def test_a_tool_that_is_not_offered_is_an_error_of_the_protocol(wire: RawMcpClient) -> None:
    for version in [OLD, NEW]:
        one = replace(wire, version=version)
        missing = await one.error("tools/call", {"name": "no_such_tool", "arguments": {}})
        for_runs = await one.error("tools/call", {"name": "http_fetch", "arguments": {}})

        assert missing["code"] == for_runs["code"] == PARAMS
        assert missing["message"] == "There is no tool called 'no_such_tool'."
        assert for_runs["message"] == "There is no tool called 'http_fetch'."
        assert missing["data"].keys() == for_runs["data"].keys()


async def test_a_mistake_in_the_protocol_is_an_error_of_the_protocol(wire: RawMcpClient) -> None:
    for version in [OLD, NEW]:
        one = replace(wire, version=version)
        for method, params, code in (
            ("no/such/method", {}, UNKNOWN),
            ("prompts/list", {}, UNKNOWN),
            ("resources/read", {"uri": "x://y"}, UNKNOWN),
            ("tools/call", {"arguments": {}}, PARAMS),
            ("tools/call", {"name": None}, PARAMS),
            ("tools/call", {"name": "test.echo", "arguments": [1]}, PARAMS),
            ("tools/call", {"name": "test.echo", "arguments": "text"}, PARAMS),
            ("tools/list", {"cursor": 5}, PARAMS),
            ("tools/list", {"cursor": "not one of ours!"}, PARAMS),
        ):
            answer = await one.send(method, params)

            assert error_of(answer)["code"] == code, (method, params)
            assert answer.status_code == (
                {UNKNOWN: 404, PARAMS: 400}[code] if version == NEW else 200
            )


async def test_a_body_that_is_no_message_is_refused(wire: RawMcpClient, bench: Bench) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test.echo"}}
    deep = b"[" * 5_000 + b"]" * 5_000
    for body, code in (
        (b"", PARSE),
        (b"{", PARSE),
        (b"nonsense", PARSE),
        (b"\xff\xfe", PARSE),
        (b"NaN", PARSE),
        (deep, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', PARSE),
        (b"[]", INVALID),
        (b"null", INVALID),
        (b"5", INVALID),
        (b'"text"', INVALID),
        (json.dumps([call]).encode(), INVALID),
        (json.dumps([call, call]).encode(), INVALID),
        (b"{}", INVALID),
        (json.dumps({**call, "jsonrpc": "1.0"}).encode(), INVALID),
        (json.dumps({**call, "id": {}}).encode(), INVALID),
        (json.dumps({**call, "id": None}).encode(), INVALID),
        (json.dumps({**call, "id": True}).encode(), INVALID),
        (json.dumps({**call, "method": 5}).encode(), INVALID),
        (json.dumps({**call, "params": []}).encode(), INVALID),
    ):
        answer = await wire.post(body)

        assert answer.status_code == 400, (body[:60], answer.text)
        assert error_of(answer)["code"] == code, body[:60]
        assert answer.json()["id"] is None
    assert not bench.outside.tries


async def test_the_way_a_message_comes_is_checked(wire: RawMcpClient, bench: Bench) -> None:
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    most = message_limits(bench.application.limits, bench.application.registry).json_bytes
    large = b'{"x":"' + b"x" * most + b'"}'
    for body, headers, status in (
        (ping, {}, 200),
        (ping, {"accept": "*/*"}, 200),
        (ping, {"accept": "text/event-stream"}, 406),
        (ping, {"content_type": "text/plain"}, 415),
        (ping, {"content_type": "application/x-www-form-urlencoded"}, 415),
        (ping, {"content_type": "application/json; charset=utf-16"}, 415),
        (ping, {"content_encoding": "gzip"}, 415),
        (ping, {"mcp_protocol_version": "1999-01-01"}, 400),
        (large, {}, 413),
    ):
        answer = await wire.post(body, **headers)

        assert answer.status_code == status, (headers, answer.text)
        kind = "json" if status in {200, 400} else "problem+json"
        assert answer.headers["content-type"] == f"application/{kind}"
    assert not bench.outside.tries


async def test_there_is_no_stream_to_open_and_no_session_to_end(wire: RawMcpClient) -> None:
    known = {"authorization": f"Bearer {wire.token}", "accept": "text/event-stream"}
    for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS"):
        answer = await wire.http.request(method, f"{wire.address}/mcp", headers=known)

        assert answer.status_code == 405, method
        assert answer.headers["allow"] == "POST"
    begun = await wire.send(
        "initialize",
        {
            "protocolVersion": OLD,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    )
    assert "mcp-session-id" not in begun.headers
    assert begun.json()["result"]["protocolVersion"] == OLD
    assert begun.json()["result"]["serverInfo"]["name"] == "mainspring"
    assert begun.json()["result"]["instructions"]


async def test_what_is_owed_no_answer_gets_none(wire: RawMcpClient) -> None:
    for version in [OLD, NEW]:
        one = replace(wire, version=version)
        result = await one.post(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}
        )
        reply = await one.post({"jsonrpc": "2.0", "id": 1, "result": {}})

        assert (result.status_code, result.content) == (202, b"")
        assert reply.status_code == (202 if version == OLD else 400)


async def test_headers_that_say_something_else_than_the_message_are_refused(
    wire: RawMcpClient, bench: Bench
) -> None:
    wire = replace(wire, version=NEW)
    params = {"name": "test.echo", "arguments": {}}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {**params, "_meta": {"io.modelcontextprotocol/protocolVersion": NEW}},
    }
    for headers in (
        {"mcp_method": "tools/list", "mcp_name": "test.echo"},
        {"mcp_method": "tools/call", "mcp_name": "test.note"},
        {"mcp_method": "tools/call"},
        {},
    ):
        answer = await wire.post(body, **headers)

        assert answer.status_code == 400, headers
        assert error_of(answer)["code"] in {-32020, PARAMS}
    assert not bench.outside.tries


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_lists_and_calls(api: Api, mode: str) -> None:
    async with connected(api.address, api.token, mode) as client:
        listed = await client.list_tools()
        made = await client.call_tool("test.echo", {"a": 1})
        wrong = await client.call_tool("publish_event", {"type": 1})
        assert client.protocol_version == (OLD if mode == "legacy" else NEW)
        assert client.server_info is not None
        assert client.server_info.name == "mainspring"

    assert "test_echo" in {tool.name for tool in listed.tools}
    assert made.structured_content == {"a": 1}
    assert wrong.is_error
    assert (wrong.structured_content is None) is (mode == "legacy")
    assert problem_of(wrong.model_dump(by_alias=True))["code"] == "arguments_invalid"


async def _said(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    del ctx
    return [arguments["n"]]


def _counted(number: int) -> Capability:
    return Capability(
        f"count.number_{number:03}",
        "Say a number",
        {"type": "object", "properties": {"n": {"type": "integer"}}},
        {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}},
        _said,
    )


@pytest_asyncio.fixture
async def crowded(bench: Bench) -> AsyncIterator[Application]:
    """An application with more tools than one page holds."""
    registry = build_registry(Limits(), capabilities=[_counted(number) for number in range(450)])
    application = build_application(
        bench.application.settings, Limits(), registry, bench.application.database
    )
    try:
        yield application
    finally:
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


async def test_a_long_list_comes_in_pages_and_a_list_is_put_into_an_object(
    crowded: Application,
) -> None:
    async with served(crowded) as api, connected(api.address, api.token) as client:
        names: list[str] = []
        cursor: str | None = None
        pages = 0
        while pages == 0 or cursor is not None:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor, pages = page.next_cursor, pages + 1
            assert len(page.tools) <= 200
        made = await client.call_tool("count.number_007", {"n": 7})

    assert pages == -(-len(names) // 200) > 2
    assert len(names) == len(set(names)) > 450
    assert names == sorted(names)
    assert made.structured_content == {"result": [7]}
