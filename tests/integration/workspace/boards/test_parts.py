"""Columns, skills, forms and the dashboard: kept, listed with their versions, brought back."""

from __future__ import annotations

from typing import Any

from mainspring.definition.json_schema import compile_schema
from tests.kit.bench import Bench
from tests.kit.boards import Boards, values

COLUMNS = [{"key": "url"}, {"key": "price", "label": "Price", "field_type": "number"}]


async def test_columns_change_without_touching_rows_and_come_back(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=[{"name": "default", "columns": COLUMNS}])
    await boards.append(board, {"url": "a", "price": 1}, {"url": "b", "price": 2})
    changed = await boards.call(
        "update_board",
        board_id=board,
        description="Ours",
        datasets=[
            {"name": "default", "columns": COLUMNS[:1], "dedupe_key_field": "url"},
            {"name": "more", "columns": [{"key": "x"}]},
        ],
    )
    default, more = changed["schema"]["datasets"]
    assert [column["key"] for column in default["columns"]] == ["url"]
    assert (default["version"], default["dedupe_key_field"], more["name"]) == (2, "url", "more")
    assert values(await boards.rows(board), "url", "price") == [("a", 1), ("b", 2)]
    assert (await boards.append(board, {"url": "a"}, {"url": "c", "price": "free"}))[
        "appended"
    ] == 1

    result = await boards.call(
        "revert_board_part", board_id=board, part="columns", name="default", version=1
    )
    assert result["version"] == 3
    page = await boards.page(board)
    assert page["schema"]["columns"][1] == {
        "key": "price",
        "label": "Price",
        "field_type": "number",
    }
    assert page["schema"]["dedupe_key_field"] is None
    assert (await boards.append(board, {"url": "a"}))["appended"] == 1, "no key, no doubles"
    versions = (await boards.call("list_board_versions", board_id=board, name="default"))[
        "versions"
    ]
    assert [(one["version"], one["revert_of"]) for one in versions] == [
        (3, 1),
        (2, None),
        (1, None),
    ]
    same = await boards.call("update_board", board_id=board, description="Ours")
    assert same["description"] == "Ours"
    assert (await _outcomes(bench))[-1] == "read", "the same again is no change"


