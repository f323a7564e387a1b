"""Retention: deletes runs that their automation no longer keeps, and expired keys.

The active version of an automation determines how long its runs are kept, not the version that ran:
shortening the period applies to existing history, too. The period starts at the end of a run. A run
that has not ended is never deleted, and neither is one whose draft still waits for a person.

A month in which nothing is kept any more is dropped as a partition; everything else is deleted in
batches.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.ids import get_lowest_id_at
from mainspring.gate.retention import forget_calls
from mainspring.runs.rows import FINAL
from mainspring.store.batch_delete import delete_in_batches
from mainspring.store.partitions import (
    ExpiredPartition,
    drop_partitions,
    list_ended_partitions,
    lock_month_exclusive,
)
from mainspring.workspace.versions import delete_unused_definitions

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

DEFAULT_DAYS = 90
_PAGE = 1_000
# Referencing rows are deleted before the run.
_FAMILY = ("agent_turns", "run_output", "large_results", "calls", "steps", "runs")
_FIRST = UUID(int=0)

_KEPT = """
    SELECT a.workspace_id, a.id, coalesce((d.document -> 'retention' ->> 'runs_days')::int, $1)
        AS days
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE (a.workspace_id, a.id) > ($2, $3)
    ORDER BY a.workspace_id, a.id LIMIT $4
"""
# An expired draft does not count as waiting, although its row has not been updated yet.
_AWAITED = """
    EXISTS (SELECT 1 FROM drafts d WHERE d.workspace_id = r.workspace_id AND d.run_id = r.id
        AND d.status = 'pending' AND d.expires_at > now())
"""
# A run that is being retried concurrently is locked, and skipped.
_OLD = f"""
    SELECT old.workspace_id, old.id
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[])
        AS k(workspace_id, automation_id, bound, moment)
    CROSS JOIN LATERAL (
        SELECT r.workspace_id, r.id FROM runs r
        WHERE r.workspace_id = k.workspace_id AND r.automation_id = k.automation_id
          AND r.id < k.bound AND r.finished_at < k.moment AND r.status = ANY($5::text[])
          AND NOT {_AWAITED}
        ORDER BY r.id LIMIT $6 FOR UPDATE OF r SKIP LOCKED
    ) AS old
    LIMIT $6
"""
_STEPS = """
    DELETE FROM steps s
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE s.workspace_id = old.workspace_id AND s.run_id = old.run_id
      AND s.run_id BETWEEN $3 AND $4
"""
_OUTPUT = """
    DELETE FROM run_output o
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE o.workspace_id = old.workspace_id AND o.run_id = old.run_id
      AND o.run_id BETWEEN $3 AND $4
"""
_RUNS = """
    DELETE FROM runs r
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, id)
    WHERE r.workspace_id = old.workspace_id AND r.id = old.id AND r.id BETWEEN $3 AND $4
"""
# Automations with the default retention are not listed.
_WORTH_KEEPING = f"""
    SELECT EXISTS (
        SELECT 1 FROM runs r
        LEFT JOIN unnest($3::uuid[], $4::uuid[], $5::timestamptz[])
            AS k(workspace_id, automation_id, moment)
            ON k.workspace_id = r.workspace_id AND k.automation_id = r.automation_id
        WHERE r.id >= $1 AND r.id < $2
          AND (r.finished_at IS NULL OR r.finished_at >= coalesce(k.moment, $6) OR {_AWAITED})
    ) AS found
"""
# Uses the queue's own indexes, so it is fast even under the lock.
_UNFINISHED = """
    SELECT EXISTS (
        SELECT 1 FROM runs WHERE id >= $1 AND id < $2 AND status IN ('pending', 'waiting')
    ) OR EXISTS (
        SELECT 1 FROM runs WHERE id >= $1 AND id < $2 AND status = 'running'
    ) AS found
"""
# A rehearsal without runs has nothing left to compare. Its candidate is deleted with it.
_REHEARSALS = """
    DELETE FROM rehearsals h USING (
        SELECT o.workspace_id, o.id FROM rehearsals o
        WHERE o.created_at < $1 AND NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.workspace_id = o.workspace_id AND r.rehearsal_id = o.id)
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE h.workspace_id = old.workspace_id AND h.id = old.id
    RETURNING h.workspace_id, h.definition_hash
