"""A session lists and calls the tools of its toolsets, and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from mainspring.app import application_services
from mainspring.contracts.capability import Audience
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.contracts.toolset import Toolset
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.mcp.server import Context, McpToolMethods, build_server
from mainspring.surfaces.mcp.toolsets import DEFAULT_TOOLS, DESCRIPTIONS, ToolSelection
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import TokenLimits, make_token
from tests.kit.api import Api
from tests.kit.mcp import VERSIONS, RawMcpClient, error_of, problem_of

PARAMS = -32602
MOST_BYTES = 80_000


def _alias(name: str) -> str:
    return name.replace(".", "_")


def _in_toolsets(api: Api, *toolsets: Toolset) -> set[str]:
    """The names that the registry declares for these toolsets, without what only runs call."""
    return {
        _alias(one.id)
        for one in api.application.registry.capabilities.values()
        if one.annotations.toolset in toolsets and one.annotations.audience is not Audience.RUNS
    }


async def test_the_default_list_is_at_most_80_kb_and_has_no_output_schemas(
    wire: RawMcpClient,
) -> None:
    for version in VERSIONS:
        one = replace(wire, version=version)
        answer = await one.send("tools/list")
        tools = await one.tools()

        assert len(answer.content) <= MOST_BYTES
        assert {_alias(name) for name in DEFAULT_TOOLS} <= tools.keys()
        assert {"linear_create_issue", "send_email", "telegram_push"} <= tools.keys()
        assert "list_board_forms" not in tools
        assert not [name for name, tool in tools.items() if "outputSchema" in tool]


async def test_output_schemas_are_listed_on_request(wire: RawMcpClient) -> None:
    plain = await wire.tools()
    described = await replace(wire, query="output_schemas=1").tools()

    assert described.keys() == plain.keys()
    for name, tool in described.items():
        assert tool.pop("outputSchema")["type"] == "object"
        assert tool == plain[name]


async def test_a_session_lists_the_tools_of_its_toolsets(wire: RawMcpClient, api: Api) -> None:
    boards = await replace(wire, query="toolset=boards").tools()
    both = await replace(wire, query="toolset=authoring,boards").tools()
    default = await replace(wire, query="toolset=default").tools()
    more = await replace(wire, query="toolset=boards%2Cdefault").tools()
    everything = await replace(wire, query="toolset=all").tools()

    assert boards.keys() == _in_toolsets(api, Toolset.BOARDS)
    assert both.keys() == _in_toolsets(api, Toolset.BOARDS, Toolset.AUTHORING)
    assert default == await wire.tools()
    assert more.keys() == default.keys() | boards.keys()
    assert everything.keys() > more.keys() | both.keys()
    assert everything["list_board_forms"] == boards["list_board_forms"]


async def test_every_builtin_capability_is_in_one_listed_toolset(api: Api) -> None:
    for one in api.application.registry.capabilities.values():
        if not one.id.startswith("test."):
            assert one.annotations.toolset is not None, one.id
    assert set(DESCRIPTIONS) == {"default", "all", *Toolset}


@pytest.mark.parametrize("query", ["toolset=houses", "toolset=boards,houses", "toolset="])
async def test_an_unknown_toolset_is_an_error_with_all_names(
    wire: RawMcpClient, query: str
) -> None:
    for method in ("tools/list", "initialize"):
        answer = await replace(wire, query=query).send(method)
        problem = answer.json()

        assert answer.status_code == 422
        assert problem["code"] == "unknown_toolset"
        assert problem["errors"][0]["pointer"] == "/toolset"
        for name in ("default", "all", *Toolset):
            assert name in problem["suggestion"]


async def test_an_option_of_the_address_has_to_make_sense(wire: RawMcpClient) -> None:
    for query in ("output_schemas=perhaps", "toolset=boards&x=1"):
        answer = await replace(wire, query=query).send("tools/list")

        assert answer.status_code == 422, query


async def test_a_tool_outside_the_toolsets_cannot_be_called(wire: RawMcpClient) -> None:
    params = {"name": "list_board_forms", "arguments": {"no_such_argument": 1}}
    for query, remedy in (
        ("", "?toolset=boards,default"),
        ("toolset=pages", "?toolset=boards,pages"),
    ):
        refused = error_of(await replace(wire, query=query).send("tools/call", params))

        assert refused["code"] == PARAMS
        assert refused["data"]["code"] == "unknown_tool"
        assert remedy in refused["data"]["suggestion"]

    listed = await replace(wire, query="toolset=boards").call(**params)  # type: ignore[arg-type]
    assert problem_of(listed)["status"] == 422


async def test_a_toolset_gives_nothing_that_the_token_does_not(
    wire: RawMcpClient, api: Api
) -> None:
    application = api.application
    limits = TokenLimits(capabilities=("list_board_forms",))
    async with application.database.transaction() as tx:
        _, plain = await make_token(tx, application.workspace_id, FIRST_MEMBER, "a test", limits)
    limited = replace(wire, token=plain)

    # The creator of the token has chosen its tools, so no toolset is needed to see them.
    assert (await limited.tools()).keys() == {"list_board_forms"}
    assert (await replace(limited, query="toolset=all").tools()).keys() == {"list_board_forms"}
    assert (await replace(limited, query="toolset=pages").tools()) == {}
    params = {"name": "get_board", "arguments": {}}
    for query in ("", "toolset=all", "toolset=pages"):
        refused = error_of(await replace(limited, query=query).send("tools/call", params))
        assert refused["message"] == "There is no tool called 'get_board'."


async def test_a_server_on_stdio_serves_its_toolsets(api: Api) -> None:
    actor = Actor(api.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)

    async def who(ctx: Context) -> CapabilityCaller:
        return CapabilityCaller(actor)

    services = application_services(api.application)
    selection = ToolSelection(frozenset({"boards"}))
    server = build_server(McpToolMethods(services, selection=selection), who)
    async with Client(server) as client:
        listed = await client.list_tools()
        with pytest.raises(MCPError, match="not in the toolsets"):
            await client.call_tool("search", {"q": "x"})

    assert {tool.name for tool in listed.tools} == _in_toolsets(api, Toolset.BOARDS)


async def test_the_command_serves_the_toolsets_of_its_option(api: Api) -> None:
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mainspring", "mcp", "--url", api.address, "--toolset", "boards,pages"],
        env={**os.environ, "MAINSPRING_TOKEN": api.token},
    )
    async with Client(started) as client:
        listed = await client.list_tools()
        with pytest.raises(MCPError, match="not in the toolsets"):
            await client.call_tool("list_automations", {})

    wanted = _in_toolsets(api, Toolset.BOARDS, Toolset.PAGES)
    assert {tool.name for tool in listed.tools} == wanted


async def _run_command(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "mainspring", "mcp", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_the_command_refuses_an_unknown_toolset_and_lists_the_known_ones() -> None:
    code, out, err = await _run_command("--toolset", "houses")
    listed = await _run_command("--list-toolsets")
    shown: Any = await _run_command("--show-config", "--toolset", "boards")

    assert code not in (0, None)
    assert not out
    assert "houses" in err
    assert "authoring" in err
    assert listed[0] == 0
    assert all(name in listed[1] for name in DESCRIPTIONS)
    assert shown[0] == 0
    assert "/mcp?toolset=boards" in shown[1]
