"""Holding an outside write: it becomes a draft that a person must agree to.

What waits can be read here, and let go of. Sending it stands in ``sending``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor, Transaction
from mainspring.contracts.errors import Conflict, Expired, InternalError, NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.outcome import HeldForApproval
from mainspring.contracts.registry import Vocabulary
from mainspring.gate.capability_call import CapabilityCall, canonical_json, digest, mask_arguments
from mainspring.gate.draft_binding import compute_binding_hash, find_secret_markers
from mainspring.gate.drafting.approvals import can_read_draft, check_can_discard
from mainspring.gate.drafting.attachments import extract_files, store_files
from mainspring.gate.drafting.envelopes import envelope_of
from mainspring.gate.drafting.resume import LOST_AFTER, Resumer, lock_runs, wake_run
from mainspring.gate.standing.rules import unlearn

DraftStatus = Literal["pending", "expired", "sending", "confirmed", "failed", "discarded"]
ACT_ON_INTEGRATION: Final = "act_on_integration"
_SOON: Final = 2.0

_INSERT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id, secrets, automation_id, version,
        bound_hash, batch_id, notify, source, action, connection, awaited, send_retries)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
        $10::timestamptz + make_interval(secs => coalesce($23::float8,
            (SELECT CASE WHEN $24 THEN held_seconds ELSE draft_seconds END
             FROM workspaces WHERE workspace_id = $1), $11::float8)),
        $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $25, $26)
    RETURNING expires_at
"""
_UNDER = """
    SELECT r.automation_id, r.version, v.definition_hash, v.grants
    FROM runs r
    JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# Nothing that is under way lasts so long: whoever sent it was lost in between.
_LOST = f"""(status = 'sending'
        AND answered_at <= statement_timestamp() - interval '{LOST_AFTER}')"""
# Nobody has to come by for a draft to run out, or to be in doubt.
STATUS = f"""CASE WHEN status = 'pending' AND expires_at <= statement_timestamp() THEN 'expired'
        WHEN {_LOST} THEN 'failed' ELSE status END"""
OUTCOME = f"CASE WHEN {_LOST} THEN 'unknown' ELSE outcome END"
_COLUMNS = f"""id, {STATUS} AS status, capability, preview, arguments, run_id, step, item,
        actor_kind, actor_id, created_at, expires_at, automation_id,
        (SELECT n.name FROM automations n WHERE n.workspace_id = drafts.workspace_id
            AND n.id = drafts.automation_id) AS automation, {OUTCOME} AS outcome,
        answered_kind, answered_by, answered_at, reason, result, error, revision, batch_id, notify,
        source, coalesce(action, capability) AS action, redraft_of, awaited,
        connection ->> 'account' AS account,
        encode(bound_hash, 'hex') AS hash, encode(approved_hash, 'hex') AS approved_hash,
        (SELECT count(*) FROM draft_approvals a WHERE a.workspace_id = drafts.workspace_id
            AND a.draft_id = drafts.id AND a.bound_hash = drafts.bound_hash) AS approvals"""
_LIST = f"""
    SELECT {_COLUMNS} FROM drafts
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id < $2)
      AND ($3::text IS NULL OR {STATUS} = $3) AND ($5::text IS NULL OR source = $5)
    ORDER BY id DESC LIMIT $4
"""
_ONE = f"SELECT {_COLUMNS} FROM drafts WHERE workspace_id = $1 AND id = $2"
_WAITING = """
    SELECT count(*) AS drafts FROM drafts
    WHERE workspace_id = $1 AND status = 'pending' AND expires_at > now()
"""
_HELD = f"""
    SELECT {STATUS} AS status, workspace_id, automation_id, version, capability, run_id, actor_id
    FROM drafts WHERE workspace_id = $1 AND id = $2
    FOR UPDATE
"""
_HOLD_ALL = """
    SELECT id FROM drafts WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE
"""
_DISCARD = """
    UPDATE drafts SET status = 'discarded', outcome = 'not_sent', answered_kind = $3,
        answered_by = $4, answered_at = now(), reason = $5
    WHERE workspace_id = $1 AND id = $2 AND status = 'pending'
