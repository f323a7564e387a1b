"""The MCP server as the protocol's own TypeScript client sees it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from mainspring.surfaces.mcp import server
from scripts.node_packages import NODE, PATIENCE, installed
from tests.kit.api import Api, api
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench

__all__ = ["api"]

_PINS: Final = Path(__file__).parent / "clients"
COMPOSED: Final = ("oneOf", "anyOf", "allOf")


async def _client(api: Api, calls: Sequence[Sequence[Any]]) -> Any:
    """What the client was offered, and what each of its calls came to."""
    place = await asyncio.to_thread(installed, _PINS, "api-clients")
    program = shutil.copy(_PINS / "mcp_client.mjs", place)
    process = await asyncio.create_subprocess_exec(
        NODE,
        program,
        f"{api.address}/mcp",
        api.token,
        json.dumps(calls),
        cwd=place,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    return {**json.loads(out), "stderr": err.decode()}


async def test_an_error_reaches_the_client_as_the_sentence_it_is(api: Api) -> None:
    result = await _client(
        api,
        [
            ["publish_event", {"type": 5, "bogus": True}],
            ["get_page", {"slug": "no-such-page"}],
            ["get_page", {}],
            ["publish_event", {"type": "client.seen"}],
        ],
    )
    wrong, missing, neither, good = result["answers"]

    for one in (wrong, missing, neither):
        assert "thrown" not in one, one
        assert one["result"]["isError"] is True
        assert "structuredContent" not in one["result"]
    assert "/bogus" in wrong["result"]["content"][0]["text"]
    assert wrong["result"]["_meta"]["mainspring/problem"]["code"] == "arguments_invalid"
    assert missing["result"]["_meta"]["mainspring/problem"]["status"] == 404
    assert not good["result"].get("isError")
    assert good["result"]["structuredContent"]


async def test_every_tool_is_one_that_providers_and_clients_take(api: Api) -> None:
    result = await _client(
        api,
        [
            ["test_echo", {"a": 1}],
            ["test.echo", {"a": 2}],
            ["search", {"q": "zebra"}],
            ["search", {"q": "zebra", "query": "zebra"}],
        ],
    )
    tools = {tool["name"]: tool for tool in result["tools"]}

    assert not [name for name in tools if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name)]
    assert not [name for name, one in tools.items() if set(COMPOSED) & one["inputSchema"].keys()]
    assert "x-mainspring" not in json.dumps(result["tools"])
    assert "test_echo" in tools
    assert "test.echo" not in tools
    assert "Give one of these: q; query; text; tags; since." in tools["search"]["description"]
    by_alias, by_name, found, twice = result["answers"]
    assert by_alias["result"]["structuredContent"] == {"a": 1}
    assert by_name["result"]["structuredContent"] == {"a": 2}
    assert found["result"]["structuredContent"]["pages"] == []
    # The server validates the whole schema, whatever the client was shown.
    assert twice["result"]["isError"] is True
    assert "unknown format" not in result["stderr"]


async def test_a_long_run_is_answered_in_time_and_found_again(
    api: Api, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLIENT_SECONDS", 1.0)
    automation = await CapabilityClient(bench).save(source="return 1;")
    asked = {"automation_id": automation, "wait_seconds": 300}
    result = await _client(
        api, [["run_automation_once", asked, {"progress": True}], ["run_automation_once", asked]]
    )
    first, again = result["answers"]

    late = first["result"]["structuredContent"]
    assert late["timed_out"] is True
    assert late["run_id"] in first["progress"][0]["message"]
    assert again["result"]["structuredContent"]["run_id"] == late["run_id"]
