"""``proposals save``: somebody has read a proposal, and agrees to exactly that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.conversation import converse
from mainspring.surfaces.cli.person_prompt import check_person, confirm
from mainspring.surfaces.cli.proposals import (
    choose_approval_modes,
    find_proposal,
    render_proposal,
    save_by_digest,
    tell_saved,
)
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.screen import Screen

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
    context: CommandContext,
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
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        check_person(client, screen, ask, BY_PEOPLE, f"/proposals/{proposal['proposal_id']}")
        if modes is not None and modes.any and digest in (None, proposal["digest"]):
            proposal = await choose_approval_modes(client, proposal, modes.automatic, modes.ask)
            # What was read, with just these choices in it.
            digest = None if digest is None else proposal["digest"]
        if digest is None and not sure:
            return await converse(context, client, screen, proposal, ask=ask)
        return await confirm_and_save(
            client, screen, proposal, digest or proposal["digest"], note, ask
        )


async def confirm_and_save(
    client: ApiClient,
    screen: Screen,
    proposal: Mapping[str, Any],
    digest: str,
    note: str | None = None,
    ask: Ask | None = None,
) -> int:
    """Shows a proposal, asks, and saves just what was shown."""
    lines = await render_proposal(client, screen, proposal)
    if not await confirm(screen, lines, "Save it?", ask):
        screen.say("Not saved. The proposal stays open.")
        return exits.FAILED
    saved = await save_by_digest(client, proposal, digest, note)
    await tell_saved(client, screen, proposal, saved)
    return exits.DONE
