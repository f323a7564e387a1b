"""Filters against a naive evaluator, and the index against asking every filter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.limits import Limits
from mainspring.definition.filters import (
    FILTER_SCHEMA,
    FilterIndex,
    compile_filter,
    filter_findings,
)
from mainspring.definition.json_schema import compile_schema

LIMITS = Limits()
PUBLISHED = compile_schema(FILTER_SCHEMA, LIMITS)
NAMES = ["a", "b", "c", "0", "1"]
TEXTS = ["", "a", "ab", "b", "1", "true"]

scalars = st.one_of(
    st.sampled_from(TEXTS),
    st.sampled_from([0, 1, 2, -1, 1.0, 0.5, 2**60]),
    st.booleans(),
    st.none(),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
payloads = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(".".join)
numbers = st.sampled_from([-1, 0, 0.5, 1, 1.0, 2])
texts = st.sampled_from(TEXTS)
conditions = st.one_of(
    scalars,
    st.fixed_dictionaries(
        {},
        optional={
            "equals": values,
            "not_equals": values,
            "starts_with": texts,
            "ends_with": texts,
            "contains": scalars,
            "regex": st.sampled_from(["a", "^a$", "b?", "^$", "[ab]1"]),
            "gt": numbers,
            "gte": numbers,
            "lt": numbers,
            "lte": numbers,
            "in": st.lists(values, min_size=1, max_size=3),
            "not_in": st.lists(values, min_size=1, max_size=3),
            "exists": st.booleans(),
        },
    ).filter(bool),
)
filters = st.recursive(
    st.dictionaries(paths, conditions, max_size=3),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "$and": st.lists(inner, min_size=1, max_size=3),
            "$or": st.lists(inner, min_size=1, max_size=3),
            "$not": inner,
            "a": scalars,
        },
    ),
    max_leaves=6,
)
event_types = st.sampled_from(["x", "x.y", "x.y.z", "x.*", "x.y.*"])

NOWHERE = object()


def naive(written: Mapping[str, Any], payload: Any) -> bool:
    """The meaning of a filter, written out without any regard for speed."""
    for key, part in written.items():
        if key == "$and":
            ok = all(naive(member, payload) for member in part)
        elif key == "$or":
            ok = any(naive(member, payload) for member in part)
        elif key == "$not":
            ok = not naive(part, payload)
        else:
            operators = part if isinstance(part, dict) else {"equals": part}
            found = at(payload, key.split("."))
            ok = all(asked(name, operand, found) for name, operand in operators.items())
        if not ok:
            return False
    return True


def at(value: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return NOWHERE
    return value


def kind(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    return "number" if isinstance(value, int | float) else type(value).__name__


def equal(left: Any, right: Any) -> bool:
    if kind(left) != kind(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(
            equal(one, other) for one, other in zip(left, right, strict=True)
        )
    if isinstance(left, dict):
        return set(left) == set(right) and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


def asked(name: str, operand: Any, found: Any) -> bool:  # noqa: C901 - one case per operator
    if name == "exists":
        return (found is not NOWHERE) is bool(operand)
    if found is NOWHERE:
        return False
    is_text, is_number = kind(found) == "str", kind(found) == "number"
    match name:
        case "equals":
            return equal(found, operand)
        case "not_equals":
            return not equal(found, operand)
        case "in":
            return any(equal(found, choice) for choice in operand)
        case "not_in":
            return not any(equal(found, choice) for choice in operand)
        case "starts_with":
            return is_text and bool(found[: len(operand)] == operand)
        case "ends_with":
            return is_text and bool(found[len(found) - len(operand) :] == operand)
        case "contains" if isinstance(found, list):
            return any(equal(item, operand) for item in found)
        case "contains":
            return is_text and kind(operand) == "str" and found.find(operand) >= 0
        case "regex":
            return is_text and re.search(operand, found) is not None
        case "gt":
            return is_number and found > operand
        case "gte":
            return is_number and found >= operand
        case "lt":
            return is_number and found < operand
        case _:
            return is_number and found <= operand


@settings(max_examples=200, deadline=None)
@given(written=filters, payload=payloads)
def test_a_filter_means_what_the_naive_evaluator_says(
    written: dict[str, Any], payload: dict[str, Any]
) -> None:
    assert compile_filter(written, LIMITS)(payload) == naive(written, payload)


@settings(max_examples=100, deadline=None)
@given(
    kept=st.lists(st.tuples(event_types, filters), max_size=12),
    removed=st.sets(st.integers(0, 11)),
    events=st.lists(st.tuples(event_types, payloads), min_size=1, max_size=4),
)
def test_the_index_finds_exactly_what_asking_every_filter_finds(
    kept: list[tuple[str, dict[str, Any]]],
    removed: set[int],
    events: list[tuple[str, dict[str, Any]]],
) -> None:
    index: FilterIndex[int] = FilterIndex(LIMITS)
    for key, (event_type, written) in enumerate(kept):
        index.add(key, event_type, written)
    for key in removed:
        index.remove(key)
    for event_type, payload in events:
        expected = [
            key
            for key, (required, written) in enumerate(kept)
            if key not in removed
            and (
                required == event_type
                or (required.endswith(".*") and event_type.startswith(required[:-1]))
            )
            and naive(written, payload)
        ]
        found = index.match(event_type, payload)
        assert sorted(found) == expected


@settings(max_examples=120, deadline=None)
@given(
    written=st.recursive(
        values,
        lambda inner: st.dictionaries(
            st.sampled_from(
                ["a", "a.b", "", "$and", "$or", "$not", "$x", "a.", "gt", "in", "regex"]
            ),
            st.one_of(inner, st.lists(inner, max_size=2)),
            max_size=3,
        ),
        max_leaves=8,
    )
)
def test_the_checks_and_the_published_schema_agree(written: Any) -> None:
    findings = filter_findings(written, LIMITS)
    beyond_the_schema = {"filter_pattern", "filter_too_deep", "filter_too_large"}
    validated = [finding for finding in findings if finding.code not in beyond_the_schema]
    assert PUBLISHED.is_valid(written) == (not validated)
