"""The queue is the runs table: claiming, leases, and giving back what a worker lost.

A claim is one skip-locked statement. One lease per worker covers all of its runs; when it
runs out, another worker puts those runs back, with a new fence, for anyone to claim. A
run that keeps losing its worker without progress is poison and ends as dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.limits import Limits
from mainspring.runs.rows import ClaimedRun

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_CLAIM = """
    WITH me AS MATERIALIZED (
        -- A worker whose lease ran out while it slept must not take anything new.
        SELECT 1 FROM workers WHERE id = $3 AND lease_until > now() FOR KEY SHARE
    ), picked AS MATERIALIZED (
        SELECT p.workspace_id, p.id
        FROM me, unnest($1::text[]) AS q(queue),
        LATERAL (
            SELECT r.workspace_id, r.id FROM runs r
            WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting')
              AND r.due_at <= now() AND r.takeovers = 0
            ORDER BY r.due_at LIMIT $2
            FOR UPDATE SKIP LOCKED
        ) AS p
        LIMIT $2
    )
"""

# Runs whose worker was lost are claimed apart: see Suspects in worker.py.
_CLAIM_SUSPECTS = """
    WITH me AS MATERIALIZED (
        -- A worker whose lease ran out while it slept must not take anything new.
        SELECT 1 FROM workers WHERE id = $3 AND lease_until > now() FOR KEY SHARE
    ), picked AS MATERIALIZED (
        SELECT r.workspace_id, r.id FROM runs r
        WHERE EXISTS (SELECT 1 FROM me)
          AND r.status IN ('pending', 'waiting') AND r.takeovers > 0 AND r.takeovers <= $4
          AND r.due_at <= now() AND r.queue = ANY($1::text[])
        ORDER BY r.takeovers DESC, r.due_at LIMIT $2
        FOR UPDATE SKIP LOCKED
    )
"""

_TAKE = """
    UPDATE runs r
    SET status = 'running', fence = r.fence + 1, worker = $3, claimed_at = now(), trial = false,
        started_at = coalesce(r.started_at, now())
    FROM picked p
    WHERE r.workspace_id = p.workspace_id AND r.id = p.id
    RETURNING r.workspace_id, r.id, r.automation_id, r.version, r.trigger_id, r.trigger_type,
        r.fence, r.attempt, r.takeovers, r.lane, r.inputs, r.payload, r.started_at,
        r.active_ms, r.cost_usd, r.cancel_at IS NOT NULL AS cancelled, r.mode, r.rehearsal_id
"""

_REGISTER = """
    INSERT INTO workers (name, lease_until)
    VALUES ($1, now() + make_interval(secs => $2)) RETURNING id
"""

_BEAT = """
    UPDATE workers SET lease_until = now() + make_interval(secs => $2)
    WHERE id = $1 AND lease_until > now() RETURNING now() AS now
"""

# A worker that stopped in good order has no runs left; its row goes at once.
_LEAVE = "DELETE FROM workers WHERE id = $1"

_LOST_WORKERS = """
    SELECT id, name FROM workers WHERE lease_until < now()
    ORDER BY id LIMIT 20 FOR UPDATE SKIP LOCKED
"""

# A record written by the lost owner is progress: the counts start anew. A run under
# suspicion that had not begun its step is not to blame; only the sum of such losses is.
_PUT_BACK = """
    WITH lost AS MATERIALIZED (
        SELECT r.workspace_id, r.id,
            CASE WHEN p.progress THEN 1 WHEN r.takeovers > 0 AND NOT r.trial THEN r.takeovers
                ELSE r.takeovers + 1 END AS takeovers,
            CASE WHEN p.progress THEN 1 ELSE r.losses + 1 END AS losses
        FROM runs r, LATERAL (SELECT EXISTS (
            SELECT 1 FROM steps s WHERE s.workspace_id = r.workspace_id
              AND s.run_id = r.id AND s.fence = r.fence) AS progress) AS p
        WHERE r.worker = ANY($1::int4[]) AND r.status = 'running'
          AND ($4::uuid[] IS NULL OR r.id = ANY($4::uuid[]))
        FOR UPDATE OF r
    ), judged AS MATERIALIZED (
        SELECT l.*, l.takeovers >= $2 OR l.losses >= $5 AS dead FROM lost l
    )
    UPDATE runs r
    SET status = CASE WHEN l.dead THEN 'dead' ELSE 'pending' END,
        fence = r.fence + 1, takeovers = l.takeovers, losses = l.losses, worker = NULL,
        due_at = now(),
        active_ms = r.active_ms + (extract(epoch FROM now() - r.claimed_at) * 1000)::int8,
        finished_at = CASE WHEN l.dead THEN now() END,
        reason = CASE WHEN l.dead THEN 'poison' END,
        outcome = CASE WHEN l.dead THEN 'failed' END,
        error = CASE WHEN l.dead THEN $3::json END
    FROM judged l
    WHERE r.workspace_id = l.workspace_id AND r.id = l.id
    RETURNING r.workspace_id, r.id, r.automation_id, r.status, r.mode,
        (SELECT a.name FROM automations a
         WHERE a.workspace_id = r.workspace_id AND a.id = r.automation_id) AS name
