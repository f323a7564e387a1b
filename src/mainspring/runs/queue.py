"""The queue is the runs table: claims, leases, and recovery of lost runs.

A claim is one SKIP LOCKED statement. One lease per worker covers all of its runs; when it expires,
another worker returns those runs to the queue, with a new fencing token.

A run whose worker crashed is a suspect. Suspects are claimed a few at a time, and one at a time
once such a group has lost its worker too. A run whose worker then crashes while running it alone is
poison and ends as dead. Losses of the database, of a supervisor or of a machine say nothing about
the runs, and make no suspects.

Halted runs are parked: their due time is set aside, and claims do not see them until the halt is
released. Halting parks what is due; a claim that still finds such a run parks it instead of taking
it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.limits import Limits
from mainspring.runs.claim_fairness import ClaimQuery, everything
from mainspring.runs.rows import ClaimedRun
from mainspring.store.application_name import HOST_LETTERS

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The due time of a parked run: beyond the range of claims and lanes.
PARKED = "timestamptz '9999-01-01 00:00:00+00'"
# Whether a run, aliased r in the statement, is halted. Usually there are no halts, and that is
# checked once.
HALTED = """(CASE WHEN (SELECT EXISTS (SELECT FROM halts WHERE released_at IS NULL)) THEN
                EXISTS (SELECT FROM halting(r.workspace_id, r.automation_id)) ELSE false END)"""
# Cancelled runs pass: they only end.
_HELD = f"(r.cancel_at IS NULL AND {HALTED})"

# A worker whose lease expired while it slept must not claim anything, nor one that drains.
_ME = """
        SELECT 1 FROM workers
        WHERE id = $3 AND lease_until > now() AND drain_at IS NULL FOR KEY SHARE
"""

# First what is due of other workspaces, then what is due of those with many runs already; see
# ``claim_fairness``. The workspace must not drive the index scan: the due time does.
_ARM = """
        SELECT p.* FROM unnest($1::text[], $4::timestamptz[], $5::timestamptz[])
            AS q(queue, floor, crowd_floor),
        LATERAL (
            SELECT r.workspace_id, r.id, r.queue, r.due_at, {held} AS held FROM runs r
            WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting')
              AND r.due_at <= now() AND r.due_at >= q.{floor} AND r.takeovers = 0
              AND coalesce(r.workspace_id = ANY($6::uuid[]), false) = {crowded}
            ORDER BY r.due_at LIMIT {most}
            FOR UPDATE SKIP LOCKED
        ) AS p
        WHERE EXISTS (SELECT FROM me) LIMIT {most}
"""
_OTHERS = _ARM.format(held=_HELD, floor="floor", crowded="false", most="$2")
_CROWD = _ARM.format(held=_HELD, floor="crowd_floor", crowded="true", most="$7")

_CLAIM = f"""
    WITH me AS MATERIALIZED ({_ME}), picked AS MATERIALIZED (
        SELECT * FROM (
            SELECT * FROM ({_OTHERS}) AS others UNION ALL SELECT * FROM ({_CROWD}) AS crowd
        ) AS both_arms LIMIT $2
    )
"""

# Runs whose worker died are claimed separately: see ``_claim_suspects`` in ``worker``.
_CLAIM_SUSPECTS = f"""
    WITH me AS MATERIALIZED ({_ME}), picked AS MATERIALIZED (
        SELECT r.workspace_id, r.id, r.queue, r.due_at, {_HELD} AS held FROM runs r
        WHERE EXISTS (SELECT 1 FROM me)
          AND r.status IN ('pending', 'waiting') AND r.takeovers > 0 AND r.takeovers <= $4
          AND r.due_at <= now() AND r.queue = ANY($1::text[])
        ORDER BY r.takeovers DESC, r.due_at LIMIT $2
        FOR UPDATE SKIP LOCKED
    )
"""

# Whether a run is due that must run alone.
_SOLITARY = """
    SELECT EXISTS (
        SELECT FROM runs r WHERE r.status IN ('pending', 'waiting') AND r.takeovers > 1
          AND r.due_at <= now() AND r.queue = ANY($1::text[]))
