"""Who a command calls capabilities as: the owner of this data folder, or a token's holder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mainspring.gate.direct import Visitor
from mainspring.store.walls import Walled
from mainspring.surfaces.cli.local import local_owner

if TYPE_CHECKING:
    from mainspring.surfaces.rooms import Rooms


async def visitor_here(
    rooms: Rooms, *, by_program: bool = False, approves: bool = False
) -> Visitor:
    """The holder of the token that is set, as it stands now; without one, the owner.

    Whatever hands on the words of others, such as an assistant's, says that it is a program.
    The permission ``approve`` of a token counts only with ``approves``.
    """
    token = rooms.settings.token
    if token is None:
        owner = local_owner(rooms)
        return Visitor(replace(owner, by_program=by_program or owner.by_program))
    from starlette.datastructures import Headers

    from mainspring.surfaces.rest.door import caller_of

    shown = Headers({"authorization": f"Bearer {token}"})
    return (await caller_of(rooms.database, shown, runs=True, approves=approves)).visitor


def behind(rooms: Rooms, visitor: Visitor) -> Walled:
    """The workspace of whoever a command acts as, behind its wall."""
    return Walled(rooms.database, visitor.actor.workspace_id)
