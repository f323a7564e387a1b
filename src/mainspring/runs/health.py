"""Health: detects overdue work from the tables, from outside the processes that do it.

A process that hangs cannot report it. The tables show it: a schedule whose fire time has passed, a
run that is not claimed, an event that is not matched. No state is kept between checks, so health
recovers by itself when the work does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

Status = Literal["ok", "degraded", "down"]

# How long a fire time may be overdue before it counts as missed.
PATIENCE_SECONDS: Final = 60.0
# The event consumer that starts runs.
MATCHER: Final = "triggers"

# These cross workspaces on purpose: they check the installation.
_VITALS = """
    WITH mark AS MATERIALIZED (SELECT xid, id FROM event_cursors WHERE consumer = $1),
    oldest AS MATERIALIZED (
        SELECT q.queue, d.due_at
        FROM unnest(ARRAY['fast', 'medium', 'long']) AS q(queue),
        LATERAL (
            SELECT r.due_at FROM runs r
            WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting') AND r.due_at <= now()
            ORDER BY r.due_at LIMIT 1
        ) AS d
    ),
    alive AS MATERIALIZED (
        SELECT w.id, w.queues, w.slots, w.drain_at FROM workers w WHERE w.lease_until > now()
    ),
    -- The oldest run of each queue that no suspicion holds up; it should have been taken.
    late AS MATERIALIZED (
        SELECT q.queue, d.due_at
        FROM oldest q,
        LATERAL (
            SELECT r.due_at FROM runs r
            WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting') AND r.takeovers = 0
              AND r.due_at < now() - make_interval(secs => $2)
            ORDER BY r.due_at LIMIT 1
        ) AS d
        WHERE q.due_at < now() - make_interval(secs => $2)
    ),
    -- Only looked at while something is late: a worker with room that has taken nothing new.
    idle AS MATERIALIZED (
        SELECT a.id, a.queues
        FROM alive a,
        LATERAL (
            SELECT count(*) AS held, max(r.claimed_at) AS took FROM runs r
            WHERE r.worker = a.id AND r.status = 'running'
        ) AS h
        WHERE EXISTS (SELECT 1 FROM late) AND a.drain_at IS NULL AND h.held < a.slots
          AND (h.took IS NULL OR h.took < now() - make_interval(secs => $2))
    )
    SELECT
        (SELECT count(*) FROM triggers WHERE next_due_at < now() - make_interval(secs => $2))
            AS overdue_schedules,
        (SELECT extract(epoch FROM now() - min(next_due_at)) FROM triggers
         WHERE next_due_at <= now()) AS schedule_seconds,
        (SELECT count(*) FROM alive) AS workers,
        (SELECT extract(epoch FROM now() - min(due_at)) FROM oldest) AS run_seconds,
        (SELECT extract(epoch FROM now() - min(o.due_at)) FROM oldest o
         WHERE NOT EXISTS (SELECT 1 FROM alive a WHERE a.queues = '{}' OR o.queue = ANY(a.queues)))
            AS unserved_seconds,
        (SELECT extract(epoch FROM now() - min(l.due_at)) FROM late l
         WHERE EXISTS (SELECT 1 FROM idle i WHERE l.queue = ANY(i.queues))
           AND NOT EXISTS (
            SELECT 1 FROM alive a WHERE l.queue = ANY(a.queues)
              AND a.id NOT IN (SELECT id FROM idle))
           -- Between two claims a worker holds nothing: what has just ended shows that it works.
           AND NOT EXISTS (
            SELECT 1 FROM (SELECT type, created_at FROM events
                           ORDER BY xid DESC, id DESC LIMIT 100) AS e
            WHERE e.type LIKE 'automation.run.%'
              AND e.created_at > now() - make_interval(secs => $2)
           )) AS untaken_seconds,
        (SELECT extract(epoch FROM now() - e.created_at) FROM mark, LATERAL (
            SELECT created_at FROM events
            WHERE (xid, id) > (mark.xid, mark.id) ORDER BY xid, id LIMIT 1
         ) AS e) AS event_seconds,
        -- Triggers listen and nobody has ever read the log for them.
        CASE WHEN NOT EXISTS (SELECT 1 FROM mark) THEN (
            SELECT extract(epoch FROM now() - armed_at) FROM triggers
            WHERE type IN ('event', 'board_change', 'page_ingested', 'chat_message')
              AND armed_at IS NOT NULL
            ORDER BY armed_at LIMIT 1
        ) END AS unheard_seconds
