"""A config with templates: certain mistakes are reported, open questions are left open."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.definition.templates import compile_config
from mainspring.definition.validate.steps import find_config_problems
from tests.kit.definitions import LIMITS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 10, "pattern": "^[a-z]+$"},
        "count": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["a", "b"]},
        "exact": {"const": 5},
        "zone": {"type": "string", "format": "iana-timezone"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 2, "uniqueItems": True},
        "object": {
            "type": "object",
            "required": ["id"],
            "additionalProperties": False,
            "properties": {"id": {"type": "integer"}, "x": {"type": "integer"}},
        },
        "either": {
            "oneOf": [
                {"type": "object", "required": ["m"], "properties": {"m": {"type": "integer"}}},
                {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
                {"type": "integer"},
            ]
        },
        "chosen": {
            "type": "object",
            "properties": {"by": {"enum": ["x", "y"]}},
            "if": {"properties": {"by": {"const": "x"}}},
            "then": {"required": ["x"]},
            "else": {"required": ["y"]},
        },
        "a/b~c": {"type": "integer"},
    },
}


def codes(**config: Any) -> list[tuple[str, str]]:
    made = compile_config({"name": "abc", **config}, SCHEMA, LIMITS)
    assert made.problems == ()
    found = find_config_problems(made, SCHEMA, LIMITS, "/at")
    return [(finding.pointer, finding.code) for finding in found]


@pytest.mark.parametrize(
    "config",
    [
        {"name": "{{ x }}"},
        {"name": "A {{ x }} much too long for ten characters"},
        {"count": "{{ x }}"},
        {"count": " {{ x }} "},
        {"kind": "{{ x }}"},
        {"kind": "a{{ x }}"},
        {"exact": "{{ x }}"},
        {"zone": "Europe/{{ x }}"},
        {"flag": "{{ x }}"},
        {"list": "{{ x }}"},
        {"list": ["{{ x }}", "{{ x }}"]},
        {"object": "{{ x }}"},
        {"object": {"id": "{{ x }}"}},
        {"either": "{{ x }}"},
        {"either": {"m": "{{ x }}"}},
        {"either": {"k": "{{ x }}"}},
        {"chosen": {"by": "{{ x }}", "x": 1}},
        {"a/b~c": "{{ x }}"},
        {"count": 3, "kind": "b"},
    ],
)
def test_what_a_template_may_come_to_is_left_open(config: dict[str, Any]) -> None:
    assert codes(**config) == []


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"count": "a {{ x }}"}, [("/at/count", "type")]),
        ({"list": "a {{ x }}"}, [("/at/list", "type")]),
        ({"extra": "{{ x }}"}, [("/at/extra", "additional_properties")]),
        ({"object": {"x": "{{ x }}"}}, [("/at/object/id", "required")]),
        ({"object": {"id": "{{ x }}", "y": 1}}, [("/at/object/y", "additional_properties")]),
        ({"object": ["{{ x }}"]}, [("/at/object", "type")]),
        ({"list": {"a": "{{ x }}"}}, [("/at/list", "type")]),
        ({"list": ["{{ x }}", 1, 2]}, [("/at/list", "max_items")]),
        ({"list": ["{{ x }}", "plain"]}, [("/at/list/1", "type")]),
        ({"count": 0, "kind": "{{ x }}"}, [("/at/count", "minimum")]),
        ({"zone": "Mars", "flag": "{{ x }}"}, [("/at/zone", "format")]),
        ({"flag": "{{ x }}", "exact": 6}, [("/at/exact", "const")]),
    ],
)
def test_what_no_template_can_mend_is_reported(
    config: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert codes(**config) == found


def test_a_config_without_templates_is_judged_in_full() -> None:
    assert codes(name="ABCD", count=0) == [("/at/count", "minimum"), ("/at/name", "pattern")]
