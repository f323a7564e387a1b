"""A capability as a tool: what a client is shown of it, and what becomes of its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, LimitExceeded
from mainspring.surfaces.mcp.server import describe, failure_of, hints, progress_token, result_of


async def _never(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    raise AssertionError


def _capability(
    name: str = "count", effect: Effect = Effect.READ, output: Mapping[str, Any] | None = None
) -> Capability:
    return Capability(
        name,
        "Count\n\nIt counts.",
        {"type": "object", "examples": [{}], "x-anti-examples": [{"value": 1}]},
        output or {"type": "object", "required": ["n"], "x-mainspring-anti-examples": []},
        _never,
        annotations=Annotations(effect=effect),
    )


def test_what_is_only_for_us_is_not_shown() -> None:
    schema = {"type": "object", "examples": [{}], "x-anti-examples": []}
    made = describe("count", _capability(), schema, output_schema=True)

    assert made["inputSchema"] == {"type": "object", "examples": [{}]}
    assert made["outputSchema"] == {"type": "object", "required": ["n"]}
    assert (made["title"], made["name"]) == ("Count", "count")


def test_a_list_shows_two_examples_at_most() -> None:
    schema = {"type": "object", "examples": [{"n": number} for number in range(4)]}
    made = describe("count", _capability(), schema)

    assert made["inputSchema"]["examples"] == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize(
    ("name", "effect", "reads", "destroys", "repeats", "outside"),
    [
        ("get_board", Effect.READ, True, False, True, False),
        ("append_board_rows", Effect.KEEP, False, False, False, False),
        ("update_board_rows", Effect.KEEP, False, True, False, False),
        ("automation_secret_delete", Effect.KEEP, False, True, True, False),
        ("automation_kv.set", Effect.KEEP, False, True, True, False),
        ("send_email", Effect.SEND, False, False, False, True),
        ("http_fetch", Effect.SEND, False, True, False, True),
    ],
)
def test_hints_say_what_a_call_does(
    name: str, effect: Effect, reads: bool, destroys: bool, repeats: bool, outside: bool
) -> None:
    made = hints(_capability(name, effect))

    assert made["readOnlyHint"] is reads
    assert made["destructiveHint"] is destroys
    assert made["idempotentHint"] is repeats
    assert made["openWorldHint"] is outside


def test_a_list_is_put_into_an_object_and_its_definitions_are_still_found() -> None:
    listed = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}
    for effect in Effect:
        capability = _capability(effect=effect, output=listed)
        schema = describe("count", capability, {"type": "object"}, output_schema=True)[
            "outputSchema"
        ]

        assert schema["type"] == "object"
        made = result_of([1, 2], wrapped=True)["structuredContent"]
        assert jsonschema_rs.is_valid(schema, made)
        assert not jsonschema_rs.is_valid(schema, {"result": ["x"]})
        draft = result_of({"kind": "draft", "draft_id": "x"}, wrapped=True)["structuredContent"]
        assert jsonschema_rs.is_valid(schema, draft) is (effect is not Effect.READ)


def test_a_problem_is_reported_with_its_places_and_a_remedy() -> None:
    made = failure_of(
        Invalid(
            "The arguments are not valid.",
            findings=[Finding("/limit", "At most 10.", "maximum", "Ask for fewer.")],
            suggestion="Read the schema.",
        ),
        structured=True,
    )

    assert made["isError"] is True
    assert made["structuredContent"]["errors"][0]["pointer"] == "/limit"
    assert made["content"][0]["text"].splitlines() == [
        "The arguments are not valid.",
        "/limit: At most 10.",
        "/limit: Ask for fewer.",
        "Read the schema.",
    ]


def test_an_error_has_structured_content_only_for_clients_that_do_not_validate_it() -> None:
    later = LimitExceeded("Later.", retry_after=3)
    old, new = failure_of(later, structured=False), failure_of(later, structured=True)

    assert "structuredContent" not in old
    assert old["_meta"]["mainspring/problem"] == new["structuredContent"]
    assert new["structuredContent"]["retry_after"] == 3
    assert old["content"] == new["content"]


def test_a_tool_under_an_alias_says_what_automations_call_it() -> None:
    made = describe("kv_get", _capability("kv.get"), {"type": "object"})

    assert made["name"] == "kv_get"
    assert made["description"].endswith("In an automation it is named kv.get.")


@pytest.mark.parametrize(
    "meta", [None, "x", [1], {}, {"progressToken": None}, {"progressToken": []}]
)
def test_a_request_without_a_progress_token_asks_for_no_progress(meta: Any) -> None:
    assert progress_token({"_meta": meta}) is None
    assert progress_token(None) is None


@pytest.mark.parametrize("token", ["a", 7])
def test_a_progress_token_is_a_text_or_a_number(token: str | int) -> None:
    assert progress_token({"_meta": {"progressToken": token}}) == token
