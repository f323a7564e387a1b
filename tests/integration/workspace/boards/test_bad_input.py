"""What boards refuse: each problem has its place, and nothing that is kept is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    TooLarge,
)
from mainspring.contracts.roles import Role
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards

NOBODY = "01900000-0000-7000-8000-0000000000ff"
COLUMNS = [
    {"key": "name"},
    {"key": "state", "field_type": "select", "options": ["open", "won"]},
    {"key": "price", "field_type": "number"},
    {"key": "due", "field_type": "date"},
    {"key": "tags", "field_type": "tags"},
]
DATASETS = [{"name": "default", "columns": COLUMNS, "dedupe_key_field": "name"}]


async def _refused(
    boards: Boards, kind: type[Problem], pointers: Sequence[str], capability: str, **arguments: Any
) -> Problem:
    with pytest.raises(kind) as caught:
        await boards.call(capability, **arguments)
    problem = caught.value
    assert type(problem) is kind
    assert [finding.pointer for finding in problem.findings] == list(pointers)
    assert problem.detail.endswith(".")
    return problem


async def test_rows_that_do_not_fit_are_refused_with_their_places_and_none_is_kept(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=DATASETS)
    await boards.append(board, {"name": "kept", "state": "open", "free": {"any": [1]}})
    before, result = await boards.rows(board), await boards.events()
    rows: list[Any] = [
        {"name": "a"},
        {"name": "b", "price": "12"},
        {"name": "c", "state": "opem"},
        {"name": "d", "due": "tomorrow"},
        {"name": "e", "tags": "x"},
        {"name": "f", "price": True},
        {"name": {"first": "g"}},
        {"name": "h", "_src": "me", "row_id": NOBODY},
        {"price": 1},
        {"name": "i", "due": "2026-02-30"},
        {"name": "j", "big": "x" * 70_000},
        {"name": "k", **{f"key{n}": n for n in range(500)}},
        {"name": "l", "": 1},
    ]
    problem = await _refused(
        boards,
        Invalid,
        [
            "/rows/1/price",
            "/rows/2/state",
            "/rows/3/due",
            "/rows/4/tags",
            "/rows/5/price",
            "/rows/6/name",
            "/rows/7/_src",
            "/rows/7/row_id",
            "/rows/8/name",
            "/rows/9/due",
            "/rows/10",
            "/rows/11",
            "/rows/12",
        ],
        "append_board_rows",
        board_id=board,
        rows=rows,
    )
    assert problem.findings[1].suggestion == "Did you mean 'open'?"

    await _refused(boards, Invalid, ["/rows"], "append_board_rows", board_id=board, rows=[])
    too_many = [{"name": str(n)} for n in range(5_001)]
    await _refused(boards, Invalid, ["/rows"], "append_board_rows", board_id=board, rows=too_many)
    await _refused(boards, Invalid, ["/rows/0"], "append_board_rows", board_id=board, rows=[["a"]])
    await _refused(
        boards, Invalid, ["/row"], "append_board_rows", board_id=board, rows=[{"a": 1}], row=1
    )
    assert await boards.rows(board) == before
    assert await boards.events() == result


async def test_a_change_of_rows_that_cannot_be_made_is_refused_as_a_whole(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=DATASETS)
    made = await boards.append(board, {"name": "a"}, {"name": "b"}, {"name": "c"})
    a, b, c = made["row_ids"]
    await boards.call("delete_board_rows", board_id=board, row_ids=[c])
    before = await boards.rows(board, include_deleted=True)

    async def refused(kind: type[Problem], *pointers: str, rows: list[Any]) -> None:
        await _refused(boards, kind, pointers, "update_board_rows", board_id=board, rows=rows)

    good = {"row_id": a, "state": "won"}
    await refused(NotFound, "/rows/1/row_id", rows=[good, {"row_id": NOBODY, "state": "won"}])
    await refused(Conflict, "/rows/1/row_id", rows=[good, {"row_id": c, "state": "won"}])
    await refused(Invalid, "/rows/1/row_id", rows=[good, {"row_id": a, "price": 1}])
    await refused(Invalid, "/rows/1", rows=[good, {"row_id": b}])
    await refused(Invalid, "/rows/0/row_id", rows=[{"row_id": "first", "state": "won"}])
    await refused(
        Invalid,
        "/rows/0/_updated_at",
        "/rows/0/_deleted_at",
        rows=[{"row_id": a, "_updated_at": None, "_deleted_at": None}],
    )
    await refused(Invalid, "/rows/0/price", rows=[{"row_id": a, "price": "x"}])
    await refused(Invalid, "/rows/0/name", rows=[{"row_id": a, "name": None}])
    await refused(Conflict, "/rows/0", rows=[{"row_id": b, "name": "a"}])
    await refused(Conflict, "/rows/0", "/rows/1", rows=[good, {"row_id": b, "name": "a"}])
    for capability in ("delete_board_rows", "restore_board_rows"):
        await _refused(
            boards, NotFound, ["/row_ids/1"], capability, board_id=board, row_ids=[a, NOBODY]
        )
    assert await boards.rows(board, include_deleted=True) == before


async def test_a_board_that_is_not_found_is_reported_with_what_there_is(bench: Bench) -> None:
    boards = Boards(bench.application)
    first, second = await boards.create("CRM"), await boards.create("CRM", description="Ours")
    other = await boards.create("Revenue weekly")

    both = await _refused(boards, Conflict, ["/name", "/name"], "get_board", name="CRM")
    assert [first in both.detail, second in both.detail] == [True, True]
    assert [f.detail[:36] for f in both.findings] == [first, second]
    close = await _refused(boards, NotFound, ["/name"], "get_board", name="Revenue Weekly")
    assert close.findings[0].detail == f"{other}: Revenue weekly"
    assert close.suggestion == "Did you mean 'Revenue weekly'?"
    far = await _refused(boards, NotFound, ["/name"] * 3, "get_board", name="zzz")
    assert far.status == 404

    found = await boards.call("get_board", board_id=first, name="Revenue weekly")
    assert found["id"] == first, "an id always wins"
    await _refused(boards, NotFound, [], "get_board", board_id=NOBODY)
    await _refused(boards, NotFound, ["/dataset"], "get_board", board_id=first, dataset="deals")
    await _refused(
        boards,
        NotFound,
        ["/dataset"],
        "append_board_rows",
        board_id=first,
        dataset="deals",
        rows=[{"a": 1}],
    )
    with pytest.raises(Invalid):
        await boards.call("get_board")
    with pytest.raises(Invalid):
        await boards.call("get_board", name="CRM", id=first)
    with pytest.raises(NotFound):
        await boards.call("get_board", board_id=first, after=NOBODY)


async def test_columns_parts_and_archived_boards_say_what_is_wrong(bench: Bench) -> None:
    boards = Boards(bench.application)
    columns = [
        {"key": "a"},
        {"key": "a"},
        {"key": "_src"},
        {"key": "s", "field_type": "select"},
        {"key": "t", "options": ["x"]},
    ]
    at = "/datasets/0/columns"
    await _refused(
        boards,
        Invalid,
        [f"{at}/1/key", f"{at}/2/key", f"{at}/3/options", f"{at}/4/options"],
        "create_board",
        name="x",
        datasets=[{"name": "default", "columns": columns}],
    )
    twice = [{"name": "default"}, {"name": "default"}]
    await _refused(boards, Invalid, ["/datasets/1/name"], "create_board", name="x", datasets=twice)
    assert (await boards.call("list_boards"))["boards"] == []

    board = await boards.create()
    await boards.append(board, {"name": "a"}, {"name": "a"})
    keyed = [{"name": "default", "dedupe_key_field": "name"}]
    await _refused(
        boards, Conflict, ["/dedupe_key_field"], "update_board", board_id=board, datasets=keyed
    )
    skill = {"board_id": board, "name": "s", "prompt": "p", "inputs_schema": {"type": "objekt"}}
    await _refused(boards, Invalid, ["/inputs_schema/type"], "set_board_skill", **skill)
    large = "x" * 524_289
    await _refused(boards, TooLarge, ["/html"], "set_board_dashboard", board_id=board, html=large)
    await _refused(boards, NotFound, [], "get_board_dashboard", board_id=board)
    await _refused(boards, NotFound, [], "delete_board_skill", board_id=board, name="s")
    revert = {"board_id": board, "version": 9}
    await _refused(
        boards, NotFound, [], "revert_board_part", part="columns", name="default", **revert
    )
    await _refused(boards, Invalid, ["/name"], "revert_board_part", part="skill", **revert)

    await boards.call("archive_board", board_id=board)
    writes: dict[str, dict[str, Any]] = {
        "append_board_rows": {"rows": [{"a": 1}]},
        "set_board_dashboard": {"html": "x"},
        "update_board": {"name": "other"},
    }
    for capability, more in writes.items():
        await _refused(boards, Conflict, [], capability, board_id=board, **more)
    assert len(await boards.rows(board)) == 2, "an archived board can be read"


async def test_who_may_only_look_changes_nothing(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    viewer = replace(boards, role=Role.VIEWER)
    with pytest.raises(PermissionDenied):
        await viewer.append(board, {"a": 1})
    with pytest.raises(PermissionDenied):
        await viewer.create()
    assert await viewer.rows(board) == []


async def test_a_board_granted_by_its_name_is_not_another_one_by_its_id(bench: Bench) -> None:
    boards = Boards(bench.application)
    await boards.create("CRM")
    other = await boards.create("Salaries")
    plan = document(step("peek", "get_board", {"name": "CRM", "board_id": other}))
    run = await bench.run(plan)
    assert (run["status"], run["error"]["code"]) == ("failed", "no_board")
