"""A draft once more: its time was over, or it was let go of, and somebody wants it after all.

The new draft has the same bytes under a new id, and waits for a person like any other. Whichever
of a line is named, all of it is looked at: what has left, or may have, is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.gate.drafting.approving import check_can_edit, find_draft_authors
from mainspring.gate.drafting.attachments import copy_files
from mainspring.gate.drafts import (
    OUTCOME,
    STATUS,
    DraftLifetimes,
    is_held_by_run,
    missing_draft_error,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The first of a line is held before its others are looked for: two who repeat at once, from
# whichever of them, see each other.
_FIRST = """
    WITH RECURSIVE line AS (
        SELECT id, redraft_of FROM drafts WHERE workspace_id = $1 AND id = $2
        UNION SELECT d.id, d.redraft_of FROM line
            JOIN drafts d ON d.workspace_id = $1 AND d.id = line.redraft_of
    )
    SELECT id FROM drafts
    WHERE workspace_id = $1 AND id = (SELECT id FROM line ORDER BY id LIMIT 1) FOR UPDATE
"""
_LINE = """
    WITH RECURSIVE line AS (
        SELECT $2::uuid AS id
        UNION SELECT d.id FROM line
            JOIN drafts d ON d.workspace_id = $1 AND d.redraft_of = line.id
    )
    SELECT id FROM line
"""
_HOLD = f"""
    SELECT workspace_id, id, {STATUS} AS stands, {OUTCOME} AS came_to, run_id, actor_id,
        automation_id, version, revision, answered_by, bound_hash, capability
    FROM drafts WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE
"""
_REPEAT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id, secrets, automation_id, version,
        bound_hash, batch_id, notify, source, action, connection, redraft_of)
    SELECT workspace_id, $3, run_id, step, item, capability, arguments, arguments_hash, preview,
        $4::timestamptz + make_interval(secs => coalesce(
            (SELECT CASE WHEN $6 THEN held_seconds ELSE draft_seconds END
             FROM workspaces WHERE workspace_id = $1), $5::float8)),
        actor_kind, actor_id, secrets, automation_id, version, bound_hash, batch_id, notify,
        source, action, connection, id
    FROM drafts WHERE workspace_id = $1 AND id = $2
"""
# Whose words they are stays known.
_WORDS = """
    INSERT INTO draft_revisions (workspace_id, draft_id, revision, arguments, secrets,
        arguments_hash, preview, bound_hash, edited_kind, edited_by, at)
    SELECT workspace_id, $3, 1, arguments, secrets, arguments_hash, preview, bound_hash,
        edited_kind, edited_by, at
    FROM draft_revisions WHERE workspace_id = $1 AND draft_id = $2 AND revision = $4
"""


async def repeat_draft(
    tx: Transaction, actor: Actor, draft_id: UUID, now: datetime, lifetimes: DraftLifetimes
) -> tuple[UUID, bool]:
    """The draft that repeats another, and whether it is new; asked twice, it is the same one."""
    space = actor.workspace_id
    line = await _lock_repeat_chain(tx, space, draft_id)
    newest = line[-1]
    check_can_edit(actor, newest)
    waiting = next((one for one in line if one["stands"] == "pending"), None)
    if waiting is not None and waiting["id"] != draft_id:
        return waiting["id"], False
    for one in line:
        _check_over(one)
    await _check_let_go(tx, actor, newest)
    made = generate_id()
    by_run = is_held_by_run(newest["capability"], newest["run_id"] is not None)
    lasting = lifetimes.held if by_run else lifetimes.draft
    await tx.execute(_REPEAT, space, newest["id"], made, now, lasting.total_seconds(), by_run)
    await tx.execute(_WORDS, space, newest["id"], made, newest["revision"])
    await copy_files(tx, space, newest["id"], made)
    return made, True


async def _lock_repeat_chain(
    tx: Transaction, space: UUID, draft_id: UUID
) -> Sequence[Mapping[str, Any]]:
    """A draft, all that it repeats and all that repeats it, the oldest first; nobody sends one."""
    first = await tx.fetchrow(_FIRST, space, draft_id)
    if first is None:
        raise missing_draft_error()
    ids = [one["id"] for one in await tx.fetch(_LINE, space, first["id"])]
    return await tx.fetch(_HOLD, space, ids)


async def _check_let_go(tx: Transaction, actor: Actor, row: Mapping[str, Any]) -> None:
    """What its author has let go of is theirs to want again."""
    whose = row["answered_by"]
    if row["stands"] != "discarded" or whose in (None, actor.id):
        return
    if whose in await find_draft_authors(tx, row):
        raise PermissionDenied(
            "Whoever asked for this has discarded it, so nobody else drafts it again.",
            code="not_your_draft",
            suggestion="Ask them, or ask for it anew.",
        )


def _check_over(row: Mapping[str, Any]) -> None:
    stands, came_to = row["stands"], row["came_to"]
    if row["bound_hash"] is None:
        # Held before drafts could be confirmed: where its secrets belong was not recorded.
        raise Conflict(
            "This draft is from a version that could not send drafts, so it is not drafted again.",
            code="draft_too_old",
            suggestion="Replay its run: that makes a draft that can be confirmed.",
        )
    if stands in ("expired", "discarded") or (stands == "failed" and came_to == "not_sent"):
        return
    if stands == "pending":
        raise Conflict(
            "This draft still waits, so there is nothing to repeat.",
            code="draft_waits",
            suggestion="Confirm it, or edit it first.",
        )
    if came_to == "unknown" or stands == "sending":
        raise Conflict(
            "This one may have left already, so it is not drafted again.",
            code="send_in_doubt",
            suggestion="Look at the other side. If it did not arrive, ask for it anew.",
        )
    raise Conflict(
        "This one was sent, so it is not drafted again.",
        code="draft_answered",
        suggestion="Ask for it anew if it is to be sent another time.",
    )
