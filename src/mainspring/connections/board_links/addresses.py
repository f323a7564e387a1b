"""Which addresses a run may read: those that a person has linked a board to, and no others.

Whoever could read any address could carry out of the house, in an address, what it has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, PermissionDenied
from mainspring.definition.strict_json import encode_canonical
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.boards.links import is_linked

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database


async def check_linked(
    ctx: CallContext, database: Database, kind: str, ref: Mapping[str, Any], at: str = "/ref"
) -> None:
    """Refuses a run that asks for what no board of its workspace is linked to."""
    if ctx.run is None:
        return
    inside = WorkspaceDatabase(database, ctx.actor.workspace_id)
    async with inside.acquire() as reading:
        if await is_linked(
            reading, ctx.actor.workspace_id, kind, encode_canonical(dict(ref)).decode()
        ):
            return
    raise PermissionDenied(
        "A run reads only addresses that a board of its workspace is linked to.",
        code="not_linked",
        findings=[Finding(at, "No board is linked to this.", "not_linked")],
        suggestion="Let a person link it with create_board_link, or use http_fetch with a host "
        "that is granted.",
    )
