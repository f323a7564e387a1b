"""Rescue: runs of lost workers go back to the queue; poison ends as dead with evidence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import InternalError, Problem
from mainspring.contracts.limits import Limits
from mainspring.runs import queue
from mainspring.runs.events import run_event
from mainspring.runs.halts import finish_releases
from mainspring.runs.lanes import STUCK, lock_lanes, release_lanes
from mainspring.runs.rows import ClaimedRun, RunCommit, RunEnd
from mainspring.settings import Settings
from mainspring.store.events import append_events

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

# Seconds between two heartbeats, for processes that run no worker.
_HEARTBEAT: Final = Settings().heartbeat_seconds


async def rescue(database: Database, limits: Limits, *, heartbeat: float = _HEARTBEAT) -> int:
    """One round: lost workers, then lanes that wait for nobody, then what halts let go."""
    async with database.acquire() as connection:
        await queue.end_sessions(connection)
    async with database.transaction() as tx:
        lost = await queue.lock_lost_workers(tx)
        gone = {number for number, _ in lost} | set(await queue.find_orphaned_workers(tx))
        names = [name for _, name in lost]
        moved = await _requeue_lost_runs(tx, sorted(gone), names, limits, heartbeat)
        await queue.forget_workers(tx, [number for number, _ in lost])
    # In a transaction of its own: whoever holds a lane's lock may want a run's row next,
    # so a lane is never asked for while rows are held.
    async with database.transaction() as tx:
        await _unstick(tx)
    await finish_releases(database)
    return moved


async def return_strays(
    database: Database, limits: Limits, worker: int, claims: Collection[tuple[UUID, int]]
) -> None:
    """Puts back runs that a worker claimed and could not start."""
    async with database.transaction() as tx:
        why = ["this one, which could not start it"]
        # The worker is alive, so that it does not matter when it gave signs of life.
        await _requeue_lost_runs(tx, [worker], why, limits, 0.0, claims)


async def _requeue_lost_runs(
    tx: Transaction,
    workers: Sequence[int],
    names: Sequence[str],
    limits: Limits,
    heartbeat: float,
    only: Collection[tuple[UUID, int]] | None = None,
) -> int:
    if not workers:
        return 0
    evidence = InternalError(
        f"The run's worker died {limits.takeovers} times in the middle of a step, the last time "
        f"with no other run in hand, or was lost {limits.losses} times in all, without finishing a "
        f"step; "
        f"the last worker was {names[-1] if names else 'unknown'}.",
        code="poison",
        suggestion="Look at the step after the last recorded one; retry the run once mended.",
    ).as_dict()
    rows = await queue.requeue_runs(tx, workers, limits, evidence, only, heartbeat=heartbeat)
    dead = RunEnd("dead", "poison", "failed")
    events = [
        run_event(
            row["workspace_id"], row["id"], row["automation_id"], row["name"], dead, row["mode"]
        )
        for row in rows
        if row["status"] == "dead"
    ]
    await append_events(tx, [event for event in events if event is not None])
    return len(rows)


async def _unstick(tx: Transaction) -> None:
    """Lets go the front of every lane whose earlier runs are all gone."""
    rows = await tx.fetch(STUCK, ["fast", "medium", "long"])
    lanes = sorted({(row["workspace_id"], row["lane"]) for row in rows})
    await lock_lanes(tx, lanes)
    await release_lanes(tx, lanes)


def undecodable(run: ClaimedRun, problem: Problem) -> RunCommit:
    """The end of a run whose definition cannot be read or no longer fits."""
    end = RunEnd("failed", "definition_unusable", "failed", error=problem.as_dict())
    return RunCommit(run, end=end)