async def test_skills_forms_and_the_dashboard_are_kept_with_every_version(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    skill: dict[str, Any] = {
        "name": "score",
        "description": "How good",
        "prompt": "Score it.",
        "allowed_tools": ["get_board"],
        "inputs_schema": {"type": "object"},
    }
    form = {"name": "contact", "title": "Write to us", "fields": [{"key": "url"}]}
    assert (await boards.call("set_board_skill", board_id=board, **skill))["version"] == 1
    assert (await boards.call("set_board_skill", board_id=board, **skill))["version"] == 1
    better = {**skill, "prompt": "Score it well."}
    assert (await boards.call("set_board_skill", board_id=board, **better))["version"] == 2
    await boards.call("set_board_form", board_id=board, **form)
    html = "<!doctype html><p>" + "é" * 200_000
    await boards.call("set_board_dashboard", board_id=board, html="<p>1")
    await boards.call("set_board_dashboard", board_id=board, html=html)

    shown = await boards.call("get_board", board_id=board)
    assert values(shown["skills"], "name", "description", "version") == [("score", "How good", 2)]
    assert values(shown["forms"], "name") == ["contact"]
    assert shown["dashboard"]["bytes"] == len(html.encode())
    assert (await boards.call("get_board_dashboard", board_id=board))["html"] == html
    (stored,) = (await boards.call("list_board_skills", board_id=board))["skills"]
    assert {key: stored[key] for key in better} == better
    (stored,) = (await boards.call("list_board_forms", board_id=board))["forms"]
    assert {key: stored[key] for key in form} == form

    revert = {"board_id": board, "version": 1}
    assert (await boards.call("revert_board_part", part="dashboard", **revert))["version"] == 3
    assert (await boards.call("get_board_dashboard", board_id=board))["html"] == "<p>1"
    await boards.call("delete_board_skill", board_id=board, name="score")
    assert (await boards.call("list_board_skills", board_id=board))["skills"] == []
    await boards.call("revert_board_part", part="skill", name="score", **revert)
    (stored,) = (await boards.call("list_board_skills", board_id=board))["skills"]
    assert (stored["prompt"], stored["version"]) == ("Score it.", 4)
    versions = (await boards.call("list_board_versions", board_id=board, part="skill"))["versions"]
    assert values(versions, "version", "removed", "revert_of") == [
        (4, False, 1),
        (3, True, None),
        (2, False, None),
        (1, False, None),
    ]


async def test_an_archived_board_leaves_its_name_and_comes_back_whole(bench: Bench) -> None:
    boards = Boards(bench.application)
    old = await boards.create("CRM")
    await boards.append(old, {"a": 1})
    await boards.call("archive_board", board_id=old)
    new = await boards.create("CRM")
    assert (await boards.call("get_board", name="CRM"))["id"] == new
    listed = await boards.call("list_boards", archived=True, limit=1)
    assert (listed["boards"][0]["id"], listed["boards"][0]["archived"]) == (old, True)
    rest = await boards.call("list_boards", archived=True, limit=1, after=listed["next"])
    assert (values(rest["boards"], "id"), rest["next"]) == ([new], None)
    assert values((await boards.call("list_boards"))["boards"], "id") == [new]

    await boards.call("update_board", board_id=old, archived=False, name="Old CRM")
    assert (await boards.call("get_board", name="Old CRM"))["id"] == old
    assert (await boards.append(old, {"a": 2}))["total"] == 2


async def test_every_change_is_published_once_and_a_call_without_changes_publishes_nothing(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    keyed = [{"name": "default", "dedupe_key_field": "n"}]
    board = await boards.create("CRM", datasets=keyed)
    made = await boards.append(board, *({"n": n} for n in range(150)))
    await boards.append(board, {"n": 1})
    rows = [{"row_id": made["row_ids"][0], "x": 1}]
    await boards.call("update_board_rows", board_id=board, rows=rows)
    await boards.call("update_board_rows", board_id=board, rows=rows)
    for capability in ("delete_board_rows", "delete_board_rows", "restore_board_rows"):
        await boards.call(capability, board_id=board, row_ids=made["row_ids"][:2])
    await boards.call("set_board_dashboard", board_id=board, html="x")
    await boards.call("set_board_skill", board_id=board, name="s", prompt="p")
    await boards.call("update_board", board_id=board, datasets=[{"name": "more"}])
    await boards.call("update_board", board_id=board, name="Customers", archived=True)

    result = await boards.events()
    assert values(result, "change", "dataset", "count") == [
        ("created", None, 0),
        ("rows_appended", "default", 150),
        ("rows_updated", "default", 1),
        ("rows_deleted", "default", 2),
        ("rows_restored", "default", 2),
        ("dashboard", None, 0),
        ("skill", None, 0),
        ("schema", "more", 0),
        ("details", None, 0),
        ("archived", None, 0),
    ]
    assert (len(result[1]["row_ids"]), result[1]["row_ids_cut"]) == (100, True)
    assert result[2]["row_ids"] == made["row_ids"][:1]
    assert result[-1]["board_name"] == "Customers"
    assert {event["by"]["kind"] for event in result} == {"member"}
    schema = bench.application.registry.events["board.changed"].payload_schema
    shape = compile_schema(schema, bench.application.limits)
    assert [finding for event in result for finding in shape.findings(event)] == []


async def _outcomes(bench: Bench) -> list[str]:
    rows = await bench.application.database.fetch("SELECT outcome FROM direct_calls ORDER BY id")
    return [row["outcome"] for row in rows]
