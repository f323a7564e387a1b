"""The grammar of filters as a published JSON Schema, with examples that are tests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mainspring.definition.filters.operators import OPERATORS

ALL, ANY, NOT = "$and", "$or", "$not"
GROUPS = (ALL, ANY, NOT)

# What other systems write for our operators; accepted when a filter is imported.
ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: operator.name for operator in OPERATORS.values() for alias in operator.aliases}
)

EXAMPLES: tuple[Mapping[str, Any], ...] = (
    {},
    {"kind": "invoice"},
    {"file.name": {"ends_with": ".pdf"}, "file.size": {"gt": 0, "lte": 10_000_000}},
    {"status": {"in": ["open", "reopened"]}, "assignee": {"exists": False}},
    {"$or": [{"priority": {"gte": 3}}, {"labels": {"contains": "urgent"}}]},
    {"$not": {"sender": {"regex": "@example\\.(com|org)$"}}},
    {"$and": [{"a": {"not_equals": None}}, {"$or": [{"b": True}, {"c.0.d": 1.5}]}]},
    {"headers.content\\.type": {"starts_with": "text/"}},
    {"state": {"not_in": ["draft", "archived"]}},
    {"owner": {"equals": {"kind": "team", "id": 7}}},
)

ANTI_EXAMPLES: tuple[tuple[Any, str], ...] = (
    ([], "a filter is an object, not a list"),
    ("kind == 'x'", "a filter is not an expression"),
    ({"kind": {}}, "a field needs at least one operator"),
    ({"kind": ["a", "b"]}, "a list of choices is written with in"),
    ({"kind": {"equal": "x"}}, "there is no operator equal"),
    ({"kind": {"$eq": "x"}}, "$eq is an alias, accepted on import only"),
    ({"size": {"gt": "3"}}, "gt compares numbers"),
    ({"size": {"gt": True}}, "true is not a number"),
    ({"name": {"starts_with": 3}}, "starts_with takes text"),
    ({"name": {"contains": ["a"]}}, "contains takes one value"),
    ({"kind": {"in": "ab"}}, "in takes a list"),
    ({"kind": {"in": []}}, "in an empty list is nothing, so the filter could never hold"),
    ({"kind": {"exists": "yes"}}, "exists takes true or false"),
    ({"$or": []}, "an alternative needs at least one filter"),
    ({"$or": {"a": 1}}, "$or takes a list of filters"),
    ({"$and": [1]}, "$and takes a list of filters"),
    ({"$not": [{"a": 1}]}, "$not takes one filter"),
    ({"$nor": [{"a": 1}]}, "there is no group $nor"),
    ({"a..b": 1}, "a path has a name before and after each dot"),
    ({"": 1}, "a path is not empty"),
    ({"a\\": 1}, "a backslash stands before the character it protects"),
)


def _condition() -> dict[str, Any]:
    operators = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {operator.name: dict(operator.operand) for operator in OPERATORS.values()},
    }
    # By type, so that an error speaks of the one shape that was meant.
    return {
        "description": "A value that the field must equal, or operators that must all hold.",
        "type": ["string", "number", "boolean", "null", "object"],
        "if": {"type": "object"},
        "then": operators,
    }


def _schema() -> dict[str, Any]:
    filters = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/filter"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:mainspring:schema:filter",
        "title": "Filter",
        "description": "Which payloads a trigger is for. All entries must hold.",
        "$ref": "#/$defs/filter",
        "examples": [dict(example) for example in EXAMPLES],
        "x-anti-examples": [{"value": value, "reason": reason} for value, reason in ANTI_EXAMPLES],
        "$defs": {
            "filter": {
                "type": "object",
                "properties": {ALL: filters, ANY: filters, NOT: {"$ref": "#/$defs/filter"}},
                "propertyNames": {
                    "anyOf": [{"enum": list(GROUPS)}, {"$ref": "#/$defs/path"}],
                },
                "additionalProperties": {"$ref": "#/$defs/condition"},
            },
            "path": {
                "description": "Names separated by dots; a backslash takes the next sign as it is.",
                "type": "string",
                "pattern": (
                    r"^(?:[^\\.$]|\\[\s\S])(?:[^\\.]|\\[\s\S])*"
                    r"(?:\.(?:[^\\.]|\\[\s\S])+)*$"
                ),
            },
            "condition": _condition(),
        },
    }


FILTER_SCHEMA: Mapping[str, Any] = MappingProxyType(_schema())


def normalise(written: Any) -> Any:
    """A filter with the aliases of other systems replaced by our operators.

    What is not understood is left as it is, for the checks to name.
    """
    if isinstance(written, Mapping):
        return {key: _normalise_entry(key, value) for key, value in written.items()}
    return written


def _normalise_entry(key: str, value: Any) -> Any:
    if key in {ALL, ANY} and isinstance(value, list):
        return [normalise(member) for member in value]
    if key == NOT:
        return normalise(value)
    if isinstance(value, Mapping):
        return {
            name if (plain := ALIASES.get(name)) is None or plain in value else plain: operand
            for name, operand in value.items()
        }
    return value
