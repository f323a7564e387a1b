"""The three ways in which rows double, and skeletons that let none of them happen."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.authoring.skeletons import SKELETONS, ScriptSkeleton, fill_skeleton
from mainspring.contracts.roles import Role
from mainspring.runs.replay import replay
from tests.kit.authoring import Desk
from tests.kit.house import Bench
from tests.kit.members import member


async def _save(desk: Desk, skeleton: ScriptSkeleton, board: str, name: str, **more: Any) -> str:
    names = {
        "BOARD_ID": board,
        "DATASET": "default",
        "KEY_FIELD": "upstream_id",
        "TARGET_FIELD": "updates",
        "MATCH_FIELD": "company",
        "QUERY": "invoice",
        "PAGE_TYPE": "note",
    }
    return await desk.save(
        name=name,
        source=fill_skeleton(skeleton, names),
        tool_grants=skeleton.as_dict()["tool_grants"],
        writes_to_boards=[board],
        dedupe_key_field="upstream_id",
        **more,
    )


async def _run(desk: Desk, automation_id: str) -> dict[str, Any]:
    told: dict[str, Any] = await desk.call(
        "run_automation_once", {"automation_id": automation_id, "dry_run": False}
    )
    assert told["status"] == "succeeded", told
    return told


async def _arrives(desk: Desk, number: int) -> None:
    await desk.call(
        "create_page",
        {
            "type": "note",
            "title": f"invoice {number} of company-{number % 2}",
            "body": f"An invoice with the number {number}.",
        },
    )


def _written(skeleton: ScriptSkeleton, rows: list[dict[str, Any]]) -> list[str]:
    """Every upstream id on the board, each as often as it stands there."""
    if skeleton.id == "update_in_place":
        return [entry["upstream_id"] for row in rows for entry in row.get("updates", ())]
    return [row["upstream_id"] for row in rows]


@pytest.mark.parametrize("skeleton", SKELETONS, ids=lambda one: one.id)
async def test_a_second_run_a_replay_and_a_teammate_write_nothing_twice(
    bench: Bench, skeleton: ScriptSkeleton
) -> None:
    desk = Desk(bench)
    colleague = Desk(bench, await member(bench.house.database, desk.space, Role.EDITOR))
    board = await desk.board("CRM")
    if skeleton.id == "update_in_place":
        rows = [{"company": f"company-{number}"} for number in range(2)]
        await desk.call("append_board_rows", {"board_id": board, "rows": rows})
    for number in range(3):
        await _arrives(desk, number)
    mine = await _save(desk, skeleton, board, "mine")
    theirs = await _save(
        colleague,
        skeleton,
        board,
        "theirs",
        acknowledged_overlap=True,
        coexistence_note="A teammate has made the very same one.",
    )

    async def there() -> list[str]:
        return _written(skeleton, await desk.rows(board))

    async with bench.worker():
        first = await _run(desk, mine)
        assert len(await there()) == 3
        await _run(desk, mine)
        assert len(await there()) == 3, "a second run"

        house = bench.house
        again = await replay(
            house.database, house.dispatcher, house.limits, desk.space, UUID(first["run_id"])
        )
        assert (await bench.until(again.run_id))["status"] == "succeeded"
        assert len(await there()) == 3, "a replay"

        for number in range(3, 5):
            await _arrives(desk, number)
        await asyncio.gather(_run(desk, mine), _run(colleague, theirs))
        written = await there()
        assert len(written) == len(set(written)) == 5, "a teammate with the same trigger"


@pytest.mark.parametrize("skeleton", SKELETONS[:2], ids=lambda one: one.id)
async def test_a_board_is_read_to_its_end_however_many_pages_it_has(
    bench: Bench, skeleton: ScriptSkeleton
) -> None:
    desk = Desk(bench)
    board = await desk.board("CRM")
    await _arrives(desk, 0)
    [page] = (await desk.call("list_pages", {"type": "note"}))["pages"]
    rows = [{"upstream_id": f"old-{number}", "company": "nobody"} for number in range(1_000)]
    # The one row that matters stands on the second page.
    last = {"upstream_id": page["id"], "company": "company-0"}
    await desk.call("append_board_rows", {"board_id": board, "rows": [*rows, last]})
    one = await _save(desk, skeleton, board, "mine")
    async with bench.worker():
        told = await _run(desk, one)

    found = await desk.call("get_board", {"board_id": board, "offset": 1_000})
    [row] = found["data"]["datasets"]["default"]["rows"]
    if skeleton.id == "update_in_place":
        assert told["stdout"] == "1 rows changed\n"
        assert [entry["upstream_id"] for entry in row["updates"]] == [page["id"]]
    else:
        assert told["stdout"] == "nothing new among 1\n"
