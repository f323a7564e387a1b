"""What a member may do with one board, where a workflow says so.

A workflow gives its people roles on its board. They bind persons and the programs that act for
them, and take away from what the workspace allows, never add to it; a run is bound by its grants
instead. Where several workflows share a board, the widest role counts. Those who look after the
members of the workspace are bound by none, so that nobody can lock them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Finding, PermissionDenied
from mainspring.contracts.roles import Permission

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, CallContext

# A workflow that was put aside binds nobody any more.
_ROLES = """
    SELECT m.role, w.title FROM board_members m JOIN workflows w
        ON w.workspace_id = m.workspace_id AND w.id = m.workflow_id
    WHERE m.workspace_id = $1 AND m.board_id = $2 AND m.user_id = $3 AND w.status <> 'archived'
    ORDER BY w.id
"""


async def check_may_write(ctx: CallContext, board_id: UUID) -> None:
    """Refuses whoever only looks at this board, by the workflows that it belongs to."""
    if ctx.actor.kind == "run" or can_manage_members(ctx.actor):
        return
    rows = await ctx.tx.fetch(_ROLES, ctx.actor.workspace_id, board_id, ctx.actor.id)
    if not rows or any(row["role"] != "viewer" for row in rows):
        return
    raise PermissionDenied(
        f"You observe the workflow {rows[0]['title']!r}, and its board is only looked at by "
        "observers.",
        code="board_role_too_small",
        suggestion="Ask an owner of the workflow to make you a contributor.",
    )


async def check_may_bind(ctx: CallContext, board_id: UUID, name: str, maker: UUID) -> None:
    """Refuses to put another's board under a workflow, whose roster takes away from people."""
    if maker == ctx.actor.id or can_manage_members(ctx.actor):
        return
    rows = await ctx.tx.fetch(_ROLES, ctx.actor.workspace_id, board_id, ctx.actor.id)
    if any(row["role"] == "owner" for row in rows):
        return
    detail = f"The board {name!r} was made by somebody else, and you are no owner of it."
    raise PermissionDenied(
        detail,
        code="not_board_owner",
        findings=[Finding("/board_id", detail, "not_board_owner")],
        suggestion="Leave board_id out to have a board made, or ask whoever made this one, or an "
        "admin of the workspace.",
    )


def can_manage_members(actor: Actor) -> bool:
    """Whether somebody looks after the members of the workspace: its admins and owners do."""
    return actor.role is not None and actor.role.may(Permission.MEMBERS)
