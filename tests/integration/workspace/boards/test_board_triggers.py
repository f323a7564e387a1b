"""Boards and runs: a change starts automations, and a plan that reads first doubles nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from mainspring.definition.validate import validate
from mainspring.runs.replay import replay
from mainspring.workspace.automations import list_triggers, set_state
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards, values
from tests.kit.events import ECHO, listen, match_all, matching, tell

PATIENCE = 60.0


async def _on(
    bench: Bench,
    name: str,
    kind: str,
    config: Mapping[str, Any],
    *plan: Mapping[str, Any],
    **more: Any,
) -> UUID:
    """An active automation with one trigger of this type."""
    trigger = {"id": "on_it", "type": kind, "config": dict(config)}
    saved = await bench.save(document(*(plan or (ECHO,)), name=name, triggers=[trigger], **more))
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    return saved.automation_id


async def _runs(bench: Bench, automation_id: UUID | None = None) -> list[dict[str, Any]]:
    rows = await bench.application.database.fetch(
        "SELECT * FROM runs WHERE workspace_id = $1 AND ($2::uuid IS NULL OR automation_id = $2) "
        "ORDER BY id",
        bench.application.workspace_id,
        automation_id,
    )
    return [dict(row) for row in rows]


async def _settled(bench: Bench, count: int) -> list[dict[str, Any]]:
    """All runs, once there are so many and all have ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            runs = await _runs(bench)
            if len(runs) >= count and all(run["finished_at"] is not None for run in runs):
                return runs
            await asyncio.sleep(0.02)


