"""Stored proposals, which expire after some days or are saved as automations.

Each change increments the revision and is rejected when the revision is stale (optimistic locking),
so what a person has read is what they answer, edit and save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Expired, LimitExceeded, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.store.batch_delete import delete_in_batches

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

LIFETIME: Final = timedelta(days=7)
MOST_OPEN: Final = 500

_COLUMNS: Final = """
    id, created_by, created_at, updated_at, expires_at, revision, automation_id, base_version,
    body, saved_as, saved_version, saved_by, saved_at, expires_at <= now() AS is_over
"""
_OPEN = """
    SELECT count(*) AS open FROM proposals
    WHERE workspace_id = $1 AND saved_at IS NULL AND expires_at > now()
"""
_ADD = f"""
    INSERT INTO proposals (workspace_id, id, created_by, expires_at, automation_id, base_version,
        body)
    VALUES ($1, $2, $3, now() + $4::interval, $5, $6, $7)
    RETURNING {_COLUMNS}
"""
_ONE = f"SELECT {_COLUMNS} FROM proposals WHERE workspace_id = $1 AND id = $2"
_LIST = f"""
    SELECT {_COLUMNS} FROM proposals
    WHERE workspace_id = $1 AND (saved_at IS NULL OR $4) AND expires_at > now()
      AND ($2::uuid IS NULL OR id < $2)
    ORDER BY id DESC LIMIT $3
"""
_CHANGE = f"""
    UPDATE proposals SET body = $4, revision = revision + 1, updated_at = now(),
        expires_at = now() + $5::interval
    WHERE workspace_id = $1 AND id = $2 AND revision = $3 AND saved_at IS NULL
      AND expires_at > now()
    RETURNING {_COLUMNS}
"""
_SAVED = f"""
    UPDATE proposals SET saved_as = $3, saved_version = $4, saved_by = $5, saved_at = now()
    WHERE workspace_id = $1 AND id = $2 AND saved_at IS NULL
    RETURNING {_COLUMNS}
"""
# Whether a version of an automation has the plan of a proposal that no person has saved: the same
# steps with the same actions, whatever their settings, triggers and names are.
_DROP = "DELETE FROM proposals WHERE workspace_id = $1 AND id = $2 AND saved_at IS NULL"
_EXPIRED = """
    DELETE FROM proposals WHERE (workspace_id, id) IN (
        SELECT workspace_id, id FROM proposals WHERE expires_at < $1
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING id
"""


@dataclass(frozen=True, slots=True)
class ProposalBase:
    """The automation and version that a proposal changes."""

    automation_id: UUID
    version: int


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A stored proposal."""

    id: UUID
    created_by: UUID
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    revision: int
    automation_id: UUID | None
    base_version: int | None
    body: Mapping[str, Any]
    saved_as: UUID | None
    saved_version: int | None
    saved_by: UUID | None
    saved_at: datetime | None
    is_over: bool

    @property
    def base(self) -> ProposalBase | None:
        if self.automation_id is None or self.base_version is None:
            return None
        return ProposalBase(self.automation_id, self.base_version)


async def store_proposal(
    tx: Transaction,
    workspace_id: UUID,
    author: UUID,
    body: Mapping[str, Any],
    base: ProposalBase | None,
) -> StoredProposal:
    """Store a new proposal, unless too many are open."""
    await check_proposal_limit(tx, workspace_id)
    automation_id, version = (None, None) if base is None else (base.automation_id, base.version)
    added = await tx.fetchrow(
        _ADD, workspace_id, generate_id(), author, LIFETIME, automation_id, version, dict(body)
    )
    return StoredProposal(**dict(added))


async def check_proposal_limit(tx: Transaction, workspace_id: UUID) -> None:
    """Reject when too many proposals are open; also checked before paying for a model call."""
    row = await tx.fetchrow(_OPEN, workspace_id)
    if row["open"] >= MOST_OPEN:
        raise LimitExceeded(
            f"{MOST_OPEN} proposals wait to be saved here already.",
            code="too_many_proposals",
            suggestion="Save or discard some of them: `mainspring proposals list`.",
        )


async def read_proposal(tx: Transaction, workspace_id: UUID, proposal_id: UUID) -> StoredProposal:
    """Load a proposal, saved ones included, until it expires."""
    row = await tx.fetchrow(_ONE, workspace_id, proposal_id)
    if row is None:
        raise _no_proposal_error()
    return StoredProposal(**dict(row))


async def lock_proposal(tx: Transaction, workspace_id: UUID, proposal_id: UUID) -> StoredProposal:
    """Load and lock a proposal until the transaction ends."""
    row = await tx.fetchrow(f"{_ONE} FOR UPDATE", workspace_id, proposal_id)
    if row is None:
        raise _no_proposal_error()
    return StoredProposal(**dict(row))


async def list_open(
    tx: Transaction, workspace_id: UUID, after: UUID | None, most: int, *, saved: bool = False
) -> list[StoredProposal]:
    """List unsaved proposals, newest first; with ``saved``, saved ones too."""
    rows = await tx.fetch(_LIST, workspace_id, after, most, saved)
    return [StoredProposal(**dict(row)) for row in rows]


async def change_proposal(
    tx: Transaction, workspace_id: UUID, before: StoredProposal, body: Mapping[str, Any]
) -> StoredProposal:
    """Store the next revision; rejected when the current one is not the expected one."""
    row = await tx.fetchrow(_CHANGE, workspace_id, before.id, before.revision, dict(body), LIFETIME)
    if row is not None:
        return StoredProposal(**dict(row))
    check_open(await read_proposal(tx, workspace_id, before.id))
    raise stale_proposal_error()


async def mark_saved(
    tx: Transaction,
    workspace_id: UUID,
    proposal_id: UUID,
    automation_id: UUID,
    version: int,
    by: UUID,
) -> StoredProposal:
    """Record the automation that a locked proposal became."""
    row = await tx.fetchrow(_SAVED, workspace_id, proposal_id, automation_id, version, by)
    return StoredProposal(**dict(row))


async def drop_proposal(tx: Transaction, workspace_id: UUID, proposal_id: UUID) -> None:
    """Delete an unsaved proposal."""
    check_not_saved(await lock_proposal(tx, workspace_id, proposal_id))
    await tx.execute(_DROP, workspace_id, proposal_id)


async def expire_proposals(database: Database, now: datetime) -> int:
    """Delete expired proposals, saved ones included: their automations remain."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED, now, most))

    return await delete_in_batches(database, batch)


def check_open(kept: StoredProposal) -> None:
    """Reject saved and expired proposals."""
    check_not_saved(kept)
    if kept.is_over:
        raise Expired(
            "This proposal was left for too long.",
            code="proposal_expired",
            suggestion="Ask for it again; its words are still in it.",
        )


def check_not_saved(kept: StoredProposal) -> None:
    if kept.saved_as is not None:
        raise Conflict(
            f"This proposal was saved already, as version {kept.saved_version} of the automation "
            f"{kept.saved_as}.",
            code="proposal_saved",
            suggestion="Propose a change of that automation instead.",
        )


def stale_proposal_error() -> Conflict:
    return Conflict(
        "This proposal has changed since it was read.",
        code="proposal_changed",
        suggestion="Read it again, and answer what it is now.",
    )


def _no_proposal_error() -> NotFound:
    return NotFound(
        "There is no such proposal here.",
        code="no_proposal",
        suggestion="`mainspring proposals list` shows those that wait; each is kept for 7 days.",
    )
