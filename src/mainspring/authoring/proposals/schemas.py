"""Argument schemas of the proposal capabilities."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.forecast.schemas import FORECAST_SCHEMA
from mainspring.authoring.models import KINDS
from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.authoring.review.schemas import FLAG_SCHEMA, IMPACT_SCHEMA
from mainspring.contracts.object_schema import build_object_part, build_object_schema

Schema = dict[str, Any]

MOST_LISTED: Final = 100
SOME_ID: Final = "0190c7a0-0000-7000-8000-000000000000"
_SOME_DIGEST: Final = "7f" * 32
_TEXT: Final[Schema] = {"type": "string"}
MAYBE_NAME: Final[Schema] = {"type": ["string", "null"]}
_ID: Final[Schema] = {"type": "string", "format": "uuid"}
_MAYBE_ID: Final[Schema] = {"type": ["string", "null"], "format": "uuid"}
_MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_ANY_OBJECT: Final[Schema] = {"type": "object"}
_LONG: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": LONGEST}
_ZONE: Final[Schema] = {"type": "string", "format": "iana-timezone"}
FINDING: Final = build_object_part(
    {"pointer": _TEXT, "detail": _TEXT, "code": _TEXT, "suggestion": _TEXT},
    ["pointer", "detail", "code"],
)
_GRANT: Final = build_object_part({"capability": _TEXT, "params": _ANY_OBJECT})

_HOW: Final[dict[str, Schema]] = {
    "by": {
        "description": "auto: a model if available, otherwise rules.",
        "enum": ["auto", "rules", "model"],
    },
    "model": {
        "description": "Default: the default model.",
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
    },
    "max_usd": {
        "description": "Cost limit of this call. Default: 0.50.",
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 100,
    },
}

PROPOSE: Final = build_object_schema(
    {
        "text": {"description": "What should happen and when, in plain words.", **_LONG},
        "timezone": {"description": "If the text names none.", **_ZONE},
        "automation_id": {"description": "The automation to change.", **_ID},
        **_HOW,
    },
    ["text"],
    [
        {"text": "every weekday at 9 summarise new pages and post five bullets to #standup"},
        {"text": "run it at 10 instead", "automation_id": SOME_ID, "by": "rules"},
    ],
    [
        ({}, "what should happen?"),
        ({"text": ""}, "no words"),
        ({"text": "daily at 9", "timezone": "Mars/Base"}, "no such zone"),
        ({"text": "daily at 9", "by": "magic"}, "a model or rules"),
        ({"text": "daily at 9", "max_usd": 0}, "nothing is free"),
    ],
)
REFINE: Final = build_object_schema(
    {
        "proposal_id": _ID,
        "revision": {
            "description": "The revision that was read; refused if it changed.",
            "type": "integer",
            "minimum": 1,
        },
        "answers": {
            "description": "Answers to open questions, by question id.",
            "type": "object",
            "maxProperties": 100,
        },
        "edits": {
            "description": "Set or remove values of the definition by pointer.",
            "type": "array",
            "maxItems": 200,
            "items": {
                **build_object_part(
                    {
                        "pointer": {"type": "string", "pattern": "^/", "maxLength": 1_000},
                        "value": {},
                        "remove": {"const": True},
                    },
                    ["pointer"],
                ),
                "oneOf": [{"required": ["value"]}, {"required": ["remove"]}],
            },
        },
        "definition": {"description": "A full definition instead.", **_ANY_OBJECT},
        "instruction": {"description": "The change in plain words.", **_LONG},
        **_HOW,
    },
    ["proposal_id"],
    [
        {"proposal_id": SOME_ID, "answers": {"slack-channel": "#standup"}},
        {
            "proposal_id": SOME_ID,
            "revision": 2,
            "edits": [
                {"pointer": "/name", "value": "Digest"},
                {"pointer": "/grants", "remove": True},
            ],
        },
        {"proposal_id": SOME_ID, "instruction": "only on Mondays"},
    ],
    [
        ({"answers": {}}, "which proposal?"),
        ({"proposal_id": "one"}, "an id is a UUID"),
        ({"proposal_id": SOME_ID, "edits": [{"pointer": "name", "value": 1}]}, "a JSON pointer"),
        ({"proposal_id": SOME_ID, "edits": [{"pointer": "/name"}]}, "a value, or remove"),
    ],
)
REVIEW: Final = build_object_schema(
    {
        "automation_id": {
            "description": "What to review; with a definition, what that would change.",
            **_ID,
        },
        "definition": _ANY_OBJECT,
        "request": {"description": "Its purpose, in the person's words.", **_LONG},
        **_HOW,
    },
    [],
    [
        {"automation_id": SOME_ID, "by": "rules"},
        {"definition": {"schema_version": "1.2", "name": "Reminder", "goal": "Remind."}},
    ],
    [({"automation_id": "one"}, "an id is a UUID"), ({"definition": []}, "an object")],
)
SAVE: Final = build_object_schema(
    {
        "proposal_id": _ID,
        "digest": {
            "description": "Of what was read; exactly that is saved.",
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
        },
        "coexistence_note": {
            "description": "Why it can coexist with another writer.",
            "type": "string",
            "minLength": 10,
            "maxLength": 1_000,
        },
    },
    ["proposal_id", "digest"],
    [{"proposal_id": SOME_ID, "digest": _SOME_DIGEST}],
    [
        ({"proposal_id": SOME_ID}, "what was read?"),
        ({"proposal_id": SOME_ID, "digest": "yes"}, "64 hexadecimal digits"),
    ],
)
SAVED: Final = build_object_schema(
    {
        "automation_id": _ID,
        "version": {"type": "integer", "minimum": 1},
        "changed": {"description": "Whether anything changed.", "type": "boolean"},
        "state": {"enum": ["active", "paused"]},
        "name": _TEXT,
        "admin_url": _TEXT,
        "widened": {
            "description": "Capabilities that runs can call now and could not before.",
            "type": "array",
            "items": _GRANT,
        },
        "warnings": {"type": "array", "items": FINDING},
    },
    ["automation_id", "version", "changed", "state", "name", "admin_url", "widened", "warnings"],
    [
        {
            "automation_id": SOME_ID,
            "version": 1,
            "changed": True,
            "state": "paused",
            "name": "Standup digest",
            "admin_url": f"http://127.0.0.1:8000/automations/{SOME_ID}",
            "widened": [],
            "warnings": [],
        }
    ],
    [({"automation_id": SOME_ID}, "which version?")],
)
ONE: Final = build_object_schema(
    {"proposal_id": _ID}, ["proposal_id"], [{"proposal_id": SOME_ID}], [({}, "which one?")]
)
LIST: Final = build_object_schema(
    {
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
        "after": _ID,
        "saved": {"description": "Include saved ones.", "type": "boolean", "default": False},
    },
    [],
    [{}, {"limit": 10, "after": SOME_ID}],
    [({"limit": 0}, "one at least")],
)
DISCARDED: Final = build_object_schema(
    {"proposal_id": _ID, "status": {"const": "discarded"}},
    ["proposal_id", "status"],
    [{"proposal_id": SOME_ID, "status": "discarded"}],
    [({"status": "discarded"}, "which one?")],
)

HEAD: Final[dict[str, Schema]] = {
    "proposal_id": _ID,
    "status": {
        "description": "asks: questions are open. invalid: it has errors. ready: a person can "
        "save it. saved: it was saved.",
        "enum": ["asks", "invalid", "ready", "saved"],
    },
    "revision": {"type": "integer", "minimum": 1},
    "digest": {"description": "Identifies exactly this definition.", "type": "string"},
    "request": _TEXT,
    "automation_id": {"description": "The automation it changes; null: a new one.", **_MAYBE_ID},
    "base_version": {"type": ["integer", "null"]},
    "created_at": _MOMENT,
    "expires_at": _MOMENT,
    "url": {"description": "Where a person reads and saves it.", "type": "string"},
    "saved_as": _MAYBE_ID,
}
_CHOICE: Final = build_object_part(
    {
        "label": _TEXT,
        "value": {},
        "also": {
            "type": "array",
            "items": build_object_part({"pointer": _TEXT, "value": {}}),
        },
    },
    ["label", "value"],
)
QUESTION: Final = build_object_part(
    {
        "id": _TEXT,
        "kind": {
            "description": "value: used as given. schedule: a phrase, or cron and timezone. "
            "time_zone: a zone or a place. words: more of the request.",
            "enum": list(KINDS),
        },
        "pointer": _TEXT,
        "question": _TEXT,
        "why": _TEXT,
        "schema": {"description": "JSON Schema of the answer.", "type": "object"},
        "choices": {"type": "array", "items": _CHOICE},
        "others": _TEXTS,
    }
)
_MADE_BY: Final = build_object_part(
    {
        "by": {"enum": ["rules", "model"]},
        "note": _TEXT,
        "model": MAYBE_NAME,
        "rounds": _COUNT,
        "refused": _TEXTS,
        "cost_usd": _TEXT,
    }
)
_MATCH: Final = build_object_part(
    {
        "automation_id": _ID,
        "name": _TEXT,
        "state": _TEXT,
        "how": {
            "description": "strict: same board and list field, and one fire time can start both. "
            "board: same board. alike: similar purpose.",
            "enum": ["strict", "board", "alike"],
        },
        "admin_url": _TEXT,
    }
)
REVIEW_OF: Final = build_object_part(
    {
        "summary": {"description": "What it does, by rules.", **_TEXT},
        "opinion": {"description": "A model's opinion; null: none.", **MAYBE_NAME},
        "explained": {"description": "Sentence by sentence, by rules.", **_TEXTS},
        "flags": {"type": "array", "items": FLAG_SCHEMA},
        "impact": IMPACT_SCHEMA,
        "forecast": FORECAST_SCHEMA,
        "overlaps": build_object_part(
            {
                "similarity_by": {"enum": ["meaning", "words"]},
                "matches": {"type": "array", "items": _MATCH},
            }
        ),
        "change": {
            "description": "Differences from what it changes; null: a new one.",
            **build_object_part(
                {
                    "changes": {"type": "array", "items": _ANY_OBJECT},
                    "in_words": _TEXTS,
                    "widened": {"type": "array", "items": _GRANT},
                }
            ),
            "type": ["object", "null"],
        },
        "reviewed_by": build_object_part(
            {"by": {"enum": ["rules", "model"]}, "model": MAYBE_NAME, "note": _TEXT}
        ),
    }
)
WHOLE: Final[dict[str, Schema]] = {
    **HEAD,
    "definition": {
        "description": "What would be saved; values of open questions are missing.",
        "type": "object",
    },
    "questions": {"type": "array", "items": QUESTION},
    "problems": {"type": "array", "items": FINDING},
    "notes": {"description": "Assumptions, and parts of the request that were not used.", **_TEXTS},
    "made_by": _MADE_BY,
    "talk": {
        "type": "array",
        "items": build_object_part({"by": {"enum": ["person", "proposal"]}, "text": _TEXT}),
    },
    "review": REVIEW_OF,
    "rehearsal": {
        "description": "The call that rehearses it on past fire times; null: a new one, or no "
        "past fire times.",
        **build_object_part({"tool": _TEXT, "arguments": _ANY_OBJECT}),
        "type": ["object", "null"],
    },
}
