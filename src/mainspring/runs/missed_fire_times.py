"""Records of fire times that did not start a run, under their dedup keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

KEPT = timedelta(days=90)

# An existing record is kept: it may have fired before a clock was set back.
_RECORD = """
    INSERT INTO firings (workspace_id, source_id, key, reason, moments, expires_at)
    SELECT m.*, now() + $6::interval
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int4[])
        AS m(workspace_id, source_id, key, reason, moments)
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class MissedFireTime:
    """A key and why nothing ran; or several fire times in a row, under the key of the first."""

    workspace_id: UUID
    trigger_id: UUID
    key: str
    reason: str
    moments: int = 1


async def record_missed(tx: Transaction, missed: Sequence[MissedFireTime]) -> None:
    """All of them in one statement."""
    if not missed:
        return
    await tx.execute(
        _RECORD,
        [one.workspace_id for one in missed],
        [one.trigger_id for one in missed],
        [one.key for one in missed],
        [one.reason for one in missed],
        [one.moments for one in missed],
        KEPT,
    )