"""

_TAKE = f"""
    UPDATE runs r
    SET status = CASE WHEN p.held THEN r.status ELSE 'running' END,
        fence = CASE WHEN p.held THEN r.fence ELSE r.fence + 1 END,
        worker = CASE WHEN p.held THEN NULL ELSE $3::int4 END,
        claimed_at = CASE WHEN p.held THEN r.claimed_at ELSE now() END,
        trial = r.trial AND p.held,
        started_at = CASE WHEN p.held THEN r.started_at ELSE coalesce(r.started_at, now()) END,
        due_at = CASE WHEN p.held THEN {PARKED} ELSE r.due_at END,
        parked_due_at = CASE WHEN p.held THEN r.due_at END
    FROM picked p
    WHERE r.workspace_id = p.workspace_id AND r.id = p.id
    RETURNING p.held, r.workspace_id, r.id, r.automation_id, r.version, r.trigger_id,
        r.trigger_type, r.fence, r.attempt, r.takeovers, r.lane, r.inputs, r.payload, r.started_at,
        r.active_ms, r.cost_usd, r.cancel_at IS NOT NULL AS cancelled, r.mode, r.rehearsal_id,
        p.queue, p.due_at
"""

_CLAIM_AND_TAKE = _CLAIM + _TAKE
_CLAIM_SUSPECTS_AND_TAKE = _CLAIM_SUSPECTS + _TAKE

_REGISTER = """
    INSERT INTO workers (name, lease_until, host, process, queues, slots, launcher, mark,
        drain_at)
    VALUES ($1, now() + make_interval(secs => $2), $3, $4, $5, $6, $8, $9,
        -- Whoever was told to leave while it was held up is still to leave.
        (SELECT drain_at FROM workers WHERE id = $7)) RETURNING id
"""

_BEAT = """
    UPDATE workers SET lease_until = now() + make_interval(secs => $2), in_flight = $3
    WHERE id = $1 AND lease_until > now() RETURNING now() AS now, drain_at IS NOT NULL AS draining
"""

# A worker that stopped cleanly has no runs left; its row is deleted at once.
_LEAVE = "DELETE FROM workers WHERE id = $1"

# Postgres ends a transaction that is idle, but not one whose client froze in the middle of a
# statement: its locks would block the runs of that worker. A worker that has returned under the
# same name keeps its sessions.
_END_SESSIONS = f"""
    SELECT pg_terminate_backend(a.pid)
    FROM workers w JOIN pg_stat_activity a
        ON split_part(a.application_name, ':', 2) = w.process::text
        AND split_part(a.application_name, ':', 3) = left(md5(w.host), {HOST_LETTERS})
    WHERE w.lease_until < now()
      AND NOT EXISTS (SELECT FROM workers o WHERE o.name = w.name AND o.lease_until >= now())
      AND a.datname = current_database() AND a.usename = current_user
      AND a.xact_start < now() - interval '1 second' AND a.pid <> pg_backend_pid()
"""

_LOST_WORKERS = """
    SELECT id, name FROM workers WHERE lease_until < now()
    ORDER BY drain_at IS NOT NULL, id LIMIT 20 FOR UPDATE SKIP LOCKED
"""

# What is known about a worker that lost its runs. It crashed by itself if another worker with the
# same parent process sent a heartbeat after the last time at which it can have died: that is one
# heartbeat interval ($7, seconds) after its last one, and leases have equal lengths. It is alive if
# its lease is valid or its process has another one: then it could not start a run, or was delayed
# for too long. Otherwise its machine or its supervisor was lost with it.
_GONE = """
    SELECT w.id,
        (SELECT count(*) FROM runs r WHERE r.worker = w.id AND r.status = 'running') AS held,
        CASE WHEN EXISTS (
            SELECT FROM workers o
            WHERE o.name = w.name AND o.mark = w.mark AND o.lease_until > now())
            THEN 'alive'
        WHEN EXISTS (
            SELECT FROM workers o WHERE o.host = w.host AND o.launcher = w.launcher
              AND o.lease_until > w.lease_until + make_interval(secs => $7))
            THEN 'died' ELSE 'unknown' END AS fate
    FROM workers w WHERE w.id = ANY($1::int4[])
