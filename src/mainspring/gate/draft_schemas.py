"""The shapes of what answers drafts: confirm, edit, discard, repeat and list."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, get_args
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.contracts.model_schema import SchemaModel
from mainspring.gate.drafts import DraftStatus

MOST: Final = 100

MOST_CONFIRMED: Final = 50

USUAL: Final = 50

_STATUSES: Final = list(get_args(DraftStatus))

_DRAFT: Final = "01900000-0000-7000-8000-0000000000d1"

_OTHER: Final = "01900000-0000-7000-8000-0000000000d2"

_RUN: Final = "01900000-0000-7000-8000-0000000000a1"

_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000b1"

_OUTCOMES: Final = ["sent", "not_sent", "unknown"]

_SEEN: Final = "a2c4" * 16

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


_Edits = Annotated[
    dict[str, Any],
    Meta(description="New values of editable fields; null removes a field.", min_length=1),
]

_Hash = Annotated[
    str, Meta(description="The draft's hash, as returned with it.", pattern="^[0-9a-fA-F]{64}$")
]


class ConfirmActionArguments(SchemaModel):
    draft_id: UUID
    edits: _Edits | None = None
    hash: _Hash | None = None

    keywords: ClassVar = {
        "x-mainspring-instead": {"draft_ids": "One draft at a time; several with confirm_actions."}
    }
    examples: ClassVar = [
        {"draft_id": _DRAFT},
        {"draft_id": _DRAFT, "hash": _SEEN},
        {"draft_id": _DRAFT, "edits": {"subject": "Re: next Friday"}},
    ]
    anti_examples: ClassVar = [
        ({}, "which draft?"),
        ({"draft_id": "the last one"}, "a draft is named by its id"),
        ({"draft_id": _DRAFT, "edits": {}}, "an edit changes something"),
        ({"draft_id": _DRAFT, "edits": "shorter"}, "an edit names the field and its value"),
        ({"draft_id": _DRAFT, "hash": "a2c4"}, "a hash is whole"),
    ]


class ConfirmActionResult(SchemaModel):
    draft_id: UUID
    status: Annotated[
        Literal["confirmed", "failed", "approved", "pending", "declined"],
        Meta(
            description="approved: this person approved and others still have to; nothing was "
            "sent. pending: no answer yet; call again later. declined: a person "
            "discarded it."
        ),
    ]
    outcome: Annotated[
        str,
        Meta(
            description="unknown: it may have been sent; it is not sent again.",
            extra_json_schema={"enum": _OUTCOMES},
        ),
    ]
    source: Annotated[str | None, Meta(description="The integration.")] = None
    action: Annotated[str, Meta(description="Name of the held action.")]
    hash: Annotated[str | None, Meta(description="Of the approved text.")] = None
    result: Annotated[Any | UnsetType, Meta(description="Result of the capability.")] = UNSET
    error: Annotated[dict[str, Any] | None, Meta(description="Why it failed.")] = None
    approvals: Annotated[int | None, Meta(description="Approvals so far.")] = None
    needed: Annotated[int | None, Meta(description="Approvals needed.")] = None
    url: Annotated[str | None, Meta(description="Where a person answers while it is pending.")] = (
        None
    )

    examples: ClassVar = [
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
    ]
    anti_examples: ClassVar = [
        ({"draft_id": _DRAFT, "status": "confirmed"}, "it must say whether it has left")
    ]


class ConfirmActionsArguments(SchemaModel):
    draft_ids: Annotated[
        list[UUID],
        Meta(description="In the order to send.", min_length=1, max_length=MOST_CONFIRMED),
    ]
    hashes: Annotated[
        dict[str, _Hash] | None, Meta(description="Hash of each edited draft, by draft id.")
    ] = None

    examples: ClassVar = [
        {"draft_ids": [_DRAFT, _OTHER]},
        {"draft_ids": [_DRAFT], "hashes": {_DRAFT: _SEEN}},
    ]
    anti_examples: ClassVar = [
        ({}, "which drafts?"),
        ({"draft_ids": []}, "at least one"),
        ({"draft_ids": "all"}, "each is named by its id"),
        ({"draft_ids": [_DRAFT], "edits": {"text": "x"}}, "edits are for one draft at a time"),
    ]


class _ConfirmActionsResult(SchemaModel):
    draft_id: UUID
    status: Annotated[
        Literal["confirmed", "failed", "approved", "pending", "declined"],
        Meta(
            description="approved: this person approved and others still have to; nothing was "
            "sent. pending: no answer yet; call again later. declined: a person "
            "discarded it."
        ),
    ]
    outcome: Annotated[
        str | None,
        Meta(
            description="unknown: it may have been sent; it is not sent again.",
            extra_json_schema={"enum": _OUTCOMES},
        ),
    ] = None
    source: Annotated[str | None, Meta(description="The integration.")] = None
    action: Annotated[str | None, Meta(description="Name of the held action.")] = None
    hash: Annotated[str | None, Meta(description="Of the approved text.")] = None
    result: Annotated[Any | UnsetType, Meta(description="Result of the capability.")] = UNSET
    error: Annotated[dict[str, Any] | None, Meta(description="Why it failed.")] = None
    approvals: Annotated[int | None, Meta(description="Approvals so far.")] = None
    needed: Annotated[int | None, Meta(description="Approvals needed.")] = None
    url: Annotated[str | None, Meta(description="Where a person answers while it is pending.")] = (
        None
    )


class ConfirmActionsResult(SchemaModel):
    results: Annotated[
        list[_ConfirmActionsResult], Meta(description="One per draft, in the same order.")
    ]

    examples: ClassVar = [{"results": [_SENT, {**_IN_DOUBT, "draft_id": _OTHER}]}]
    anti_examples: ClassVar = [({"results": [{"status": "confirmed"}]}, "which one?")]


class EditActionArguments(SchemaModel):
    draft_id: UUID
    edits: _Edits
    hash: _Hash | None = None

    examples: ClassVar = [{"draft_id": _DRAFT, "edits": {"subject": "Re: next Friday"}}]
    anti_examples: ClassVar = [
        ({"draft_id": _DRAFT}, "what is to be changed?"),
        ({"draft_id": _DRAFT, "edits": {}}, "an edit changes something"),
        ({"edits": {"subject": "x"}}, "of which draft?"),
    ]


class EditActionResult(SchemaModel):
    draft_id: UUID
    status: Literal["pending"]
    action: str
    preview: Annotated[str, Meta(description="One sentence about the effect.")]
    payload: dict[str, Any]
    expires_at: datetime
    revision: Annotated[int, Meta(description="1 is the original text.")]
    hash: Annotated[str, Meta(description="Needed to confirm this text.")]

    examples: ClassVar = [
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
    ]
    anti_examples: ClassVar = [
        ({"draft_id": _DRAFT, "status": "pending"}, "it must show the new wording and its hash")
    ]


_Reason = Annotated[str, Meta(description="Stored with the draft.", min_length=1, max_length=500)]


class DiscardActionArguments(SchemaModel):
    draft_id: UUID
    reason: _Reason | None = None

    keywords: ClassVar = {
        "x-mainspring-instead": {"draft_ids": "One draft at a time; several with discard_actions."}
    }
    examples: ClassVar = [{"draft_id": _DRAFT}, {"draft_id": _DRAFT, "reason": "Wrong recipient."}]
    anti_examples: ClassVar = [
        ({}, "which draft?"),
        ({"draft_id": _DRAFT, "reason": ""}, "a reason says something"),
        ({"draft_ids": [_DRAFT]}, "one at a time"),
    ]


class DiscardActionResult(SchemaModel):
    ok: Literal[True]
    draft_id: UUID
    status: Literal["discarded"]

    examples: ClassVar = [{"ok": True, "draft_id": _DRAFT, "status": "discarded"}]
    anti_examples: ClassVar = [({"ok": True}, "which one?")]


class DiscardActionsArguments(SchemaModel):
    draft_ids: Annotated[list[UUID], Meta(min_length=1, max_length=MOST)]
    reason: _Reason | None = None

    examples: ClassVar = [
        {"draft_ids": [_DRAFT, _OTHER]},
        {"draft_ids": [_DRAFT], "reason": "Not this week."},
    ]
    anti_examples: ClassVar = [({}, "which drafts?"), ({"draft_ids": []}, "at least one")]


class _DiscardActionsResult(SchemaModel):
    draft_id: UUID
    status: Literal["discarded", "failed"]
    error: dict[str, Any] | None = None


class DiscardActionsResult(SchemaModel):
    results: Annotated[
        list[_DiscardActionsResult], Meta(description="One per draft, in the same order.")
    ]

    examples: ClassVar = [{"results": [{"draft_id": _DRAFT, "status": "discarded"}]}]
    anti_examples: ClassVar = [
        ({"results": [{"draft_id": _DRAFT, "status": "gone"}]}, "discarded or failed")
    ]


class ListPendingActionsArguments(SchemaModel):
    limit: Annotated[int, Meta(ge=1, le=MOST)] = USUAL
    source: (
        Annotated[
            str,
            Meta(description="Only this integration, such as gmail.", min_length=1, max_length=100),
        ]
        | None
    ) = None
    status: Annotated[str, Meta(extra_json_schema={"enum": _STATUSES})] = "pending"
    after: Annotated[UUID | None, Meta(description="next of the previous page.")] = None

    examples: ClassVar = [{}, {"source": "gmail"}, {"status": "expired", "limit": 10}]
    anti_examples: ClassVar = [
        ({"limit": 0}, "at least one"),
        ({"limit": MOST + 1}, "more than one page holds"),
        ({"status": "waiting"}, "a draft that waits is pending"),
    ]


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


class _ListPendingActionsDraft(SchemaModel):
    draft_id: UUID
    source: Annotated[str | None, Meta(description="The integration, if any.")]
    action: str
    preview: str
    created_at: datetime
    expires_at: datetime
    notify_targets: list[str]
    hash: Annotated[str | None, Meta(description="Needed to confirm it.")]
    revision: Annotated[int, Meta(description="More than 1: it was edited.")]
    batch_id: Annotated[UUID | None, Meta(description="Same for the drafts of one turn.")]
    status: Annotated[str, Meta(extra_json_schema={"enum": _STATUSES})]
    outcome: Annotated[str, Meta(extra_json_schema={"enum": [*_OUTCOMES, None]})]
    payload: Annotated[
        dict[str, Any], Meta(description="What would be sent; empty if you cannot decide about it.")
    ]
    editable: list[str]
    approvals: Annotated[int, Meta(description="Approvals of this text.")]
    automation_id: UUID | None
    run_id: UUID | None
    redraft_of: Annotated[UUID | None, Meta(description="The draft it copies.")]
    account: Annotated[str | None, Meta(description="The account that sends it; null: none.")]


class ListPendingActionsResult(SchemaModel):
    count: Annotated[int, Meta(description="Number of drafts in this page.")]
    drafts: Annotated[list[_ListPendingActionsDraft], Meta(max_length=MOST)]
    next: Annotated[UUID | None, Meta(description="after of the next page; null on the last page.")]

    examples: ClassVar = [{"count": 1, "drafts": [_ENTRY], "next": None}]
    anti_examples: ClassVar = [({"count": 0, "drafts": []}, "the end is said by next being null")]


class RedraftActionArguments(SchemaModel):
    draft_id: UUID

    examples: ClassVar = [{"draft_id": _DRAFT}]
    anti_examples: ClassVar = [
        ({}, "which draft?"),
        ({"draft_id": _DRAFT, "edits": {"text": "x"}}, "edit the new draft"),
    ]


class RedraftActionResult(_ListPendingActionsDraft):
    examples: ClassVar = [{**_ENTRY, "draft_id": _OTHER, "redraft_of": _DRAFT}]
    anti_examples: ClassVar = [({"draft_id": _OTHER}, "a draft says what waits, and until when")]
