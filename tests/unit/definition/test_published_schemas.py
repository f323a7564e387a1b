"""Schemas as other programs take them: flat, and without our annotations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from mainspring.app import build_registry
from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema.keywords import iterate_subschemas
from mainspring.definition.json_schema.published import flatten_schema, open_objects, publish_schema
from mainspring.definition.json_schema.validator import check_schema

COMPOSED = ("oneOf", "anyOf", "allOf", "not", "enum", "const")
CAPABILITIES = tuple(build_registry(Limits()).capabilities.values())


def _keys(schema: Any) -> Iterator[tuple[str, Any]]:
    for _, node in iterate_subschemas(schema):
        if isinstance(node, dict):
            yield from node.items()


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.id)
def test_a_flat_schema_takes_all_that_the_full_one_takes(capability: Capability) -> None:
    made, _ = flatten_schema(capability.input_schema)

    assert not [key for key in COMPOSED if key in made]
    jsonschema_rs.meta.validate(made)
    for example in capability.input_schema.get("examples", ()):
        assert jsonschema_rs.is_valid(made, example), example
    assert made["properties"].keys() == capability.input_schema.get("properties", {}).keys()


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.id)
def test_our_own_keys_and_formats_stay_here(capability: Capability) -> None:
    for schema in (
        flatten_schema(capability.input_schema)[0],
        publish_schema(capability.output_schema),
    ):
        for key, value in _keys(schema):
            assert not key.startswith("x-"), key
            assert key != "format" or value not in {"idn-email", "iana-timezone"}


def test_a_value_that_looks_like_a_keyword_is_left_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"format": {"type": "string"}, "x-mainspring-says": {"type": "string"}},
        "examples": [{"format": "mainspring.recipe", "x-mainspring-says": "x"}],
        "default": {"format": "ours"},
    }

    assert publish_schema(schema) == schema


def test_which_arguments_go_together_is_reported_in_plain_text() -> None:
    alternatives = [{"required": ["slug"]}, {"required": ["id", "version"]}]
    made, rule = flatten_schema(
        {"type": "object", "properties": {"slug": {}, "id": {}}, "oneOf": alternatives}
    )

    assert rule == "Give one of these: slug; id with version."
    assert made == {"type": "object", "properties": {"slug": {}, "id": {}}}


def test_the_arguments_of_every_alternative_are_offered() -> None:
    made, _ = flatten_schema(
        {
            "type": "object",
            "$defs": {
                "by_id": {"required": ["id", "kind"], "properties": {"id": {"type": "integer"}}}
            },
            "properties": {"kind": {"type": "string"}},
            "anyOf": [
                {"$ref": "#/$defs/by_id"},
                {
                    "required": ["kind", "name"],
                    "properties": {"name": {"type": "string"}, "id": False},
                },
                {"required": ["kind"], "properties": {"id": {"type": "string"}}},
            ],
            "allOf": [{"required": ["space"], "properties": {"space": {"type": "string"}}}],
        }
    )

    assert made["properties"] == {
        "kind": {"type": "string"},
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "name": {"type": "string"},
        "space": {"type": "string"},
    }
    assert made["required"] == ["space", "kind"]
    assert not [key for key in COMPOSED if key in made]


@pytest.mark.parametrize("address", ["", "http://e.example/s"], ids=["own", "foreign"])
def test_references_that_lead_back_are_followed_once(address: str) -> None:
    """The foreign address leads to a schema that ends, so such a schema is accepted."""
    again = {"$ref": f"{address}#/$defs/a"}
    schema: dict[str, Any] = {
        "$id": "http://r.example/s",
        "type": "object",
        "properties": {},
        "$defs": {
            "a": {"properties": {"n": {"type": "integer"}}, "anyOf": [again] * 6},
            "e": {"$id": "http://e.example/s", "$defs": {"a": {"type": "object"}}},
        },
        "anyOf": [{"$ref": "#/$defs/a"}],
    }
    assert not address or check_schema(schema, Limits()) == []

    begun = time.thread_time()
    made, _ = flatten_schema(schema)

    assert time.thread_time() - begun < 10
    assert made["properties"] == {"n": {"type": "integer"}}


@pytest.mark.parametrize(
    "reference",
    ["http://e.example/s#/$defs/a", "#/$defs/e/$defs/a", "#/$defs/b%61r", "#/$defs/e", "#anchor"],
)
def test_a_reference_to_a_foreign_definition_accepts_any_object(
    reference: str,
) -> None:
    wrong = {"required": ["wrong"], "properties": {"wrong": {"type": "string"}}}
    made, _ = flatten_schema(
        {
            "type": "object",
            "$defs": {
                "a": wrong,
                "b%61r": wrong,
                "e": {"$id": "http://e.example/s", "$defs": {"a": {"type": "object"}}, **wrong},
            },
            "anyOf": [
                {"required": ["id"], "properties": {"id": {"type": "integer"}}},
                {"$ref": reference},
            ],
            "unevaluatedProperties": False,
        }
    )

    assert made["properties"] == {"id": {"type": "integer"}}
    assert jsonschema_rs.is_valid({**made, "$defs": {}}, {"other": 1})


@pytest.mark.parametrize(("count", "offered"), [(254, 256), (255, 1)])
def test_a_schema_of_very_many_alternatives_is_an_open_object(count: int, offered: int) -> None:
    """256 branches are read: these, the one that holds them, and the one next to it."""
    alternatives: list[dict[str, Any]] = [
        {"properties": {f"p{number}": {}}} for number in range(count)
    ]
    made, _ = flatten_schema(
        {
            "type": "object",
            "description": "Kept.",
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
            "anyOf": [{"oneOf": alternatives}],
            "allOf": [{"required": ["size"], "properties": {"size": {}}}],
        }
    )

    assert not [key for key in COMPOSED if key in made]
    assert (made["type"], made["description"]) == ("object", "Kept.")
    assert len(made["properties"]) == offered
    assert jsonschema_rs.is_valid(made, {"kind": "x", "size": 1, "other": 1})


def test_an_object_that_takes_any_member_says_so() -> None:
    made = open_objects(
        {
            "type": "object",
            "properties": {
                "any": {"type": ["object", "null"]},
                "none": {"type": "object", "additionalProperties": False},
                "type": {"type": "string"},
                "list": {"type": "array", "items": {"type": "object"}},
            },
        }
    )

    assert made["properties"] == {
        "any": {"type": ["object", "null"], "additionalProperties": True},
        "none": {"type": "object", "additionalProperties": False},
        "type": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
    }
    assert "additionalProperties" not in made
