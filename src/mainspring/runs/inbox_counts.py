"""Inbox counts for one reader: what they may answer, and what they have not read.

A page shows these counts and keeps them current, so they are queried often. Each is counted along
an index, up to the maximum that a page can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.roles import Permission
from mainspring.workspace.approval_policy import load_approval_policy

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

# More than this is shown as "many".
MOST: Final = 1_000

# A member's own call is theirs, unless others must agree; where an author may not approve, drafts
# that they changed do not wait for them; and a draft that someone approved waits for others as long
# as there are too few approvals: with enough of them a send that failed waits for anyone again.
_DRAFTS = f"""
    SELECT count(*) FROM (
        SELECT FROM drafts d
        WHERE d.workspace_id = $1 AND d.status = 'pending' AND d.expires_at > now()
          AND (d.run_id IS NOT NULL OR d.actor_id = $2 OR $4)
          AND NOT EXISTS (
              SELECT FROM draft_approvals o
              JOIN members m ON m.workspace_id = o.workspace_id AND m.user_id = o.member_id
              WHERE o.workspace_id = d.workspace_id AND o.draft_id = d.id
                AND o.bound_hash = d.bound_hash
              HAVING bool_or(o.member_id = $2) AND count(*) < $10)
          AND ($5 OR NOT (
              (d.run_id IS NULL AND d.actor_id = $2)
              OR EXISTS (
                  SELECT FROM automations a WHERE a.workspace_id = d.workspace_id
                    AND a.id = d.automation_id AND a.created_by = $2)
              OR EXISTS (
                  SELECT FROM automation_versions v WHERE v.workspace_id = d.workspace_id
                    AND v.automation_id = d.automation_id AND v.version = d.version
                    AND v.author = $2)
              OR EXISTS (
                  SELECT FROM draft_revisions e WHERE e.workspace_id = d.workspace_id
                    AND e.draft_id = d.id AND e.revision = d.revision AND e.edited_by = $2)))
        LIMIT {MOST}
    ) AS waiting
"""
# Questions of an ended run are closed, whatever their rows say.
_APPROVALS = f"""
    SELECT count(*) FROM (
        SELECT FROM approvals q
        JOIN runs r ON r.workspace_id = q.workspace_id AND r.id = q.run_id
        WHERE q.workspace_id = $1 AND q.status = 'pending' AND q.expires_at > now()
          AND (q.roles IS NULL OR $3 = ANY(q.roles))
          AND r.status IN ('pending', 'running', 'waiting')
        LIMIT {MOST}
    ) AS waiting
"""
# A question about repeating a run counts while the run exists and has an older version.
_CONSENTS = """
    SELECT count(*) FROM consents c WHERE c.workspace_id = $1 AND c.status = 'waiting'
      AND (c.asked_kind <> 'repeat' OR EXISTS (
          SELECT FROM runs r
          JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
          WHERE r.workspace_id = c.workspace_id AND r.id = c.id AND r.version <> a.version))
"""
# Acknowledging a failure resets the count.
_FAILURES = """
    SELECT count(*) FROM automations
    WHERE workspace_id = $1 AND state <> 'archived' AND failures > 0
"""
# Only the newest are likely to be read; there is no index of unread ones.
_UNREAD = f"""
    SELECT count(*) FROM (
        SELECT read_at FROM notifications WHERE workspace_id = $1 ORDER BY id DESC LIMIT {MOST}
    ) AS newest WHERE read_at IS NULL
"""
_WAITING = f"""
    SELECT CASE WHEN $6 THEN ({_DRAFTS}) ELSE 0 END AS drafts,
        CASE WHEN $7 THEN ({_APPROVALS}) ELSE 0 END AS approvals,
        CASE WHEN $8 THEN ({_CONSENTS}) ELSE 0 END AS consents,
        CASE WHEN $9 THEN ({_FAILURES}) ELSE 0 END AS failures,
        ({_UNREAD}) AS unread
"""


async def waiting_for(tx: Transaction, reader: Actor) -> dict[str, Any]:
    """How many drafts, questions, consents and failures a reader may answer, and what is unread."""
    policy = await load_approval_policy(tx, reader.workspace_id)
    role = reader.role
    row = await tx.fetchrow(
        _WAITING,
        reader.workspace_id,
        reader.id,
        None if role is None else role.value,
        policy.needs_others,
        policy.author_may_approve,
        policy.accepts(role) and _may(reader, Permission.DECIDE),
        _may(reader, Permission.DECIDE),
        _may(reader, Permission.EDIT),
        _may(reader, Permission.SWITCH),
        policy.approvers,
    )
    return dict(row)


def _may(reader: Actor, permission: Permission) -> bool:
    return reader.role is not None and reader.role.may(permission)
