"""A workflow's people, their roles, and the board roles that follow.

Roles apply to people and the programs that act for them; runs have grants instead. They never
exceed the workspace role. Observers change nothing, and only owners of the workflow and members
with permission to manage members change the roster: an observer must not be able to become an
owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Finding, PermissionDenied
from mainspring.workspace.boards.lookup import can_manage_members
from mainspring.workspace.workflows.validation import (
    BOARD_ROLES,
    WorkflowRole,
    find_non_members,
    refuse,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.workspace.workflows.repository import Workflow

_MEMBERS = "SELECT user_id FROM members WHERE workspace_id = $1 AND user_id = ANY($2::uuid[])"
_ROLE = """
    SELECT role FROM workflow_members
    WHERE workspace_id = $1 AND workflow_id = $2 AND user_id = $3
"""
_ROSTER = "SELECT user_id, role FROM workflow_members WHERE workspace_id = $1 AND workflow_id = $2"
_CLEAR = "DELETE FROM workflow_members WHERE workspace_id = $1 AND workflow_id = $2"
_ADD = """
    INSERT INTO workflow_members (workspace_id, workflow_id, user_id, role)
    SELECT $1, $2, g.user_id, g.role FROM unnest($3::uuid[], $4::text[]) AS g(user_id, role)
"""
_CLEAR_BOARD = "DELETE FROM board_members WHERE workspace_id = $1 AND workflow_id = $2"
_LEAVE = "DELETE FROM workflow_members WHERE workspace_id = $1 AND user_id = $2"
_LEAVE_BOARDS = "DELETE FROM board_members WHERE workspace_id = $1 AND user_id = $2"
_ADD_BOARD = """
    INSERT INTO board_members (workspace_id, board_id, user_id, role, workflow_id)
    SELECT $1, $2, g.user_id, g.role, $3
    FROM unnest($4::uuid[], $5::text[]) AS g(user_id, role)
"""


async def parse_roster(
    ctx: CallContext, given: Sequence[Mapping[str, Any]]
) -> dict[UUID, WorkflowRole]:
    """Parse the requested roster; everybody in it is a member of the workspace."""
    wanted: dict[UUID, WorkflowRole] = {UUID(str(one["user_id"])): one["role"] for one in given}
    rows = await ctx.tx.fetch(_MEMBERS, ctx.actor.workspace_id, list(wanted))
    refuse(find_non_members(given, {row["user_id"] for row in rows}), "not_a_member")
    return wanted


def check_owner_stays(roster: Mapping[UUID, WorkflowRole]) -> None:
    if "owner" not in roster.values():
        detail = "A workflow has at least one owner; this roster has none."
        refuse([Finding("/roster", detail, "no_owner", "Give one of them the role owner.")])


async def load_roster(
    tx: Transaction, workspace_id: UUID, workflow_id: UUID
) -> dict[UUID, WorkflowRole]:
    rows = await tx.fetch(_ROSTER, workspace_id, workflow_id)
    return {row["user_id"]: row["role"] for row in rows}


async def store_roster(
    tx: Transaction,
    workspace_id: UUID,
    workflow_id: UUID,
    board_id: UUID | None,
    roster: Mapping[UUID, WorkflowRole],
) -> None:
    """Store the roster and the resulting board roles."""
    await tx.execute(_CLEAR, workspace_id, workflow_id)
    await tx.execute(_ADD, workspace_id, workflow_id, list(roster), list(roster.values()))
    await leave_board(tx, workspace_id, workflow_id)
    if board_id is not None:
        roles = [BOARD_ROLES[role] for role in roster.values()]
        await tx.execute(_ADD_BOARD, workspace_id, board_id, workflow_id, list(roster), roles)


async def leave_board(tx: Transaction, workspace_id: UUID, workflow_id: UUID) -> None:
    """Remove the board roles that this workflow set."""
    await tx.execute(_CLEAR_BOARD, workspace_id, workflow_id)


async def leave_all(tx: Transaction, workspace_id: UUID, user_id: UUID) -> None:
    """Remove a departing member from every roster and board.

    If they rejoin, they are on none of them. A workflow left without an owner is managed by the
    workspace's admins.
    """
    await tx.execute(_LEAVE, workspace_id, user_id)
    await tx.execute(_LEAVE_BOARDS, workspace_id, user_id)


async def check_may_change(ctx: CallContext, workflow: Workflow) -> None:
    """Reject observers of the workflow."""
    if await _load_own_role(ctx, workflow) == "observer" and not can_manage_members(ctx.actor):
        raise PermissionDenied(
            f"You observe the workflow {workflow.title!r}; observers do not change it.",
            code="observer",
            suggestion="Ask an owner of the workflow to make you a contributor.",
        )


async def check_may_own(ctx: CallContext, workflow: Workflow, deed: str) -> None:
    """Reject everybody but owners of the workflow and members with permission to manage members."""
    if await _load_own_role(ctx, workflow) == "owner" or can_manage_members(ctx.actor):
        return
    raise PermissionDenied(
        f"Only an owner of the workflow {workflow.title!r} {deed}.",
        code="not_an_owner",
        suggestion="Ask one of its owners, or an admin of the workspace.",
    )


async def _load_own_role(ctx: CallContext, workflow: Workflow) -> str | None:
    if ctx.actor.kind == "run":
        return None
    row = await ctx.tx.fetchrow(_ROLE, ctx.actor.workspace_id, workflow.id, ctx.actor.id)
    return None if row is None else str(row["role"])