async def test_a_run_that_appends_starts_the_automation_that_listens_to_the_board(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create("CRM")
    listener = await _on(
        bench,
        "listener",
        "board_change",
        {"board_id": board, "dataset": "default", "change": ["rows_appended"]},
    )
    config = {"board_id": board, "rows": [{"company": "{{ inputs.name }}"}]}
    inputs = {"schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
    async with bench.worker(), matching(bench.application):
        made = await bench.dispatch(
            document(step("add", "append_board_rows", config), name="adds", inputs=inputs),
            inputs={"name": "Acme"},
        )
        first, second = await _settled(bench, 2)
    (row,) = await boards.rows(board)
    assert (row["company"], row["_src"]) == ("Acme", f"run:{made.run_id}")
    assert (first["status"], first["outcome"]) == ("succeeded", "effects")
    assert (second["automation_id"], second["trigger_type"]) == (listener, "board_change")
    assert (second["parent_id"], second["depth"]) == (made.run_id, 1)
    assert second["payload"] == {
        "board_id": board,
        "board_name": "CRM",
        "dataset": "default",
        "change": "rows_appended",
        "count": 1,
        "row_ids": [row["row_id"]],
        "row_ids_cut": False,
        "by": {"kind": "run", "id": str(made.run_id)},
        "run_id": str(made.run_id),
    }
    async with bench.application.database.acquire() as connection:
        (shown,) = await list_triggers(connection, bench.application.workspace_id, listener)
    assert (shown["type"], shown["config"]["board_id"]) == ("board_change", board)


async def test_a_preset_lets_through_what_its_settings_and_its_filter_say(bench: Bench) -> None:
    boards = Boards(bench.application)
    board, other = await boards.create("a", datasets=[{"name": "notes"}]), await boards.create("b")
    one = {"board_id": board}
    every = await _on(bench, "every", "board_change", {"board_id": board.upper()})
    notes = await _on(bench, "notes", "board_change", {**one, "dataset": "notes"})
    many = {**one, "change": ["rows_appended"], "filters": {"count": {"gte": 2}}}
    large = await _on(bench, "large", "board_change", many)
    await boards.append(board, {"n": 1}, {"n": 2})
    made = await boards.append(board, {"n": 3}, dataset="notes")
    await boards.call("delete_board_rows", board_id=board, dataset="notes", row_ids=made["row_ids"])
    await boards.append(other, {"n": 4}, {"n": 5})

    await boards.call("archive_board", board_id=other)
    for board_id, warned in (
        (board, []),
        (other, ["board_archived"]),
        (str(every), ["board_missing"]),
    ):
        trigger = {"id": "t", "type": "board_change", "config": {"board_id": board_id}}
        saved = await bench.save(document(ECHO, name=f"on {board_id}", triggers=[trigger]))
        assert [one.code for one in saved.warnings] == warned
        assert {one.pointer for one in saved.warnings} <= {"/triggers/0/config/board_id"}

    mails = await _on(bench, "mails", "page_ingested", {"page_type": "email", "created": True})
    wide = {"source": "gmail", "filters": {"title": {"contains": "Invoice"}}}
    invoices = await _on(bench, "invoices", "page_ingested", wide)
    pages = await _on(bench, "pages", "page_ingested", {})
    page = {"type": "email", "source": "gmail", "title": "Invoice 7", "created": True}
    later = {**page, "created": False, "title": "Hello"}
    await tell(
        bench.application, "page.ingested", page, later, {**page, "type": "note", "source": None}
    )
    await match_all(bench.application)

    expected = {every: 3, notes: 2, large: 1, mails: 1, invoices: 1, pages: 3}
    found = {one: len(await _runs(bench, one)) for one in expected}
    assert found == expected
    assert {run["trigger_type"] for run in await _runs(bench)} == {"board_change", "page_ingested"}


async def test_an_automation_that_listens_to_its_own_writes_comes_to_rest_with_a_record(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    config = {"board_id": board, "rows": [{"again": "{{ run.id }}"}]}
    await _on(
        bench,
        "loops",
        "board_change",
        {"board_id": board},
        step("add", "append_board_rows", config),
    )
    most = bench.application.limits.chain_depth
    async with bench.worker(), matching(bench.application):
        await boards.append(board, {"first": True})
        runs = await _settled(bench, most + 2)
    assert {run["status"] for run in runs[:-1]} == {"succeeded"}
    assert (runs[-1]["status"], runs[-1]["reason"]) == ("skipped", "chain_depth")
    assert len(await boards.rows(board)) == most + 2


async def test_a_plan_that_reads_what_is_there_and_writes_what_is_new_doubles_nothing(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create("Orders")
    there = "read.data.datasets.default.rows | join(' ', attribute='id')"
    plan = (
        step("read", "get_board", {"name": "Orders"}),
        step(
            "new",
            "for_each",
            {
                "items": "{{ trigger.orders }}",
                "steps": [
                    step(
                        "add",
                        "append_board_rows",
                        {
                            "board_id": "{{ read.id }}",
                            "rows": [{"id": "{{ item.id }}", "total": "{{ item.total }}"}],
                            "dedupe_key_field": "id",
                        },
                        when=f"item.id not in ({there})",
                    )
                ],
            },
        ),
    )
    one, two = [await listen(bench, name, "orders.paid", None, *plan) for name in ("mine", "yours")]
    payload = {"orders": [{"id": "order-a", "total": 12.5}, {"id": "order-b", "total": 3}]}
    async with bench.worker(), matching(bench.application):
        await tell(bench.application, "orders.paid", payload)
        first = await _settled(bench, 2)
        assert {run["automation_id"] for run in first} == {one, two}, "both have the trigger"
        await tell(bench.application, "orders.paid", payload)
        again = (await _settled(bench, 4))[2:]
        for run in first:
            application = bench.application
            await replay(
                application.database,
                application.dispatcher,
                application.limits,
                application.workspace_id,
                run["id"],
            )
        replays = (await _settled(bench, 6))[4:]
        more = {"orders": [*payload["orders"], {"id": "order-c", "total": 1}]}
        await tell(bench.application, "orders.paid", more)
        last = (await _settled(bench, 8))[6:]
    assert {run["status"] for run in (*first, *again, *replays, *last)} == {"succeeded"}
    rows = await boards.rows(board)
    assert sorted(values(rows, "id", "total")) == [
        ("order-a", 12.5),
        ("order-b", 3),
        ("order-c", 1),
    ]
    quiet = {run["outcome"] for run in (*again, *replays)}
    assert quiet == {"answer_only"}, "a run that changed nothing does not say that it did"
    assert all("effects" in {run["outcome"] for run in runs} for runs in (first, last))


async def test_a_grant_for_one_board_opens_no_other(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    mine, other = await boards.create("mine"), await boards.create("other")
    grants = [{"capability": "append_board_rows", "params": {"board_id": mine}}]
    inputs = {"schema": {"type": "object", "properties": {"board": {"type": "string"}}}}
    config = {"board_id": "{{ inputs.board }}", "rows": [{"a": 1}]}
    adds = document(step("add", "append_board_rows", config), grants=grants, inputs=inputs)
    assert (await bench.run(adds, inputs={"board": mine}))["status"] == "succeeded"
    refused = await bench.run(adds, inputs={"board": other})
    assert (refused["status"], refused["error"]["code"]) == ("failed", "not_granted")
    assert [len(await boards.rows(one)) for one in (mine, other)] == [1, 0]


@pytest.mark.parametrize(
    ("kind", "config", "pointer"),
    [
        ("board_change", {}, "/triggers/0/config/board_id"),
        ("board_change", {"board_id": "CRM"}, "/triggers/0/config/board_id"),
        ("page_ingested", {"filters": {"a": {"like": 1}}}, "/triggers/0/config/filters/a/like"),
        ("page_ingested", {"type": "email"}, "/triggers/0/config/type"),
    ],
)
async def test_a_preset_that_cannot_be_is_refused_when_it_is_written(
    bench: Bench, kind: str, config: dict[str, Any], pointer: str
) -> None:
    trigger = {"id": "t", "type": kind, "config": config}
    report = validate(
        document(ECHO, triggers=[trigger]), bench.application.registry, bench.application.limits
    )
    assert pointer in [finding.pointer for finding in report.findings]


async def test_boards_stay_within_their_workspace(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    made = await boards.append(board, {"a": 1})
    application, nobody = bench.application, UUID(int=7)
    assert made["appended"] == 1
    for table in ("boards", "board_datasets", "board_rows", "board_versions"):
        async with application.database.inside(application.workspace_id) as inside:
            assert await inside.fetchval(f"SELECT count(*) FROM {table}") > 0
        async with application.database.inside(nobody) as outside:
            assert await outside.fetchval(f"SELECT count(*) FROM {table}") == 0
