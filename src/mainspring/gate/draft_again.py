"""A draft once more: its time was over, or it was let go of, and somebody wants it after all.

The new draft has the same bytes under a new id, and waits for a person like any other. One
that may have left already is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Clash
from mainspring.contracts.ids import new_id
from mainspring.gate.drafting.approving import check_own
from mainspring.gate.drafting.attachments import copy_files
from mainspring.gate.drafts import OUTCOME, STATUS, no_draft
from mainspring.workspace.approval_policy import approval_policy

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_HOLD = f"""
    SELECT id, {STATUS} AS stands, {OUTCOME} AS came_to, run_id, actor_id FROM drafts
    WHERE workspace_id = $1 AND id = $2 FOR UPDATE
"""
_ALREADY = f"""
    SELECT id FROM drafts
    WHERE workspace_id = $1 AND redraft_of = $2 AND {STATUS} IN ('pending', 'sending')
    ORDER BY id DESC LIMIT 1
"""
_REPEAT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id, secrets, automation_id, version,
        bound_hash, batch_id, notify, source, action, redraft_of)
    SELECT workspace_id, $3, run_id, step, item, capability, arguments, arguments_hash, preview,
        $4::timestamptz + make_interval(secs => coalesce(
            (SELECT draft_seconds FROM workspaces WHERE workspace_id = $1), $5::float8)),
        actor_kind, actor_id, secrets, automation_id, version, bound_hash, batch_id, notify,
        source, action, id
    FROM drafts WHERE workspace_id = $1 AND id = $2
"""


async def draft_again(
    tx: Transaction, actor: Actor, draft_id: UUID, now: datetime, lifetime: timedelta
) -> tuple[UUID, bool]:
    """The draft that repeats another, and whether it is new; asked twice, it is the same one."""
    space = actor.workspace_id
    row = await tx.fetchrow(_HOLD, space, draft_id)
    if row is None:
        raise no_draft()
    check_own(await approval_policy(tx, space), actor, row)
    already = await tx.fetchrow(_ALREADY, space, draft_id)
    if already is not None:
        return already["id"], False
    _check_over(row)
    made = new_id()
    await tx.execute(_REPEAT, space, draft_id, made, now, lifetime.total_seconds())
    await copy_files(tx, space, draft_id, made)
    return made, True


def _check_over(row: Mapping[str, Any]) -> None:
    stands, came_to = row["stands"], row["came_to"]
    if stands in ("expired", "discarded") or (stands == "failed" and came_to == "not_sent"):
        return
    if stands == "pending":
        raise Clash(
            "This draft still waits, so there is nothing to repeat.",
            code="draft_waits",
            suggestion="Confirm it, or edit it first.",
        )
    if came_to == "unknown" or stands == "sending":
        raise Clash(
            "This one may have left already, so it is not drafted again.",
            code="send_in_doubt",
            suggestion="Look at the other side. If it did not arrive, ask for it anew.",
        )
    raise Clash(
        "This one was sent, so it is not drafted again.",
        code="draft_answered",
        suggestion="Ask for it anew if it is to be sent another time.",
    )
