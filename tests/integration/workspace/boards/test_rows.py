"""Rows: appended once, changed by field, deleted and brought back, and read page by page."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, LimitExceeded
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench
from tests.kit.boards import Boards, Row, values

KEYED = [{"name": "default", "dedupe_key_field": "url"}, {"name": "notes"}]


async def test_a_row_gets_an_id_and_comes_back_as_it_was_with_what_the_server_knows(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create("Revenue weekly", datasets=[{"name": "notes"}])
    row = {"text": "á", "n": 1.5, "deep": {"list": [1, None, True]}, "": None}
    del row[""]
    made = await boards.append(board, row, {"contactIds": ["x"]})
    await boards.append(board, {"text": "elsewhere"}, dataset="notes")

    found = await boards.call("get_board", name="Revenue weekly")
    assert found["id"] == board
    assert found["schema"]["version"] == 2
    assert [one["name"] for one in found["schema"]["datasets"]] == ["default", "notes"]
    page, other = (found["data"]["datasets"][name] for name in ("default", "notes"))
    first, second = page["rows"]
    assert [first["row_id"], second["row_id"]] == made["row_ids"]
    assert {key: first[key] for key in row} == row
    assert first["_src"] == f"member:{FIRST_MEMBER}"
    assert "T" in first["_updated_at"]
    assert "_deleted_at" not in first
    assert (page["total"], page["offset"], page["limit"], page["next_offset"]) == (2, 0, 1000, None)
    assert (other["rows"], other["total"]) == ([], 1), "rows come for the dataset asked for"
    listed = (await boards.call("list_boards"))["boards"]
    assert listed[0]["datasets"] == [{"name": "default", "total": 2}, {"name": "notes", "total": 1}]


async def test_a_row_that_is_there_is_skipped_by_the_key_of_the_dataset_or_of_the_call(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=KEYED)
    first = await boards.append(board, {"url": "a"}, {"url": "b"}, {"url": "a", "again": True})
    assert (first["appended"], first["skipped"], first["total"]) == (2, 1, 2)
    again = await boards.append(board, {"url": "b"}, {"url": 1}, {"url": 1.0}, {"url": "1"})
    assert (again["appended"], again["skipped"]) == (2, 2), "1 and 1.0 are one number, no text"
    long = "x" * 5_000
    assert (await boards.append(board, {"url": long}, {"url": long + "y"}))["appended"] == 2
    assert (await boards.append(board, {"url": long}))["appended"] == 0

    given = {"dedupe_key_field": "id"}
    await boards.append(board, {"url": "c", "id": {"of": [7]}}, {"url": "d", "id": True}, **given)
    known, accepted = {"url": "e", "id": {"of": [7]}}, {"url": "d", "id": 8}
    both = await boards.append(board, known, accepted, {"url": "f", "id": 9}, **given)
    assert both["appended"] == 1, "a double by either field is one"
    free = await boards.append(board, {"a": 1}, {"a": 1}, dataset="notes")
    assert free["appended"] == 2, "without a key everything is appended"
    calls = await bench.application.database.fetch(
        "SELECT outcome FROM direct_calls WHERE capability = 'append_board_rows' ORDER BY id"
    )
    assert [row["outcome"] for row in calls][2:4] == ["kept", "read"], "nothing new is no change"


async def test_twenty_who_append_the_same_rows_at_once_append_each_of_them_once(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=KEYED)
    dice = random.Random(5)

    async def bring() -> int:
        rows = [{"url": f"u{n}"} for n in dice.sample(range(60), 40)]
        return int((await boards.append(board, *rows))["appended"])

    async def bring_by_name() -> int:
        rows = [{"id": n} for n in dice.sample(range(60), 40)]
        made = await boards.append(board, *rows, dataset="notes", dedupe_key_field="id")
        return int(made["appended"])

    added = await asyncio.gather(*(work() for work in (bring, bring_by_name) for _ in range(20)))
    assert (sum(added[:20]), sum(added[20:])) == (60, 60)
    rows = await boards.rows(board)
    assert sorted(values(rows, "url")) == sorted(f"u{n}" for n in range(60))
    assert sorted(values(await boards.rows(board, "notes"), "id")) == list(range(60))


async def test_a_change_touches_only_the_fields_it_names(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=KEYED)
    a, b = (await boards.append(board, {"url": "a", "n": 1, "x": 1}, {"url": "b"}))["row_ids"]
    patches = [{"row_id": a, "n": 2, "new": None}, {"row_id": b, "url": "b"}]
    result = await boards.call("update_board_rows", board_id=board, rows=patches)
    assert (result["updated"], result["unchanged"], result["row_ids"]) == (1, 1, [a])
    first, second = await boards.rows(board)
    assert (first["url"], first["n"], first["x"], first["new"]) == ("a", 2, 1, None)
    assert first["_updated_at"] > second["_updated_at"]

    swap = [{"row_id": a, "url": "b"}, {"row_id": b, "url": "a"}]
    await boards.call("update_board_rows", board_id=board, rows=swap)
    assert values(await boards.rows(board), "row_id", "url") == [(a, "b"), (b, "a")]
    assert (await boards.append(board, {"url": "a"}, {"url": "b"}))["appended"] == 0
    await boards.call("update_board_rows", board_id=board, rows=[{"row_id": a, "url": "c"}])
    assert (await boards.append(board, {"url": "b"}, {"url": "c"}))["appended"] == 1


async def test_a_deleted_row_is_not_shown_or_counted_and_comes_back_to_its_place(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create(datasets=KEYED)
    ids = (await boards.append(board, *({"url": u} for u in "abc")))["row_ids"]
    result = await boards.call("delete_board_rows", board_id=board, row_ids=[ids[1], ids[1]])
    assert (result["deleted"], result["total"]) == (1, 2)
    assert values(await boards.rows(board), "url") == ["a", "c"]
    every = await boards.page(board, include_deleted=True)
    assert values(every["rows"], "url") == ["a", "b", "c"]
    assert [("_deleted_at" in row) for row in every["rows"]] == [False, True, False]
    again = await boards.call("delete_board_rows", board_id=board, row_ids=[ids[1]])
    assert again["deleted"] == 0

    restored = await boards.call("restore_board_rows", board_id=board, row_ids=ids)
    assert (restored["restored"], restored["total"]) == (1, 3)
    assert values(await boards.rows(board), "url") == ["a", "b", "c"]

    await boards.call("delete_board_rows", board_id=board, row_ids=[ids[1]])
    assert (await boards.append(board, {"url": "b"}))["appended"] == 1, "deleted rows do not count"
    with pytest.raises(Conflict) as caught:
        await boards.call("restore_board_rows", board_id=board, row_ids=[ids[1]])
    assert [finding.pointer for finding in caught.value.findings] == ["/row_ids/0"]
    assert values(await boards.rows(board), "url") == ["a", "c", "b"]


async def test_ten_thousand_rows_are_read_page_by_page_while_others_edit_and_delete(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    ids: list[str] = []
    for start in range(0, 10_000, 5_000):
        rows = [{"n": n} for n in range(start, start + 5_000)]
        ids += (await boards.append(board, *rows))["row_ids"]

    async def edit(dice: random.Random) -> None:
        patches = [{"row_id": one, "seen": dice.random()} for one in dice.sample(ids, 50)]
        await boards.call("update_board_rows", board_id=board, rows=patches)

    dice, seen, offset = random.Random(3), [], 0
    while True:
        page, _ = await asyncio.gather(boards.page(board, offset=offset), edit(dice))
        seen += values(page["rows"], "n")
        if page["next_offset"] is None:
            break
        offset = page["next_offset"]
    assert seen == list(range(10_000)), "edits move no row"

    few = [ids[n] for n in (3, 4, 7_500)]
    await boards.call("delete_board_rows", board_id=board, row_ids=few)
    left = [n for n in range(10_000) if n not in (3, 4, 7_500)]
    for offset in (0, 3, 997, 998, 1_500, 6_998, 7_400, 7_498, 7_499, 8_000, 9_990, 9_997):
        rows_there = await boards.rows(board, offset=offset, limit=5)
        assert values(rows_there, "n") == left[offset : offset + 5], offset
    await boards.call("restore_board_rows", board_id=board, row_ids=few)

    # While rows are deleted, pages that begin after a row pass nothing over.
    gone, seen = set(dice.sample(range(10_000), 4_000)), []
    after: dict[str, str] = {}
    halves = [sorted(gone)[:2_000], sorted(gone)[2_000:]]
    while rows_now := await boards.rows(board, limit=700, **after):
        seen += values(rows_now, "n")
        after = {"after": rows_now[-1]["row_id"]}
        if halves:
            going = [ids[n] for n in halves.pop()]
            await boards.call("delete_board_rows", board_id=board, row_ids=going)
    assert set(range(10_000)) - gone <= set(seen)
    assert len(seen) == len(set(seen))

    left = [n for n in range(10_000) if n not in gone]
    for offset in (0, 1, 599, 600, 2_345, 5_000, 5_998, 5_999, 6_000, 9_000):
        page = await boards.page(board, offset=offset, limit=40)
        assert values(page["rows"], "n") == left[offset : offset + 40]
        assert page["total"] == 6_000
    back = [ids[n] for n in sorted(gone)[::2]]
    await boards.call("restore_board_rows", board_id=board, row_ids=back)
    left = sorted({*left, *sorted(gone)[::2]})
    for offset in (0, 777, 4_444, 7_990):
        page = await boards.page(board, offset=offset, limit=40)
        assert values(page["rows"], "n") == left[offset : offset + 40]


async def test_a_page_of_large_rows_ends_early_and_says_where_to_go_on(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    rows = [{"n": n, "text": "x" * 60_000} for n in range(40)]
    assert (await boards.append(board, *rows))["appended"] == 40
    seen: list[Row] = []
    offset: Any = 0
    pages = 0
    while offset is not None:
        page = await boards.page(board, offset=offset)
        assert 0 < len(page["rows"]) < 20
        seen, offset, pages = [*seen, *page["rows"]], page["next_offset"], pages + 1
    assert values(seen, "n") == list(range(40))
    assert pages > 2


async def test_a_full_dataset_says_so(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    await bench.application.database.execute(
        "UPDATE board_datasets SET appended = 999999, live = 999999 WHERE board_id = $1",
        UUID(board),
    )
    with pytest.raises(LimitExceeded) as caught:
        await boards.append(board, {"a": 1}, {"a": 2})
    assert caught.value.code == "dataset_full"
    assert (await boards.append(board, {"a": 1}))["appended"] == 1
