"""Scripts that wait for scripts: a waiting script holds no slot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.actions.script.sandbox import pool
from tests.kit.bench import Bench
from tests.kit.scripts import script

_ASK = """
    const ids = {ids};
    const asked = await Promise.all(ids.map((automation_id) =>
        brains.run_automation_once({{ automation_id, dry_run: false }})));
    return asked.map((one) => one.status);
"""
# The same over the script's own client of MCP.
_SPEAK = """
    const answer = await fetch(Deno.env.get("BRAINS_MCP_URL"), {{
        method: "POST",
        headers: {{
            authorization: `Bearer ${{Deno.env.get("BRAINS_RUN_TOKEN")}}`,
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        }},
        body: JSON.stringify({{ jsonrpc: "2.0", id: 1, method: "tools/call", params: {{
            name: "run_automation_once",
            arguments: {{ automation_id: {ids}[0], dry_run: false }} }} }}),
    }});
    return [(await answer.json()).result.structuredContent.status];
"""


async def _children(bench: Bench, count: int) -> list[str]:
    made = []
    for number in range(count):
        child = script(f"return {number};", sdk=False) | {"name": f"child {number}"}
        made.append(str((await bench.save(child)).automation_id))
    return made


def _parent(source: str, name: str, ids: list[str]) -> dict[str, Any]:
    made = script(source.format(ids=ids), "run_automation_once", wall_seconds=15)
    return made | {"name": name}


async def test_scripts_that_wait_for_scripts_leave_them_their_places(bench: Bench) -> None:
    assert bench.application.script_runner is not None
    bench.application.script_runner.most = 2
    ids = await _children(bench, 4)
    parents = [
        await bench.dispatch(_parent(_ASK, "one", ids[:2])),
        await bench.dispatch(_parent(_SPEAK, "two", ids[2:3])),
    ]
    async with bench.worker():
        runs = [await bench.until(parent.run_id) for parent in parents]
        # Every place was given back once and no more than once.
        after = [await bench.dispatch(_parent(_ASK, "three", ids[3:]))]
        runs += [await bench.until(parent.run_id) for parent in after]
    assert [run["error"] for run in runs] == [None] * 3
    assert [run["output"] for run in runs] == [["succeeded"] * 2, ["succeeded"], ["succeeded"]]


async def test_a_process_that_is_ended_while_it_waits_gives_no_second_place_back() -> None:
    async with pool.SandboxPool(warm=0, most=1) as sandboxes:
        async with sandboxes.taken() as first:
            waits = sandboxes.resting(first)
            await waits.__aenter__()
            async with sandboxes.taken() as second:
                assert second.is_alive
            await _taken(sandboxes)
        # It had no place of its own when it ended.
        async with sandboxes.taken():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await _taken(sandboxes)


async def _taken(sandboxes: pool.SandboxPool) -> None:
    async with sandboxes.taken():
        pass


async def test_too_many_that_wait_are_refused_and_not_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_MOST_RESTING", 0)
    (child,) = await _children(bench, 1)
    parent = _parent(_ASK, "one", [child]) | {"execution": {"max_retries": 0}}
    run = await bench.run(parent)
    assert run["error"]["code"] == "scripts_waiting"
    assert "publish_event" in run["error"]["suggestion"]
