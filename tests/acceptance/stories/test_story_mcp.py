"""One set of tools, many interfaces: the same over MCP, REST and the command line.

The official client speaks to a started server, over HTTP and over stdin and stdout. The tables
are made from what the server lists, so a tool that is added is in them.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import jsonschema_rs
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Tool

from tests.acceptance.commands import PATIENCE, Mainspring
from tests.acceptance.server import Json, Started
from tests.kit.mcp import connected, problem_of

# The query for every tool, not only the default ones.
ALL = "toolset=all"
# Wrong calls of one tool.
MOST = 5
# A value of another kind than the schema wants.
OTHERS: Mapping[str, Any] = {
    "string": 5,
    "integer": "x",
    "number": "x",
    "boolean": "x",
    "array": {},
    "object": [],
}


def _token(server: Started) -> str:
    return (server.mainspring.home / "owner.token").read_text().strip()


def _stdio(server: Started, *text: str, **settings: str) -> StdioServerParameters:
    command, *arguments = server.mainspring.command("mcp", *text)
    environment = server.mainspring.environment(settings)
    return StdioServerParameters(command=command, args=arguments, env=environment)


async def _tools(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found


def _capability(tool: Tool) -> str:
    """What a tool is called everywhere else; its description says so where that differs."""
    _, _, known_as = (tool.description or "").partition("In an automation it is named ")
    return known_as.removesuffix(".") or tool.name


def _over_rest(server: Started, name: str, arguments: Json) -> tuple[bool, Json]:
    answer = server.program.post(f"/capabilities/{name}", json=arguments)
    result: Json = answer.json()
    result.pop("instance", None)
    return answer.status_code == 200, result


# Rows and free disk space are other figures a moment later.
MEASURED_ANEW = frozenset({"admin_show_size"})


def _over_mcp(result: CallToolResult) -> tuple[bool, Json]:
    summary: Json = result.structured_content
    return not result.is_error, summary


def _wrong(tool: Tool) -> Iterator[Json]:
    """Arguments that cannot be right, whatever the tool does; bounds come first."""
    good: Json = dict((tool.input_schema.get("examples") or [{}])[0])
    yield {**good, "no_such_argument": 1}
    for name in tool.input_schema.get("required", ())[:1]:
        yield {key: value for key, value in good.items() if key != name}
    known: Json = tool.input_schema.get("properties", {})
    typed = {name: one for name, one in known.items() if isinstance(one.get("type"), str)}
    for name, schema in typed.items():
        if isinstance(schema.get("maximum"), int):
            yield {**good, name: schema["maximum"] + 1}
        if isinstance(schema.get("minimum"), int):
            yield {**good, name: schema["minimum"] - 1}
    for name, schema in typed.items():
        yield {**good, name: OTHERS[schema["type"]]}


def test_wrong_arguments_meet_the_same_problem_at_every_face(server: Started) -> None:
    async def tour() -> tuple[int, list[tuple[str, Json, Json]]]:
        asked = 0
        problems = []
        async with connected(server.address, _token(server), query=ALL) as client:
            for tool in await _tools(client):
                for arguments in islice(_wrong(tool), MOST):
                    good, result = _over_mcp(await client.call_tool(tool.name, arguments))
                    name = _capability(tool)
                    fits, rest = await asyncio.to_thread(_over_rest, server, name, arguments)
                    asked += 1
                    assert not good, (tool.name, arguments)
                    assert not fits, (tool.name, arguments)
                    assert result == rest, (tool.name, arguments)
                    assert result["status"] == 422, (tool.name, arguments, result)
                    assert result["errors"], (tool.name, arguments)
                    problems.append((name, arguments, result))
        return asked, problems

    asked, problems = asyncio.run(tour())
    assert asked > 100
    # A process for each would take long; one of them says that it is no other there.
    name, arguments, result = problems[len(problems) // 2]
    ended = server.mainspring("call", name, "-", "--json", stdin=json.dumps(arguments).encode())
    assert (ended.code, ended.json) == (2, result)


def test_each_tool_takes_its_own_example_and_reads_the_same_at_every_face(server: Started) -> None:
    async def tour() -> dict[str, bool]:
        went: dict[str, bool] = {}
        query = f"{ALL}&output_schemas=1"
        async with connected(server.address, _token(server), query=query) as client:
            for tool in await _tools(client):
                example: Json = dict((tool.input_schema.get("examples") or [{}])[0])
                good, result = _over_mcp(await client.call_tool(tool.name, example))
                went[tool.name] = good
                if good:
                    assert tool.output_schema is not None
                    assert jsonschema_rs.is_valid(tool.output_schema, result), (tool.name, result)
                else:
                    # The example names something that is not here, must not be called, or is
                    # outside, where nobody may answer a test.
                    away = result["code"] in {"name_not_found", "unreachable"}
                    assert result["status"] in {403, 404, 409} or away, (tool.name, result)
                    assert "role" not in result["code"], (tool.name, result)
                assert tool.annotations is not None
                if tool.annotations.read_only_hint:
                    name = _capability(tool)
                    both = await asyncio.to_thread(_over_rest, server, name, example)
                    if name in MEASURED_ANEW:
                        assert (both[0], both[1].keys()) == (good, result.keys())
                    else:
                        assert both == (good, result), tool.name
        return went

    went = asyncio.run(tour())
    assert went.keys() >= {"get_board", "search", "query", "automation_secret_list"}
    assert sum(went.values()) > 15, went
    ended = server.mainspring("call", "list_boards", "{}", "--json")
    assert (ended.code, ended.json) == (0, _over_rest(server, "list_boards", {})[1])
    missing = server.mainspring("call", "no_such_capability", "--json")
    assert missing.code == 1
    assert missing.json == _over_rest(server, "no_such_capability", {})[1]


@pytest.mark.parametrize("over", ["http", "handshake", "stdio", "bridge"])
def test_a_client_keeps_a_board_pages_and_secrets(server: Started, over: str) -> None:
    async def story(client: Client) -> None:
        made = await _good(client, "create_board", {"name": f"CRM {over}"})
        rows = [{"company": "Acme"}, {"company": "Globex"}]
        added = await _good(client, "append_board_rows", {"board_id": made["id"], "rows": rows})
        assert (added["appended"], added["total"]) == (2, 2)
        board = await _good(client, "get_board", {"board_id": made["id"], "limit": 1})
        assert board["name"] == f"CRM {over}"
        too_many = await client.call_tool("get_board", {"board_id": made["id"], "limit": 10**9})
        assert too_many.is_error
        assert problem_of(too_many.model_dump(by_alias=True))["errors"][0]["pointer"] == "/limit"

        page = {"type": "note", "title": f"Zebra {over}", "body": "The zebra crossed at noon."}
        await _good(client, "create_page", page)
        for tool in ("search", "query"):
            found = await _good(client, tool, {"q": "zebra"})
            assert f"Zebra {over}" in {hit["title"] for hit in found["pages"]}, found

        secret = {"name": f"key_{over}", "value": f"sk-{over}-0123456789"}
        await _good(client, "automation_secret_set", secret)
        listed = await _good(client, "automation_secret_list", {})
        assert f"key_{over}" in json.dumps(listed)
        assert secret["value"] not in json.dumps(listed)
        gone = await _good(client, "automation_secret_delete", {"name": f"key_{over}"})
        assert gone == {"deleted": 1}

        # A client may propose for somebody, and only they save; also where it needs no token.
        output = {"text": f"every Monday at 9 Berlin time remind me of {over}", "by": "rules"}
        asked = await _good(client, "propose_automation", output)
        agreed = {"proposal_id": asked["proposal_id"], "digest": asked["digest"]}
        refused = await client.call_tool("save_proposal", agreed)
        assert refused.is_error
        assert problem_of(refused.model_dump(by_alias=True))["code"] == "person_needed"

    asyncio.run(_as_client(server, over, story))


async def _as_client(server: Started, over: str, story: Any) -> None:
    if over in ("http", "handshake"):
        mode = "auto" if over == "http" else "legacy"
        async with connected(server.address, _token(server), mode, query=ALL) as client:
            await story(client)
        return
    words = ("--toolset", "all", *(("--url", server.address) if over == "bridge" else ()))
    settings = {"token": _token(server)} if over == "bridge" else {}
    async with Client(_stdio(server, *words, **settings)) as client:
        await story(client)


async def _good(client: Client, name: str, arguments: Json) -> Json:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.structured_content
    summary: Json = result.structured_content
    assert json.loads(result.content[0].text) == summary  # type: ignore[union-attr]
    return summary


def test_a_limited_token_is_as_limited_at_every_face(server: Started) -> None:
    board = server.post("/capabilities/create_board", {"name": "Limited"})["id"]
    expected = {"name": "limited", "role": "viewer", "capabilities": ["get_board"]}
    token = str(server.post("/tokens", expected, 201)["text"])

    async def tour(client: Client) -> None:
        names = {tool.name for tool in await _tools(client)}
        assert names == {"get_board"}
        assert (await _good(client, "get_board", {"board_id": board}))["name"] == "Limited"
        with pytest.raises(MCPError, match="There is no tool called 'append_board_rows'"):
            await client.call_tool("append_board_rows", {"board_id": board, "rows": [{"a": 1}]})
        with pytest.raises(MCPError, match="There is no tool called 'search'"):
            await client.call_tool("search", {"q": "x"})

    async def both() -> None:
        async with connected(server.address, token) as client:
            await tour(client)
        async with Client(_stdio(server, token=token)) as client:
            await tour(client)

    asyncio.run(both())
    ended = server.mainspring("capabilities", "--json", settings={"token": token})
    assert [one["id"] for one in ended.json["capabilities"]] == ["get_board"]


@pytest.mark.parametrize("served", [True, False])
def test_stdout_carries_the_protocol_alone_and_the_command_ends_with_its_input(
    mainspring: Mainspring, untouched: Mainspring, served: bool
) -> None:
    """Whether a running server answers, or the command itself does without one."""
    here = mainspring if served else untouched
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "nope"},
    ]
    # What is refused over HTTP is refused here, and nobody waits for an answer in vain.
    bad = [
        "not json",
        '{"jsonrpc": "2.0", "id": 3, "method": "ping", "method": "nope"}',
        '{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": {"a": "\\ud800"}}',
        '{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": '
        + '{"a":' * 3_000
        + "1"
        + "}" * 3_001,
        '{"jsonrpc": "2.0", "id": 6}',
        "[]",
    ]
    process = subprocess.Popen(
        here.command("mcp"),
        env=here.environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("\n".join([*bad, "", *map(json.dumps, lines)]) + "\n")
        process.stdin.flush()
        came = [json.loads(process.stdout.readline()) for _ in [*bad, *lines]]
        answers = {one["id"]: one for one in came if one["id"] in (1, 2)}
        refused = [one for one in came if one["id"] not in (1, 2)]
        process.stdin.close()
        rest = process.stdout.read()
        assert (process.wait(PATIENCE), rest) == (0, "")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    # A line whose id could be read is answered under it, so that nobody waits for it.
    assert {one["id"] for one in refused} <= {None, 3}
    assert sorted(one["error"]["code"] for one in refused) == [-32700] * 4 + [-32600] * 2
    if served:
        # HTTP keeps no session, so that nothing has to come first.
        assert answers[1]["result"]["tools"]
    else:
        assert answers[1]["error"]["message"] == "The first request of a session is initialize."
    assert answers[2]["error"]["code"] == -32601


def test_the_command_prints_what_a_client_needs(mainspring: Mainspring) -> None:
    shown = mainspring("mcp", "--show-config")
    result = shown.json["mcpServers"]

    assert shown.code == 0
    assert result["mainspring"]["args"][-1] == "mcp"
    assert result["mainspring-http"]["url"].endswith("/mcp")
    assert "msk_…" in shown.out


def test_a_token_that_nobody_knows_is_refused_before_the_protocol_begins(
    mainspring: Mainspring,
) -> None:
    unknown = mainspring("mcp", settings={"token": "msk_" + "A" * 43})

    assert unknown.code == 1
    assert unknown.out == ""
    assert "token" in unknown.err
