"""What the capabilities about consents take and answer."""

from __future__ import annotations

from typing import Any, Final

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000d1"
_SOME_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000a1"
_SOME_DIGEST: Final = "5f" * 32
_ID: Final[dict[str, Any]] = {"type": "string", "format": "uuid"}
_MAYBE_ID: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "uuid"}
_DIGEST: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": "^[0-9a-f]{64}$",
    "x-mainspring-says": "A digest is 64 characters from 0 to 9 and a to f.",
}
_STATUSES: Final = ["waiting", "agreed", "refused", "overtaken"]
_MOST: Final = 200
USUAL: Final = 100

ADDITIONS: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["kind", "pointer", "says"],
        "properties": {
            "kind": {
                "enum": [
                    "grant",
                    "secret",
                    "account",
                    "spend",
                    "start",
                    "write_policy",
                    "approval",
                    "send",
                    "model",
                    "tool",
                    "review",
                ]
            },
            "pointer": {"type": "string", "description": "Place in the definition."},
            "says": {"type": "string", "description": "The sentence for the person."},
            "capability": {"type": "string", "description": "The capability it calls, if any."},
        },
    },
}
_CONSENT: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["consent_id", "origin", "status", "additions", "digest"],
    "properties": {
        "consent_id": _ID,
        "automation_id": {**_MAYBE_ID, "description": "null for tools of a connection."},
        "connection_id": {**_MAYBE_ID, "description": "null for an automation."},
        "run_id": {
            **_MAYBE_ID,
            "description": "The run of an older version that a program wants to repeat.",
        },
        "name": {"type": "string"},
        "version": {"type": ["integer", "null"]},
        "agreed_version": {
            "description": "The version agreed to before; null: none.",
            "type": ["integer", "null"],
        },
        "origin": {"enum": ["create", "install", "upgrade", "import", "edit", "tools"]},
        "status": {"enum": _STATUSES},
        "additions": ADDITIONS,
        "digest": _DIGEST,
        "asked_at": {"type": ["string", "null"], "format": "date-time"},
        "answered_at": {"type": ["string", "null"], "format": "date-time"},
    },
}
_SOME_CONSENT: Final[dict[str, Any]] = {
    "consent_id": _SOME_ID,
    "automation_id": _SOME_AUTOMATION,
    "connection_id": None,
    "name": "Daily digest",
    "version": 2,
    "agreed_version": 1,
    "origin": "edit",
    "status": "waiting",
    "additions": [
        {
            "kind": "grant",
            "pointer": "/grants",
            "says": "It may now send requests to api.example.com.",
        }
    ],
    "digest": _SOME_DIGEST,
    "asked_at": "2026-01-01T00:00:00+00:00",
    "answered_at": None,
}


def _build_argument_schema(
    properties: dict[str, Any], required: list[str], examples: list[Any], *wrong: tuple[Any, str]
) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


LIST: Final = _build_argument_schema(
    {
        "status": {"enum": [*_STATUSES, "any"], "default": "waiting"},
        "automation_id": {**_ID, "description": "Only this automation."},
        "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": USUAL},
    },
    [],
    [{}, {"status": "any", "automation_id": _SOME_AUTOMATION, "limit": 10}],
    ({"status": "open"}, "those that wait are called waiting"),
    ({"limit": 0}, "at least one"),
)
LISTED: Final = _build_argument_schema(
    {
        "consents": {"type": "array", "items": _CONSENT},
        "agreed_by_upgrade": {
            "description": "Active before consent was recorded; for a person to review.",
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["automation_id", "name", "version"],
                "properties": {
                    "automation_id": _ID,
                    "name": {"type": "string"},
                    "version": {"type": "integer"},
                },
            },
        },
    },
    ["consents"],
    [{"consents": [_SOME_CONSENT]}],
    ({}, "also none is a list"),
)
GET: Final = _build_argument_schema(
    {"consent_id": _ID},
    ["consent_id"],
    [{"consent_id": _SOME_ID}],
    ({}, "which one?"),
)
SHOWN: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    **_CONSENT,
    "examples": [_SOME_CONSENT],
    "x-mainspring-anti-examples": [
        {"value": {"consent_id": _SOME_ID}, "reason": "it must say what is asked"}
    ],
}
ANSWER: Final = _build_argument_schema(
    {
        "consent_id": _ID,
        "digest": {**_DIGEST, "description": "Of what was read; nothing else is accepted."},
        "agree": {"type": "boolean", "description": "false: refuse."},
        "activate": {
            "type": "boolean",
            "default": False,
            "description": "Also start it on its triggers.",
        },
    },
    ["consent_id", "digest", "agree"],
    [
        {"consent_id": _SOME_ID, "digest": _SOME_DIGEST, "agree": True, "activate": True},
        {"consent_id": _SOME_ID, "digest": _SOME_DIGEST, "agree": False},
    ],
    ({"consent_id": _SOME_ID, "agree": True}, "agreed to what? The digest says it"),
    ({"consent_id": _SOME_ID, "digest": "yes", "agree": True}, "not a digest"),
    ({"consent_id": _SOME_ID, "digest": _SOME_DIGEST, "agree": "yes"}, "true or false"),
)
ANSWERED: Final = _build_argument_schema(
    {
        "consent": _CONSENT,
        "state": {
            "enum": ["active", "paused", None],
            "description": "Of the automation; null for tools.",
        },
        "says": {"type": "string"},
    },
    ["consent", "state", "says"],
    [
        {
            "consent": {**_SOME_CONSENT, "status": "agreed"},
            "state": "active",
            "says": "It is agreed to, and its triggers start it.",
        }
    ],
    ({"state": "active"}, "it must say what was answered"),
)