"""

# A database that was restarted since the claim was lost itself, and nothing counts. A record
# written by the lost owner is progress: the counts restart. A suspect that had not begun its step
# is not to blame; nor is one that should have run alone and did not.
_PUT_BACK = f"""
    WITH gone AS MATERIALIZED ({_GONE}), fated AS MATERIALIZED (
        SELECT r.workspace_id, r.id, r.takeovers, r.losses, r.trial, g.held = 1 AS alone,
            p.progress, coalesce(g.fate = 'died' AND NOT d.restarted, false) AS died,
            coalesce(g.fate = 'alive' AND NOT d.restarted, false) AS alive
        FROM runs r LEFT JOIN gone g ON g.id = r.worker,
        LATERAL (SELECT pg_postmaster_start_time() > r.claimed_at AS restarted) AS d,
        LATERAL (SELECT EXISTS (
            SELECT 1 FROM steps s WHERE s.workspace_id = r.workspace_id
              AND s.run_id = r.id AND s.fence = r.fence) AS progress) AS p
        WHERE r.worker = ANY($1::int4[]) AND r.status = 'running'
          AND ($4::uuid[] IS NULL
               OR (r.id, r.fence) IN (SELECT * FROM unnest($4::uuid[], $6::int4[])))
        FOR UPDATE OF r
    ), lost AS MATERIALIZED (
        SELECT workspace_id, id,
            CASE WHEN progress THEN died::int ELSE losses + (died OR alive)::int END AS losses,
            CASE WHEN progress THEN died::int
                WHEN NOT died THEN takeovers
                WHEN takeovers = 0 THEN 1
                WHEN trial AND (takeovers = 1 OR alone) THEN takeovers + 1
                ELSE takeovers END AS takeovers
        FROM fated
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
          AND r.due_at > now() - make_interval(secs => $2) AND r.due_at < 'infinity'
        ORDER BY r.due_at LIMIT 1
    ) AS n
"""

# Runs that name an unknown worker: the same as a lost one.
_ORPHANED = """
    SELECT DISTINCT r.worker FROM runs r
    WHERE r.status = 'running' AND r.worker IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = r.worker)
"""

# A drained worker may reconnect and must still learn that it is drained.
_FORGET = """
    DELETE FROM workers WHERE id = ANY($1::int4[])
        AND (drain_at IS NULL OR lease_until < now() - interval '1 hour')
"""

_UNWANTED = f"""
    SELECT r.id, r.fence, r.cancel_at IS NOT NULL AS cancelled FROM runs r
    WHERE r.worker = $1 AND r.status = 'running' AND (r.cancel_at IS NOT NULL OR {HALTED})
"""

# What a worker still owns according to the table; it has lost everything else.
_OWNED = "SELECT id, fence FROM runs WHERE worker = $1 AND status = 'running'"


@dataclass(frozen=True, slots=True)
class WorkerRegistration:
    """Where a worker runs, and its capacity."""

    name: str
    host: str
    process: int
    queues: tuple[str, ...]
    slots: int
    # See ``get_parent_process_id``.
    launcher: str = ""
    # See ``get_process_id``.
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The result of renewing a lease."""

    now: datetime
    # An operator wants it to drain: claim nothing new and leave.
    draining: bool


async def claim(
    tx: Transaction, queues: Sequence[str], most: int, worker: int, look: ClaimQuery | None = None
) -> list[ClaimedRun]:
    """Claim up to ``most`` due runs, oldest first, in the order of a ``ClaimQuery``.

    When it found halted runs, which it parks, it queries again for others.
    """
    look = look or everything(queues, most)
    taken: list[ClaimedRun] = []
    while len(taken) < most:
        busy = sum(run.workspace_id in look.busy_workspaces for run in taken)
        rows = await tx.fetch(
            _CLAIM_AND_TAKE,
            list(look.queues),
            most - len(taken),
            worker,
            list(look.floors),
            list(look.busy_floors),
            list(look.busy_workspaces),
            max(look.busy_most - busy, 0),
        )
        taken += _to_claimed_runs(rows)
        if not any(row["held"] for row in rows):
            break
    return taken


async def claim_suspects(
    tx: Transaction, queues: Sequence[str], most: int, worker: int, takeovers: int
) -> list[ClaimedRun]:
    """Claim runs that have lost a worker before, up to a number of takeovers."""
    rows = await tx.fetch(_CLAIM_SUSPECTS_AND_TAKE, list(queues), most, worker, takeovers)
    return _to_claimed_runs(rows)


async def has_solitary_suspect(tx: Transaction, queues: Sequence[str]) -> bool:
    """Whether a suspect is due that must run alone."""
    row = await tx.fetchrow(_SOLITARY, list(queues))
    return row is not None and bool(row["exists"])


