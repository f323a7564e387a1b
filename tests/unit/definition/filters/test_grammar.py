"""The published grammar, its examples, and the aliases of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.filters import (
    ANTI_EXAMPLES,
    EXAMPLES,
    FILTER_SCHEMA,
    compile_filter,
    filter_findings,
    normalise,
)
from mainspring.definition.json_schema import check_schema, compile_schema

LIMITS = Limits()
PUBLISHED = compile_schema(FILTER_SCHEMA, LIMITS)


def test_the_published_grammar_is_a_schema_that_anyone_may_use() -> None:
    assert check_schema(dict(FILTER_SCHEMA), LIMITS) == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_filter(example: Mapping[str, Any]) -> None:
    assert PUBLISHED.findings(example) == []
    assert filter_findings(example, LIMITS) == []
    compile_filter(example, LIMITS)


@pytest.mark.parametrize(("value", "reason"), ANTI_EXAMPLES)
def test_every_anti_example_is_refused(value: Any, reason: str) -> None:
    assert not PUBLISHED.is_valid(value), reason
    assert filter_findings(value, LIMITS), reason


def test_the_published_grammar_carries_its_examples() -> None:
    assert len(FILTER_SCHEMA["examples"]) == len(EXAMPLES)
    assert len(FILTER_SCHEMA["x-anti-examples"]) == len(ANTI_EXAMPLES)


def test_aliases_are_replaced_at_every_depth() -> None:
    written = {
        "a": {"$eq": 1, "$gt": 0},
        "$and": [{"b": {"$ne": 2}}, {"$or": [{"c": {"$in": [1]}}, {"d": {"$nin": [2]}}]}],
        "$not": {"e": {"$exists": True, "$regex": "x"}},
        "plain": "text",
    }
    normal = normalise(written)
    assert normal == {
        "a": {"equals": 1, "gt": 0},
        "$and": [{"b": {"not_equals": 2}}, {"$or": [{"c": {"in": [1]}}, {"d": {"not_in": [2]}}]}],
        "$not": {"e": {"exists": True, "regex": "x"}},
        "plain": "text",
    }
    assert filter_findings(normal, LIMITS) == []
    assert normalise(normal) == normal


@pytest.mark.parametrize(
    "written", [1, [], {"a": {"$gt": 1, "gt": 2}}, {"a": {"$near": 1}}, {"$and": 1}, {"$not": [1]}]
)
def test_what_is_not_understood_is_left_for_the_checks(written: Any) -> None:
    assert normalise(written) == written
    assert filter_findings(written, LIMITS)
