"""Proposals as capabilities: make one, go on with it, review, save, look, throw away.

They are for people and for clients that act for them, and no automation can be given any of
them. Saving is for people alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from mainspring.authoring.proposals import schemas
from mainspring.authoring.proposals.examples import LISTED, PROPOSAL, REVIEWED
from mainspring.authoring.proposals.saving import save_handler
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.roles import Permission

if TYPE_CHECKING:
    from mainspring.authoring.studio import AuthoringService
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext

_MAKES: Final = Annotations(
    effect=Effect.KEEP, seconds=30.0, audience=Audience.PEOPLE, asks_models=True
)
_LOOKS: Final = Annotations(
    effect=Effect.READ, transactional=True, seconds=0.1, audience=Audience.PEOPLE
)
# It may cost money, so whoever only reads may not.
_REVIEWS: Final = Annotations(
    effect=Effect.READ,
    seconds=10.0,
    audience=Audience.PEOPLE,
    asks_models=True,
    permission=Permission.EDIT,
)
_KEEPS: Final = Annotations(
    effect=Effect.KEEP, transactional=True, seconds=0.5, audience=Audience.PEOPLE
)


def _late(studio: AuthoringService, maker: str) -> CapabilityHandler:
    """A handler that is loaded when it is called first.

    What reads words, reviews and reckons is a third of the product, and most who start it,
    such as a command that lists runs, have no use for it.
    """

    async def call(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        handlers = await asyncio.to_thread(_loaded)
        handler: CapabilityHandler = getattr(handlers, maker)(studio)
        return await handler(ctx, given)

    return call


def _loaded() -> ModuleType:
    from mainspring.authoring.proposals import handlers

    return handlers


def proposal_capabilities(studio: AuthoringService) -> tuple[Capability, ...]:
    """All of them."""
    return (*_making(studio), *_deciding(studio))


def _making(studio: AuthoringService) -> tuple[Capability, ...]:
    return (
        build_capability(
            "propose_automation",
            "Propose an automation from words",
            "Makes a definition, questions that only a person can answer, and a review with its "
            "price and its reach; or the change of an automation, with the difference. A model "
            "makes it where one is connected, else rules do, and it says which. Nothing is saved: "
            "a proposal can do nothing.",
            schemas.PROPOSE,
            PROPOSAL,
            _late(studio, "propose_handler"),
            _MAKES,
        ),
        build_capability(
            "refine_proposal",
            "Go on with a proposal",
            "Answers its questions, edits its definition, or changes it in words. It is judged and "
            "reviewed anew each time. What does not fit is refused with its place, and the "
            "proposal stays as it was.",
            schemas.REFINE,
            PROPOSAL,
            _late(studio, "refine_handler"),
            _MAKES,
        ),
        build_capability(
            "review_automation",
            "Review an automation or a definition",
            "What it does in plain sentences, what is worth a look, whom it reaches, what it will "
            "cost and who does the same. With both an automation and a definition: what that would "
            "change. A review decides nothing.",
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
            "For a person who has read it, never for a program with their token. A new automation "
            "is saved paused; a change is the next version of what it changes. Exactly what the "
            "digest stands for is saved, after it was judged once more.",
            schemas.SAVE,
            schemas.SAVED,
            save_handler(studio),
            _KEEPS,
        ),
        build_capability(
            "get_proposal",
            "Show a proposal",
            "As it is now: its definition, what is open, and its review.",
            schemas.ONE,
            PROPOSAL,
            _late(studio, "get_handler"),
            _LOOKS,
        ),
        build_capability(
            "list_proposals",
            "List the proposals that wait",
            "Those that nobody has saved, the newest first. Each is kept for 7 days after its last "
            "change.",
            schemas.LIST,
            LISTED,
            _late(studio, "list_handler"),
            _LOOKS,
        ),
        build_capability(
            "discard_proposal",
            "Throw a proposal away",
            "It is gone at once. What was saved from one stays.",
            schemas.ONE,
            schemas.DISCARDED,
            _late(studio, "discard_handler"),
            _KEEPS,
        ),
    )
