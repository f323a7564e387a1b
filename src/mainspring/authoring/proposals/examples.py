"""The answers around proposals, whole, with an example of each."""

from __future__ import annotations

from typing import Any, Final

from mainspring.authoring.proposals.schemas import (
    FINDING,
    HEAD,
    MAYBE_NAME,
    QUESTION,
    REVIEW_OF,
    SOME_ID,
    WHOLE,
)
from mainspring.contracts.object_schema import build_object_part, build_object_schema

_MOMENT: Final = "2026-11-15T09:00:00+00:00"
_NONE: Final = {"low": "0", "usual": "0", "high": "0"}
_HEAD: Final[dict[str, Any]] = {
    "proposal_id": SOME_ID,
    "status": "ready",
    "revision": 1,
    "digest": "7f" * 32,
    "request": "every Monday at 9 Berlin time remind me to send the invoices",
    "automation_id": None,
    "base_version": None,
    "created_at": _MOMENT,
    "expires_at": "2026-11-22T09:00:00+00:00",
    "url": f"http://127.0.0.1:8000/proposals/{SOME_ID}",
    "saved_as": None,
}
_FORECAST: Final[dict[str, Any]] = {
    "runs_per_month": {
        "low": 4,
        "usual": 4,
        "high": 4,
        "basis": "schedule",
        "why": "It is due 4 times in the next 30 days.",
    },
    "usd_per_run": {**_NONE, "basis": "free", "why": "Nothing in it costs money."},
    "usd_per_month": _NONE,
    "caps": {"usd_per_run": "0.5", "usd_per_day": "1", "usd_per_month": "30"},
    "steps": [],
    "notes": [],
    "sentence": "It costs nothing.",
}
_REVIEW: Final[dict[str, Any]] = {
    "summary": "Every Monday at 09:00 (Europe/Berlin) it leaves you a message.",
    "opinion": None,
    "explained": ["Every Monday at 09:00 (Europe/Berlin) it leaves you a message."],
    "flags": [
        {
            "pointer": "/plan/0",
            "code": "first_use",
            "text": "No other automation here may call inbox.post_notification yet.",
            "level": "note",
            "by": "rules",
        }
    ],
    "impact": {
        "outside": [],
        "grants": [],
        "keeps": [],
        "secrets": [],
        "wakes": [],
        "people": [],
        "writes": [],
    },
    "forecast": _FORECAST,
    "overlaps": {"similarity_by": "words", "matches": []},
    "change": None,
    "reviewed_by": {
        "by": "rules",
        "model": None,
        "note": "Rules made this review; no model was asked.",
    },
}
_PROPOSAL: Final[dict[str, Any]] = {
    **_HEAD,
    "definition": {
        "schema_version": "1.2",
        "name": "Send the invoices",
        "goal": "Remind somebody to send the invoices.",
        "triggers": [
            {
                "id": "schedule-1",
                "type": "schedule",
                "config": {"cron": "0 9 * * 1", "timezone": "Europe/Berlin"},
            }
        ],
        "plan": [
            {
                "step_id": "remind",
                "action": "notification",
                "config": {"title": "Send the invoices"},
            }
        ],
    },
    "questions": [],
    "problems": [],
    "notes": [],
    "made_by": {
        "by": "rules",
        "note": "No model is connected here, so rules made this; no model was used.",
        "model": None,
        "rounds": 0,
        "refused": [],
        "cost_usd": "0",
    },
    "talk": [{"by": "person", "text": _HEAD["request"]}],
    "review": _REVIEW,
    "rehearsal": None,
}

PROPOSAL: Final = build_object_schema(
    WHOLE, list(WHOLE), [_PROPOSAL], [({"proposal_id": SOME_ID}, "a proposal is told whole")]
)
LISTED: Final = build_object_schema(
    {
        "proposals": {"type": "array", "items": build_object_part({**HEAD, "name": MAYBE_NAME})},
        "next": {"type": ["string", "null"], "format": "uuid"},
    },
    ["proposals", "next"],
    [{"proposals": [{**_HEAD, "name": "Send the invoices"}], "next": None}],
    [({"proposals": []}, "an answer says whether there are more")],
)
REVIEWED: Final = build_object_schema(
    {
        "questions": {
            "description": "Values that it lacks.",
            "type": "array",
            "items": QUESTION,
        },
        "problems": {
            "description": "What keeps it from being saved.",
            "type": "array",
            "items": FINDING,
        },
        "review": REVIEW_OF,
    },
    ["questions", "problems", "review"],
    [{"questions": [], "problems": [], "review": _REVIEW}],
    [({"review": {}}, "a review is told whole")],
)
