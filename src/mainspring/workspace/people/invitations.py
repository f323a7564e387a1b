"""Invitations to a workspace by email.

The invited person becomes a member by using the link. For an existing account the link signs nobody
in: they authenticate as usual and then join. So the inviter, who sees the link, cannot become the
person it names. An empty account without credentials counts as none, so that a lost link can be
replaced.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.workspace.people.members import check_may_name, lock_members, may_name
from mainspring.workspace.people.sessions import IDLE
from mainspring.workspace.people.sign_in_links import link_hash
from mainspring.workspace.people.users import clean_email

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_MEMBER = """
    SELECT 1 FROM users u JOIN members m ON m.user_id = u.id AND m.workspace_id = $1
    WHERE lower(u.email) = lower($2)
"""
# A repeated invitation replaces role and link.
_ADD = """
    INSERT INTO invitations (workspace_id, id, hash, email, role, invited_by, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, now() + $7)
    ON CONFLICT (workspace_id, (lower(email))) DO UPDATE
    SET id = excluded.id, hash = excluded.hash, role = excluded.role,
        invited_by = excluded.invited_by, created_at = now(), expires_at = excluded.expires_at
    RETURNING id, email, role, invited_by, created_at, expires_at
"""
_LIST = """
    SELECT id, email, role, invited_by, created_at, expires_at FROM invitations
    WHERE workspace_id = $1 AND expires_at > now() ORDER BY id
"""
_WITHDRAW = "DELETE FROM invitations WHERE workspace_id = $1 AND id = $2 RETURNING id"
# The inviter must still have the permission: a removed member's invitations are void.
_FIND = """
    SELECT i.workspace_id, i.id, i.email, i.role, m.role AS inviter_role, w.name AS workspace,
        coalesce(nullif(u.name, ''), u.email) AS invited_by
    FROM invitations i
    JOIN workspaces w ON w.workspace_id = i.workspace_id
    JOIN members m ON m.workspace_id = i.workspace_id AND m.user_id = i.invited_by
    JOIN users u ON u.id = i.invited_by AND u.disabled_at IS NULL
    WHERE i.hash = $1 AND i.expires_at > now() FOR UPDATE OF i
"""
# No credentials, and nothing outside this workspace: no membership in a shared or used workspace,
# no token, no secret.
_UNSETTLED = """
    SELECT u.id FROM users u
    WHERE lower(u.email) = lower($1) AND u.password_hash IS NULL
        AND NOT u.administrator AND u.disabled_at IS NULL
        AND NOT EXISTS (
            SELECT FROM sessions s JOIN members m USING (workspace_id, user_id)
            WHERE s.user_id = u.id AND s.expires_at > now() AND s.seen_at > now() - $3::interval)
        AND NOT EXISTS (
            SELECT FROM members m WHERE m.user_id = u.id AND m.workspace_id <> $2 AND (
                m.role <> 'owner'
                OR EXISTS (SELECT FROM members o
                    WHERE o.workspace_id = m.workspace_id AND o.user_id <> u.id)
                OR EXISTS (SELECT FROM automations a WHERE a.workspace_id = m.workspace_id)
                OR EXISTS (SELECT FROM boards b WHERE b.workspace_id = m.workspace_id)
                OR EXISTS (SELECT FROM pages p WHERE p.workspace_id = m.workspace_id)))
        AND NOT EXISTS (
            SELECT FROM access_tokens t WHERE t.member_id = u.id AND t.revoked_at IS NULL)
        AND NOT EXISTS (SELECT FROM secrets s WHERE s.owner_id = u.id)
"""
_USE = "DELETE FROM invitations WHERE workspace_id = $1 AND id = $2"

LIFETIME: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Invitation:
    """Who is invited to which workspace, in which role."""

    workspace_id: UUID
    id: UUID
    email: str
    role: Role
    # Names shown to the invited person.
    workspace: str
    invited_by: str


async def invite(
    tx: Transaction, actor: Actor, email: str, role: Role, *, again: bool = False
) -> tuple[dict[str, Any], str]:
    """Create an invitation; return it with its link token, which is not stored.

    ``again`` means that the account is unsettled: a member who never signed in gets a new link.
    """
    email = clean_email(email)
    held = await lock_members(tx, actor)
    check_may_name(held.own, role)
    if not again and await tx.fetchrow(_MEMBER, actor.workspace_id, email) is not None:
        raise Conflict(
            "A person with this email is already a member.",
            code="already_member",
            suggestion="Change their role instead. If they lost their way in, an administrator "
            "makes them a link.",
        )
    plain = "msi_" + secrets.token_urlsafe(32)
    row = await tx.fetchrow(
        _ADD,
        actor.workspace_id,
        generate_id(),
        link_hash(plain),
        email,
        role.value,
        actor.id,
        LIFETIME,
    )
    return dict(row), plain


async def list_invitations(tx: Transaction, workspace_id: UUID) -> list[dict[str, Any]]:
    """List pending invitations."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id)]


async def withdraw(tx: Transaction, workspace_id: UUID, invitation_id: UUID) -> None:
    """Withdraw an invitation; its link no longer works."""
    if await tx.fetchrow(_WITHDRAW, workspace_id, invitation_id) is None:
        raise NotFound("There is no such invitation.", code="no_invitation")


async def find_invitation(tx: Transaction, plain: str) -> Invitation | None:
    """Find and lock the invitation of a link; None when it expired."""
    row = await tx.fetchrow(_FIND, link_hash(plain))
    if row is None:
        return None
    role = Role(row["role"])
    if not may_name(Role(row["inviter_role"]), role):
        return None
    return Invitation(
        row["workspace_id"], row["id"], row["email"], role, row["workspace"], row["invited_by"]
    )


async def is_unsettled(tx: Transaction, workspace_id: UUID, email: str) -> bool:
    """Report whether an account has no credentials and nothing but its membership here.

    It reads across workspaces, and its result is never returned to a caller as such.
    """
    return await tx.fetchrow(_UNSETTLED, clean_email(email), workspace_id, IDLE) is not None


async def use_invitation(tx: Transaction, invitation: Invitation) -> None:
    """Consume an invitation."""
    await tx.execute(_USE, invitation.workspace_id, invitation.id)
