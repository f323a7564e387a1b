"""The fleet: the workers, the load of each queue, and draining.

The numbers per queue are the basis for autoscaling. Each is read along a partial index of
unfinished runs, so a long history costs nothing, and counting stops at a maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, NotFound
from mainspring.runs.queue import PARKED

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Runs of one queue are counted up to here.
MOST: Final = 100_000

_SIGNALS = f"""
    SELECT q.queue, due.runs AS due_runs, coalesce(oldest.seconds, 0)::float8 AS oldest_seconds,
        going.runs AS in_flight, held.runs AS held_runs, crew.slots, crew.workers
    FROM unnest(ARRAY['fast', 'medium', 'long']) WITH ORDINALITY AS q(queue, n)
    CROSS JOIN LATERAL (SELECT count(*) AS runs FROM (
        SELECT FROM runs r WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting')
          AND r.due_at <= now() LIMIT {MOST}) AS counted) AS due
    LEFT JOIN LATERAL (
        SELECT extract(epoch FROM now() - r.due_at) AS seconds FROM runs r
        WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting') AND r.due_at <= now()
        ORDER BY r.due_at LIMIT 1) AS oldest ON true
    CROSS JOIN LATERAL (SELECT count(*) AS runs FROM (
        SELECT FROM runs r WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting')
          AND r.due_at = {PARKED} LIMIT {MOST}) AS counted) AS held
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs FROM runs r
        WHERE r.status = 'running' AND r.worker IS NOT NULL AND r.queue = q.queue) AS going
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(w.slots), 0) AS slots, count(*) AS workers FROM workers w
        WHERE w.lease_until > now() AND w.drain_at IS NULL AND q.queue = ANY(w.queues)) AS crew
    ORDER BY q.n
"""
_WORKERS = """
    SELECT id, name, host, process, queues, slots, in_flight, started_at, lease_until, drain_at
    FROM workers WHERE lease_until > now() ORDER BY host, process, id
"""
_DRAIN = """
    UPDATE workers SET drain_at = coalesce(drain_at, now())
    WHERE lease_until > now() AND (name = $1 OR id::text = $1 OR host = $2)
    RETURNING id, name, host, process, queues, slots, in_flight, started_at, lease_until, drain_at
"""


@dataclass(frozen=True, slots=True)
class QueueSignals:
    """The current load of one queue."""

    queue: str
    # Due runs that are not claimed, and how long the oldest has waited.
    due_runs: int
    oldest_seconds: float
    # Running runs, and the total capacity of the workers.
    in_flight: int
    # Halted runs.
    held_runs: int
    slots: int
    workers: int


# The description of each metric.
MEANINGS: Final = {
    "due_runs": "Runs of the queue whose time has come and that no worker has taken.",
    "oldest_seconds": "Age of the oldest due run.",
    "in_flight": "Runs of the queue that workers execute now.",
    "held_runs": "Runs of the queue that a halt holds.",
    "slots": "Runs that its workers can execute at the same time; a worker of several queues "
    "counts in each.",
    "workers": "Workers that take from the queue and are not being drained.",
}


async def read_signals(tx: Transaction) -> list[QueueSignals]:
    """The numbers of every queue, in one query."""
    return [QueueSignals(**dict(row)) for row in await tx.fetch(_SIGNALS)]


async def list_workers(tx: Transaction) -> list[dict[str, Any]]:
    """Every worker with a valid lease, by machine."""
    return [dict(row) for row in await tx.fetch(_WORKERS)]


async def drain(tx: Transaction, *, worker: str | None, host: str | None) -> list[dict[str, Any]]:
    """Drain workers: one by its name or number, or all of one machine."""
    rows = await tx.fetch(_DRAIN, worker, host)
    if not rows:
        pointer, named = ("/host", host) if worker is None else ("/worker", worker)
        detail = f"No active worker is named {named!r}."
        if worker is None:
            detail = f"No active worker runs on a machine named {named!r}."
        raise NotFound(
            detail,
            code="no_worker",
            findings=[Finding(pointer, detail, "no_worker")],
            suggestion="`mainspring workers` lists them.",
        )
    return [dict(row) for row in rows]
