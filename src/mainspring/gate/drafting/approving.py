"""Who may agree to a draft, and who has agreed to which wording of it.

Each agreement is kept with the hash of the wording that it was given to. When the wording is
another one, the agreements to the old one count no longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Denied
from mainspring.contracts.roles import Role
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


def check_own(policy: ApprovalPolicy, actor: Actor, row: Mapping[str, Any]) -> None:
    """A member's own call is theirs, unless the workspace wants others to agree to it."""
    if row["run_id"] is None and row["actor_id"] != actor.id and not policy.needs_others:
        raise Denied(
            "This draft is another member's own call, and only they can send it.",
            code="not_your_draft",
        )


def check_person(
    policy: ApprovalPolicy, actor: Actor, row: Mapping[str, Any], author_id: UUID | None
) -> None:
    """Refuses a person who may not agree to this draft."""
    check_own(policy, actor, row)
    if not policy.takes(actor.role):
        roles = ", ".join(role.value for role in policy.roles)
        raise Denied(
            f"In this workspace drafts are approved by these roles: {roles}.",
            code="not_an_approver",
            suggestion="Leave it in the inbox for one of them.",
        )
    if not policy.author_may_approve and actor.id == author_id:
        raise Denied(
            "In this workspace nobody approves what they have asked for themselves.",
            code="author_may_not_approve",
            suggestion="Leave it in the inbox; somebody else confirms or discards it.",
        )


async def agree(tx: Transaction, actor: Actor, row: Mapping[str, Any]) -> bool:
    """Keeps that somebody agrees to the wording as it is now; whether this was news."""
    news = await tx.fetchrow(_AGREE, actor.workspace_id, row["id"], actor.id, row["bound_hash"])
    return news is not None


async def agreed(
    tx: Transaction, row: Mapping[str, Any], policy: ApprovalPolicy, actor: Actor,
    author_id: UUID | None,
) -> int:  # fmt: skip
    """How many people have agreed to the wording as it is now, and still may.

    Whoever asks at this moment has been judged already, by the role that they came with.
    """
    rows = await tx.fetch(_AGREED, row["workspace_id"], row["id"], row["bound_hash"])
    counted = {actor.id}
    for one in rows:
        is_author = one["member_id"] == author_id and not policy.author_may_approve
        if policy.takes(Role(one["role"])) and not is_author:
            counted.add(one["member_id"])
    return len(counted)
