"""A server of tools that others have made: connected, called by a step and by a script."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.capabilities import Outside
from tests.kit.mcp_server import McpDouble
from tests.kit.scripts import script
from tests.kit.tenants import Person
from tests.kit.third_party_mcp import third_party_server
from tests.kit.tool_servers import ToolServers, opened, settings_for


async def test_a_server_of_others_is_connected_harvested_and_called_in_every_way(
    database_url: str, tmp_path: Path
) -> None:
    async with third_party_server() as url:
        there = McpDouble(port=urlsplit(url).port or 0)
        async with (
            opened(settings_for(tmp_path, database_url, there)) as application,
            served(application) as api,
        ):
            bench = Bench(application, Outside())
            nobody = Person(
                application.workspace_id, application.workspace_id, "", application.workspace_id
            )
            shop = ToolServers(api, bench, there, there, nobody)
            one = await shop.connect("every")
            tools = await shop.look(one)
            direct = await shop.call("every.echo", message="hello")
            shaped = await shop.call("every.get-structured-content", location="New York")
            held = await shop.call("every.toggle-simulated-logging")
            async with bench.worker():
                plan = document(step("say", "every.echo", {"message": "step"}), name="a step")
                stepped = await shop.run(await shop.save(plan))
                source = (
                    'const said = await brains.every.echo({ message: "script" });\n'
                    'const sum = await brains["every.get-sum"]({ a: 2, b: 3 });\n'
                    "return { said, sum };"
                )
                both = script(source, "every.echo", "every.get-sum")
                scripted = await shop.run(await shop.save(both))

    assert len(tools) > 5
    assert {tool["state"] for tool in tools.values()} == {"agreed"}
    assert tools["echo"]["description"]
    effects = {name: tool["effect"] for name, tool in tools.items()}
    assert (effects["echo"], effects["toggle-simulated-logging"]) == ("read", "send")
    assert held["kind"] == "draft"
    assert shaped.keys() == {"temperature", "conditions", "humidity"}
    assert "hello" in direct["text"]
    assert (stepped["status"], "step" in str(stepped["steps"][0]["output"])) == ("succeeded", True)
    assert scripted["status"] == "succeeded", scripted
    answered = str(scripted["steps"][0]["output"])
    assert ("script" in answered, "5" in answered) == (True, True)
