"""What each operator means, for values of every kind and for paths that lead nowhere."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters import compile_filter

LIMITS = Limits()
PAYLOAD: dict[str, Any] = {
    "text": "Invoice 2026.pdf",
    "number": 3,
    "float": 2.5,
    "zero": 0,
    "yes": True,
    "no": False,
    "null": None,
    "empty": "",
    "list": ["a", 1, True, None, {"k": 1}],
    "object": {"name": "Ada", "tags": [{"id": 7}], "0": "zero", "deep": {"er": {"est": 1}}},
    "a.b": "dotted",
    "$cost": 5,
    "back\\slash": "yes",
    "big": 2**60 + 1,
}


def holds(written: Any, payload: Any = PAYLOAD) -> bool:
    return compile_filter(written, LIMITS)(payload)


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"text": "Invoice 2026.pdf"},
        {"number": 3},
        {"number": 3.0},
        {"float": {"equals": 2.5}},
        {"yes": True},
        {"null": None},
        {"empty": ""},
        {"object.name": "Ada"},
        {"object.tags.0.id": 7},
        {"object.0": "zero"},
        {"object.deep.er.est": 1},
        {"list.1": 1},
        {"a\\.b": "dotted"},
        {"\\$cost": 5},
        {"back\\\\slash": "yes"},
        {"big": 2**60 + 1},
        {"list": {"equals": ["a", 1.0, True, None, {"k": 1}]}},
        {"object.deep": {"equals": {"er": {"est": 1}}}},
        {"number": {"not_equals": 4}},
        {"number": {"not_equals": "3"}},
        {"yes": {"not_equals": 1}},
        {"null": {"not_equals": 0}},
        {"text": {"starts_with": "Inv", "ends_with": ".pdf", "contains": "2026"}},
        {"text": {"contains": ""}},
        {"list": {"contains": "a"}},
        {"list": {"contains": None}},
        {"list": {"contains": True}},
        {"text": {"regex": "\\d{4}"}},
        {"text": {"regex": "^Invoice .*pdf$"}},
        {"number": {"gt": 2, "gte": 3, "lt": 3.5, "lte": 3}},
        {"zero": {"lt": 0.1}},
        {"number": {"in": [1, 3.0]}},
        {"text": {"in": ["x", "Invoice 2026.pdf"]}},
        {"yes": {"in": [1, True]}},
        {"number": {"not_in": [1, "3"]}},
        {"yes": {"not_in": [1]}},
        {"null": {"exists": True}},
        {"missing": {"exists": False}},
        {"object.missing": {"exists": False}},
        {"text.length": {"exists": False}},
        {"list.9": {"exists": False}},
        {"$and": [{"number": 3}, {"yes": True}]},
        {"$or": [{"number": 4}, {"yes": True}]},
        {"$not": {"number": 4}},
        {"$not": {"missing": 1}},
        {"$not": {"$or": [{"number": 4}, {"number": 5}]}},
        {"number": 3, "$or": [{"no": True}, {"no": False}], "$not": {"zero": 1}},
    ],
)
def test_these_hold(written: Any) -> None:
    assert holds(written) is True


@pytest.mark.parametrize(
    "written",
    [
        {"text": "invoice 2026.pdf"},
        {"number": "3"},
        {"number": True},
        {"yes": 1},
        {"no": 0},
        {"zero": False},
        {"null": "null"},
        {"null": False},
        {"empty": None},
        {"big": float(2**60)},
        {"list": {"equals": ["a", 1, 1, None, {"k": 1}]}},
        {"list": {"equals": ["a"]}},
        {"object.deep": {"equals": {"er": {"est": True}}}},
        {"number": {"not_equals": 3.0}},
        {"text": {"starts_with": "inv"}},
        {"number": {"starts_with": "3"}},
        {"list": {"starts_with": "a"}},
        {"text": {"contains": 2026}},
        {"list": {"contains": 2}},
        {"list": {"contains": "k"}},
        {"object": {"contains": "name"}},
        {"number": {"regex": "3"}},
        {"null": {"regex": ".*"}},
        {"text": {"gt": 0}},
        {"yes": {"gte": 1}},
        {"null": {"lte": 0}},
        {"number": {"gt": 3}},
        {"number": {"in": ["3", True]}},
        {"number": {"not_in": [3.0]}},
        {"null": {"exists": False}},
        {"number": {"exists": True, "gt": 9}},
        {"list.a": {"exists": True}},
        {"list.-1": {"exists": True}},
        {"list.99999999999999999999": {"exists": True}},
        {"list.٣": {"exists": True}},
        {"a.b": "dotted"},
        {"$and": [{"number": 3}, {"yes": False}]},
        {"$or": [{"number": 4}, {"yes": False}]},
        {"$not": {}},
        {"$not": {"number": 3}},
    ],
)
def test_these_do_not_hold(written: Any) -> None:
    assert holds(written) is False


@pytest.mark.parametrize(
    "condition",
    [
        {"equals": None},
        {"not_equals": 1},
        {"starts_with": ""},
        {"ends_with": ""},
        {"contains": ""},
        {"regex": ".*"},
        {"gt": -1},
        {"gte": -1},
        {"lt": 1},
        {"lte": 1},
        {"in": [None]},
        {"not_in": [1]},
        {"exists": True},
    ],
)
@pytest.mark.parametrize("path", ["missing", "object.missing", "text.part", "list.99"])
def test_a_missing_path_is_false_for_every_operator_but_exists_false(
    condition: dict[str, Any], path: str
) -> None:
    assert holds({path: condition}) is False
    assert holds({path: {"exists": False}}) is True


def test_a_payload_may_be_any_mapping() -> None:
    payload = MappingProxyType({"a": MappingProxyType({"b": 1})})
    assert holds({"a.b": 1}, payload)
    assert not holds({"a.b": 2}, payload)


COSTLY = {"$or": [{"text": {"regex": f"(a|b)*c{number}"}} for number in range(90)]}


@pytest.mark.parametrize(
    ("written", "payload"),
    [
        (COSTLY, {"text": "ab" * 100_000}),
        (COSTLY, {"text": "é" * 50_000}),
        (
            {"$not": {"$or": [{"items": {"contains": number}} for number in range(-90, 0)]}},
            {"items": list(range(10_000))},
        ),
    ],
)
def test_a_filter_that_takes_too_much_work_says_so(written: Any, payload: Any) -> None:
    asked = compile_filter(written, LIMITS)
    with pytest.raises(Invalid) as caught:
        asked(payload)
    assert caught.value.code == "filter_too_costly"
    # Every payload is counted on its own.
    assert holds(COSTLY, {"text": "abc7"})
    small = {"text": "ab", "items": [1]}
    assert asked(small) == holds(written, small)


LETTERS = r"\p{L}+ \p{L}+"


@pytest.mark.parametrize(
    "written",
    [
        {"text": {"regex": LETTERS}},
        {"$not": {"text": {"regex": LETTERS}}},
        {"$or": [{"$not": {"text": {"regex": LETTERS}}}, {"other": 1}]},
    ],
)
def test_a_text_that_is_too_long_for_a_pattern_is_an_error_and_no_answer(written: Any) -> None:
    asked = compile_filter(written, LIMITS)
    assert asked({"text": "Ada Lovelace"}) is ("$not" not in str(written))
    with pytest.raises(Invalid) as caught:
        asked({"text": "Ada Lovelace" + "!" * 2_000})
    assert caught.value.code == "filter_text_unread"
    assert caught.value.findings[0].pointer == "/text/regex"
    assert "reads at most 1,659 bytes, and the text has 2,012" in caught.value.detail
    assert "Lovelace" not in caught.value.detail
    assert caught.value.suggestion


def test_a_long_text_is_no_error_where_another_question_decides() -> None:
    long = "!" * 2_000
    assert holds({"kind": "a", "text": {"regex": LETTERS}}, {"kind": "b", "text": long}) is False
    either = {"$or": [{"kind": "b"}, {"text": {"regex": LETTERS}}]}
    assert holds(either, {"kind": "b", "text": long}) is True


def test_only_questions_that_are_asked_are_counted() -> None:
    text = "ab" * 100_000
    assert holds({"kind": "a", **COSTLY}, {"kind": "b", "text": text}) is False
    branches = [{"kind": str(n), "text": {"regex": f"(a|b)*c{n}"}} for n in range(90)]
    assert holds({"$or": branches}, {"kind": "7", "text": text + "c7"}) is True


def test_an_everyday_filter_reads_a_large_payload() -> None:
    text = "ab" * 100_000
    written = {"$and": [{"text": {"contains": f"b{'a' * n}"}} for n in range(90)]}
    assert holds(written, {"text": text}) is False
    assert holds({"text": {"regex": "ab$"}, "n": {"gt": 1}}, {"text": text, "n": 2}) is True
