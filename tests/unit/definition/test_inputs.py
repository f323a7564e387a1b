"""Inputs: who wins, what is filled in, and which defaults are no defaults."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import (
    RuntimeTokens,
    find_default_problems,
    map_payload,
    resolve_inputs,
)
from mainspring.definition.json_schema import check_schema
from tests.kit.runaway import RUNAWAY

CREATED = datetime(2026, 1, 1, 8, tzinfo=UTC)
TOKENS = RuntimeTokens(last_fired_at=None, created_at=CREATED, creator="anna", space="space-1")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["since"],
    "additionalProperties": False,
    "properties": {
        "since": {"type": "string", "format": "date-time", "default": "$last_fired_at"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": ["competitor"]},
        "who": {"type": "string", "default": "$creator"},
        "where": {"type": "string", "default": "$space_default"},
        "limit": {"type": "integer"},
    },
}


def test_the_payload_wins_over_static_inputs_and_those_over_defaults() -> None:
    static = {"tags": ["static"], "who": "static"}
    found = resolve_inputs(SCHEMA, static, {"who": "payload"}, TOKENS)
    assert found == {
        "tags": ["static"],
        "who": "payload",
        "since": "2026-01-01T08:00:00+00:00",
        "where": "space-1",
    }


def test_the_last_firing_is_reported_in_utc_and_falls_back_to_the_creation() -> None:
    fired = datetime(2026, 5, 1, 9, tzinfo=timezone(timedelta(hours=2)))
    later = RuntimeTokens(fired, CREATED, "anna", "space-1")
    assert resolve_inputs(SCHEMA, {}, {}, later)["since"] == "2026-05-01T07:00:00+00:00"
    assert resolve_inputs(SCHEMA, {}, {}, TOKENS)["since"] == CREATED.isoformat()


def test_tokens_are_data_everywhere_but_in_the_schema() -> None:
    found = resolve_inputs(SCHEMA, {"where": "$space_default"}, {"who": "$creator"}, TOKENS)
    assert found["who"] == "$creator"
    assert found["where"] == "$space_default"


def test_null_was_given_and_is_not_replaced_by_a_default() -> None:
    with pytest.raises(Invalid) as caught:
        resolve_inputs(SCHEMA, {}, {"who": None}, TOKENS)
    assert [finding.pointer for finding in caught.value.findings] == ["/inputs/who"]


def test_all_problems_point_under_the_inputs() -> None:
    with pytest.raises(Invalid) as caught:
        resolve_inputs(SCHEMA, {"limit": "x"}, {"tags": ["a", 1], "more": 1}, TOKENS)
    assert caught.value.code == "inputs_invalid"
    assert [finding.pointer for finding in caught.value.findings] == [
        "/inputs/limit",
        "/inputs/more",
        "/inputs/tags/1",
    ]


def test_without_a_schema_the_given_values_are_the_inputs() -> None:
    assert resolve_inputs(None, {"a": 1, "b": 1}, {"b": 2}, TOKENS) == {"a": 1, "b": 2}


NESTED: dict[str, Any] = {
    "type": "object",
    "required": ["window"],
    "properties": {
        "window": {"$ref": "#/$defs/window"},
        "maybe": {"$ref": "#/$defs/window"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/window"}},
        "both": {
            "default": {},
            "allOf": [
                {"properties": {"x": {"default": 1}}},
                {"properties": {"y": {"default": [2]}}},
            ],
        },
        "either": {"default": {}, "anyOf": [{"properties": {"z": {"default": 3}}}]},
    },
    "$defs": {
        "window": {
            "type": "object",
            "properties": {"from": {"type": "string", "default": "$creator"}, "to": {}},
        }
    },
}


def test_defaults_are_filled_in_below_the_top() -> None:
    found = resolve_inputs(NESTED, {}, {"list": [{}, {"from": "x"}]}, TOKENS)
    assert found == {
        "window": {"from": "anna"},
        "list": [{"from": "anna"}, {"from": "x"}],
        "both": {"x": 1, "y": [2]},
        "either": {},
    }


def test_an_optional_object_that_is_missing_stays_missing() -> None:
    assert "maybe" not in resolve_inputs(NESTED, {}, {}, TOKENS)
    assert resolve_inputs(NESTED, {}, {"maybe": {}}, TOKENS)["maybe"] == {"from": "anna"}


def test_nothing_that_was_handed_in_is_changed() -> None:
    payload: dict[str, Any] = {"list": [{}], "maybe": {}}
    found = resolve_inputs(NESTED, {}, payload, TOKENS)
    assert payload == {"list": [{}], "maybe": {}}
    found["both"]["y"].append("changed")
    assert resolve_inputs(NESTED, {}, {}, TOKENS)["both"]["y"] == [2]


@pytest.mark.parametrize(
    ("node", "pointer", "code"),
    [
        ({"type": "string", "default": "$now"}, "/default", "default_token"),
        ({"default": "$LAST_FIRED_AT"}, "/default", "default_token"),
        ({"type": "integer", "default": "$creator"}, "/default", "default_token"),
        ({"default": {"a": ["$creator"]}}, "/default/a/0", "default_token"),
        ({"type": "integer", "default": "x"}, "/default", "type"),
        ({"enum": ["a"], "default": "b"}, "/default", "enum"),
        ({"type": "array", "items": {"minimum": 2}, "default": [3, 1]}, "/default/1", "minimum"),
        ({"$ref": "#/$defs/text", "default": 3}, "/default", "type"),
    ],
)
def test_a_default_that_cannot_hold_is_found(node: dict[str, Any], pointer: str, code: str) -> None:
    schema = {"properties": {"a": node}, "$defs": {"text": {"type": "string"}}}
    (finding,) = find_default_problems(schema, "/inputs/schema")
    assert finding.pointer == f"/inputs/schema/properties/a{pointer}"
    assert finding.code == code


@pytest.mark.parametrize("name", [{}, {"$id": "https://a.example/inputs"}, {"$id": "inputs"}])
def test_defaults_are_judged_and_filled_through_embedded_schemas(name: dict[str, str]) -> None:
    size = {"$id": "size", "type": "integer", "default": 7}
    high: dict[str, Any] = {"$ref": "#/$defs/high", "default": "tall"}
    box = {
        "$id": "parts/box",
        "properties": {"wide": {"$ref": "../size"}, "high": high},
        "$defs": {"high": {"type": "integer"}},
    }
    schema: dict[str, Any] = {
        **name,
        "type": "object",
        "properties": {"box": {"$ref": "parts/box", "default": {}}, "n": {"$ref": "size"}},
        "$defs": {"size": size, "box": box},
    }
    assert check_schema(schema, Limits()) == []
    (finding,) = find_default_problems(schema)
    assert (finding.pointer, finding.code) == ("/$defs/box/properties/high/default", "type")
    del high["default"]
    assert find_default_problems(schema) == []
    assert resolve_inputs(schema, {}, {}, TOKENS) == {"box": {"wide": 7}, "n": 7}


def test_a_misspelt_token_gets_a_suggestion() -> None:
    (finding,) = find_default_problems({"properties": {"a": {"default": "$last_fired"}}})
    assert finding.suggestion == "Did you mean '$last_fired_at'?"


@pytest.mark.parametrize(
    "literal", ["$5.00", "$", "US$", "costs $creator", "$ creator", "", "$a-b"]
)
def test_text_with_a_dollar_sign_is_not_a_token(literal: str) -> None:
    schema = {"properties": {"a": {"type": "string", "default": literal}}}
    assert find_default_problems(schema) == []
    assert resolve_inputs(schema, {}, {}, TOKENS) == {"a": literal}


def test_good_defaults_have_no_findings() -> None:
    assert (
        find_default_problems(SCHEMA)
        == find_default_problems(NESTED)
        == find_default_problems(True)
        == []
    )


@pytest.mark.parametrize(
    "endless",
    [
        {"default": {}, "properties": {"again": {"$ref": "#/$defs/node"}}},
        {"required": ["again"], "properties": {"again": {"$ref": "#/$defs/node"}}},
        {
            "required": ["a", "b"],
            "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"$ref": "#/$defs/node"}},
        },
    ],
)
def test_defaults_that_lead_to_themselves_end_with_a_problem(endless: dict[str, Any]) -> None:
    schema = {
        "required": ["node"],
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": endless},
    }
    assert [finding.code for finding in find_default_problems(schema)] == [
        "inputs_endless_defaults"
    ]
    with pytest.raises(Invalid) as caught:
        resolve_inputs(schema, {}, {}, TOKENS)
    assert caught.value.code == "inputs_endless_defaults"


def test_a_payload_is_mapped_by_paths() -> None:
    payload = {"data": {"id": 7, "none": None, "items": [{"n": 1}, {"n": 2}]}}
    mapping = {
        "id": "$.data.id",
        "none": "$.data.none",
        "missing": "$.data.missing",
        "all": "$.data.items[*].n",
        "no_match": "$.data.items[?@.n > 9]",
    }
    assert map_payload(mapping, payload) == {"id": 7, "none": None, "all": [1, 2], "no_match": []}


def test_a_bad_path_in_a_mapping_is_a_problem() -> None:
    with pytest.raises(Invalid):
        map_payload({"a": "data.id"}, {})


def test_defaults_of_many_items_under_a_wide_schema_are_filled_quickly() -> None:
    """Work that grows with items times branches squared once took a minute."""
    wide = {"type": "object", "allOf": [{"title": str(number)} for number in range(900)]}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": wide}}}
    began = time.process_time()
    resolve_inputs(schema, {}, {"rows": [{} for _ in range(3_000)]}, TOKENS)
    assert time.process_time() - began < RUNAWAY
