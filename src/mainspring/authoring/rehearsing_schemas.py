"""JSON schemas of the rehearsal capabilities."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.rehearsing import USUAL_FIRINGS
from mainspring.authoring.running import LEAST_WAIT, MOST_WAIT
from mainspring.authoring.saving_schemas import AUTOMATION_ID, SOME_AUTOMATION, SOME_RUN
from mainspring.workspace.boards.schemas import (
    COUNT,
    ID,
    MOMENT,
    SOME_TIME,
    JsonSchema,
    object_of,
    schema_with_examples,
)

MOST_FIRINGS: Final = 20
_SOME_REHEARSAL: Final = "01900000-0000-7000-8000-0000000000a7"
_SOME_PROPOSAL: Final = "01900000-0000-7000-8000-0000000000a8"
_OTHER_RUN: Final = "01900000-0000-7000-8000-0000000000a9"
_TEXT: Final[JsonSchema] = {"type": "string"}
_MAYBE_TEXT: Final[JsonSchema] = {"type": ["string", "null"]}
_USD: Final[JsonSchema] = {"description": "US dollars, as decimal text.", "type": "string"}

_CANDIDATE: Final[JsonSchema] = {
    "description": "What to rehearse. Default: the active version.",
    **object_of(
        {
            "definition": {"description": "A full definition.", "type": "object"},
            "version": {
                "description": "Version number of the automation.",
                "type": "integer",
                "minimum": 1,
            },
            "proposal_id": {"description": "A proposal that changes the automation.", **ID},
            "consent_id": {"description": "The change that waits for this consent.", **ID},
        }
    ),
    "minProperties": 1,
    "maxProperties": 1,
}
_SAMPLE: Final[JsonSchema] = {
    **object_of(
        {
            "inputs": {
                "description": "Inputs, as for a manual run.",
                "type": "object",
            },
            "payload": {"description": "Payload of a trigger: any JSON value."},
        }
    ),
    "minProperties": 1,
}
REHEARSE: Final = schema_with_examples(
    {
        "automation_id": AUTOMATION_ID,
        "candidate": _CANDIDATE,
        "last": {
            "description": "How many past fire times to use.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FIRINGS,
            "default": USUAL_FIRINGS,
        },
        "samples": {
            "description": "Use these instead of past fire times; the active version runs on them "
            "too, for comparison.",
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_FIRINGS,
            "items": _SAMPLE,
        },
        "live_reads": {
            "description": "Read data outside that no record has, as in a dry run. Default: true, "
            "unless the candidate has permissions without consent; then only a "
            "person who can edit automations can set it.",
            "type": "boolean",
        },
        "wait_seconds": {
            "description": "How long to wait. Default: the run's time limit plus 90 s.",
            "type": "integer",
            "minimum": LEAST_WAIT,
            "maximum": MOST_WAIT,
        },
    },
    ["automation_id"],
    [
        {"automation_id": SOME_AUTOMATION},
        {"automation_id": SOME_AUTOMATION, "candidate": {"version": 3}, "last": 10},
        {
            "automation_id": SOME_AUTOMATION,
            "candidate": {"proposal_id": _SOME_PROPOSAL},
            "live_reads": False,
        },
        {
            "automation_id": SOME_AUTOMATION,
            "samples": [{"inputs": {"limit": 5}}, {"payload": {"total": 120}}],
        },
    ],
    ({}, "which automation?"),
    ({"automation_id": SOME_AUTOMATION, "last": 0}, "one firing at least"),
    ({"automation_id": SOME_AUTOMATION, "samples": []}, "one sample at least"),
    ({"automation_id": SOME_AUTOMATION, "samples": [{"input": {}}]}, "inputs or payload"),
    ({"automation_id": SOME_AUTOMATION, "candidate": {}}, "a candidate is something"),
    (
        {"automation_id": SOME_AUTOMATION, "candidate": {"version": 1, "definition": {}}},
        "one of them, not both",
    ),
)
LOOK: Final = schema_with_examples(
    {"rehearsal_id": {**ID}},
    ["rehearsal_id"],
    [{"rehearsal_id": _SOME_REHEARSAL}],
    ({}, "which rehearsal?"),
    ({"rehearsal_id": "the last one"}, "an id, not words"),
)

_DEED: Final = object_of(
    {
        "what": {"enum": ["written", "drafted", "sent"]},
        "step": _TEXT,
        "capability": _TEXT,
        "arguments": {"description": "Shortened; secrets by name only."},
    },
    ["what", "step", "capability", "arguments"],
)
_SIDE: Final[dict[str, JsonSchema]] = {
    "run_id": ID,
    "at": MOMENT,
    "status": _TEXT,
    "outcome": _MAYBE_TEXT,
    "reason": _MAYBE_TEXT,
    "error": _MAYBE_TEXT,
    "cost_usd": _USD,
    "deeds": {
        "description": "What it wrote, drafted and sent.",
        "type": "array",
        "items": _DEED,
    },
}
_LIVE: Final = object_of(
    {"step": _TEXT, "capability": _TEXT, "cost_usd": _USD}, ["step", "capability", "cost_usd"]
)
_NOW: Final[dict[str, JsonSchema]] = {
    **_SIDE,
    "spent_usd": {**_USD, "description": "Cost of the rehearsal."},
    "recorded": {"description": "Answers taken from records.", **COUNT},
    "live": {
        "description": "Reads without a record that were made now.",
        "type": "array",
        "items": _LIVE,
    },
}
_DIFFERENCE: Final = object_of(
    {
        "kind": {"enum": ["added", "removed", "changed", "status", "cost"]},
        "says": _TEXT,
        "step": _TEXT,
        "capability": _TEXT,
        "fields": {
            "description": "Arguments that differ, with old and new values.",
            "type": "array",
            "items": object_of(
                {"pointer": _TEXT, "then": {}, "now": {}}, ["pointer", "then", "now"]
            ),
        },
    },
    ["kind", "says"],
)
_FIRING: Final[dict[str, JsonSchema]] = {
    "then": {
        "description": "What happened; on samples, what the active version would have done. null: "
        "nothing to compare with.",
        **object_of(_SIDE, list(_SIDE)),
        "type": ["object", "null"],
    },
    "now": {
        "description": "What would have happened; null: it was not started. status skipped: not "
        "rehearsed, for example because the daily budget is spent.",
        **object_of(_NOW, list(_NOW)),
        "type": ["object", "null"],
    },
    "done": {"type": "boolean"},
    "otherwise": {"description": "Whether the result differs.", "type": "boolean"},
    "differences": {"type": "array", "items": _DIFFERENCE},
    "note": _MAYBE_TEXT,
}
_REHEARSED: Final[dict[str, JsonSchema]] = {
    "rehearsal_id": ID,
    "automation_id": ID,
    "candidate": object_of(
        {
            "kind": {"enum": ["version", "definition", "proposal"]},
            "version": {"type": "integer"},
            "proposal_id": ID,
        },
        ["kind"],
    ),
    "version_in_force": {"type": "integer"},
    "live_reads": {"type": "boolean"},
    "done": {"description": "Whether all of it has finished.", "type": "boolean"},
    "otherwise": {"description": "Fire times with a different result.", **COUNT},
    "summary": _TEXT,
    "spent_usd": {
        **_USD,
        "description": "Cost of the rehearsal, with the runs of the active version on samples.",
    },
    "firings": {"type": "array", "items": object_of(_FIRING, list(_FIRING))},
    "next_step": _TEXT,
}
_SOME_SIDE: Final[dict[str, Any]] = {
    "run_id": SOME_RUN,
    "at": SOME_TIME,
    "status": "succeeded",
    "outcome": "drafts_waiting",
    "reason": None,
    "error": None,
    "cost_usd": "0.002",
    "deeds": [],
}
_SOME_DEED: Final = {
    "what": "drafted",
    "step": "mail",
    "capability": "send_email",
    "arguments": {"to": "ada@example.com", "subject": "120 orders", "body": "…"},
}
REHEARSED: Final = schema_with_examples(
    _REHEARSED,
    list(_REHEARSED),
    [
        {
            "rehearsal_id": _SOME_REHEARSAL,
            "automation_id": SOME_AUTOMATION,
            "candidate": {"kind": "version", "version": 3},
            "version_in_force": 2,
            "live_reads": True,
            "done": True,
            "otherwise": 1,
            "summary": "1 of 1 run would differ: it would have drafted send_email.",
            "spent_usd": "0",
            "firings": [
                {
                    "then": _SOME_SIDE,
                    "now": {
                        **_SOME_SIDE,
                        "run_id": _OTHER_RUN,
                        "deeds": [_SOME_DEED],
                        "spent_usd": "0",
                        "recorded": 2,
                        "live": [],
                    },
                    "done": True,
                    "otherwise": True,
                    "differences": [
                        {
                            "kind": "added",
                            "says": "It would have drafted send_email, which it did not then.",
                            "step": "mail",
                            "capability": "send_email",
                        }
                    ],
                    "note": None,
                }
            ],
            "next_step": "Show the differences to the person.",
        }
    ],
    ({"rehearsal_id": _SOME_REHEARSAL}, "it must say what came of it"),
)
