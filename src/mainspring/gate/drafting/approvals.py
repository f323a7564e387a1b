"""Who may agree to a draft, and who has agreed to which wording of it.

Each agreement is kept with the hash of the wording that it was given to. When the wording is
another one, the agreements to the old one count no longer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import Permission, Role
from mainspring.workspace.approval_policy import ApprovalPolicy

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_AGREE = """
    INSERT INTO draft_approvals (workspace_id, draft_id, member_id, bound_hash)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (workspace_id, draft_id, member_id)
        DO UPDATE SET bound_hash = excluded.bound_hash, at = now()
        WHERE draft_approvals.bound_hash <> excluded.bound_hash
    RETURNING member_id
"""
# Somebody who has left, or may decide no longer, has agreed to nothing.
_AGREED = """
    SELECT a.member_id, m.role FROM draft_approvals a
    JOIN members m ON m.workspace_id = a.workspace_id AND m.user_id = a.member_id
    JOIN users u ON u.id = a.member_id AND u.disabled_at IS NULL
    WHERE a.workspace_id = $1 AND a.draft_id = $2 AND a.bound_hash = $3
"""
# Whose words these are: of whoever made the automation, of whoever wrote the version that asked,
# and of whoever edited them last.
_AUTHORS = """
    SELECT created_by AS who FROM automations WHERE workspace_id = $1 AND id = $2
    UNION SELECT author FROM automation_versions
        WHERE workspace_id = $1 AND automation_id = $2 AND version = $3
    UNION SELECT edited_by FROM draft_revisions
        WHERE workspace_id = $1 AND draft_id = $4 AND revision = $5
"""


async def find_draft_authors(tx: Transaction, row: Mapping[str, Any]) -> frozenset[UUID]:
    """Everybody who has had a hand in what a draft says."""
    found = await tx.fetch(
        _AUTHORS,
        row["workspace_id"],
        row["automation_id"],
        row["version"],
        row["id"],
        row["revision"],
    )
    own = () if row["run_id"] is not None else (row["actor_id"],)
    return frozenset(who for who in (*own, *(one["who"] for one in found)) if who is not None)


def _is_anothers(actor: Actor, row: Mapping[str, Any]) -> bool:
    return row["run_id"] is None and row["actor_id"] != actor.id


def can_read_draft(reader: Actor, row: Mapping[str, Any]) -> bool:
    """Whether somebody sees more of a draft than its sentence."""
    decides = reader.role is not None and reader.role.may(Permission.DECIDE)
    return decides or not _is_anothers(reader, row)


def check_can_edit(actor: Actor, row: Mapping[str, Any]) -> None:
    """What a member says in a call of their own is nobody else's to change or to repeat."""
    if _is_anothers(actor, row):
        raise PermissionDenied(
            "This draft is another member's own call: only they can edit it or draft it again.",
            code="not_your_draft",
        )


def check_can_discard(actor: Actor, row: Mapping[str, Any]) -> None:
    """A member's own call is let go of by themselves, or by whoever looks after members."""
    looks_after = actor.role is not None and actor.role.may(Permission.MEMBERS)
    if _is_anothers(actor, row) and not looks_after:
        raise PermissionDenied(
            "This draft is another member's own call: only they or an admin can discard it.",
            code="not_your_draft",
        )


def check_own_call(policy: ApprovalPolicy, actor: Actor, row: Mapping[str, Any]) -> None:
    """A member's own call is theirs, unless the workspace wants others to agree to it."""
    if _is_anothers(actor, row) and not policy.needs_others:
        raise PermissionDenied(
            "This draft is another member's own call: only they can send it.",
            code="not_your_draft",
        )


def check_can_approve(
    policy: ApprovalPolicy, actor: Actor, row: Mapping[str, Any], authors: Collection[UUID]
) -> None:
    """Refuses a person who may not agree to this draft."""
    check_own_call(policy, actor, row)
    check_approver(policy, actor)
    check_not_author(policy, actor, authors)


def check_approver(policy: ApprovalPolicy, actor: Actor) -> None:
    """Refuses a role that does not answer drafts here."""
    if not policy.accepts(actor.role):
        roles = ", ".join(role.value for role in policy.roles)
        raise PermissionDenied(
            f"In this workspace, these roles approve drafts: {roles}.",
            code="not_an_approver",
            suggestion="Leave it in the inbox for one of them.",
        )


def check_not_author(policy: ApprovalPolicy, actor: Actor, authors: Collection[UUID]) -> None:
    """Where an author may not approve, nobody agrees to words of their own."""
    if not policy.author_may_approve and actor.id in authors:
        raise PermissionDenied(
            "In this workspace, members cannot approve their own requests or edits.",
            code="author_may_not_approve",
            suggestion="Leave it in the inbox; another member confirms or discards it.",
        )


async def record_approval(tx: Transaction, actor: Actor, row: Mapping[str, Any]) -> bool:
    """Keeps that somebody agrees to the wording as it is now; whether this was news."""
    news = await tx.fetchrow(_AGREE, actor.workspace_id, row["id"], actor.id, row["bound_hash"])
    return news is not None


async def count_approvals(
    tx: Transaction,
    row: Mapping[str, Any],
    policy: ApprovalPolicy,
    actor: Actor,
    authors: Collection[UUID],
) -> int:
    """How many people have agreed to the wording as it is now, and still may.

    Whoever asks at this moment has been judged already, by the role that they came with.
    """
    rows = await tx.fetch(_AGREED, row["workspace_id"], row["id"], row["bound_hash"])
    counted = {actor.id}
    for one in rows:
        is_author = one["member_id"] in authors and not policy.author_may_approve
        if policy.accepts(Role(one["role"])) and not is_author:
            counted.add(one["member_id"])
    return len(counted)
