"""JSON schemas of saving and editing an automation."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.draft import (
    DEFAULT_COST,
    DEFAULT_MODEL,
    DEFAULT_TOKENS,
    DEFAULT_WALL,
    HOSTS_NOTE,
)
from mainspring.authoring.trigger_kinds import SOME_TRIGGERS, TRIGGER
from mainspring.workspace.boards.schemas import (
    ID,
    SOME_BOARD,
    JsonSchema,
    object_of,
    schema_with_examples,
)
from mainspring.workspace.consent_schemas import ADDITIONS

SOURCE_CHARACTERS: Final = 200_000
SOME_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000a1"
SOME_VERSION: Final = "0c7b2f4e-6f0e-5f51-9d3e-9f1d2c8b4a10"
SOME_RUN: Final = "01900000-0000-7000-8000-0000000000a2"
SOME_URL: Final = f"http://127.0.0.1:8080/automations/{SOME_AUTOMATION}"
SOME_SOURCE: Final = (
    'import { brains } from "https://brains/sdks/automation-sdk-v1.ts";\n'
    'const board = await brains.get_board({ name: "Revenue weekly" });\n'
    "return { rows: board.data.datasets.default.rows.length };\n"
)
STATE_SAYS: Final = "A state is active or paused. To put an automation away use delete_automation."

AUTOMATION_ID: Final[JsonSchema] = {**ID}
URL: Final[JsonSchema] = {"description": "The page of the run.", "type": "string"}
_NUMBER: Final[JsonSchema] = {"type": "integer", "minimum": 1}
FIELD: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 200}
_NAME: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": r"\S",
    "x-mainspring-says": "A name cannot be blank.",
}
BOARDS: Final[JsonSchema] = {
    "description": "Boards that it writes to.",
    "type": "array",
    "items": ID,
    "maxItems": 50,
    "uniqueItems": True,
}
_GRANTS: Final[JsonSchema] = {
    "description": "Tools it can call. params limits the arguments.",
    "type": "array",
    "minItems": 1,
    "maxItems": 100,
    "items": object_of(
        {
            "tool": {"type": "string", "minLength": 1, "maxLength": 200},
            "params": {"type": "object"},
        },
        ["tool"],
    ),
}
_TRIGGERS: Final[JsonSchema] = {"type": "array", "minItems": 1, "maxItems": 20, "items": TRIGGER}
_HOSTS: Final[JsonSchema] = {
    "description": "Hosts that a person approved for http_fetch, without scheme. Required if and "
    "only if http_fetch is granted.",
    "type": "array",
    "maxItems": 100,
    "items": {"type": "string", "minLength": 1, "maxLength": 300},
}
_SOURCE: Final[JsonSchema] = {
    "description": "The full script, main.ts.",
    "type": "string",
    "minLength": 1,
    "maxLength": SOURCE_CHARACTERS,
}
_CAPS: Final[dict[str, JsonSchema]] = {
    "cost_cap_daily_usd": {"type": "number", "minimum": 0, "maximum": 100},
    "max_wall_seconds": {"type": "integer", "minimum": 5, "maximum": 300},
    "max_llm_tokens": {"type": "integer", "minimum": 100, "maximum": 2_000_000},
}
_WRITES: Final[dict[str, JsonSchema]] = {
    "writes_to_boards": BOARDS,
    "dedupe_key_field": {
        "description": "Field with the upstream id, such as postId.",
        **FIELD,
    },
    "dedupe_target_field": {
        "description": "List field of rows to append to, such as updates.",
        **FIELD,
    },
    "acknowledged_overlap": {
        "description": "A person accepted the strict overlap.",
        "type": "boolean",
    },
    "coexistence_note": {
        "description": "Why both can coexist, in the person's words.",
        "type": "string",
        "minLength": 10,
        "maxLength": 1_000,
    },
}
_WARNINGS: Final[JsonSchema] = {
    "description": "What was saved but does not work until it is fixed.",
    "type": "array",
    "items": object_of(
        {
            "pointer": {"type": "string"},
            "detail": {"type": "string"},
            "code": {"type": "string"},
            "suggestion": {"type": "string"},
        },
        ["pointer", "detail", "code"],
    ),
}


def _usual(schema: JsonSchema, default: Any) -> JsonSchema:
    return {**schema, "default": default}


SAVE: Final = schema_with_examples(
    {
        "name": {"description": "Unique in the workspace.", **_NAME},
        "source": _SOURCE,
        "triggers": _TRIGGERS,
        "tool_grants": _GRANTS,
        "description": {"type": "string", "maxLength": 500},
        "intent": {
            "description": "The person's own words; used to find it.",
            "type": "string",
            "maxLength": 2_000,
        },
        "cost_cap_daily_usd": _usual(_CAPS["cost_cap_daily_usd"], DEFAULT_COST),
        "max_wall_seconds": _usual(_CAPS["max_wall_seconds"], DEFAULT_WALL),
        "max_llm_tokens": _usual(_CAPS["max_llm_tokens"], DEFAULT_TOKENS),
        "model": _usual(FIELD, DEFAULT_MODEL),
        **_WRITES,
        HOSTS_NOTE: _HOSTS,
        "idempotency_key": {
            "description": "The same key returns the same automation.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
    },
    ["name", "source", "triggers", "tool_grants"],
    [
        {
            "name": "Monday revenue report",
            "source": SOME_SOURCE,
            "triggers": SOME_TRIGGERS[:1],
            "tool_grants": [{"tool": "get_board"}],
        },
        {
            "name": "Log invoices",
            "source": SOME_SOURCE,
            "triggers": SOME_TRIGGERS,
            "tool_grants": [
                {"tool": "get_board"},
                {"tool": "append_board_rows", "params": {"board_id": SOME_BOARD}},
                {"tool": "http_fetch", "params": {"hosts": ["api.example.com"]}},
            ],
            "intent": "Log every invoice to the finance board.",
            "writes_to_boards": [SOME_BOARD],
            "dedupe_key_field": "invoice_id",
            HOSTS_NOTE: ["api.example.com"],
            "idempotency_key": "log-invoices-1",
        },
    ],
    ({"name": "x"}, "a script, what wakes it and what it may call"),
    (
        {"name": "x", "source": "return 1", "triggers": [], "tool_grants": [{"tool": "get_board"}]},
        "nothing would ever wake it",
    ),
    (
        {
            "name": "x",
            "source": "return 1",
            "triggers": [{"kind": "hourly"}],
            "tool_grants": [{"tool": "get_board"}],
        },
        "there is no such kind",
    ),
    (
        {
            "name": "x",
            "source": "return 1",
            "triggers": SOME_TRIGGERS[:1],
            "tool_grants": [{"tool": "get_board"}],
            "max_wall_seconds": 4,
        },
        "too short to start anything",
    ),
)
_CONSENT: Final = {
    "description": "What a person has to agree to before it starts.",
    "type": "object",
    "required": ["consent_id", "digest", "additions"],
    "additionalProperties": False,
    "properties": {"consent_id": ID, "digest": {"type": "string"}, "additions": ADDITIONS},
}
_SAVED: Final = {
    "automation_id": ID,
    "version_id": ID,
    "version": _NUMBER,
    "state": {"const": "paused"},
    "admin_url": URL,
}
SAVED: Final = schema_with_examples(
    {**_SAVED, "warnings": _WARNINGS, "consent": _CONSENT},
    list(_SAVED),
    [
        {
            "automation_id": SOME_AUTOMATION,
            "version_id": SOME_VERSION,
            "version": 1,
            "state": "paused",
            "admin_url": SOME_URL,
        }
    ],
    ({"automation_id": SOME_AUTOMATION, "state": "active"}, "what is new is paused"),
)
UPDATE: Final = schema_with_examples(
    {
        "automation_id": AUTOMATION_ID,
        "source": {**_SOURCE, "description": "The full script; creates a new version."},
        "tool_grants": _GRANTS,
        "triggers": _TRIGGERS,
        **_CAPS,
        HOSTS_NOTE: _HOSTS,
        "state": {
            "type": "string",
            "pattern": "^(active|paused)$",
            "x-mainspring-says": STATE_SAYS,
        },
        "active_version_id": {
            "description": "Earlier version to restore.",
            **ID,
        },
        "write_policy": {"enum": ["always_draft", "auto_confirm_safe"]},
        "name": _NAME,
        "description": {"type": "string", "maxLength": 500},
        "intent": {"type": "string", "maxLength": 2_000},
        "model": FIELD,
        **_WRITES,
    },
    ["automation_id"],
    [
        {"automation_id": SOME_AUTOMATION, "state": "paused"},
        {"automation_id": SOME_AUTOMATION, "source": SOME_SOURCE, "max_wall_seconds": 120},
        {"automation_id": SOME_AUTOMATION, "active_version_id": SOME_VERSION},
    ],
    ({"source": "return 1"}, "of which automation?"),
    ({"automation_id": SOME_AUTOMATION, "state": "killed"}, "that is delete_automation"),
    ({"automation_id": SOME_AUTOMATION, "cost_cap_daily_usd": 101}, "more than a day allows"),
    ({"automation_id": SOME_AUTOMATION, "triggers": []}, "a replacement has at least one"),
)
_UPDATED: Final = {
    "automation_id": ID,
    "columns_changed": {
        "description": "Fields with a new value.",
        "type": "array",
        "items": {"type": "string"},
    },
    "state": {"enum": ["active", "paused"]},
    "admin_url": URL,
}
UPDATED: Final = schema_with_examples(
    {
        **_UPDATED,
        "version_id": ID,
        "version": _NUMBER,
        "warnings": _WARNINGS,
        "consent": _CONSENT,
    },
    list(_UPDATED),
    [
        {
            "automation_id": SOME_AUTOMATION,
            "version_id": SOME_VERSION,
            "version": 2,
            "columns_changed": ["source"],
            "state": "paused",
            "admin_url": SOME_URL,
        }
    ],
    ({"automation_id": SOME_AUTOMATION}, "it must say what changed"),
)
