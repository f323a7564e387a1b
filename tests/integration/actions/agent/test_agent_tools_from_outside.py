"""An agent may be given tools of outside servers next to ours."""

from __future__ import annotations

from dataclasses import replace

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.agents import ScriptedModels, agents_bench, ends, thinking
from tests.kit.bench import Bench
from tests.kit.mcp_server import McpDouble, Script, mcp_server
from tests.kit.tool_servers import LOOK, three


async def test_an_agent_has_the_tools_of_a_pattern_alongside_one_of_ours(bench: Bench) -> None:
    models = ScriptedModels(reply=ends())
    async with mcp_server(McpDouble(Script(tools=three()))) as server:
        settings = replace(bench.application.settings, egress_allow=frozenset({server.pair}))
        there = Bench(replace(bench.application, settings=settings), bench.outside)
        async with agents_bench(there, models) as one:
            owner = CapabilityCaller(
                Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=Role.OWNER)
            )
            given = {"alias": "notes", "server_url": server.url}
            await one.application.gate.direct(owner, "connect_mcp_server", given)
            plan = thinking("test.echo", "notes.*")
            grants = ("agent.run", "test.echo", f"notes.{LOOK['name']}")
            run = await one.run({**plan, "grants": [{"capability": name} for name in grants]})

    assert run["output"] == {"n": 1}, run["error"]
    offered = {tool.name for tool in models.requests[0].tools}
    assert {"test_echo", "notes_search_notes"} <= offered
