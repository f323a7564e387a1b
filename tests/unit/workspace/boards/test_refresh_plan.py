"""What a refresh changes: the fewest rows, with ids that stay."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.workspace.boards.refresh import (
    CurrentRow,
    choose_free_names,
    choose_key_field,
    compute_content_keys,
    plan_refresh,
    rename_key,
)


def _id(number: int) -> UUID:
    return UUID(int=number)


def _kept(number: int, key: str | None, deleted: bool = False, **data: Any) -> CurrentRow:
    return CurrentRow(_id(number), key, data, deleted)


def test_a_row_keeps_its_id_by_its_key_and_only_what_changed_is_written() -> None:
    old = [_kept(1, "a", v=1), _kept(2, "b", v=1), _kept(3, "c", v=1)]

    plan = plan_refresh(old, [{"v": 2}, {"v": 1}, {"v": 9}], ["b", "a", "d"])

    assert plan.updates == {_id(2): 0}
    assert plan.inserts == (2,)
    assert plan.deletes == (_id(3),)
    assert plan.unchanged == 1
    assert plan.changes


def test_the_same_rows_again_change_nothing_in_whatever_order() -> None:
    old = [_kept(1, "a", v=1), _kept(2, "b", v=2.0)]

    plan = plan_refresh(old, [{"v": 2}, {"v": 1}], ["b", "a"])

    assert not plan.changes
    assert plan.unchanged == 2


def test_a_row_that_went_away_and_came_back_is_the_same_row() -> None:
    old = [_kept(1, "a", True, v=1), _kept(2, "b", True, v=1), _kept(3, "c", v=1)]

    plan = plan_refresh(old, [{"v": 1}, {"v": 2}, {"v": 1}], ["a", "b", "c"])

    assert plan.restores == (_id(1), _id(2))
    assert plan.updates == {_id(2): 1}
    assert plan.inserts == plan.deletes == ()
    # One that is deleted and not there any more is left alone.
    assert not plan_refresh([_kept(1, "a", True, v=1)], [], []).changes


def test_the_first_of_two_rows_with_one_key_counts_and_the_other_is_reported() -> None:
    plan = plan_refresh([], [{"v": 1}, {"v": 2}, {"v": 3}], ["a", "a", None])

    assert plan.inserts == (0,)
    assert plan.doubles == (1, 2)


def test_a_row_that_could_not_be_read_now_stays_as_it_was() -> None:
    old = [_kept(1, "a", v=1), _kept(2, "b", v=1), _kept(3, None, v=1)]

    plan = plan_refresh(old, [], [], frozenset({"a"}))

    # Whatever has no key at all is not of the other side, and goes.
    assert plan.deletes == (_id(2), _id(3))


def test_without_a_key_a_row_is_known_by_all_that_it_says() -> None:
    rows: list[dict[str, Any]] = [{"a": 1}, {"b": 2}, {"a": 1.0}]
    keys = compute_content_keys(rows)

    assert len(set(keys)) == 3
    assert compute_content_keys([{"a": 1}, {"a": 1}]) == [keys[0], keys[2]]


def test_the_key_is_the_one_that_is_asked_for_or_the_usual_one_where_rows_have_it() -> None:
    assert choose_key_field("number", "id", []) == "number"
    assert choose_key_field(None, "id", [{"x": 1}, {"id": 0}]) == "id"
    assert choose_key_field(None, "id", [{"x": 1}, {"id": None}]) is None
    assert choose_key_field(None, "", [{"": 1}]) is None


def test_a_key_is_kept_in_the_column_that_is_asked_for() -> None:
    assert rename_key({"id": 7, "t": "x"}, "id", "pr_id") == {"pr_id": 7, "t": "x"}
    assert rename_key({"id": 7}, "id", "id") == {"id": 7}
    assert rename_key({"t": 1}, "id", "pr_id") == {"t": 1}
    assert rename_key({"t": 1}, None, None) == {"t": 1}


def test_a_field_that_the_board_writes_itself_has_another_name_here() -> None:
    assert choose_free_names(["id", "row_id", "_src", "row_id_"]) == {
        "_src": "_src_",
        "row_id": "row_id__",
    }
    assert choose_free_names(["id"]) == {}
