"""The shapes of what answers drafts: confirm, edit, discard, repeat and list."""

from __future__ import annotations

from typing import Any, Final, get_args

from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.gate.drafts import DraftStatus

MOST: Final = 100
MOST_CONFIRMED: Final = 50
USUAL: Final = 50
_STATUSES: Final = list(get_args(DraftStatus))
_ID: Final = {"type": "string", "format": "uuid"}
_ID_OR_NONE: Final = {"type": ["string", "null"], "format": "uuid"}
_MOMENT: Final = {"type": "string", "format": "date-time"}
_DRAFT: Final = "01900000-0000-7000-8000-0000000000d1"
_OTHER: Final = "01900000-0000-7000-8000-0000000000d2"
_RUN: Final = "01900000-0000-7000-8000-0000000000a1"
_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000b1"
_OUTCOMES: Final = ["sent", "not_sent", "unknown"]
_SEEN: Final = "a2c4" * 16
_HASH: Final = {
    "type": "string",
    "description": "The draft's hash, as returned with it.",
    "pattern": "^[0-9a-fA-F]{64}$",
}
_NAMED: Final = {**_ID}
_EDITS: Final = {
    "type": "object",
    "description": "New values of editable fields; null removes a field.",
    "minProperties": 1,
}
_REASON: Final = {
    "type": "string",
    "description": "Stored with the draft.",
    "minLength": 1,
    "maxLength": 500,
}
_SENT: Final = {
    "draft_id": _DRAFT,
    "status": "confirmed",
    "outcome": "sent",
    "source": "gmail",
    "action": "send_email",
    "hash": _SEEN,
    "result": {"message_id": "<1@example.com>"},
}
_IN_DOUBT: Final = {
    "draft_id": _DRAFT,
    "status": "failed",
    "outcome": "unknown",
    "action": "send_email",
    "error": {"detail": "The mail server did not answer in time.", "code": "mail_late"},
}
_ANSWER: Final[dict[str, Any]] = {
    "draft_id": _ID,
    "status": {
        "description": "approved: this person approved and others still have to; nothing was "
        "sent. pending: no answer yet; call again later. declined: a person "
        "discarded it.",
        "enum": ["confirmed", "failed", "approved", "pending", "declined"],
    },
    "outcome": {
        "description": "unknown: it may have been sent; it is not sent again.",
        "enum": _OUTCOMES,
    },
    "source": {"type": "string", "description": "The integration."},
    "action": {"type": "string", "description": "Name of the held action."},
    "hash": {"type": "string", "description": "Of the approved text."},
    "result": {"description": "Result of the capability."},
    "error": {"type": "object", "description": "Why it failed."},
    "approvals": {"type": "integer", "description": "Approvals so far."},
    "needed": {"type": "integer", "description": "Approvals needed."},
    "url": {"type": "string", "description": "Where a person answers while it is pending."},
}

