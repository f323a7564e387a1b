"""Findings of filters: place, reason and suggestion."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters import compile_filter, filter_findings

LIMITS = Limits()


@pytest.mark.parametrize(
    ("written", "pointer", "code"),
    [
        ([], "", "filter_type"),
        ({"a": {"equal": 1}}, "/a/equal", "filter_operator"),
        ({"a": {"$not": {"gt": 1}}}, "/a/$not", "filter_operator"),
        ({"a": {}}, "/a", "filter_condition"),
        ({"a": [1]}, "/a", "filter_condition"),
        ({"a": {"gt": "1"}}, "/a/gt", "filter_operand"),
        ({"a": {"in": []}}, "/a/in", "filter_operand"),
        ({"a": {"in": [0] * 1001}}, "/a/in", "filter_operand"),
        ({"a": {"regex": "(?=x)"}}, "/a/regex", "filter_pattern"),
        ({"a": {"regex": "x" * 1001}}, "/a/regex", "filter_pattern"),
        ({"$or": [{"a": 1}, {"b": {"regex": "["}}]}, "/$or/1/b/regex", "filter_pattern"),
        ({"$or": []}, "/$or", "filter_group"),
        ({"$not": 1}, "/$not", "filter_group"),
        ({"$nand": []}, "/$nand", "filter_group"),
        ({"$gt": 1}, "/$gt", "filter_group"),
        ({"a..b": 1}, "/a..b", "filter_path"),
        ({".a": 1}, "/.a", "filter_path"),
        ({"a/b.": 1}, "/a~1b.", "filter_path"),
        ({".".join("a" * 65): 1}, "/" + ".".join("a" * 65), "filter_path"),
        ({"a": {"equals": float("nan")}}, "/a/equals", "json_constant"),
        ({"a": "x\0"}, "/a", "json_nul"),
    ],
)
def test_a_finding_says_where_and_why(written: Any, pointer: str, code: str) -> None:
    findings = filter_findings(written, LIMITS, "/filters")
    assert [(finding.pointer, finding.code) for finding in findings] == [
        (f"/filters{pointer}", code)
    ]


def test_all_problems_are_reported_at_once() -> None:
    written = {"a": {"gt": "1", "like": 2}, "$or": [{"b": {}}, 3]}
    assert [finding.pointer for finding in filter_findings(written, LIMITS)] == [
        "/a/gt",
        "/a/like",
        "/$or/0/b",
        "/$or/1",
    ]


def test_suggestions_name_what_was_meant() -> None:
    (unknown,) = filter_findings({"a": {"start_with": "x"}}, LIMITS)
    assert unknown.suggestion == "Did you mean 'starts_with'?"
    (alias,) = filter_findings({"a": {"$nin": [1]}}, LIMITS)
    assert alias.suggestion == "Write 'not_in'."
    (group,) = filter_findings({"$ore": []}, LIMITS)
    assert group.suggestion == "Did you mean '$or'?"


def nested(levels: int) -> dict[str, Any]:
    written: dict[str, Any] = {"a": 1}
    for _ in range(levels):
        written = {"$not": written}
    return written


def test_size_and_depth_are_bounded() -> None:
    assert filter_findings(nested(LIMITS.filter_depth - 1), LIMITS) == []
    (deep,) = filter_findings(nested(LIMITS.filter_depth), LIMITS)
    assert deep.code == "filter_too_deep"
    assert filter_findings({f"f{n}": n for n in range(LIMITS.filter_nodes)}, LIMITS) == []
    (large,) = filter_findings({f"f{n}": n for n in range(LIMITS.filter_nodes + 1)}, LIMITS)
    assert large.code == "filter_too_large"
    (bomb,) = filter_findings(nested(100_000), LIMITS)
    assert bomb.code == "json_depth"


def test_a_filter_with_findings_is_not_compiled() -> None:
    with pytest.raises(Invalid) as caught:
        compile_filter({"a": {"gt": "x"}}, LIMITS)
    assert caught.value.code == "filter_invalid"
    assert caught.value.findings[0].pointer == "/a/gt"
