"""Rows of files: what people here did to theirs goes before what a file says."""

from __future__ import annotations

from mainspring.recipes.carrying.row_import import (
    DELETED,
    NO_KEY,
    OTHER,
    TWICE,
    ExistingRow,
    RowImportResult,
    sort_rows,
)

SAME, CHANGED, GONE = ExistingRow(True, True), ExistingRow(True, False), ExistingRow(False, False)


def test_each_row_is_added_or_reported() -> None:
    keys = ["a", "b", "c", "d", "d"]
    found = sort_rows(keys, {0: SAME, 1: CHANGED, 2: GONE}, takes=True)

    assert found.adding == (3,)
    assert found.unchanged == 1
    assert found.left == {OTHER: 1, DELETED: 1, TWICE: 1}


def test_without_keys_only_an_empty_dataset_takes_rows() -> None:
    keys = [None, None, None]

    assert sort_rows(keys, {0: SAME}, takes=False).left == {NO_KEY: 2}
    empty = sort_rows(keys, {0: GONE}, takes=True)
    assert (empty.adding, empty.left) == ((1, 2), {DELETED: 1})


def test_what_was_left_out_is_reported_with_how_much_of_it() -> None:
    result = RowImportResult("B", "boards/b/rows/default.jsonl", "default", 1, 2, {DELETED: 3})

    assert result.as_dict()["left"] == 3
    (reason,) = result.reasons()
    assert reason["why"] == f"3 of 6 rows: {DELETED}"
