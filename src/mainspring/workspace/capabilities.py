"""What the workspace offers: the small memory of an automation, and its voice.

The four capabilities of the memory need no grant of their own to be harmless: they reach
only the rows of the automation whose run is calling.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.limits import Limits
from mainspring.workspace.events import publish_event_capability
from mainspring.workspace.kv import (
    DEFAULT_LIST,
    MAX_KEY,
    MAX_LIST,
    delete_handler,
    get_handler,
    list_handler,
    set_handler,
)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_KEY = {"type": "string", "minLength": 1, "maxLength": MAX_KEY}
_RUNS = Audience.RUNS
_READS = Annotations(effect=Effect.READ, transactional=True, seconds=0.1, audience=_RUNS)
_KEEPS = Annotations(effect=Effect.KEEP, transactional=True, seconds=0.1, audience=_RUNS)


def capabilities(limits: Limits, built_in: Collection[str] = ()) -> tuple[Capability, ...]:
    """Everything this room offers, with the operator's limits.

    Events of the types that are built in are told by the house alone.
    """
    return (
        _get(),
        _set(limits),
        _list(limits),
        _delete(),
        publish_event_capability(limits, built_in),
    )


def _get() -> Capability:
    return Capability(
        id="automation_kv.get",
        description="Read a remembered value\n\n"
        "Answers the value this automation keeps under a key, or the default.",
        input_schema=_build_object_schema(
            {
                "key": _KEY,
                "default": {"description": "Answered when nothing is kept under the key."},
            },
            required=["key"],
            examples=[{"key": "cursor"}, {"key": "seen/42", "default": False}],
            anti_examples=[
                _build_anti_example({}, "which key?"),
                _build_anti_example({"key": ""}, "a key has at least one character"),
                _build_anti_example(
                    {"key": "cursor", "automation_id": "x"}, "the run says whose values"
                ),
            ],
        ),
        output_schema=_build_object_schema(
            {"found": {"type": "boolean"}, "value": {}},
            required=["found", "value"],
            examples=[{"found": True, "value": {"page": 3}}, {"found": False, "value": None}],
            anti_examples=[
                _build_anti_example(
                    {"value": 1}, "null may be a value, so found says whether it is"
                )
            ],
        ),
        handler=get_handler(),
        annotations=_READS,
    )


def _set(limits: Limits) -> Capability:
    return Capability(
        id="automation_kv.set",
        description="Remember a value\n\n"
        f"Keeps any JSON value of at most {limits.kv_value_bytes} bytes under a key, for later "
        "runs of this automation. With if_absent, only when nothing is there: one run wins.",
        input_schema=_build_object_schema(
            {
                "key": _KEY,
                "value": {"description": "Any JSON value."},
                "if_absent": {"type": "boolean", "default": False},
            },
            required=["key", "value"],
            examples=[
                {"key": "cursor", "value": {"page": 3}},
                {"key": "seen/42", "value": None, "if_absent": True},
            ],
            anti_examples=[
                _build_anti_example({"key": "cursor"}, "nothing to keep; use delete to forget"),
                _build_anti_example(
                    {"key": "k" * (MAX_KEY + 1), "value": 1}, "the key is too long"
                ),
                _build_anti_example(
                    {"key": "cursor", "value": 1, "if_absent": "yes"}, "true or false"
                ),
            ],
        ),
        output_schema=_build_object_schema(
            {
                "key": _KEY,
                "created": {"type": "boolean", "description": "Nothing was there before."},
                "set": {"type": "boolean", "description": "The value is the given one now."},
            },
            required=["key", "created", "set"],
            examples=[{"key": "cursor", "created": False, "set": True}],
            anti_examples=[
                _build_anti_example({"key": "cursor"}, "it must say whether the value was set")
            ],
        ),
        handler=set_handler(limits),
        annotations=_KEEPS,
    )


def _list(limits: Limits) -> Capability:
    entry = _build_object_schema(
        {"key": _KEY, "value": {}, "updated_at": {"type": "string", "format": "date-time"}},
        required=["key", "value", "updated_at"],
    )
    return Capability(
        id="automation_kv.list",
        description="List remembered values\n\n"
        "In the order of their keys, from one place on. A page ends early when its values are "
        "large; next is where to go on, and null at the end.",
        input_schema=_build_object_schema(
            {
                "prefix": {"type": "string", "maxLength": MAX_KEY},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_LIST,
                    "default": DEFAULT_LIST,
                },
                "after": {"type": "string", "maxLength": MAX_KEY},
            },
            examples=[{}, {"prefix": "seen/", "limit": 500, "after": "seen/42"}],
            anti_examples=[
                _build_anti_example({"limit": 0}, "at least one"),
                _build_anti_example({"limit": MAX_LIST + 1}, "more than one page holds"),
                _build_anti_example({"prefix": 7}, "keys are text"),
            ],
        ),
        output_schema=_build_object_schema(
            {
                "entries": {"type": "array", "items": entry, "maxItems": MAX_LIST},
                "next": {"type": ["string", "null"]},
            },
            required=["entries", "next"],
            examples=[
                {
                    "entries": [
                        {"key": "a", "value": 1, "updated_at": "2026-01-01T00:00:00+00:00"}
                    ],
                    "next": "a",
                }
            ],
            anti_examples=[
                _build_anti_example({"entries": []}, "the end is said by next being null")
            ],
        ),
        handler=list_handler(limits),
        annotations=_READS,
    )


def _delete() -> Capability:
    return Capability(
        id="automation_kv.delete",
        description="Forget a value\n\nA key that is not there is no error.",
        input_schema=_build_object_schema(
            {"key": _KEY},
            required=["key"],
            examples=[{"key": "cursor"}],
            anti_examples=[_build_anti_example({"keys": ["a"]}, "one key at a time")],
        ),
        output_schema=_build_object_schema(
            {"deleted": {"enum": [0, 1]}},
            required=["deleted"],
            examples=[{"deleted": 1}],
            anti_examples=[_build_anti_example({"deleted": True}, "how many, not whether")],
        ),
        handler=delete_handler(),
        annotations=_KEEPS,
    )


def _build_object_schema(
    properties: dict[str, Any],
    *,
    required: list[str] | None = None,
    examples: list[Any] | None = None,
    anti_examples: list[Any] | None = None,
) -> dict[str, Any]:
    """An object that has these properties and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": required or [],
        "properties": properties,
    }
    if examples is not None:
        schema = {"$schema": _DIALECT, **schema, "examples": examples}
        schema["x-mainspring-anti-examples"] = anti_examples or []
    return schema


def _build_anti_example(value: Any, reason: str) -> dict[str, Any]:
    return {"value": value, "reason": reason}
