"""Who a command calls capabilities as: the owner of this data folder, or a token's holder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mainspring.gate.callers import CapabilityCaller
from mainspring.store.database import WorkspaceDatabase
from mainspring.surfaces.cli.local import local_owner

if TYPE_CHECKING:
    from mainspring.surfaces.services import ApplicationServices


async def local_caller(
    services: ApplicationServices, *, by_program: bool = False, approves: bool = False
) -> CapabilityCaller:
    """The holder of the token that is set, as it stands now; without one, the owner.

    Whatever hands on the words of others, such as an assistant's, says that it is a program.
    The permission ``approve`` of a token counts only with ``approves``.
    """
    token = services.settings.token
    if token is None:
        owner = local_owner(services)
        return CapabilityCaller(replace(owner, by_program=by_program or owner.by_program))
    from starlette.datastructures import Headers

    from mainspring.surfaces.rest.auth import caller_of

    shown = Headers({"authorization": f"Bearer {token}"})
    return (await caller_of(services.database, shown, runs=True, approves=approves)).gate_caller


def behind(services: ApplicationServices, caller: CapabilityCaller) -> WorkspaceDatabase:
    """The workspace of whoever a command acts as, behind its wall."""
    return WorkspaceDatabase(services.database, caller.actor.workspace_id)
