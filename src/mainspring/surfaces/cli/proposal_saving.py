"""``proposals save``: somebody has read a proposal, and agrees to exactly that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.consent_prompt import check_person
from mainspring.surfaces.cli.conversation import converse
from mainspring.surfaces.cli.person_prompt import confirm
from mainspring.surfaces.cli.proposal_view import proposal_lines
from mainspring.surfaces.cli.proposals import (
    choose_approval_modes,
    find_proposal,
    save_by_digest,
    tell_saved,
)
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices

BY_PEOPLE: Final = "Only a person can save a proposal, after reading it."


@dataclass(frozen=True, slots=True)
class ApprovalModes:
    """The approval modes that somebody chooses with the saving, by step."""

    automatic: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.automatic or self.ask)


async def save_by_options(
    context: CommandContext,
    screen: Screen,
    text: str,
    *,
    digest: str | None,
    sure: bool,
    note: str | None,
    automatic: Sequence[str] | None,
    ask: Sequence[str] | None,
) -> int:
    modes = ApprovalModes(tuple(automatic or ()), tuple(ask or ()))
    return await save_proposal(
        context, screen, text, digest=digest, sure=sure, note=note, modes=modes
    )


async def save_proposal(
    desk: CommandContext,
    screen: Screen,
    text: str,
    *,
    digest: str | None = None,
    sure: bool = False,
    note: str | None = None,
    ask: Ask | None = None,
    modes: ApprovalModes | None = None,
) -> int:
    """A person saves what they have read: after a conversation, or shown once and asked once."""
    async with desk.doors.open(desk.settings()) as services:
        proposal = await find_proposal(services, text)
        check_person(services, screen, ask, BY_PEOPLE, f"/proposals/{proposal['proposal_id']}")
        if modes is not None and modes.any and digest in (None, proposal["digest"]):
            proposal = await choose_approval_modes(services, proposal, modes.automatic, modes.ask)
            # What was read, with just these choices in it.
            digest = None if digest is None else proposal["digest"]
        if digest is None and not sure:
            return await converse(services, screen, proposal, ask=ask)
        return await confirm_and_save(
            services, screen, proposal, digest or proposal["digest"], note, ask
        )


async def confirm_and_save(
    services: ApplicationServices,
    screen: Screen,
    proposal: Mapping[str, Any],
    digest: str,
    note: str | None = None,
    ask: Ask | None = None,
) -> int:
    """Shows a proposal, asks, and saves just what was shown."""
    words = await services.registry.of(services.workspace_id)
    if not await confirm(screen, proposal_lines(proposal, words, screen), "Save it?", ask):
        screen.say("Not saved. The proposal stays open.")
        return exits.FAILED
    saved = await save_by_digest(services, proposal, digest, note)
    await tell_saved(services, screen, proposal, saved)
    return exits.DONE