def _to_claimed_runs(rows: Sequence[Any]) -> list[ClaimedRun]:
    return [
        ClaimedRun(
            row["workspace_id"],
            row["id"],
            row["automation_id"],
            row["version"],
            row["trigger_id"],
            row["trigger_type"],
            row["fence"],
            row["attempt"],
            row["takeovers"],
            row["lane"],
            row["inputs"] or {},
            {} if row["payload"] is None else row["payload"],
            row["started_at"],
            row["active_ms"],
            row["cost_usd"],
            row["cancelled"],
            row["queue"],
            row["due_at"],
            row["mode"],
            row["rehearsal_id"],
        )
        for row in rows
        if not row["held"]
    ]


async def register(
    tx: Transaction, worker: WorkerRegistration, lease_seconds: float, before: int | None = None
) -> int:
    """Register a new worker with a lease; its number is never reused.

    ``before`` is the number that it had until its lease expired.
    """
    row = await tx.fetchrow(
        _REGISTER,
        worker.name,
        lease_seconds,
        worker.host,
        worker.process,
        list(worker.queues),
        worker.slots,
        before,
        worker.launcher,
        worker.mark,
    )
    assert row is not None
    return int(row["id"])


async def beat(
    tx: Transaction, worker: int, lease_seconds: float, in_flight: int
) -> Heartbeat | None:
    """Renew the lease and read pending requests; None when it had already expired."""
    row = await tx.fetchrow(_BEAT, worker, lease_seconds, in_flight)
    return None if row is None else Heartbeat(row["now"], row["draining"])


async def leave(tx: Transaction, worker: int) -> None:
    """Delete a worker that owns nothing any more."""
    await tx.execute(_LEAVE, worker)


async def requeue_runs(
    tx: Transaction,
    workers: Sequence[int],
    limits: Limits,
    evidence: dict[str, Any],
    only: Collection[tuple[UUID, int]] | None = None,
    *,
    heartbeat: float,
) -> Sequence[Any]:
    """Return the runs of workers to the queue, or end the ones that are poison.

    With claims given, only those: the same run may have been claimed again. ``heartbeat`` is the
    heartbeat interval of a worker, in seconds.
    """
    runs = None if only is None else [run_id for run_id, _ in only]
    fences = None if only is None else [fence for _, fence in only]
    return await tx.fetch(
        _PUT_BACK,
        list(workers),
        limits.takeovers,
        evidence,
        runs,
        limits.losses,
        fences,
        heartbeat,
    )


async def end_sessions(tx: Transaction) -> None:
    """Terminate the database sessions of workers whose lease has expired."""
    await tx.execute(_END_SESSIONS)


async def lock_lost_workers(tx: Transaction) -> list[tuple[int, str]]:
    """Workers whose lease has expired, locked by the process that recovers their runs."""
    return [(row["id"], row["name"]) for row in await tx.fetch(_LOST_WORKERS)]


async def next_due(tx: Transaction, queues: Sequence[str], since: float = 0.0) -> float | None:
    """Seconds until the next run becomes due; None when none is waiting.

    Runs that became due in the last ``since`` seconds count too: a claim that began before them did
    not see them.
    """
    row = await tx.fetchrow(_NEXT_DUE, list(queues), since)
    return None if row is None or row["seconds"] is None else float(row["seconds"])


async def find_orphaned_workers(tx: Transaction) -> list[int]:
    """Workers that runs name and the table of workers does not."""
    return [row["worker"] for row in await tx.fetch(_ORPHANED)]


async def forget_workers(tx: Transaction, workers: Sequence[int]) -> None:
    """Delete lost workers once nothing references them."""
    await tx.execute(_FORGET, list(workers))


async def find_revoked_runs(tx: Transaction, worker: int) -> dict[tuple[UUID, int], bool]:
    """Runs of this worker that must stop, with their fencing tokens; True: cancelled.

    The others are halted.
    """
    rows = await tx.fetch(_UNWANTED, worker)
    return {(row["id"], row["fence"]): row["cancelled"] for row in rows}


async def find_owned_runs(tx: Transaction, worker: int) -> set[tuple[UUID, int]]:
    """What this worker owns according to the table, with the fencing tokens."""
    return {(row["id"], row["fence"]) for row in await tx.fetch(_OWNED, worker)}