CONFIRM_INPUT: Final = {
    **build_object_schema(
        {"draft_id": _NAMED, "edits": _EDITS, "hash": _HASH},
        ("draft_id",),
        [
            {"draft_id": _DRAFT},
            {"draft_id": _DRAFT, "hash": _SEEN},
            {"draft_id": _DRAFT, "edits": {"subject": "Re: next Friday"}},
        ],
        [
            ({}, "which draft?"),
            ({"draft_id": "the last one"}, "a draft is named by its id"),
            ({"draft_id": _DRAFT, "edits": {}}, "an edit changes something"),
            ({"draft_id": _DRAFT, "edits": "shorter"}, "an edit names the field and its value"),
            ({"draft_id": _DRAFT, "hash": "a2c4"}, "a hash is whole"),
        ],
    ),
    "x-mainspring-instead": {"draft_ids": "One draft at a time; several with confirm_actions."},
}
CONFIRM_OUTPUT: Final = build_object_schema(
    _ANSWER,
    ("draft_id", "status", "outcome", "action"),
    [
        _SENT,
        _IN_DOUBT,
        {
            "draft_id": _DRAFT,
            "status": "approved",
            "outcome": "not_sent",
            "action": "send_email",
            "hash": _SEEN,
            "approvals": 1,
            "needed": 2,
        },
        {
            "draft_id": _DRAFT,
            "status": "pending",
            "outcome": "not_sent",
            "action": "send_email",
            "url": f"https://mainspring.example.com/inbox?draft={_DRAFT}",
        },
    ],
    [({"draft_id": _DRAFT, "status": "confirmed"}, "it must say whether it has left")],
)
CONFIRM_ALL_INPUT: Final = build_object_schema(
    {
        "draft_ids": {
            "type": "array",
            "description": "In the order to send.",
            "items": _ID,
            "minItems": 1,
            "maxItems": MOST_CONFIRMED,
        },
        "hashes": {
            "type": "object",
            "description": "Hash of each edited draft, by draft id.",
            "additionalProperties": _HASH,
        },
    },
    ("draft_ids",),
    [
        {"draft_ids": [_DRAFT, _OTHER]},
        {"draft_ids": [_DRAFT], "hashes": {_DRAFT: _SEEN}},
    ],
    [
        ({}, "which drafts?"),
        ({"draft_ids": []}, "at least one"),
        ({"draft_ids": "all"}, "each is named by its id"),
        ({"draft_ids": [_DRAFT], "edits": {"text": "x"}}, "edits are for one draft at a time"),
    ],
)
CONFIRM_ALL_OUTPUT: Final = build_object_schema(
    {
        "results": {
            "type": "array",
            "description": "One per draft, in the same order.",
            "items": build_object_part(_ANSWER, ("draft_id", "status")),
        }
    },
    ("results",),
    [{"results": [_SENT, {**_IN_DOUBT, "draft_id": _OTHER}]}],
    [({"results": [{"status": "confirmed"}]}, "which one?")],
)
EDIT_INPUT: Final = build_object_schema(
    {"draft_id": _NAMED, "edits": _EDITS, "hash": _HASH},
    ("draft_id", "edits"),
    [{"draft_id": _DRAFT, "edits": {"subject": "Re: next Friday"}}],
    [
        ({"draft_id": _DRAFT}, "what is to be changed?"),
        ({"draft_id": _DRAFT, "edits": {}}, "an edit changes something"),
        ({"edits": {"subject": "x"}}, "of which draft?"),
    ],
)
EDIT_OUTPUT: Final = build_object_schema(
    {
        "draft_id": _ID,
        "status": {"const": "pending"},
        "action": {"type": "string"},
        "preview": {"type": "string", "description": "One sentence about the effect."},
        "payload": {"type": "object"},
        "expires_at": _MOMENT,
        "revision": {"type": "integer", "description": "1 is the original text."},
        "hash": {"type": "string", "description": "Needed to confirm this text."},
    },
    ("draft_id", "status", "action", "preview", "payload", "expires_at", "revision", "hash"),
    [
        {
            "draft_id": _DRAFT,
            "status": "pending",
            "action": "send_email",
            "preview": "Send to ada@example.com “Re: next Friday”: Friday works for us.",
            "payload": {"to": ["ada@example.com"], "subject": "Re: next Friday", "text": "Yes."},
            "expires_at": "2026-08-01T10:00:00+00:00",
            "revision": 2,
            "hash": _SEEN,
        }
    ],
    [({"draft_id": _DRAFT, "status": "pending"}, "it must show the new wording and its hash")],
)
DISCARD_INPUT: Final = {
    **build_object_schema(
        {"draft_id": _ID, "reason": _REASON},
        ("draft_id",),
        [{"draft_id": _DRAFT}, {"draft_id": _DRAFT, "reason": "Wrong recipient."}],
        [
            ({}, "which draft?"),
            ({"draft_id": _DRAFT, "reason": ""}, "a reason says something"),
            ({"draft_ids": [_DRAFT]}, "one at a time"),
        ],
    ),
    "x-mainspring-instead": {"draft_ids": "One draft at a time; several with discard_actions."},
}
DISCARD_OUTPUT: Final = build_object_schema(
    {"ok": {"const": True}, "draft_id": _ID, "status": {"const": "discarded"}},
    ("ok", "draft_id", "status"),
    [{"ok": True, "draft_id": _DRAFT, "status": "discarded"}],
    [({"ok": True}, "which one?")],
)
DISCARD_ALL_INPUT: Final = build_object_schema(
    {
        "draft_ids": {
            "type": "array",
            "items": _ID,
            "minItems": 1,
            "maxItems": MOST,
        },
        "reason": _REASON,
    },
    ("draft_ids",),
    [{"draft_ids": [_DRAFT, _OTHER]}, {"draft_ids": [_DRAFT], "reason": "Not this week."}],
    [({}, "which drafts?"), ({"draft_ids": []}, "at least one")],
)
DISCARD_ALL_OUTPUT: Final = build_object_schema(
    {
        "results": {
            "type": "array",
            "description": "One per draft, in the same order.",
            "items": build_object_part(
                {
                    "draft_id": _ID,
                    "status": {"enum": ["discarded", "failed"]},
                    "error": {"type": "object"},
                },
                ("draft_id", "status"),
            ),
        }
    },
    ("results",),
    [{"results": [{"draft_id": _DRAFT, "status": "discarded"}]}],
    [({"results": [{"draft_id": _DRAFT, "status": "gone"}]}, "discarded or failed")],
)
LIST_INPUT: Final = build_object_schema(
    {
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
        "source": {
            "type": "string",
            "description": "Only this integration, such as gmail.",
            "minLength": 1,
            "maxLength": 100,
        },
        "status": {"enum": _STATUSES, "default": "pending"},
        "after": {**_ID, "description": "next of the previous page."},
    },
    (),
    [{}, {"source": "gmail"}, {"status": "expired", "limit": 10}],
    [
        ({"limit": 0}, "at least one"),
        ({"limit": MOST + 1}, "more than one page holds"),
        ({"status": "waiting"}, "a draft that waits is pending"),
    ],
)
_ENTRY: Final[dict[str, Any]] = {
    "draft_id": _DRAFT,
    "source": "gmail",
    "action": "send_email",
    "preview": "Send to ada@example.com “Re: next week”: Friday works for us.",
    "created_at": "2026-08-01T09:00:00+00:00",
    "expires_at": "2026-08-01T10:00:00+00:00",
    "notify_targets": ["inbox"],
    "hash": _SEEN,
    "revision": 1,
    "batch_id": None,
    "status": "pending",
    "outcome": None,
    "payload": {
        "to": ["ada@example.com"],
        "subject": "Re: next week",
        "text": "Friday works for us.",
    },
    "editable": ["subject", "text"],
    "approvals": 0,
    "automation_id": _AUTOMATION,
    "run_id": _RUN,
    "redraft_of": None,
    "account": "omer@example.com",
}
_SHOWN: Final[dict[str, Any]] = {
    "draft_id": _ID,
    "source": {"type": ["string", "null"], "description": "The integration, if any."},
    "action": {"type": "string"},
    "preview": {"type": "string"},
    "created_at": _MOMENT,
    "expires_at": _MOMENT,
    "notify_targets": {"type": "array", "items": {"type": "string"}},
    "hash": {"type": ["string", "null"], "description": "Needed to confirm it."},
    "revision": {"type": "integer", "description": "More than 1: it was edited."},
    "batch_id": {**_ID_OR_NONE, "description": "Same for the drafts of one turn."},
    "status": {"enum": _STATUSES},
    "outcome": {"enum": [*_OUTCOMES, None]},
    "payload": {
        "type": "object",
        "description": "What would be sent; empty if you cannot decide about it.",
    },
    "editable": {"type": "array", "items": {"type": "string"}},
    "approvals": {"type": "integer", "description": "Approvals of this text."},
    "automation_id": _ID_OR_NONE,
    "run_id": _ID_OR_NONE,
    "redraft_of": {**_ID_OR_NONE, "description": "The draft it copies."},
    "account": {
        "type": ["string", "null"],
        "description": "The account that sends it; null: none.",
    },
}
LIST_OUTPUT: Final = build_object_schema(
    {
        "count": {"type": "integer", "description": "Number of drafts in this page."},
        "drafts": {"type": "array", "maxItems": MOST, "items": build_object_part(_SHOWN)},
        "next": {**_ID_OR_NONE, "description": "after of the next page; null on the last page."},
    },
    ("count", "drafts", "next"),
    [{"count": 1, "drafts": [_ENTRY], "next": None}],
    [({"count": 0, "drafts": []}, "the end is said by next being null")],
)
AGAIN_INPUT: Final = build_object_schema(
    {"draft_id": _NAMED},
    ("draft_id",),
    [{"draft_id": _DRAFT}],
    [({}, "which draft?"), ({"draft_id": _DRAFT, "edits": {"text": "x"}}, "edit the new draft")],
)
AGAIN_OUTPUT: Final = build_object_schema(
    _SHOWN,
    tuple(_SHOWN),
    [{**_ENTRY, "draft_id": _OTHER, "redraft_of": _DRAFT}],
    [({"draft_id": _OTHER}, "a draft says what waits, and until when")],
)
