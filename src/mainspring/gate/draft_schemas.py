"""The shapes of what answers drafts: confirm, discard and list."""

from __future__ import annotations

from typing import Any, Final, get_args

from mainspring.gate.drafts import DraftStatus

MOST: Final = 100
USUAL: Final = 50
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ID: Final = {"type": "string", "format": "uuid"}
_ID_OR_NONE: Final = {"type": ["string", "null"], "format": "uuid"}
_MOMENT: Final = {"type": "string", "format": "date-time"}
_DRAFT: Final = "01900000-0000-7000-8000-0000000000d1"
_RUN: Final = "01900000-0000-7000-8000-0000000000a1"
_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000b1"
_OUTCOMES: Final = ["sent", "not_sent", "unknown"]


def _object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
        **more,
    }


def _not(value: Any, reason: str) -> dict[str, Any]:
    return {"value": value, "reason": reason}


CONFIRM_INPUT: Final[dict[str, Any]] = _object(
    {"draft_id": {**_ID, "description": "The draft, as it was answered or listed."}},
    "draft_id",
    **{
        "examples": [{"draft_id": _DRAFT}],
        "x-mainspring-instead": {
            "edits": "What is sent is what was shown: discard the draft and ask for another.",
            "draft_ids": "One draft at a time: draft_id.",
        },
        "x-mainspring-anti-examples": [
            _not({}, "which draft?"),
            _not({"draft_id": "the last one"}, "a draft is named by its id"),
            _not({"draft_id": _DRAFT, "edits": {"text": "x"}}, "what was shown is what is sent"),
        ],
    },
)
CONFIRM_OUTPUT: Final[dict[str, Any]] = _object(
    {
        "draft_id": _ID,
        "status": {"enum": ["confirmed", "failed"]},
        "outcome": {
            "description": "unknown: it may have left all the same; it is not sent again.",
            "enum": _OUTCOMES,
        },
        "action": {"type": "string", "description": "The capability that was held."},
        "result": {"description": "What the capability answered."},
        "error": {"type": "object", "description": "Why it failed."},
    },
    "draft_id", "status", "outcome", "action",
    **{
        "examples": [
            {
                "draft_id": _DRAFT,
                "status": "confirmed",
                "outcome": "sent",
                "action": "send_email",
                "result": {"message_id": "<1@example.com>"},
            },
            {
                "draft_id": _DRAFT,
                "status": "failed",
                "outcome": "unknown",
                "action": "send_email",
                "error": {"detail": "The mail server did not answer in time.", "code": "mail_late"},
            },
        ],
        "x-mainspring-anti-examples": [
            _not({"draft_id": _DRAFT, "status": "confirmed"}, "it must say whether it has left")
        ],
    },
)  # fmt: skip
DISCARD_INPUT: Final[dict[str, Any]] = _object(
    {
        "draft_id": _ID,
        "reason": {
            "type": "string",
            "description": "Why, for whoever asks later.",
            "minLength": 1,
            "maxLength": 500,
        },
    },
    "draft_id",
    **{
        "examples": [{"draft_id": _DRAFT}, {"draft_id": _DRAFT, "reason": "Wrong recipient."}],
        "x-mainspring-anti-examples": [
            _not({}, "which draft?"),
            _not({"draft_id": _DRAFT, "reason": ""}, "a reason says something"),
            _not({"draft_ids": [_DRAFT]}, "one at a time"),
        ],
    },
)
DISCARD_OUTPUT: Final[dict[str, Any]] = _object(
    {"ok": {"const": True}, "draft_id": _ID, "status": {"const": "discarded"}},
    "ok", "draft_id", "status",
    **{
        "examples": [{"ok": True, "draft_id": _DRAFT, "status": "discarded"}],
        "x-mainspring-anti-examples": [_not({"ok": True}, "which one?")],
    },
)  # fmt: skip
LIST_INPUT: Final[dict[str, Any]] = _object(
    {
        "status": {"enum": list(get_args(DraftStatus)), "default": "pending"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
        "after": {**_ID, "description": "next of the page before."},
    },
    **{
        "examples": [{}, {"status": "expired", "limit": 10}],
        "x-mainspring-anti-examples": [
            _not({"limit": 0}, "at least one"),
            _not({"limit": MOST + 1}, "more than one page holds"),
            _not({"status": "waiting"}, "a draft that waits is pending"),
        ],
    },
)
_ENTRY: Final[dict[str, Any]] = {
    "draft_id": _DRAFT,
    "status": "pending",
    "outcome": None,
    "action": "send_email",
    "preview": "Send to ada@example.com “Re: next week”: Friday works for us.",
    "payload": {
        "to": ["ada@example.com"],
        "subject": "Re: next week",
        "text": "Friday works for us.",
    },
    "automation_id": _AUTOMATION,
    "run_id": _RUN,
    "created_at": "2026-08-01T09:00:00+00:00",
    "expires_at": "2026-08-01T10:00:00+00:00",
}
LIST_OUTPUT: Final[dict[str, Any]] = _object(
    {
        "actions": {
            "type": "array",
            "maxItems": MOST,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(_ENTRY),
                "properties": {
                    "draft_id": _ID,
                    "status": {"enum": list(get_args(DraftStatus))},
                    "outcome": {"enum": [*_OUTCOMES, None]},
                    "action": {"type": "string"},
                    "preview": {"type": "string"},
                    "payload": {"type": "object"},
                    "automation_id": _ID_OR_NONE,
                    "run_id": _ID_OR_NONE,
                    "created_at": _MOMENT,
                    "expires_at": _MOMENT,
                },
            },
        },
        "next": {**_ID_OR_NONE, "description": "after of the next page; null at the end."},
    },
    "actions", "next",
    **{
        "examples": [{"actions": [_ENTRY], "next": None}],
        "x-mainspring-anti-examples": [_not({"actions": []}, "the end is said by next being null")],
    },
)  # fmt: skip
