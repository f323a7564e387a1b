"""Holding an outside write: it becomes a draft that a person must agree to.

What waits can be read here, too. Agreeing to it is not part of this version: a draft that
nobody can send yet runs out when its time is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Transaction
from mainspring.contracts.errors import Fault, Missing
from mainspring.contracts.ids import new_id
from mainspring.contracts.outcome import Held
from mainspring.contracts.registry import Vocabulary
from mainspring.gate.ask import Ask, digest, spelled, veiled
from mainspring.gate.redact import redact_arguments

DraftStatus = Literal["pending", "expired"]

_INSERT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
# Nobody has to come by for a draft to run out.
_STATUS = "CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END"
_COLUMNS = f"""id, {_STATUS} AS status, capability, preview, arguments, run_id, step, item,
        actor_kind, actor_id, created_at, expires_at"""
_LIST = f"""
    SELECT {_COLUMNS} FROM drafts
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id < $2)
      AND ($3::text IS NULL OR {_STATUS} = $3)
    ORDER BY id DESC LIMIT $4
"""
_ONE = f"SELECT {_COLUMNS} FROM drafts WHERE workspace_id = $1 AND id = $2"
_WAITING = """
    SELECT count(*) AS drafts FROM drafts
    WHERE workspace_id = $1 AND status = 'pending' AND expires_at > now()
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
    held = Held(new_id(), capability.write.preview(arguments), expires_at)
    run = ask.run
    await tx.execute(
        _INSERT, ask.actor.workspace_id, held.draft_id, run and run.id, run and run.step,
        run.item if run else "", capability.id, arguments, digest(spelled(arguments)),
        held.preview, held.expires_at, ask.actor.kind, ask.actor.id,
    )  # fmt: skip
    return held


async def list_drafts(
    tx: Transaction, workspace_id: UUID, vocabulary: Vocabulary, *,
    status: str | None = None, after: UUID | None = None, most: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """The newest drafts first, with their arguments as a record would show them."""
    rows = await tx.fetch(_LIST, workspace_id, after, status, most)
    return [_shown(row, vocabulary) for row in rows]


async def read_draft(
    tx: Transaction, workspace_id: UUID, vocabulary: Vocabulary, draft_id: UUID
) -> dict[str, Any]:
    """One draft."""
    row = await tx.fetchrow(_ONE, workspace_id, draft_id)
    if row is None:
        raise Missing("There is no such draft.", code="no_draft")
    return _shown(row, vocabulary)


async def count_waiting(tx: Transaction, workspace_id: UUID) -> int:
    """How many drafts still wait for a person."""
    return int((await tx.fetchrow(_WAITING, workspace_id))["drafts"])


def _shown(row: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    known = vocabulary.capabilities.get(row["capability"])
    arguments = row["arguments"] if known is None else veiled(row["arguments"], known)
    return {**dict(row), "arguments": redact_arguments(arguments)}