"""
_EXPIRED_KEYS = """
    DELETE FROM firings f USING (
        SELECT workspace_id, source_id, key FROM firings
        WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE f.workspace_id = old.workspace_id AND f.source_id = old.source_id AND f.key = old.key
    RETURNING f.key
"""


@dataclass(frozen=True, slots=True)
class RetentionCutoff:
    """Up to which time the ended runs of one automation are expired."""

    workspace_id: UUID
    automation_id: UUID
    days: int
    moment: datetime


async def expire_runs(database: Database, now: datetime) -> tuple[int, list[str]]:
    """How many runs were deleted individually, and which partitions were dropped."""
    pages = [page async for page in _bounds(database, now)]
    dropped = await _drop_months(database, now, [bound for page in pages for bound in page])
    gone = 0
    for page in pages:
        gone += await delete_in_batches(database, partial(_delete_old, page))
    await delete_in_batches(database, partial(_delete_rehearsals, _past(now, 1)))
    return gone, dropped


async def expire_firings(database: Database, now: datetime) -> int:
    """Delete expired dedup keys."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED_KEYS, now, most))

    return await delete_in_batches(database, batch)


async def _bounds(database: Database, now: datetime) -> AsyncIterator[list[RetentionCutoff]]:
    after = (_FIRST, _FIRST)
    while True:
        rows = await database.fetch(_KEPT, DEFAULT_DAYS, *after, _PAGE)
        if rows:
            yield [
                RetentionCutoff(
                    row["workspace_id"], row["id"], row["days"], _past(now, row["days"])
                )
                for row in rows
            ]
            after = (rows[-1]["workspace_id"], rows[-1]["id"])
        if len(rows) < _PAGE:
            return


def _past(now: datetime, days: int) -> datetime:
    return now - timedelta(days=days)


async def _delete_old(bounds: Sequence[RetentionCutoff], tx: Transaction, most: int) -> int:
    rows = await tx.fetch(
        _OLD,
        [bound.workspace_id for bound in bounds],
        [bound.automation_id for bound in bounds],
        [get_lowest_id_at(bound.moment) for bound in bounds],
        [bound.moment for bound in bounds],
        sorted(FINAL),
        most,
    )
    runs = [(row["workspace_id"], row["id"]) for row in rows]
    if not runs:
        return 0
    await forget_calls(tx, runs)
    spaces, ids = [space for space, _ in runs], [run_id for _, run_id in runs]
    for statement in (_OUTPUT, _STEPS, _RUNS):
        await tx.execute(statement, spaces, ids, min(ids), max(ids))
    return len(runs)


async def _delete_rehearsals(before: datetime, tx: Transaction, most: int) -> int:
    gone = await tx.fetch(_REHEARSALS, before, most)
    await delete_unused_definitions(
        tx, [(row["workspace_id"], row["definition_hash"]) for row in gone]
    )
    return len(gone)


async def _drop_months(
    database: Database, now: datetime, bounds: Sequence[RetentionCutoff]
) -> list[str]:
    unusual = [bound for bound in bounds if bound.days != DEFAULT_DAYS]
    dropped: list[str] = []
    usual = _past(now, DEFAULT_DAYS)
    async with database.acquire() as connection:
        months = await list_ended_partitions(connection, "runs", _past(now, 1))
    for month in months:
        # A concurrent retry waits, and then finds that the run is gone.
        async with lock_month_exclusive(database, month.start) as connection:
            if not await _worth_keeping(connection, month, unusual, usual):
                dropped += await drop_partitions(
                    database, _FAMILY, month, partial(_has_unfinished_runs, month)
                )
    return dropped


async def _worth_keeping(
    tx: Transaction, month: ExpiredPartition, unusual: Sequence[RetentionCutoff], usual: datetime
) -> bool:
    row = await tx.fetchrow(
        _WORTH_KEEPING,
        month.start,
        month.end,
        [bound.workspace_id for bound in unusual],
        [bound.automation_id for bound in unusual],
        [bound.moment for bound in unusual],
        usual,
    )
    return row is None or bool(row["found"])


async def _has_unfinished_runs(month: ExpiredPartition, tx: Transaction) -> bool:
    """A run may have been retried since the check."""
    row = await tx.fetchrow(_UNFINISHED, month.start, month.end)
    return row is None or bool(row["found"])
