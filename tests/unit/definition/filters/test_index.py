"""The index: the same answers as asking every filter, from far fewer questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters import FilterIndex

LIMITS = Limits()


class Counting(dict[str, Any]):
    """A payload that counts how often it is asked for one of its fields."""

    asked = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.asked += 1
        return super().get(key, default)


def index_of(*entries: tuple[str, str, Mapping[str, Any]]) -> FilterIndex[str]:
    index: FilterIndex[str] = FilterIndex(LIMITS)
    for key, event_type, written in entries:
        index.add(key, event_type, written)
    return index


def test_only_filters_of_the_type_that_hold_are_found() -> None:
    index = index_of(
        ("equal", "file.added", {"folder": "a"}),
        ("other value", "file.added", {"folder": "b"}),
        ("other type", "file.removed", {"folder": "a"}),
        ("everything", "file.added", {}),
        ("range", "file.added", {"size": {"gt": 10}}),
        ("negated", "file.added", {"$not": {"folder": "a"}}),
    )
    assert set(index.match("file.added", {"folder": "a", "size": 11})) == {
        "equal",
        "everything",
        "range",
    }
    assert index.match("unknown", {"folder": "a"}) == []
    assert len(index) == 6


def test_a_type_that_ends_in_a_star_matches_every_type_below() -> None:
    index = index_of(
        ("all", "drive.*", {}),
        ("deep", "drive.file.*", {"a": 1}),
        ("exact", "drive.file.added", {}),
        ("lookalike", "drivefile.*", {}),
    )
    assert set(index.match("drive.file.added", {"a": 1})) == {"all", "deep", "exact"}
    assert set(index.match("drive.renamed", {"a": 1})) == {"all"}
    assert index.match("drive", {"a": 1}) == []
    assert index.match("drive.*", {}) == ["all"]


def test_true_and_one_are_kept_apart() -> None:
    index = index_of(
        ("true", "t", {"a": True}),
        ("one", "t", {"a": 1}),
        ("float", "t", {"a": 1.0}),
        ("either", "t", {"a": {"in": [True, 1]}}),
        ("null", "t", {"a": None}),
    )
    assert set(index.match("t", {"a": True})) == {"true", "either"}
    assert set(index.match("t", {"a": 1})) == {"one", "float", "either"}
    assert set(index.match("t", {"a": None})) == {"null"}
    assert index.match("t", {}) == []
    assert index.match("t", {"a": {"b": [1]}}) == []


def test_a_filter_kept_in_several_places_is_found_once() -> None:
    index = index_of(("k", "t", {"$or": [{"a": 1}, {"b": {"in": [2, 3]}}]}))
    assert index.match("t", {"a": 1, "b": 2}) == ["k"]
    assert index.match("t", {"b": 3}) == ["k"]
    assert index.match("t", {"b": 4}) == []


def test_adding_again_replaces_and_removing_forgets() -> None:
    index = index_of(("k", "t", {"a": 1}), ("other", "t", {"a": 1}))
    index.add("k", "u", {"b.c": 2})
    assert index.match("t", {"a": 1}) == ["other"]
    assert index.match("u", {"b": {"c": 2}}) == ["k"]
    for key in ("k", "other", "never there"):
        index.remove(key)
    assert len(index) == 0
    assert index.match("t", {"a": 1}) == index.match("u", {"b": {"c": 2}}) == []
    assert index._shelves == {}


def test_a_bad_filter_changes_nothing() -> None:
    index = index_of(("k", "t", {"a": 1}))
    with pytest.raises(Invalid):
        index.add("k", "t", {"a": {"gt": "x"}})
    assert index.match("t", {"a": 1}) == ["k"]


@pytest.mark.parametrize(
    "written",
    [
        {"folder": "f{0}", "size": {"gt": 1}},
        {"kind": "file", "folder": "f{0}"},
        {"$and": [{"size": {"gt": 1}}, {"folder": {"equals": "f{0}"}}]},
        {"$or": [{"size": 5, "folder": "f{0}"}, {"folder": "g{0}"}]},
        {"folder": {"in": ["f{0}", "g{0}"]}, "size": {"lt": 9}},
        {"field{0}": 1},
        {"deep.field{0}.name": 1},
    ],
)
def test_the_questions_do_not_grow_with_filters_that_cannot_match(
    written: Mapping[str, Any],
) -> None:
    def numbered(part: Any, number: int) -> Any:
        if isinstance(part, str):
            return part.replace("{0}", str(number))
        if isinstance(part, list):
            return [numbered(item, number) for item in part]
        if isinstance(part, dict):
            return {numbered(key, number): numbered(item, number) for key, item in part.items()}
        return part

    asked = []
    for size in (10, 2_000):
        index = index_of(*((str(n), "t", numbered(written, n)) for n in range(size)))
        payload = Counting(kind="file", folder="f3", size=5, field3=1, deep={"field3": {"name": 1}})
        assert index.match("t", payload) == ["3"]
        asked.append(payload.asked)
    assert asked[1] <= asked[0] + 5


def test_a_filter_that_raises_is_noted_and_the_others_are_asked() -> None:
    costly = {"$or": [{"text": {"regex": f"(a|b)*c{number}"}} for number in range(90)]}
    index = index_of(
        ("costly", "a.b", costly),
        ("kept", "a.b", {"kind": "x", **costly}),
        ("light", "a.b", {"kind": "x"}),
        ("wide", "a.*", {}),
    )
    payload = {"kind": "x", "text": "ab" * 100_000}
    broken: dict[str, Exception] = {}
    assert set(index.match("a.b", payload, broken)) == {"light", "wide"}
    assert set(broken) == {"costly", "kept"}
    with pytest.raises(Invalid):
        index.match("a.b", payload)