"""


@dataclass(frozen=True, slots=True)
class DraftLifetimes:
    """How long drafts wait where neither a step nor the workspace says so."""

    draft: timedelta = timedelta(hours=1)
    # Of a write that a run holds.
    held: timedelta = timedelta(hours=72)


def is_held_by_run(capability: str, has_run: bool) -> bool:
    """Whether a draft lives as long as the writes of runs do: acting on integrations does not."""
    return has_run and capability != ACT_ON_INTEGRATION


async def hold_call(
    tx: Transaction,
    ask: CapabilityCall,
    capability: Capability,
    arguments: Mapping[str, Any],
    now: datetime,
    lifetimes: DraftLifetimes,
    connection: Mapping[str, Any] | None = None,
) -> HeldForApproval:
    """Keeps the exact arguments and what a person will be shown; nothing leaves.

    It waits as long as its step or its workspace says, or else as is usual here.
    """
    if capability.write is None:
        raise InternalError(f"{capability.id} has no write to hold as a draft.")
    told = envelope_of(capability, arguments)
    preview, (kept, files) = (
        capability.write.preview(arguments),
        extract_files(arguments, told.within),
    )
    run, space = ask.run, ask.actor.workspace_id
    under = None if run is None else await tx.fetchrow(_UNDER, space, run.id)
    places = find_secret_markers(ask.arguments)
    pinned = capability.annotations.pin
    bound = compute_binding_hash(capability.id, kept, places, preview, under, pinned, connection)
    draft_id, pin = generate_id(), digest(canonical_json(kept))
    by_run = is_held_by_run(capability.id, run is not None)
    lasting = lifetimes.held if by_run else lifetimes.draft
    row = await tx.fetchrow(
        _INSERT,
        space,
        draft_id,
        run and run.id,
        run and run.step,
        run.item if run else "",
        capability.id,
        kept,
        pin,
        preview,
        now,
        lasting.total_seconds(),
        ask.actor.kind,
        ask.actor.id,
        places,
        under and under["automation_id"],
        under and under["version"],
        bound,
        told.batch_id,
        list(told.notify),
        told.source,
        told.action,
        connection,
        ask.terms.seconds,
        by_run,
        ask.terms.awaited,
        ask.terms.retries,
    )
    await store_files(tx, space, draft_id, files)
    payload = ask.known.masked(dict(mask_arguments(kept, capability)))
    action = told.action or capability.id
    account = None if connection is None else str(connection["account"])
    return HeldForApproval(
        draft_id, preview, payload, row["expires_at"], action, bound.hex(), account
    )


async def list_drafts(
    tx: Transaction,
    workspace_id: UUID,
    vocabulary: Vocabulary,
    *,
    status: str | None = None,
    after: UUID | None = None,
    most: int = 50,
    reader: Actor | None = None,
) -> list[dict[str, Any]]:
    """The newest drafts first, with the arguments that would leave."""
    known = vocabulary.capabilities
    return await list_drafts_for(
        tx, workspace_id, known, status=status, after=after, most=most, reader=reader
    )


async def list_drafts_for(
    tx: Transaction,
    workspace_id: UUID,
    known: Mapping[str, Capability],
    *,
    status: str | None,
    after: UUID | None,
    most: int,
    source: str | None = None,
    reader: Actor | None = None,
) -> list[dict[str, Any]]:
    """The same, for whoever knows capabilities and no other words; None reads everything."""
    rows = await tx.fetch(_LIST, workspace_id, after, status, most, source)
    return [_describe_draft(row, known, reader) for row in rows]


async def read_draft(
    tx: Transaction,
    workspace_id: UUID,
    vocabulary: Vocabulary,
    draft_id: UUID,
    reader: Actor | None = None,
) -> dict[str, Any]:
    """One draft."""
    return await read_draft_for(tx, workspace_id, vocabulary.capabilities, draft_id, reader)


async def read_draft_for(
    tx: Transaction,
    workspace_id: UUID,
    known: Mapping[str, Capability],
    draft_id: UUID,
    reader: Actor | None = None,
) -> dict[str, Any]:
    """The same, for whoever knows capabilities and no other words."""
    row = await tx.fetchrow(_ONE, workspace_id, draft_id)
    if row is None:
        raise missing_draft_error()
    return _describe_draft(row, known, reader)


async def lock_drafts(tx: Transaction, workspace_id: UUID, draft_ids: Sequence[UUID]) -> None:
    """Holds several drafts at once, in one order, so that nobody waits for another in a circle."""
    await lock_runs(tx, workspace_id, draft_ids)
    await tx.fetch(_HOLD_ALL, workspace_id, list(draft_ids))


async def discard_draft(
    tx: Transaction, actor: Actor, draft_id: UUID, reason: str | None, resumer: Resumer
) -> bool:
    """Somebody does not want it sent; whether this was news."""
    await lock_runs(tx, actor.workspace_id, [draft_id])
    row = await tx.fetchrow(_HELD, actor.workspace_id, draft_id)
    if row is None:
        raise missing_draft_error()
    check_can_discard(actor, row)
    if row["status"] == "discarded":
        return False
    if row["status"] != "pending":
        raise draft_not_pending_error(row["status"])
    await tx.execute(_DISCARD, actor.workspace_id, draft_id, actor.kind, actor.id, reason)
    await wake_run(tx, actor.workspace_id, draft_id, resumer)
    await unlearn(tx, row, "rejected")
    return True


def missing_draft_error() -> NotFound:
    return NotFound("There is no such draft.", code="no_draft")


def draft_not_pending_error(status: str) -> Problem:
    """Why a draft that waits no longer cannot be answered."""
    if status == "expired":
        return Expired(
            "This draft has expired; nothing was sent.",
            code="draft_expired",
            suggestion="Draft it again with redraft_action: the new draft can be confirmed.",
        )
    if status == "sending":
        return Conflict(
            "This draft is being sent right now.",
            code="draft_sending",
            suggestion="Ask again in a few seconds for the result.",
            retry_after=_SOON,
            retryable=True,
        )
    if status == "discarded":
        return Conflict(
            "This draft was discarded; nothing was sent.",
            code="draft_discarded",
            suggestion="Draft it again with redraft_action: the new draft can be confirmed.",
        )
    return Conflict("This draft was already confirmed.", code="draft_answered")


async def count_pending_drafts(tx: Transaction, workspace_id: UUID) -> int:
    """How many drafts still wait for a person."""
    return int((await tx.fetchrow(_WAITING, workspace_id))["drafts"])


def _describe_draft(
    row: Mapping[str, Any], known: Mapping[str, Capability], reader: Actor | None
) -> dict[str, Any]:
    """A draft with all that would leave, whatever its fields are called.

    Whoever agrees must see it; a secret of ours stands in it by its name alone. Of another
    member's own call, whoever may not answer it sees the sentence and no more.
    """
    held = known.get(row["capability"])
    arguments = row["arguments"] if held is None else mask_arguments(row["arguments"], held)
    told = envelope_of(held, row["arguments"])
    whole = reader is None or can_read_draft(reader, row)
    return {
        **dict(row),
        "arguments": dict(arguments) if whole else {},
        "result": row["result"] if whole else None,
        "family": told.family,
        "within": told.within,
        "editable": list(told.editable or ()),
    }
