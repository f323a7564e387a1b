"""Members of a workspace and their roles.

Changes to one workspace's members are serialized and check the current rows: two owners who demote
each other concurrently cannot both succeed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, NotFound, PermissionDenied
from mainspring.contracts.roles import Permission, Role, min_role, role_too_small_error
from mainspring.workspace.departed_members import record_departure, stop_member_resources
from mainspring.workspace.oauth.authorization import delete_client_consents
from mainspring.workspace.tokens import revoke_tokens_of
from mainspring.workspace.webhooks import end_tokens_of
from mainspring.workspace.workflows.roster import leave_all

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_LIST = """
    SELECT m.user_id AS id, u.email, u.name, m.role, m.joined_at,
        u.disabled_at IS NOT NULL AS disabled
    FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 ORDER BY m.joined_at, m.user_id
"""
_HOLD = """
    SELECT m.user_id, m.role, u.disabled_at IS NOT NULL AS disabled
    FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 ORDER BY m.user_id FOR NO KEY UPDATE OF m
"""
_SET = "UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2"
_REMOVE = "DELETE FROM members WHERE workspace_id = $1 AND user_id = $2"


@dataclass(frozen=True, slots=True)
class LockedMembers:
    """The locked members of a workspace."""

    roles: dict[UUID, Role]
    # Owners who can still sign in.
    owners: frozenset[UUID]
    # The actor's effective role: the smaller of their current role and their token's.
    own: Role

    def role_of(self, user_id: UUID) -> Role:
        if user_id not in self.roles:
            raise NotFound("There is no such member.", code="no_member")
        return self.roles[user_id]


async def list_members(tx: Transaction, workspace_id: UUID) -> list[dict[str, Any]]:
    """List a workspace's members in the order in which they joined."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id)]


async def lock_members(tx: Transaction, actor: Actor) -> LockedMembers:
    """Lock the members of the actor's workspace, and reload the actor's role."""
    rows = await tx.fetch(_HOLD, actor.workspace_id)
    roles = {row["user_id"]: Role(row["role"]) for row in rows}
    if actor.id not in roles or actor.role is None:
        raise PermissionDenied("You are no member of this workspace.", code="not_a_member")
    own = min_role(actor.role, roles[actor.id])
    if not own.may(Permission.MEMBERS):
        raise role_too_small_error(own, Permission.MEMBERS)
    owners = {row["user_id"] for row in rows if row["role"] == Role.OWNER and not row["disabled"]}
    return LockedMembers(roles, frozenset(owners), own)


async def change_role(tx: Transaction, actor: Actor, user_id: UUID, role: Role) -> Role:
    """Change a member's role; return the previous one."""
    held = await lock_members(tx, actor)
    before = held.role_of(user_id)
    if user_id == actor.id and role.rank > before.rank:
        raise PermissionDenied("Members cannot raise their own role.", code="own_role")
    check_may_name(held.own, before)
    check_may_name(held.own, role)
    if role is not Role.OWNER:
        _check_owner_stays(held, user_id)
    await tx.execute(_SET, actor.workspace_id, user_id, role.value)
    if before.may(Permission.EDIT) and not role.may(Permission.EDIT):
        # They can no longer create webhook tokens, and know the ones they created.
        await end_tokens_of(tx, user_id, actor.workspace_id)
    return before


async def remove_member(tx: Transaction, actor: Actor, user_id: UUID) -> Role:
    """Remove a member with their tokens and roles; return their previous role.

    Their automations and webhook tokens stop until somebody takes them over.
    """
    held = await lock_members(tx, actor)
    before = held.role_of(user_id)
    check_may_name(held.own, before)
    _check_owner_stays(held, user_id)
    await record_departure(tx, actor.workspace_id, user_id)
    await stop_member_resources(tx, user_id, actor.workspace_id, why="left")
    await tx.execute(_REMOVE, actor.workspace_id, user_id)
    await delete_client_consents(tx, actor.workspace_id, user_id)
    await revoke_tokens_of(tx, actor.workspace_id, user_id)
    await leave_all(tx, actor.workspace_id, user_id)
    return before


def check_may_name(own: Role, role: Role) -> None:
    """Only owners may appoint, change and remove owners and admins."""
    if not may_name(own, role):
        raise PermissionDenied(
            "Only an owner names, changes or removes owners and admins.",
            code="role_too_small",
            suggestion=f"Ask an owner, or choose the role {Role.EDITOR.value} or less.",
        )


def may_name(own: Role, role: Role) -> bool:
    least = Permission.OWN if role in (Role.OWNER, Role.ADMIN) else Permission.MEMBERS
    return own.may(least)


def _check_owner_stays(held: LockedMembers, user_id: UUID) -> None:
    if held.owners == {user_id}:
        raise Conflict(
            "A workspace has an owner at all times, and this is the only one.",
            code="last_owner",
            suggestion="Appoint another owner first.",
        )
