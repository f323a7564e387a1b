"""Metrics of the whole installation: open decisions, sizes and ended runs.

Each is answered by a partial index of active rows, or by new entries of the event log, so a million
ended runs cost nothing here. ``fleet`` has the metrics of the queues.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# These cross workspaces on purpose: they are metrics of the installation.
_WAITING = """
    SELECT
        (SELECT count(*) FROM drafts WHERE status = 'pending') AS drafts,
        (SELECT count(*) FROM approvals WHERE status = 'pending') AS questions,
        pg_database_size(current_database()) AS database_bytes,
        (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
            AS connections,
        (SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%')
            AS idle_in_transaction,
        (SELECT coalesce(extract(epoch FROM now() - min(xact_start)), 0) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend')
            AS oldest_transaction_seconds,
        current_setting('max_connections')::int AS most_connections,
        (SELECT count(*) FROM halts WHERE released_at IS NULL) AS halts
"""
# Below this id nothing is still being written, so counts are final.
_SETTLED = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid"
_ENDED = """
    SELECT workspace_id, payload ->> 'status' AS status, count(*) AS runs
    FROM events
    WHERE xid >= $1::text::xid8 AND xid < $2::text::xid8 AND type = ANY($3::text[])
    GROUP BY 1, 2
"""
# The durations of those runs and their steps: buckets, counts and seconds.
_LASTED = """
    WITH ended AS MATERIALIZED (
        SELECT workspace_id, (payload ->> 'run_id')::uuid AS run_id FROM events
        WHERE xid >= $1::text::xid8 AND xid < $2::text::xid8 AND type = ANY($3::text[])
    ), lasted AS (
        SELECT 'run' AS what, e.workspace_id,
            extract(epoch FROM r.finished_at - r.started_at)::float8 AS seconds
        FROM ended e JOIN runs r ON r.workspace_id = e.workspace_id AND r.id = e.run_id
        WHERE r.started_at IS NOT NULL AND r.finished_at IS NOT NULL
        UNION ALL
        SELECT 'step', e.workspace_id, s.ms / 1000.0::float8
        FROM ended e JOIN steps s ON s.workspace_id = e.workspace_id AND s.run_id = e.run_id
        WHERE s.status IN ('succeeded', 'failed', 'retrying')
    )
    SELECT what, workspace_id, count(*) AS number, sum(seconds) AS seconds,
        (SELECT count(*) FROM unnest($4::float8[]) AS bound WHERE bound < lasted.seconds) AS above
    FROM lasted GROUP BY what, workspace_id, above
"""
# For one workspace, or for all of them; days and months are in UTC, as for the caps.
_SPENT = """
    SELECT coalesce(sum(usd), 0) AS month,
        coalesce(sum(usd) FILTER (WHERE day = (now() AT TIME ZONE 'UTC')::date), 0) AS day
    FROM spend
    WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date
      AND ($1::uuid IS NULL OR workspace_id = $1)
"""
BOUNDS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_TYPES: Final = ("automation.run.succeeded", "automation.run.failed", "automation.run.cancelled")
ENDS: Final = ("succeeded", "failed", "timed_out", "cancelled", "dead")


@dataclass(frozen=True, slots=True)
class InstallationMetrics:
    """What waits for people, and the size of the database."""

    drafts: int
    questions: int
    database_bytes: int
    connections: int
    idle_in_transaction: int
    oldest_transaction_seconds: float
    most_connections: int
    halts: int


async def read_installation_metrics(tx: Transaction) -> InstallationMetrics:
    """The other metrics of the installation."""
    row = await tx.fetchrow(_WAITING)
    return InstallationMetrics(
        drafts=row["drafts"],
        questions=row["questions"],
        database_bytes=row["database_bytes"],
        connections=row["connections"],
        idle_in_transaction=row["idle_in_transaction"],
        oldest_transaction_seconds=float(row["oldest_transaction_seconds"]),
        most_connections=row["most_connections"],
        halts=row["halts"],
    )


async def read_spent(tx: Transaction, workspace_id: UUID | None) -> dict[str, float]:
    """What was spent today and in this month."""
    row = await tx.fetchrow(_SPENT, workspace_id)
    return {"day": float(row["day"]), "month": float(row["month"])}


@dataclass(slots=True)
class DurationHistogram:
    """A histogram of durations: a count for each bound, and one for all above."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, other: DurationHistogram) -> None:
        self.counts = [mine + more for mine, more in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds


@dataclass(slots=True)
class EndedRunMetrics:
    """Counts runs that have ended since its first read, from the event log.

    Each read only covers what was written since the previous one.
    """

    _from: str | None = None
    _counts: Counter[tuple[UUID, str]] = field(default_factory=Counter)
    _lasted: dict[tuple[UUID, str], DurationHistogram] = field(default_factory=dict)

    async def look(self, tx: Transaction) -> None:
        until = (await tx.fetchrow(_SETTLED))["xid"]
        if self._from is not None:
            for row in await tx.fetch(_ENDED, self._from, until, list(_TYPES)):
                self._counts[row["workspace_id"], row["status"]] += row["runs"]
            for row in await tx.fetch(_LASTED, self._from, until, list(_TYPES), list(BOUNDS)):
                lasted = self._lasted.setdefault(
                    (row["workspace_id"], row["what"]), DurationHistogram()
                )
                lasted.counts[row["above"]] += row["number"]
                lasted.seconds += row["seconds"]
        self._from = until

    def duration_histogram(self, what: str, workspace_id: UUID | None) -> DurationHistogram:
        """The durations of the runs or steps of one workspace, or of all."""
        found = DurationHistogram()
        for (space, kind), one in self._lasted.items():
            if kind == what and workspace_id in (None, space):
                found.add(one)
        return found

    def by_status(self, workspace_id: UUID | None) -> dict[str, float]:
        """The counts of one workspace, or of all."""
        found = dict.fromkeys(ENDS, 0.0)
        for (space, status), count in self._counts.items():
            if workspace_id in (None, space) and status in found:
                found[status] += count
        return found
