"""Resumes runs that wait for the answer to a question, or to a held write."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.gate.drafting.resume import LOST_AFTER

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# A run that is about to sleep notices it by nudged_at.
_WAKE = """
    UPDATE runs SET due_at = CASE WHEN status = 'waiting' THEN now() ELSE due_at END,
        nudged_at = CASE WHEN status = 'waiting' THEN nudged_at ELSE now() END
    WHERE workspace_id = $1 AND id = $2
"""
_LOOK_AGAIN = f"""
    UPDATE runs SET due_at = least(due_at, now() + interval '{LOST_AFTER} 5 seconds')
    WHERE workspace_id = $1 AND id = $2 AND status = 'waiting'
"""
# A hint to the workers of every machine; without it they poll once a second.
_HINT = "SELECT pg_notify('mainspring_runs', '')"


class RunResumer:
    """Resumes runs, in the transaction of the answer."""

    async def wake(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None:
        """The answer is available: the run continues at once."""
        await tx.execute(_WAKE, workspace_id, run_id)
        await tx.fetchrow(_HINT)

    async def look_again(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> None:
        """A send begins: if its process is lost, the waiting run still checks it later."""
        await tx.execute(_LOOK_AGAIN, workspace_id, run_id)
