"""Holding an outside write: it becomes a draft that a person must agree to.

What waits can be read here, and let go of. Sending it stands in ``sending``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor, Transaction
from mainspring.contracts.errors import Clash, Expired, Fault, Missing, Problem
from mainspring.contracts.ids import new_id
from mainspring.contracts.outcome import Held
from mainspring.contracts.registry import Vocabulary
from mainspring.gate.ask import Ask, digest, spelled, veiled
from mainspring.gate.bound import binding, places_of

DraftStatus = Literal["pending", "expired", "sending", "confirmed", "failed", "discarded"]
_SOON: Final = 2.0

_INSERT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id, secrets, automation_id, version,
        bound_hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
"""
_UNDER = """
    SELECT r.automation_id, r.version, v.definition_hash, v.grants
    FROM runs r
    JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# Nothing that is under way lasts so long: whoever sent it was lost in between.
_LOST = "(status = 'sending' AND answered_at <= now() - interval '6 minutes')"
# Nobody has to come by for a draft to run out, or to be in doubt.
STATUS = f"""CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired'
        WHEN {_LOST} THEN 'failed' ELSE status END"""
OUTCOME = f"CASE WHEN {_LOST} THEN 'unknown' ELSE outcome END"
_COLUMNS = f"""id, {STATUS} AS status, capability, preview, arguments, run_id, step, item,
        actor_kind, actor_id, created_at, expires_at, automation_id, {OUTCOME} AS outcome,
        answered_kind, answered_by, answered_at, reason, result, error"""
_LIST = f"""
    SELECT {_COLUMNS} FROM drafts
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id < $2)
      AND ($3::text IS NULL OR {STATUS} = $3)
    ORDER BY id DESC LIMIT $4
"""
_ONE = f"SELECT {_COLUMNS} FROM drafts WHERE workspace_id = $1 AND id = $2"
_WAITING = """
    SELECT count(*) AS drafts FROM drafts
    WHERE workspace_id = $1 AND status = 'pending' AND expires_at > now()
"""
_HELD = f"""
    SELECT {STATUS} AS status FROM drafts WHERE workspace_id = $1 AND id = $2
    FOR UPDATE
"""
_DISCARD = """
    UPDATE drafts SET status = 'discarded', outcome = 'not_sent', answered_kind = $3,
        answered_by = $4, answered_at = now(), reason = $5
    WHERE workspace_id = $1 AND id = $2 AND status = 'pending'
"""


async def hold(
    tx: Transaction,
    ask: Ask,
    capability: Capability,
    arguments: Mapping[str, Any],
    expires_at: datetime,
) -> Held:
    """Keeps the exact arguments and what a person will be shown; nothing leaves."""
    if capability.write is None:
        raise Fault(f"{capability.id} has nothing to hold.")
    payload = ask.known.masked(dict(veiled(arguments, capability)))
    held = Held(new_id(), capability.write.preview(arguments), payload, expires_at)
    run, space = ask.run, ask.actor.workspace_id
    under = None if run is None else await tx.fetchrow(_UNDER, space, run.id)
    places = places_of(ask.arguments)
    await tx.execute(
        _INSERT, space, held.draft_id, run and run.id, run and run.step,
        run.item if run else "", capability.id, arguments, digest(spelled(arguments)),
        held.preview, held.expires_at, ask.actor.kind, ask.actor.id, places,
        under and under["automation_id"], under and under["version"],
        binding(
            capability.id, arguments, places, held.preview, under, capability.annotations.pin
        ),
    )  # fmt: skip
    return held


async def list_drafts(
    tx: Transaction, workspace_id: UUID, vocabulary: Vocabulary, *,
    status: str | None = None, after: UUID | None = None, most: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """The newest drafts first, with the arguments that would leave."""
    known = vocabulary.capabilities
    return await drafts_of(tx, workspace_id, known, status=status, after=after, most=most)


async def drafts_of(
    tx: Transaction, workspace_id: UUID, known: Mapping[str, Capability], *,
    status: str | None, after: UUID | None, most: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """The same, for whoever knows capabilities and no other words."""
    rows = await tx.fetch(_LIST, workspace_id, after, status, most)
    return [_shown(row, known) for row in rows]


async def read_draft(
    tx: Transaction, workspace_id: UUID, vocabulary: Vocabulary, draft_id: UUID
) -> dict[str, Any]:
    """One draft."""
    row = await tx.fetchrow(_ONE, workspace_id, draft_id)
    if row is None:
        raise no_draft()
    return _shown(row, vocabulary.capabilities)


async def discard(tx: Transaction, actor: Actor, draft_id: UUID, reason: str | None) -> bool:
    """Somebody does not want it sent; whether this was news."""
    row = await tx.fetchrow(_HELD, actor.workspace_id, draft_id)
    if row is None:
        raise no_draft()
    if row["status"] == "discarded":
        return False
    if row["status"] != "pending":
        raise not_waiting(row["status"])
    await tx.execute(_DISCARD, actor.workspace_id, draft_id, actor.kind, actor.id, reason)
    return True


def no_draft() -> Missing:
    return Missing("There is no such draft.", code="no_draft")


def not_waiting(status: str) -> Problem:
    """Why a draft that waits no longer cannot be answered."""
    if status == "expired":
        return Expired(
            "The time for this draft is over; nothing was sent.",
            code="draft_expired",
            suggestion="Let it be asked for again: a new draft can be confirmed.",
        )
    if status == "sending":
        return Clash(
            "This draft is being sent at this moment.",
            code="draft_sending",
            suggestion="Ask again in a moment: the answer will be what came of it.",
            retry_after=_SOON,
            retryable=True,
        )
    if status == "discarded":
        return Clash(
            "This draft was discarded; nothing was sent.",
            code="draft_discarded",
            suggestion="Let it be asked for again: a new draft can be confirmed.",
        )
    return Clash("This draft was confirmed before.", code="draft_answered")


async def count_waiting(tx: Transaction, workspace_id: UUID) -> int:
    """How many drafts still wait for a person."""
    return int((await tx.fetchrow(_WAITING, workspace_id))["drafts"])


def _shown(row: Mapping[str, Any], known: Mapping[str, Capability]) -> dict[str, Any]:
    """A draft with all that would leave, whatever its fields are called.

    Whoever agrees must see it; a secret of ours stands in it by its name alone.
    """
    held = known.get(row["capability"])
    arguments = row["arguments"] if held is None else veiled(row["arguments"], held)
    return {**dict(row), "arguments": dict(arguments)}
