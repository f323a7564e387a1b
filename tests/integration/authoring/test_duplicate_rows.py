"""The three ways in which rows double, and skeletons that let none of them happen."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.authoring.skeletons import SKELETONS, ScriptSkeleton, fill_skeleton
from mainspring.contracts.roles import Role
from mainspring.runs.replay import replay
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench
from tests.kit.members import member


async def _save(
    client: CapabilityClient, skeleton: ScriptSkeleton, board: str, name: str, **more: Any
) -> str:
    names = {
        "BOARD_ID": board,
        "DATASET": "default",
        "KEY_FIELD": "upstream_id",
        "TARGET_FIELD": "updates",
        "MATCH_FIELD": "company",
        "QUERY": "invoice",
        "PAGE_TYPE": "note",
    }
    return await client.save(
        name=name,
        source=fill_skeleton(skeleton, names),
        tool_grants=skeleton.as_dict()["tool_grants"],
        writes_to_boards=[board],
        dedupe_key_field="upstream_id",
        **more,
    )


async def _run(desk: CapabilityClient, automation_id: str) -> dict[str, Any]:
    result: dict[str, Any] = await desk.call(
        "run_automation_once", {"automation_id": automation_id, "dry_run": False}
    )
    assert result["status"] == "succeeded", result
    return result


async def _arrives(client: CapabilityClient, number: int) -> None:
    await client.call(
        "create_page",
        {
            "type": "note",
            "title": f"invoice {number} of company-{number % 2}",
            "body": f"An invoice with the number {number}.",
        },
    )


def _written(skeleton: ScriptSkeleton, rows: list[dict[str, Any]]) -> list[str]:
    """Every upstream id on the board, each as often as it is there."""
    if skeleton.id == "update_in_place":
        return [entry["upstream_id"] for row in rows for entry in row.get("updates", ())]
    return [row["upstream_id"] for row in rows]


@pytest.mark.parametrize("skeleton", SKELETONS, ids=lambda one: one.id)
async def test_a_second_run_a_replay_and_a_teammate_write_nothing_twice(
    bench: Bench, skeleton: ScriptSkeleton
) -> None:
    client = CapabilityClient(bench)
    colleague = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.EDITOR)
    )
    board = await client.board("CRM")
    if skeleton.id == "update_in_place":
        rows = [{"company": f"company-{number}"} for number in range(2)]
        await client.call("append_board_rows", {"board_id": board, "rows": rows})
    for number in range(3):
        await _arrives(client, number)
    mine = await _save(client, skeleton, board, "mine")
    theirs = await _save(
        colleague,
        skeleton,
        board,
        "theirs",
        acknowledged_overlap=True,
        coexistence_note="A teammate has made the very same one.",
    )

    async def there() -> list[str]:
        return _written(skeleton, await client.rows(board))

    async with bench.worker():
        first = await _run(client, mine)
        assert len(await there()) == 3
        await _run(client, mine)
        assert len(await there()) == 3, "a second run"

        application = bench.application
        again = await replay(
            application.database,
            application.dispatcher,
            application.limits,
            client.space,
            UUID(first["run_id"]),
        )
        assert (await bench.until(again.run_id))["status"] == "succeeded"
        assert len(await there()) == 3, "a replay"

        for number in range(3, 5):
            await _arrives(client, number)
        await asyncio.gather(_run(client, mine), _run(colleague, theirs))
        written = await there()
        assert len(written) == len(set(written)) == 5, "a teammate with the same trigger"


@pytest.mark.parametrize("skeleton", SKELETONS[:2], ids=lambda one: one.id)
async def test_a_board_is_read_to_its_end_however_many_pages_it_has(
    bench: Bench, skeleton: ScriptSkeleton
) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    await _arrives(client, 0)
    [page] = (await client.call("list_pages", {"type": "note"}))["pages"]
    rows = [{"upstream_id": f"old-{number}", "company": "nobody"} for number in range(1_000)]
    # The one row that matters is on the second page.
    last = {"upstream_id": page["id"], "company": "company-0"}
    await client.call("append_board_rows", {"board_id": board, "rows": [*rows, last]})
    one = await _save(client, skeleton, board, "mine")
    async with bench.worker():
        result = await _run(client, one)

    found = await client.call("get_board", {"board_id": board, "offset": 1_000})
    [row] = found["data"]["datasets"]["default"]["rows"]
    if skeleton.id == "update_in_place":
        assert result["stdout"] == "1 rows changed\n"
        assert [entry["upstream_id"] for entry in row["updates"]] == [page["id"]]
    else:
        assert result["stdout"] == "nothing new among 1\n"
