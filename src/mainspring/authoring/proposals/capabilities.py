"""Proposal capabilities: create, refine, review, save, read, discard.

They are for people and their clients and cannot be granted to automations. Only people can save.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from mainspring.authoring.proposals import schemas
from mainspring.authoring.proposals.saving import save_handler
from mainspring.authoring.proposals.schemas import (
    FINDING,
    HEAD,
    MAYBE_NAME,
    QUESTION,
    REVIEW_OF,
    SOME_ID,
    WHOLE,
)
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset

if TYPE_CHECKING:
    from mainspring.authoring.service import AuthoringService
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext


# Result schemas of the proposal capabilities, with examples.

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
            "description": "Missing values.",
            "type": "array",
            "items": QUESTION,
        },
        "problems": {
            "description": "Errors that prevent saving.",
            "type": "array",
            "items": FINDING,
        },
        "review": REVIEW_OF,
    },
    ["questions", "problems", "review"],
    [{"questions": [], "problems": [], "review": _REVIEW}],
    [({"review": {}}, "a review is told whole")],
)


_MAKES: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.KEEP,
    seconds=30.0,
    audience=Audience.PEOPLE,
    asks_models=True,
)
_LOOKS: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.READ,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
)
# It may cost money, so read-only members may not call it.
_REVIEWS: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.READ,
    seconds=10.0,
    audience=Audience.PEOPLE,
    asks_models=True,
    permission=Permission.EDIT,
)
_KEEPS: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.5,
    audience=Audience.PEOPLE,
)


def _late(studio: AuthoringService, maker: str) -> CapabilityHandler:
    """Import a handler on its first call.

    Parsing, review and forecasting are a third of the code, and most commands do not need them.
    """

    async def call(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        handlers = await asyncio.to_thread(_load_module)
        handler: CapabilityHandler = getattr(handlers, maker)(studio)
        return await handler(ctx, given)

    return call


def _load_module() -> ModuleType:
    from mainspring.authoring.proposals import handlers

    return handlers


def proposal_capabilities(studio: AuthoringService) -> tuple[Capability, ...]:
    """Build the proposal capabilities."""
    return (*_making(studio), *_deciding(studio))


def _making(studio: AuthoringService) -> tuple[Capability, ...]:
    return (
        build_capability(
            "propose_automation",
            "Propose an automation from a description",
            "Returns a definition, questions for the person, and a review with cost and reach; or "
            "a change to an existing automation with a diff. Uses a model if one is connected, "
            "otherwise rules. Nothing is saved: continue with refine_proposal and save_proposal.",
            schemas.PROPOSE,
            PROPOSAL,
            _late(studio, "propose_handler"),
            _MAKES,
        ),
        build_capability(
            "refine_proposal",
            "Refine a proposal",
            "Answer its questions, edit its definition, or describe a change. It is validated and "
            "reviewed again each time; an invalid change is refused with its place and changes "
            "nothing.",
            schemas.REFINE,
            PROPOSAL,
            _late(studio, "refine_handler"),
            _MAKES,
        ),
        build_capability(
            "review_automation",
            "Review an automation or a definition",
            "Returns plain sentences about what it does, warnings, whom it reaches, cost and "
            "overlaps. Give both to review a change. It decides nothing.",
            schemas.REVIEW,
            REVIEWED,
            _late(studio, "review_handler"),
            _REVIEWS,
        ),
    )


def _deciding(studio: AuthoringService) -> tuple[Capability, ...]:
    return (
        build_capability(
            "save_proposal",
            "Save a proposal as an automation",
            "Only a person who has read it can save it, never a program. A new automation is "
            "saved paused; a change becomes the next version. Saves exactly what the digest "
            "covers, after validating it again.",
            schemas.SAVE,
            schemas.SAVED,
            save_handler(studio),
            _KEEPS,
        ),
        build_capability(
            "get_proposal",
            "Get a proposal",
            "Returns its definition, open questions and review.",
            schemas.ONE,
            PROPOSAL,
            _late(studio, "get_handler"),
            _LOOKS,
        ),
        build_capability(
            "list_proposals",
            "List unsaved proposals",
            "Newest first. Each is kept for 7 days after its last change.",
            schemas.LIST,
            LISTED,
            _late(studio, "list_handler"),
            _LOOKS,
        ),
        build_capability(
            "discard_proposal",
            "Delete a proposal",
            "Automations saved from it stay.",
            schemas.ONE,
            schemas.DISCARDED,
            _late(studio, "discard_handler"),
            _KEEPS,
        ),
    )
