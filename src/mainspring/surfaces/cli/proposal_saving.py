"""``proposals save``: somebody has read a proposal, and agrees to exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.asking import Ask, at_terminal
from mainspring.surfaces.cli.conversation import converse
from mainspring.surfaces.cli.proposals import LAST, find_proposal, saved_as, tell_saved
from mainspring.surfaces.cli.words import hint

if TYPE_CHECKING:
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.cli.screen import Screen


async def save_proposal(
    desk: Desk, screen: Screen, text: str, *, digest: str | None = None, sure: bool = False,
    note: str | None = None, ask: Ask | None = None,
) -> int:  # fmt: skip
    """At a terminal it is shown and asked about; elsewhere the digest says what was read."""
    async with desk.doors.open(desk.settings()) as rooms:
        proposal = await find_proposal(rooms, text)
        name = proposal["proposal_id"]
        if digest is None and not sure:
            if ask is not None or at_terminal(screen):
                return await converse(rooms, screen, proposal, ask=ask)
            raise Invalid(
                "Nobody is here to be asked, and a proposal is saved by somebody who has read it.",
                code="not_asked",
                suggestion=f"{hint('proposals', 'show', name)} shows it. Then add --yes, or "
                "--digest with the digest that --json shows: just what was read is saved.",
            )
        if digest is None:
            _check_meant(proposal, text)
        saved = await saved_as(rooms, proposal, digest or proposal["digest"], note)
        await tell_saved(rooms, screen, proposal, saved)
    return exits.DONE


def _check_meant(proposal: Mapping[str, Any], text: str) -> None:
    """Without its digest, only a proposal that was named can be saved, and no model's."""
    by_model = proposal["made_by"]["by"] == "model"
    if text != LAST and not by_model:
        return
    why = (
        "What a model made is saved by the digest of what was read."
        if by_model
        else f"{LAST!r} may be another one by now than the one that was read."
    )
    raise Invalid(
        why,
        code="not_read",
        suggestion=f"{hint('proposals', 'show', proposal['proposal_id'])} shows it; add --digest "
        "with the digest that --json shows, or save it at a terminal.",
    )
