"""Rehearsals as they are kept: what is tried, and over which firings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.workspace.unused_definitions import forget_unused

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ADD = """
    INSERT INTO rehearsals (workspace_id, id, automation_id, definition_hash, grants, live_reads,
        candidate, firings, asked_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (workspace_id, id) DO NOTHING
"""
_ONE = """
    SELECT h.id, h.automation_id, h.live_reads, h.candidate, h.firings, h.created_at, a.name,
        a.version
    FROM rehearsals h
    JOIN automations a ON a.workspace_id = h.workspace_id AND a.id = h.automation_id
    WHERE h.workspace_id = $1 AND h.id = $2
"""
_DROP = """
    DELETE FROM rehearsals WHERE workspace_id = $1 AND id = ANY($2::uuid[])
    RETURNING workspace_id, definition_hash
"""


@dataclass(frozen=True, slots=True)
class RehearsalCandidate:
    """What is tried: a definition that is kept, and what it may call."""

    digest: bytes
    grants: Sequence[Mapping[str, Any]]
    # What people call it: a version, a proposal, a definition.
    candidate: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RehearsedFiring:
    """One moment: the run that tries it, and the run that it is compared with."""

    # None: it is only shown, for nothing was started then.
    run_id: UUID | None
    against: UUID | None
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        run, against = self.run_id, self.against
        return {
            "run_id": None if run is None else str(run),
            "against": None if against is None else str(against),
            "note": self.note,
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> RehearsedFiring:
        run, against = kept["run_id"], kept["against"]
        return cls(
            None if run is None else UUID(run),
            None if against is None else UUID(against),
            kept.get("note"),
        )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal as it is kept, and what is in force beside it now."""

    id: UUID
    automation_id: UUID
    automation: str
    in_force: int
    live_reads: bool
    candidate: Mapping[str, Any]
    firings: tuple[RehearsedFiring, ...]
    created_at: datetime


async def keep_rehearsal(
    tx: Transaction,
    workspace_id: UUID,
    rehearsal_id: UUID,
    automation_id: UUID,
    tried: RehearsalCandidate,
    firings: Sequence[RehearsedFiring],
    asked_by: UUID,
    *,
    live_reads: bool,
) -> None:
    """Keeps what is to be tried; one that is there already stays as it is."""
    await tx.execute(
        _ADD,
        workspace_id,
        rehearsal_id,
        automation_id,
        tried.digest,
        [dict(grant) for grant in tried.grants],
        live_reads,
        dict(tried.candidate),
        [one.as_dict() for one in firings],
        asked_by,
    )


async def drop_rehearsals(tx: Transaction, workspace_id: UUID, ids: Sequence[UUID]) -> None:
    """Forgets rehearsals that never began, with what they were to try."""
    gone = await tx.fetch(_DROP, workspace_id, list(ids))
    await forget_unused(tx, [(row["workspace_id"], row["definition_hash"]) for row in gone])


async def find_rehearsal(
    tx: Transaction, workspace_id: UUID, rehearsal_id: UUID
) -> Rehearsal | None:
    row = await tx.fetchrow(_ONE, workspace_id, rehearsal_id)
    if row is None:
        return None
    return Rehearsal(
        row["id"],
        row["automation_id"],
        row["name"],
        row["version"],
        row["live_reads"],
        row["candidate"],
        tuple(map(RehearsedFiring.read, row["firings"])),
        row["created_at"],
    )


async def read_rehearsal(tx: Transaction, workspace_id: UUID, rehearsal_id: UUID) -> Rehearsal:
    """A rehearsal of this workspace, as long as its runs are kept."""
    found = await find_rehearsal(tx, workspace_id, rehearsal_id)
    if found is None:
        raise NotFound("There is no such rehearsal.", code="no_rehearsal")
    return found
