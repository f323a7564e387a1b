"""What changed between two definitions, reported place by place."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mainspring.workspace.versions import list_changes


def _plan(*ids: str) -> dict[str, Any]:
    return {"plan": [{"step_id": one, "action": "delay", "config": {"n": one}} for one in ids]}


def _told(before: Any, after: Any) -> list[tuple[str, str]]:
    return [(change["op"], change["pointer"]) for change in list_changes(before, after)]


def test_equal_definitions_have_no_changes() -> None:
    before = {**_plan("a", "b"), "execution": {"timeout_seconds": 600}}
    assert list_changes(before, deepcopy(before)) == []


def test_a_number_is_not_a_truth_value_and_one_is_one() -> None:
    assert _told({"a": 1}, {"a": True}) == [("replace", "/a")]
    assert _told({"a": 1}, {"a": 1.0}) == []


def test_a_changed_value_is_reported_with_both_values() -> None:
    (change,) = list_changes({"execution": {"max_retries": 2}}, {"execution": {"max_retries": 3}})
    assert change == {
        "op": "replace",
        "pointer": "/execution/max_retries",
        "before": 2,
        "after": 3,
    }


def test_a_new_first_step_is_one_change_and_not_a_change_of_all_that_follow() -> None:
    assert _told(_plan("a", "b", "c"), _plan("new", "a", "b", "c")) == [("add", "/plan/0")]


def test_a_removed_step_is_reported_at_its_former_position() -> None:
    assert _told(_plan("a", "b", "c"), _plan("a", "c")) == [("remove", "/plan/1")]


def test_a_step_that_only_moved_is_one_move() -> None:
    (change,) = list_changes(_plan("a", "b", "c", "d"), _plan("b", "c", "d", "a"))
    assert change == {"op": "move", "pointer": "/plan/3", "from": "/plan/0"}


def test_a_step_that_moved_and_changed_is_a_move_and_its_change() -> None:
    after = _plan("b", "c", "a")
    after["plan"][2]["config"]["n"] = "other"
    assert _told(_plan("a", "b", "c"), after) == [
        ("move", "/plan/2"),
        ("replace", "/plan/2/config/n"),
    ]


def test_nested_steps_are_matched_by_their_ids_too() -> None:
    before = {"plan": [{"step_id": "each", "config": {"steps": _plan("x", "y")["plan"]}}]}
    after = {"plan": [{"step_id": "each", "config": {"steps": _plan("y")["plan"]}}]}
    assert _told(before, after) == [("remove", "/plan/0/config/steps/0")]


def test_triggers_are_matched_by_their_ids() -> None:
    before = {"triggers": [{"id": "a", "enabled": True}, {"id": "b", "enabled": True}]}
    after = {"triggers": [{"id": "b", "enabled": False}]}
    assert _told(before, after) == [("remove", "/triggers/0"), ("replace", "/triggers/0/enabled")]


def test_entries_without_names_are_compared_as_a_whole() -> None:
    (change,) = list_changes({"hosts": ["a", "b"]}, {"hosts": ["b"]})
    assert change == {"op": "replace", "pointer": "/hosts", "before": ["a", "b"], "after": ["b"]}


def test_entries_with_the_same_name_twice_are_compared_as_a_whole() -> None:
    before = {"things": [{"id": "a"}, {"id": "a", "n": 1}]}
    assert _told(before, {"things": [{"id": "a"}]}) == [("replace", "/things")]


def test_keys_with_slashes_stay_one_place() -> None:
    assert _told({"a/b": 1}, {}) == [("remove", "/a~1b")]


@given(st.permutations("abcdefg"), st.permutations("abcdefg"))
def test_as_few_steps_move_as_the_new_order_needs(before: list[str], after: list[str]) -> None:
    """What did not move is still in its old order, and one more could not be left in place."""
    moved = {change["from"] for change in list_changes(_plan(*before), _plan(*after))}
    stayed = [key for place, key in enumerate(before) if f"/plan/{place}" not in moved]
    assert stayed == [key for key in after if key in stayed]
    assert len(stayed) == _longest([before.index(key) for key in after])


def _longest(numbers: list[int]) -> int:
    best = [1] * len(numbers)
    for here, number in enumerate(numbers):
        best[here] = 1 + max((best[b] for b in range(here) if numbers[b] < number), default=0)
    return max(best)
