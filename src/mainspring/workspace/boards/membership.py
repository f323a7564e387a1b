"""What a member may do with one board, where a workflow says so.

A workflow gives its people roles on its board. They bind persons and the programs that act for
them, and take away from what the workspace allows, never add to it; a run is bound by its grants
instead. Where several workflows share a board, the widest role counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Denied

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

# A workflow that was put aside binds nobody any more.
_ROLES = """
    SELECT m.role, w.title FROM board_members m JOIN workflows w
        ON w.workspace_id = m.workspace_id AND w.id = m.workflow_id
    WHERE m.workspace_id = $1 AND m.board_id = $2 AND m.user_id = $3 AND w.status <> 'archived'
    ORDER BY w.id
"""


async def check_may_write(ctx: CallContext, board_id: UUID) -> None:
    """Refuses whoever only looks at this board, by the workflows that it belongs to."""
    if ctx.actor.kind == "run":
        return
    rows = await ctx.tx.fetch(_ROLES, ctx.actor.workspace_id, board_id, ctx.actor.id)
    if not rows or any(row["role"] != "viewer" for row in rows):
        return
    raise Denied(
        f"You observe the workflow {rows[0]['title']!r}, and its board is only looked at by "
        "observers.",
        code="board_role_too_small",
        suggestion="Ask an owner of the workflow to make you a contributor.",
    )
