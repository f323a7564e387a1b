"""Whether everything that should happen does happen: a look at the tables from outside.

Whoever hangs cannot say so. The tables show it: a schedule whose moment has passed, a run
that nobody takes, an event that nobody matches. Nothing is remembered between two looks,
so health comes back by itself when the work does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

Status = Literal["ok", "degraded", "down"]

# A moment may pass unserved for this long before it counts as missed.
PATIENCE_SECONDS: Final = 60.0
# The reader of the event log that starts runs.
MATCHER: Final = "triggers"

# These cross workspaces on purpose: one house serves all of them.
_VITALS = """
    WITH mark AS MATERIALIZED (SELECT xid, id FROM event_cursors WHERE consumer = $1)
    SELECT
        (SELECT count(*) FROM triggers WHERE next_due_at < now() - make_interval(secs => $2))
            AS overdue_schedules,
        (SELECT extract(epoch FROM now() - min(next_due_at)) FROM triggers
         WHERE next_due_at <= now()) AS schedule_seconds,
        (SELECT count(*) FROM workers WHERE lease_until > now()) AS workers,
        (SELECT extract(epoch FROM now() - min(d.due_at))
         FROM unnest(ARRAY['fast', 'medium', 'long']) AS q(queue),
         LATERAL (
            SELECT r.due_at FROM runs r
            WHERE r.queue = q.queue AND r.status IN ('pending', 'waiting') AND r.due_at <= now()
            ORDER BY r.due_at LIMIT 1
         ) AS d) AS run_seconds,
        (SELECT extract(epoch FROM now() - e.created_at) FROM mark, LATERAL (
            SELECT created_at FROM events
            WHERE (xid, id) > (mark.xid, mark.id) ORDER BY xid, id LIMIT 1
         ) AS e) AS event_seconds,
        -- Triggers listen and nobody has ever read the log for them.
        (SELECT extract(epoch FROM now() - min(armed_at)) FROM triggers
         WHERE type IN ('event', 'board_change', 'page_ingested') AND armed_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM mark))
            AS unheard_seconds
"""

_RUNS_SINCE = """
    SELECT status, count(*) AS runs FROM runs
    WHERE workspace_id = $1 AND created_at > now() - interval '1 hour'
      AND id >= $2 AND rehearsal_id IS NULL GROUP BY status
"""

_DUE_RUNS = """
    SELECT count(*) AS runs FROM runs
    WHERE queue IN ('fast', 'medium', 'long') AND status IN ('pending', 'waiting')
      AND due_at <= now()
"""


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a look at the tables shows. Seconds are ages; None means that nothing waits."""

    workers: int = 0
    overdue_schedules: int = 0
    schedule_seconds: float | None = None
    run_seconds: float | None = None
    event_seconds: float | None = None
    unheard_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer, as a sentence."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Health:
    """The answer to all questions."""

    status: Status
    checks: tuple[Check, ...]


async def read_vitals(tx: Transaction) -> Vitals:
    """One look at everything that may be late."""
    row = await tx.fetchrow(_VITALS, MATCHER, PATIENCE_SECONDS)
    ages = ("schedule_seconds", "run_seconds", "event_seconds", "unheard_seconds")
    return Vitals(
        workers=row["workers"],
        overdue_schedules=row["overdue_schedules"],
        **{name: None if row[name] is None else float(row[name]) for name in ages},
    )


async def recent_runs(tx: Transaction, workspace_id: UUID, since: UUID) -> Mapping[str, int]:
    """How many runs of the last hour stand where; ``since`` is the smallest id of that hour."""
    rows: list[Any] = await tx.fetch(_RUNS_SINCE, workspace_id, since)
    return {row["status"]: row["runs"] for row in rows}


async def due_runs(tx: Transaction) -> int:
    """Runs whose time has come and that no worker has taken."""
    row = await tx.fetchrow(_DUE_RUNS)
    return int(row["runs"])


def judge(vitals: Vitals | None) -> Health:
    """What the vitals mean; without any, the database did not answer."""
    if vitals is None:
        return Health("down", (Check("database", False, "The database does not answer."),))
    checks = (
        Check("database", True, "The database answers."),
        _schedules(vitals),
        _workers(vitals),
        _matcher(vitals),
    )
    return Health("ok" if all(check.ok for check in checks) else "degraded", checks)


def _schedules(vitals: Vitals) -> Check:
    late = _late(vitals.schedule_seconds)
    if late is None:
        return Check("schedules", True, "No schedule is overdue.")
    return Check(
        "schedules",
        False,
        f"Schedules that should have fired and did not: {vitals.overdue_schedules}, "
        f"the oldest {late} s ago. Is a scheduler running?",
    )


def _workers(vitals: Vitals) -> Check:
    late = _late(vitals.run_seconds)
    if vitals.workers > 0 or late is None:
        return Check("workers", True, f"Workers at work: {vitals.workers}.")
    return Check(
        "workers", False, f"A run has been due for {late} s and no worker is there to take it."
    )


def _matcher(vitals: Vitals) -> Check:
    late = _late(vitals.event_seconds) or _late(vitals.unheard_seconds)
    if late is None:
        return Check("events", True, "Events are matched as they come.")
    return Check("events", False, f"Events have not been matched for {late} s.")


def _late(seconds: float | None) -> int | None:
    return int(seconds) if seconds is not None and seconds > PATIENCE_SECONDS else None
