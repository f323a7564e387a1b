"""JSON schemas of running, cancelling and pre-save checks."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.overlaps import MOST_MATCHES
from mainspring.authoring.playbook_capabilities import MOST_LISTED
from mainspring.authoring.run_report import STATUSES, TIMEOUT_REASONS
from mainspring.authoring.running import LEAST_WAIT, MOST_WAIT
from mainspring.authoring.saving_schemas import (
    AUTOMATION_ID,
    BOARDS,
    FIELD,
    SOME_AUTOMATION,
    SOME_RUN,
    SOME_URL,
    SOME_VERSION,
    URL,
)
from mainspring.authoring.trigger_kinds import KINDS
from mainspring.workspace.boards.schemas import (
    COUNT,
    ID,
    MOMENT,
    SOME_BOARD,
    SOME_TIME,
    JsonSchema,
    object_of,
    schema_with_examples,
)

RUN: Final = schema_with_examples(
    {
        "automation_id": AUTOMATION_ID,
        "dry_run": {
            "description": "Change nothing; simulate and list the calls.",
            "type": "boolean",
            "default": True,
        },
        "verify_mode": {
            "description": "Send nothing outside; keep writes to boards and pages.",
            "type": "boolean",
            "default": False,
        },
        "run_id": {
            "description": "Wait for this run and start none. Omit dry_run and verify_mode then.",
            **ID,
        },
        "idempotency_key": {
            "description": "For 24 hours the same key returns the same run of the automation, for "
            "all callers. Without one, the same call joins a run in progress.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "wait_seconds": {
            "description": "How long to wait. Default: the run's time limit plus 90 s. MCP "
            "clients get an answer after 45 s at most; the run continues.",
            "type": "integer",
            "minimum": LEAST_WAIT,
            "maximum": MOST_WAIT,
        },
    },
    ["automation_id"],
    [
        {"automation_id": SOME_AUTOMATION},
        {"automation_id": SOME_AUTOMATION, "dry_run": False, "wait_seconds": 120},
        {"automation_id": SOME_AUTOMATION, "run_id": SOME_RUN},
        {"automation_id": SOME_AUTOMATION, "idempotency_key": "second try"},
    ],
    ({}, "which automation?"),
    ({"automation_id": SOME_AUTOMATION, "wait_seconds": 5}, "too short to tell anything"),
    ({"automation_id": SOME_AUTOMATION, "dry_run": "no"}, "true or false"),
    ({"run_id": SOME_RUN}, "a run of which automation?"),
)
_MAYBE: Final = ["string", "null"]
_MAYBE_TEXT: Final[JsonSchema] = {"type": _MAYBE}
_RAN: Final = {
    "run_id": ID,
    "status": {"enum": list(STATUSES)},
    "terminal": {"type": "boolean"},
    "timed_out": {"type": "boolean"},
    "timeout_reason": {"enum": [*TIMEOUT_REASONS, None]},
    "next_step": {"type": "string"},
    "exit_code": {"type": ["integer", "null"]},
    "duration_ms": {"type": ["integer", "null"], "minimum": 0},
    "cost_usd": {"type": "number", "minimum": 0},
    "stdout": {"description": "At most 8 KB.", "type": "string"},
    "stderr": {"description": "At most 8 KB.", "type": "string"},
    "error": _MAYBE_TEXT,
    "admin_url": URL,
    "suppressed": {
        "description": "Simulated calls with their arguments.",
        "type": "array",
        "items": object_of(
            {"step": {"type": "string"}, "capability": {"type": "string"}, "arguments": {}},
            ["step", "capability", "arguments"],
        ),
    },
}
RAN: Final = schema_with_examples(
    _RAN,
    list(_RAN),
    [
        {
            "run_id": SOME_RUN,
            "status": "succeeded",
            "terminal": True,
            "timed_out": False,
            "timeout_reason": None,
            "next_step": "Check stdout and suppressed.",
            "exit_code": 0,
            "duration_ms": 42,
            "cost_usd": 0,
            "stdout": "3 rows\n",
            "stderr": "",
            "error": None,
            "admin_url": SOME_URL,
            "suppressed": [],
        }
    ],
    ({"run_id": SOME_RUN}, "it must say what became of it"),
)
LOOK: Final = schema_with_examples(
    {"run_id": {**ID}},
    ["run_id"],
    [{"run_id": SOME_RUN}],
    ({}, "which run?"),
    ({"run_id": "the last one"}, "an id, not words"),
)
_STATES: Final = ["active", "paused", "archived"]
LIST: Final = schema_with_examples(
    {
        "name": {
            "description": "Text in the name; case-insensitive.",
            **FIELD,
        },
        "state": {
            "description": "Default: all that are not archived.",
            "enum": _STATES,
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 50},
        "after": {
            "description": "next of the previous page.",
            **ID,
        },
    },
    [],
    [{}, {"name": "invoice", "state": "active", "limit": 10}, {"after": SOME_AUTOMATION}],
    ({"state": "killed"}, "what was removed is archived"),
    ({"limit": 0}, "at least one"),
    ({"after": "Monday report"}, "an id, not a name"),
)
_LISTED: Final = {
    "automation_id": ID,
    "name": {"type": "string"},
    "state": {"enum": _STATES},
    "version": {"type": "integer", "minimum": 1},
    "version_id": ID,
    "goal": _MAYBE_TEXT,
    "last_run_at": {**MOMENT, "type": ["string", "null"]},
}
LISTED: Final = schema_with_examples(
    {
        "automations": {
            "description": "Newest first.",
            "type": "array",
            "items": object_of(_LISTED, list(_LISTED)),
        },
        "next": {"description": "For after; null on the last page.", **ID, "type": _MAYBE},
    },
    ["automations", "next"],
    [
        {
            "automations": [
                {
                    "automation_id": SOME_AUTOMATION,
                    "name": "Log invoices",
                    "state": "active",
                    "version": 2,
                    "version_id": SOME_VERSION,
                    "goal": "Log every invoice to the finance board.",
                    "last_run_at": SOME_TIME,
                }
            ],
            "next": None,
        }
    ],
    ({"automations": []}, "it must say whether there are more"),
)
DELETE: Final = schema_with_examples(
    {"automation_id": AUTOMATION_ID},
    ["automation_id"],
    [{"automation_id": SOME_AUTOMATION}],
    ({}, "which automation?"),
    ({"automation_id": "Monday report"}, "an id, not a name"),
)
DELETED: Final = schema_with_examples(
    {"automation_id": ID, "state": {"const": "killed"}},
    ["automation_id", "state"],
    [{"automation_id": SOME_AUTOMATION, "state": "killed"}],
    ({"deleted": 1}, "nothing is deleted; it is archived"),
)
OVERLAP: Final = schema_with_examples(
    {
        "writes_to_boards": {**BOARDS, "minItems": 1},
        "dedupe_target_field": {
            "description": "Only writers of this list field.",
            **FIELD,
        },
        "trigger_kind": {"description": "Only this trigger kind.", "enum": list(KINDS)},
        "intent": {
            "description": "Its purpose; adds automations with a similar one.",
            "type": "string",
            "maxLength": 2_000,
        },
    },
    ["writes_to_boards"],
    [
        {"writes_to_boards": [SOME_BOARD]},
        {
            "writes_to_boards": [SOME_BOARD],
            "dedupe_target_field": "updates",
            "trigger_kind": "cron",
            "intent": "Log every invoice to the finance board.",
        },
    ],
    ({}, "overlap on which boards?"),
    ({"writes_to_boards": []}, "at least one board"),
    ({"writes_to_boards": ["CRM"]}, "ids, not names"),
)
_MATCH: Final = {
    "automation_id": ID,
    "owner_email": _MAYBE_TEXT,
    "is_self": {"type": "boolean"},
    "name": {"type": "string"},
    "description": _MAYBE_TEXT,
    "state": {"enum": ["active", "paused"]},
    "last_run_at": {**MOMENT, "type": ["string", "null"]},
    "writes_to_boards": {"type": "array", "items": ID},
    "dedupe_target_field": _MAYBE_TEXT,
    "dedupe_key_field": _MAYBE_TEXT,
    "trigger_kinds": {"type": "array", "items": {"type": "string"}},
    "trigger_types": {"type": "array", "items": {"type": "string"}},
    "strict_overlap": {"type": "boolean"},
}
OVERLAPS: Final = schema_with_examples(
    {
        "count": COUNT,
        "strict_count": COUNT,
        "matches": {
            "type": "array",
            "maxItems": MOST_MATCHES,
            "items": object_of(_MATCH, list(_MATCH)),
        },
        "similarity_by": {
            "description": "How intents were compared: by an embedding model or by words.",
            "enum": ["meaning", "words", None],
        },
    },
    ["count", "strict_count", "matches"],
    [
        {
            "count": 1,
            "strict_count": 1,
            "matches": [
                {
                    "automation_id": SOME_AUTOMATION,
                    "owner_email": "ada@example.com",
                    "is_self": False,
                    "name": "Log invoices",
                    "description": None,
                    "state": "active",
                    "last_run_at": SOME_TIME,
                    "writes_to_boards": [SOME_BOARD],
                    "dedupe_target_field": None,
                    "dedupe_key_field": "invoice_id",
                    "trigger_kinds": ["cron"],
                    "trigger_types": [],
                    "strict_overlap": True,
                }
            ],
            "similarity_by": None,
        }
    ],
    ({"matches": []}, "it must say how many"),
)
FLOW: Final = schema_with_examples(
    {
        "purpose_hint": {
            "description": "What it is for, if known; skips the first question.",
            "type": "string",
            "maxLength": 2_000,
        }
    },
    [],
    [{}, {"purpose_hint": "Post a revenue report every Monday at 9am ET."}],
    ({"purpose_hint": 7}, "in words"),
    ({"purpose": "x"}, "an argument that does not exist"),
)
_OBJECTS: Final[JsonSchema] = {"type": "array", "items": {"type": "object"}}
FLOWS: Final = schema_with_examples(
    {
        "purpose_hint": _MAYBE_TEXT,
        "playbook": object_of(
            {
                "how": {"type": "string"},
                "purpose": _MAYBE_TEXT,
                "reach_for": _OBJECTS,
                "steps": {**_OBJECTS, "minItems": 1},
                "skeletons": _OBJECTS,
                "similar": {"type": "object"},
            },
            ["how", "purpose", "reach_for", "steps", "skeletons", "similar"],
        ),
    },
    ["purpose_hint", "playbook"],
    [
        {
            "purpose_hint": None,
            "playbook": {
                "how": "One question at a time.",
                "purpose": None,
                "reach_for": [],
                "steps": [{"id": "trigger", "title": "What wakes it"}],
                "skeletons": [],
                "similar": {"similarity_by": None, "automations": []},
            },
        }
    ],
    ({"playbook": {}}, "a playbook has steps"),
)
