"""Runs that wait for a draft: they are resumed when the draft is answered.

A change of such a draft locks its run first, so that a person who answers and one who cancels
the run at the same moment never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from mainspring.contracts.errors import Conflict

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# How long a send may be under way before it counts as lost; the run looks again after that.
LOST_AFTER: Final = "6 minutes"
_UNDER_WAY: Final = frozenset({"pending", "running", "waiting"})

_LOCK = """
    SELECT r.id, r.status FROM runs r
    WHERE r.workspace_id = $1 AND r.id IN (
        SELECT d.run_id FROM drafts d
        WHERE d.workspace_id = $1 AND d.id = ANY($2::uuid[]) AND d.awaited)
    ORDER BY r.id FOR NO KEY UPDATE
"""
_AWAITING = """
    SELECT d.run_id FROM drafts d JOIN runs r ON r.workspace_id = d.workspace_id AND r.id = d.run_id
    WHERE d.workspace_id = $1 AND d.id = $2 AND d.awaited
      AND r.status IN ('pending', 'running', 'waiting')
"""
_WITHDRAW = """
    UPDATE drafts SET status = 'discarded', outcome = 'not_sent', answered_kind = 'run',
        answered_at = now(), reason = $3
    WHERE workspace_id = $1 AND run_id = $2 AND awaited AND status = 'pending'
"""
# A run that was given up by no worker of its own leaves its drafts behind.
_WITHDRAW_ENDED = """
    UPDATE drafts d SET status = 'discarded', outcome = 'not_sent', answered_kind = 'run',
        answered_at = now(), reason = $1
    FROM runs r
    WHERE d.status = 'pending' AND d.run_id IS NOT NULL AND d.awaited
      AND r.workspace_id = d.workspace_id AND r.id = d.run_id AND r.finished_at IS NOT NULL
"""
_ENDED: Final = "The run that waited for this has ended."


class Resumer(Protocol):
    """What changes the runs that wait for a draft; the runs themselves bring it."""

    async def wake(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None: ...

    async def look_again(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None: ...


class NullResumer:
    """For a gate that no run waits behind."""

    async def wake(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None:
        """Nothing waits."""

    async def look_again(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None:
        """Nothing waits."""


async def lock_runs(tx: Transaction, workspace_id: UUID, drafts: Sequence[UUID]) -> bool:
    """Locks the runs that wait for these drafts; whether all of them are still under way."""
    rows = await tx.fetch(_LOCK, workspace_id, list(drafts))
    return all(row["status"] in _UNDER_WAY for row in rows)


def run_ended_error() -> Conflict:
    """Why a draft that a run waited for is not sent once that run has ended."""
    return Conflict(
        "The run that waited for this draft has ended, so nothing was sent.",
        code="run_ended",
        suggestion="Run the automation again.",
    )


async def wake_run(tx: Transaction, workspace_id: UUID, draft_id: UUID, resumer: Resumer) -> None:
    """Resumes the run that waits for a draft, if one does."""
    row = await tx.fetchrow(_AWAITING, workspace_id, draft_id)
    if row is not None:
        await resumer.wake(tx, workspace_id, row["run_id"])


async def schedule_recheck(
    tx: Transaction, workspace_id: UUID, draft_id: UUID, resumer: Resumer
) -> None:
    """A send begins: the run that waits looks again when it counts as lost."""
    row = await tx.fetchrow(_AWAITING, workspace_id, draft_id)
    if row is not None:
        await resumer.look_again(tx, workspace_id, row["run_id"])


async def withdraw_drafts(
    tx: Transaction, workspace_id: UUID, run_id: UUID, reason: str = _ENDED
) -> None:
    """Discards what a run still waited for when it ended."""
    await tx.execute(_WITHDRAW, workspace_id, run_id, reason)


async def withdraw_drafts_of_ended_runs(tx: Transaction) -> int:
    """The same for every run that has ended; answers how many drafts those were."""
    status: Any = await tx.execute(_WITHDRAW_ENDED, _ENDED)
    return int(str(status).rpartition(" ")[2])