"""

_NEXT_DUE = """
    SELECT extract(epoch FROM min(n.due_at) - now()) AS seconds
    FROM unnest($1::text[]) AS q(queue),
    LATERAL (
        SELECT r.due_at FROM runs r
        WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting')
          AND r.due_at > now() AND r.due_at < 'infinity'
        ORDER BY r.due_at LIMIT 1
    ) AS n
"""

# Runs that name a worker nobody knows any more: the same as a lost one.
_ORPHANED = """
    SELECT DISTINCT r.worker FROM runs r
    WHERE r.status = 'running' AND r.worker IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = r.worker)
"""

_CANCELLED = """
    SELECT id, fence FROM runs
    WHERE worker = $1 AND status = 'running' AND cancel_at IS NOT NULL
"""

# What a worker still owns according to the table; anything else it holds, it lost.
_OWNED = "SELECT id, fence FROM runs WHERE worker = $1 AND status = 'running'"


async def claim(tx: Transaction, queues: Sequence[str], most: int, worker: int) -> list[ClaimedRun]:
    """Takes up to ``most`` due runs that no one holds, oldest first."""
    return _claimed(await tx.fetch(_CLAIM + _TAKE, list(queues), most, worker))


async def claim_suspects(
    tx: Transaction, queues: Sequence[str], most: int, worker: int, takeovers: int
) -> list[ClaimedRun]:
    """Takes runs that have lost a worker before, up to a number of takeovers."""
    rows = await tx.fetch(_CLAIM_SUSPECTS + _TAKE, list(queues), most, worker, takeovers)
    return _claimed(rows)


def _claimed(rows: Sequence[Any]) -> list[ClaimedRun]:
    return [
        ClaimedRun(
            row["workspace_id"], row["id"], row["automation_id"], row["version"],
            row["trigger_id"], row["trigger_type"], row["fence"], row["attempt"],
            row["takeovers"], row["lane"], row["inputs"] or {},
            {} if row["payload"] is None else row["payload"],
            row["started_at"], row["active_ms"], row["cost_usd"], row["cancelled"],
            row["mode"], row["rehearsal_id"],
        )
        for row in rows
    ]  # fmt: skip


async def register(tx: Transaction, name: str, lease_seconds: float) -> int:
    """A new worker with a lease; its number is never used again."""
    row = await tx.fetchrow(_REGISTER, name, lease_seconds)
    assert row is not None
    return int(row["id"])


async def beat(tx: Transaction, worker: int, lease_seconds: float) -> datetime | None:
    """Renews the lease and tells the database's time; None when it had already run out."""
    row = await tx.fetchrow(_BEAT, worker, lease_seconds)
    return None if row is None else row["now"]


async def leave(tx: Transaction, worker: int) -> None:
    """Ends a worker that holds nothing any more."""
    await tx.execute(_LEAVE, worker)


async def put_back(
    tx: Transaction, workers: Sequence[int], limits: Limits, evidence: dict[str, Any],
    only: Sequence[UUID] | None = None,
) -> Sequence[Any]:  # fmt: skip
    """Returns the runs of workers to the queue, or ends the ones that are poison."""
    runs = None if only is None else list(only)
    return await tx.fetch(_PUT_BACK, list(workers), limits.takeovers, evidence, runs, limits.losses)


async def lost_workers(tx: Transaction) -> list[tuple[int, str]]:
    """Workers whose lease has run out, locked for the one who puts their runs back."""
    return [(row["id"], row["name"]) for row in await tx.fetch(_LOST_WORKERS)]


async def next_due(tx: Transaction, queues: Sequence[str]) -> float | None:
    """Seconds until the next run becomes due by itself; None when none is waiting for it."""
    row = await tx.fetchrow(_NEXT_DUE, list(queues))
    return None if row is None or row["seconds"] is None else float(row["seconds"])


async def orphaned(tx: Transaction) -> list[int]:
    """Workers that runs name and the table of workers does not."""
    return [row["worker"] for row in await tx.fetch(_ORPHANED)]


async def forget_workers(tx: Transaction, workers: Sequence[int]) -> None:
    """Removes lost workers once nothing points at them."""
    await tx.execute("DELETE FROM workers WHERE id = ANY($1::int4[])", list(workers))


async def cancelled(tx: Transaction, worker: int) -> set[tuple[UUID, int]]:
    """Runs of this worker that someone asked to cancel, with their fences."""
    return {(row["id"], row["fence"]) for row in await tx.fetch(_CANCELLED, worker)}


async def owned(tx: Transaction, worker: int) -> set[tuple[UUID, int]]:
    """What the table says this worker holds, with the fences."""
    return {(row["id"], row["fence"]) for row in await tx.fetch(_OWNED, worker)}
