"""Operations on runs: cancelling one, and retrying one from where it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.gate.drafting.resume import withdraw_drafts
from mainspring.runs.rows import FINAL, RunEnd, run_event
from mainspring.runs.run_requests import Lane, find_occupied_lanes, lock_lanes, release_lanes
from mainspring.store.events import EVENTS_CHANNEL, append_events
from mainspring.store.partitions import lock_month_shared
from mainspring.store.wakeups import PostgresHintSender

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database
    from mainspring.store.wakeups import HintSender, WakeupSender

_LOOK = "SELECT status, lane FROM runs WHERE workspace_id = $1 AND id = $2"
_LOCKED = """
    SELECT r.status, r.reason, r.outcome, r.automation_id, r.mode, r.queue, a.name
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2 FOR UPDATE OF r
"""
_CANCEL_NOW = """
    UPDATE runs SET status = 'cancelled', reason = 'cancelled', outcome = 'failed',
        fence = fence + 1, cancel_at = now(), finished_at = now(), parked_due_at = NULL
    WHERE workspace_id = $1 AND id = $2
"""
_CANCEL_SOON = """
    UPDATE runs SET cancel_at = coalesce(cancel_at, now()) WHERE workspace_id = $1 AND id = $2
"""
# The records of finished steps stay; the execution replays them and starts at the failed one.
_AGAIN = """
    UPDATE runs SET status = 'pending', reason = NULL, outcome = NULL, error = NULL,
        output = NULL, finished_at = NULL, cancel_at = NULL, takeovers = 0, losses = 0,
        active_ms = 0, attempt = attempt + 1, fence = fence + 1,
        due_at = CASE WHEN $3 THEN 'infinity' ELSE now() END,
        arrival = CASE WHEN lane IS NULL THEN NULL ELSE nextval('lane_arrivals') END
    WHERE workspace_id = $1 AND id = $2
"""
_AGAIN_FROM = frozenset({"failed", "timed_out", "cancelled", "dead"})


class RunControl:
    """The operations that a person may perform on a run."""

    def __init__(
        self, database: Database, wakeup_sender: WakeupSender, hints: HintSender | None = None
    ) -> None:
        self._database = database
        self._wakeup_sender = wakeup_sender
        self._hints = hints or PostgresHintSender(wakeup_sender)

    async def cancel(self, workspace_id: UUID, run_id: UUID) -> str:
        """End a waiting run at once; ask the worker of a running one to stop."""
        async with self._database.transaction() as tx:
            lanes = await self._lanes(tx, workspace_id, run_id)
            row = await self._row(tx, workspace_id, run_id)
            status = str(row["status"])
            if status in FINAL:
                raise Conflict(f"The run has already ended: {status}.", code="run_ended")
            if status == "running":
                await tx.execute(_CANCEL_SOON, workspace_id, run_id)
                return "cancelling"
            await tx.execute(_CANCEL_NOW, workspace_id, run_id)
            await withdraw_drafts(tx, workspace_id, run_id, "The run was cancelled.")
            end = RunEnd("cancelled", "cancelled", "failed")
            event = run_event(
                workspace_id, run_id, row["automation_id"], row["name"], end, row["mode"]
            )
            await append_events(tx, [] if event is None else [event])
            await release_lanes(tx, lanes)
        # The next run in its lane is released.
        self._hints.due([(row["queue"], run_id)])
        self._wakeup_sender.wake(EVENTS_CHANNEL)
        return "cancelled"

    async def retry(self, workspace_id: UUID, run_id: UUID) -> None:
        """Retry a failed run; finished steps are not repeated."""
        async with self._database.transaction() as tx:
            # Before anything else is locked: its month may be about to be dropped.
            await lock_month_shared(tx, run_id)
            lanes = await self._lanes(tx, workspace_id, run_id)
            row = await self._row(tx, workspace_id, run_id)
            _check_again(row)
            behind = bool(await find_occupied_lanes(tx, lanes))
            await tx.execute(_AGAIN, workspace_id, run_id, behind)
        self._hints.due([(row["queue"], run_id)])

    async def _lanes(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> list[Lane]:
        """The run's lane, locked: a lane is always locked before a row."""
        row = await tx.fetchrow(_LOOK, workspace_id, run_id)
        if row is None:
            raise NotFound("There is no such run.", code="no_run")
        lanes = [] if row["lane"] is None else [(workspace_id, row["lane"])]
        await lock_lanes(tx, lanes)
        return lanes

    async def _row(self, tx: Transaction, workspace_id: UUID, run_id: UUID) -> Any:
        row = await tx.fetchrow(_LOCKED, workspace_id, run_id)
        if row is None:
            # Retention deleted it since it was looked up.
            raise NotFound("There is no such run.", code="no_run")
        return row


def _check_again(row: Any) -> None:
    """A retry continues where a run failed; some runs have no such place."""
    if row["status"] not in _AGAIN_FROM:
        raise Conflict(
            f"Only a failed run can be retried; this run is {row['status']}.",
            code="not_retryable",
        )
    if row["reason"] == "invalid_inputs":
        raise Conflict(
            "This run was rejected for its inputs and never started; start a new one.",
            code="not_retryable",
        )
    if row["outcome"] == "over_budget":
        raise Conflict(
            "This run has used its budget, and the budget is part of its version.",
            code="not_retryable",
            suggestion="Raise the budget in the definition and start a new run.",
        )
