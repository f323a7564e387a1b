"""What a grant pins shows in the schema that is offered, and the rest stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.grants import permits
from mainspring.definition.json_schema import compile_schema
from mainspring.gate.pinned import pinned

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "description": "Where to."},
        "board": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "max_rows": {"type": "integer"},
        "free": {"type": "string"},
    },
    "examples": [{"url": "https://other.example"}],
}


def _pinned(*params: dict[str, Any]) -> Any:
    return pinned(SCHEMA, [Grant("x", one) for one in params])


def test_without_pins_the_schema_is_the_capability_s_own() -> None:
    assert _pinned({}) is SCHEMA
    assert _pinned({"board": "b1"}, {}) is SCHEMA


def test_a_scalar_is_a_constant_a_list_a_choice_a_ceiling_a_maximum_and_all_are_needed() -> None:
    made = _pinned({"board": "b1", "tags": ["a", "b"], "max_rows": 10, "hosts": ["a.example"]})
    shown = made["properties"]
    assert shown["board"] == {"type": "string", "const": "b1"}
    assert shown["tags"]["items"] == {"type": "string", "enum": ["a", "b"]}
    assert shown["max_rows"] == {"type": "integer", "maximum": 10}
    assert shown["url"]["description"] == "Where to. Only these hosts: a.example."
    assert shown["free"] == SCHEMA["properties"]["free"]
    assert set(made["required"]) == {"url", "board", "tags", "max_rows"}
    assert "examples" not in made
    assert "const" not in SCHEMA["properties"]["board"]


def test_two_grants_allow_what_either_does() -> None:
    made = _pinned({"board": "b1", "max_rows": 5}, {"board": ["b2", "b1"], "max_rows": 9})
    assert made["properties"]["board"]["enum"] == ["b1", "b2"]
    assert made["properties"]["max_rows"]["maximum"] == 9


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://a.example", "board": "b1", "max_rows": 5},
        {"url": "https://a.example", "board": "b2", "max_rows": 9},
        {"url": "https://a.example", "board": "b3", "max_rows": 1},
        {"url": "https://a.example", "board": "b1"},
        {"url": "https://a.example", "board": "b1", "max_rows": 10},
    ],
)
def test_what_the_schema_refuses_the_grants_refuse_too(arguments: dict[str, Any]) -> None:
    grants = [
        Grant("x", {"board": "b1", "max_rows": 5}),
        Grant("x", {"board": "b2", "max_rows": 9}),
    ]
    refused = compile_schema(pinned(SCHEMA, grants), Limits()).findings(arguments, "")
    assert not (refused and permits(grants, "x", arguments))
