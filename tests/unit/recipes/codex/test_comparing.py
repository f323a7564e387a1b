"""Three contents are compared place by place, and lists by the names of their entries."""

from __future__ import annotations

from typing import Any

from mainspring.recipes.codex.upgrade_preview import find_conflicts, list_recipe_changes


def _board(*columns: str, **more: Any) -> dict[str, Any]:
    datasets = [{"name": "default", "columns": [{"key": key} for key in columns]}]
    return {"name": "Sites", "datasets": datasets, **more}


def _told(base: Any, current: Any, new: Any) -> list[tuple[str, str]]:
    return [(one.place, one.change_kind) for one in find_conflicts(base, current, new)]


def test_unchanged_parts_block_nothing() -> None:
    assert _told(_board("a"), _board("a"), _board("a", "b")) == []
    assert _told(_board("a", "b"), _board("a", "b"), _board("b")) == []


def test_one_change_is_one_place_whatever_surrounds_it() -> None:
    base = _board("a", "b", "c")

    assert _told(base, _board("x", "a", "b", "c"), base) == [
        ("/datasets/default/columns/x", "added")
    ]
    assert _told(base, _board("a", "c"), base) == [("/datasets/default/columns/b", "removed")]
    assert _told(base, _board("c", "b", "a"), base) == [("/datasets/default/columns", "reordered")]
    assert _told(base, {**base, "dashboard": "<p>"}, base) == [("/dashboard", "added")]


def test_a_change_that_the_newer_version_makes_too_is_no_conflict() -> None:
    base = _board("a", "b")

    assert _told(base, _board("a", "b", "c"), _board("a", "b", "c", "d")) == []
    assert _told(base, _board("a"), _board("a", "x")) == []
    assert _told(base, _board("b", "a"), _board("b", "a", "c")) == []
    assert _told(base, _board("a", "b", "c"), _board("a", "b", "d")) == [
        ("/datasets/default/columns/c", "added")
    ]


def test_values_are_compared_as_json_means_them() -> None:
    assert _told({"a": 1}, {"a": 1.0}, {"a": 2}) == []
    assert _told({"a": 1}, {"a": True}, {"a": 1}) == [("/a", "changed")]
    assert _told({"a": None}, {}, {"a": None}) == [("/a", "removed")]
    assert _told({"a": [1, 2]}, {"a": [2, 1]}, {"a": [1, 2]}) == [("/a", "changed")]
    # Two entries of one name are distinguished by nothing.
    twice = {"a": [{"name": "x"}, {"name": "x"}]}
    assert _told(twice, {"a": [{"name": "x"}]}, twice) == [("/a", "changed")]


def test_what_a_recipe_changes_is_every_place() -> None:
    found = list_recipe_changes(_board("a"), {**_board("a", "b"), "description": "More."})

    assert [one.as_dict() for one in found] == [
        {"place": "/datasets/default/columns/b", "change": "added"},
        {"place": "/description", "change": "added"},
    ]