"""

_RUNS_SINCE = """
    SELECT status, count(*) AS runs FROM runs
    WHERE workspace_id = $1 AND created_at > now() - interval '1 hour'
      AND id >= $2 AND rehearsal_id IS NULL GROUP BY status
"""


@dataclass(frozen=True, slots=True)
class HealthSignals:
    """The result of one check. Seconds are ages; None means that nothing waits."""

    workers: int = 0
    overdue_schedules: int = 0
    schedule_seconds: float | None = None
    run_seconds: float | None = None
    event_seconds: float | None = None
    unheard_seconds: float | None = None
    # The oldest due run of a queue that no live worker serves.
    unserved_seconds: float | None = None
    # The oldest due run, when workers with free slots claim nothing.
    untaken_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check and its result, as a sentence."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of all checks."""

    status: Status
    checks: tuple[HealthCheck, ...]


async def read_health_signals(tx: Transaction, patience: float = PATIENCE_SECONDS) -> HealthSignals:
    """Read everything that may be overdue."""
    row = await tx.fetchrow(_VITALS, MATCHER, patience)
    ages = (
        "schedule_seconds",
        "run_seconds",
        "event_seconds",
        "unheard_seconds",
        "unserved_seconds",
        "untaken_seconds",
    )
    return HealthSignals(
        workers=row["workers"],
        overdue_schedules=row["overdue_schedules"],
        **{name: None if row[name] is None else float(row[name]) for name in ages},
    )


async def recent_runs(tx: Transaction, workspace_id: UUID, since: UUID) -> Mapping[str, int]:
    """The runs of the last hour by status; ``since`` is the smallest id of that hour."""
    rows: list[Any] = await tx.fetch(_RUNS_SINCE, workspace_id, since)
    return {row["status"]: row["runs"] for row in rows}


def judge(vitals: HealthSignals | None, patience: float = PATIENCE_SECONDS) -> HealthReport:
    """Evaluate the signals; None means that the database did not answer."""
    if vitals is None:
        return HealthReport(
            "down", (HealthCheck("database", False, "The database does not respond."),)
        )
    checks = (
        HealthCheck("database", True, "The database responds."),
        _schedules(vitals, patience),
        _workers(vitals, patience),
        _matcher(vitals, patience),
    )
    return HealthReport("ok" if all(check.ok for check in checks) else "degraded", checks)


def _schedules(vitals: HealthSignals, patience: float) -> HealthCheck:
    late = _late(vitals.schedule_seconds, patience)
    if late is None:
        return HealthCheck("schedules", True, "No schedule is overdue.")
    return HealthCheck(
        "schedules",
        False,
        (
            f"Overdue schedules: {vitals.overdue_schedules}, the oldest by {late} s. "
            "Is a scheduler running?"
        ),
    )


def _workers(vitals: HealthSignals, patience: float) -> HealthCheck:
    late = _late(vitals.run_seconds, patience)
    if late is None:
        return HealthCheck("workers", True, f"Active workers: {vitals.workers}.")
    due = f"A run has been due for {late} s"
    if vitals.workers == 0:
        return HealthCheck("workers", False, f"{due} and no worker is running.")
    unserved = _late(vitals.unserved_seconds, patience)
    if unserved is not None:
        detail = f"A run has been due for {unserved} s and no worker serves its queue."
        return HealthCheck("workers", False, detail)
    untaken = _late(vitals.untaken_seconds, patience)
    if untaken is not None:
        detail = f"A run has been due for {untaken} s and workers with free slots do not claim it."
        return HealthCheck("workers", False, detail)
    # More work than capacity; all workers are busy.
    return HealthCheck(
        "workers", True, (f"Active workers: {vitals.workers}. {due}: all of them are busy.")
    )


def _matcher(vitals: HealthSignals, patience: float) -> HealthCheck:
    late = _late(vitals.event_seconds, patience) or _late(vitals.unheard_seconds, patience)
    if late is None:
        return HealthCheck("events", True, "Events are matched without delay.")
    return HealthCheck("events", False, f"Events have not been matched for {late} s.")


def _late(seconds: float | None, patience: float) -> int | None:
    return int(seconds) if seconds is not None and seconds > patience else None
