"""What a grant pins shows in the schema that is offered, and the rest stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.grants import decide_call
from mainspring.definition.json_schema import compile_schema
from mainspring.gate.capability_offers import restrict_to_grants

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
    return restrict_to_grants(SCHEMA, [Grant("x", one) for one in params])


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
    refused = compile_schema(restrict_to_grants(SCHEMA, grants), Limits()).findings(arguments, "")
    assert not (refused and decide_call(grants, "x", arguments))


def test_a_pin_of_what_the_schema_does_not_have_changes_nothing_of_it() -> None:
    made = _pinned({"unknown": "x", "board": "b1"})
    assert set(made["properties"]) == set(SCHEMA["properties"])
    assert made["required"] == ["url", "board"]


def test_every_granted_host_is_shown_once_and_none_is_said() -> None:
    made = _pinned({"hosts": ["b.example", "a.example"]}, {"hosts": "a.example"})
    assert made["properties"]["url"]["description"] == (
        "Where to. Only these hosts: a.example, b.example."
    )
    assert made["required"] == ["url"]
    assert _pinned({"hosts": []})["properties"]["url"]["description"].endswith("hosts: none.")


def test_a_ceiling_is_the_highest_number_that_a_grant_gives() -> None:
    assert _pinned({"max_rows": True}, {"max_rows": -5})["properties"]["max_rows"] == {
        "type": "integer",
        "maximum": -5,
    }
    assert _pinned({"max_rows": "many"}, {"max_rows": 2.5})["properties"]["max_rows"][
        "maximum"
    ] == pytest.approx(2.5)


def test_equal_values_of_two_grants_are_one_constant_and_true_is_not_one() -> None:
    assert _pinned({"free": 1}, {"free": [1.0]})["properties"]["free"]["const"] == 1
    assert _pinned({"free": 1}, {"free": True})["properties"]["free"]["enum"] == [1, True]


def test_a_whole_list_that_is_pinned_for_a_scalar_argument_is_a_choice_of_it() -> None:
    assert _pinned({"board": ["b1", "b2"]})["properties"]["board"]["enum"] == ["b1", "b2"]
    assert _pinned({"board": ["b1"]})["properties"]["board"]["const"] == "b1"
    assert _pinned({"tags": "a"})["properties"]["tags"]["const"] == "a"
    assert _pinned({"tags": "a"}, {"tags": ["b"]})["properties"]["tags"]["items"]["enum"] == [
        "a",
        "b",
    ]


def test_the_bounds_that_only_some_grants_have_are_not_shown() -> None:
    made = _pinned({"board": "b1", "free": "x"}, {"board": "b2"})
    assert made["properties"]["board"]["enum"] == ["b1", "b2"]
    assert made["properties"]["free"] == SCHEMA["properties"]["free"]
    assert "free" not in made["required"]


def test_a_property_without_a_schema_of_its_own_can_be_pinned() -> None:
    made = restrict_to_grants({"properties": {"any": True}}, [Grant("x", {"any": "a"})])
    assert made == {"properties": {"any": {"const": "a"}}, "required": ["any"]}
