"""Halting and releasing work: runs are parked, restored or cancelled.

A halt is in force with the commit of its row: no claim takes what it names after that, and workers
return its runs at their next check. In addition, due runs are parked here in batches, so that
claims need not skip them one by one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from mainspring.runs.queue import PARKED
from mainspring.runs.rows import RunEnd, run_event
from mainspring.runs.run_requests import Lane, lock_lanes, release_lanes
from mainspring.store.events import append_events
from mainspring.workspace.halts import delete_halt, list_released_halts

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database, WorkspaceDatabase

# The whole database, or one workspace under row-level security.
Side: TypeAlias = "Database | WorkspaceDatabase"
_PORTION: Final = 1_000

_PARK = f"""
    WITH due AS MATERIALIZED (
        SELECT r.workspace_id, r.id FROM runs r
        WHERE r.queue IN ('fast', 'medium', 'long') AND r.status IN ('pending', 'waiting')
          AND r.due_at <= now() AND r.cancel_at IS NULL
          AND ($1::uuid IS NULL OR r.workspace_id = $1)
          AND EXISTS (SELECT FROM halting(r.workspace_id, r.automation_id))
        LIMIT {_PORTION} FOR UPDATE SKIP LOCKED
    )
    UPDATE runs r SET parked_due_at = r.due_at, due_at = {PARKED}
    FROM due d WHERE r.workspace_id = d.workspace_id AND r.id = d.id RETURNING r.id
"""
# A run that was woken by an answer meanwhile keeps the earlier time.
_RESTORE = f"""
    WITH parked AS MATERIALIZED (
        SELECT DISTINCT r.workspace_id, r.automation_id FROM runs r
        WHERE r.parked_due_at IS NOT NULL AND ($1::uuid IS NULL OR r.workspace_id = $1)
    ), let_go AS MATERIALIZED (
        SELECT p.* FROM parked p
        WHERE NOT EXISTS (SELECT FROM halting(p.workspace_id, p.automation_id))
    ), free AS MATERIALIZED (
        SELECT r.workspace_id, r.id FROM let_go l
        JOIN runs r ON r.workspace_id = l.workspace_id AND r.automation_id = l.automation_id
        WHERE r.parked_due_at IS NOT NULL
        LIMIT {_PORTION} FOR UPDATE OF r SKIP LOCKED
    )
    UPDATE runs r SET due_at = least(r.due_at, r.parked_due_at), parked_due_at = NULL
    FROM free f WHERE r.workspace_id = f.workspace_id AND r.id = f.id RETURNING r.id
"""
_RECIPES_HALTED = """
    SELECT DISTINCT workspace_id FROM halts WHERE scope = 'recipe' AND released_at IS NULL
"""
_OF_HALT = """
    r.cancel_at IS NULL AND ($1::uuid IS NULL OR r.workspace_id = $1)
    AND (r.created_at <= $3 OR r.parent_id IS NOT NULL)
    AND EXISTS (SELECT FROM halting(r.workspace_id, r.automation_id) h WHERE h.id = $2)
"""
# Waiting and running runs in one snapshot: a worker returns runs, and a claim that began before the
# halt takes them, and none may be missed between two queries.
_TO_CANCEL = f"""
    SELECT r.workspace_id, r.id, r.lane FROM runs r
    WHERE r.queue IN ('fast', 'medium', 'long') AND r.status IN ('pending', 'waiting')
      AND {_OF_HALT}
    UNION ALL
    SELECT r.workspace_id, r.id, r.lane FROM runs r WHERE r.status = 'running' AND {_OF_HALT}
    LIMIT {_PORTION}
"""
_CANCEL_SOON = """
    UPDATE runs r SET cancel_at = now()
    FROM unnest($1::uuid[], $2::uuid[]) AS n(workspace_id, id)
    WHERE r.workspace_id = n.workspace_id AND r.id = n.id AND r.status = 'running'
      AND r.cancel_at IS NULL
    RETURNING r.id
"""
_CANCEL_NOW = """
    UPDATE runs r SET status = 'cancelled', reason = 'cancelled', outcome = 'failed',
        fence = r.fence + 1, cancel_at = now(), finished_at = now(), parked_due_at = NULL
    FROM unnest($1::uuid[], $2::uuid[]) AS n(workspace_id, id), automations a
    WHERE r.workspace_id = n.workspace_id AND r.id = n.id AND r.status IN ('pending', 'waiting')
      AND a.workspace_id = r.workspace_id AND a.id = r.automation_id
    RETURNING r.workspace_id, r.id, r.automation_id, r.mode, a.name
"""


async def park(side: Side, workspace_id: UUID | None) -> int:
    """Park due runs that are halted; returns how many."""
    return await _in_portions(side, _PARK, workspace_id)


async def restore(side: Side, workspace_id: UUID | None) -> int:
    """Restore runs that no halt covers any more, with their original due times."""
    return await _in_portions(side, _RESTORE, workspace_id)


async def finish_releases(database: Database) -> None:
    """Complete releases, including those that were interrupted."""
    async with database.acquire() as connection:
        ended = await list_released_halts(connection)
    for workspace_id, halt_id in ended:
        if await restore(database, workspace_id) == 0:
            async with database.transaction() as tx:
                await delete_halt(tx, halt_id)
    # The scope of a recipe's halt changes without a release: an automation leaves its workflow.
    for row in await database.fetch(_RECIPES_HALTED):
        await restore(database, row["workspace_id"])


async def cancel_halted(side: Side, workspace_id: UUID | None, halt_id: UUID) -> int:
    """Cancel what a halt names: waiting runs at once, running ones when their worker notices.

    Later runs are held and not cancelled, except those that the cancelled runs still start.
    """
    async with side.acquire() as connection:
        asked_at = await connection.fetchval("SELECT clock_timestamp()")

    async def look(tx: Transaction) -> tuple[Any, int]:
        rows = await tx.fetch(_TO_CANCEL, workspace_id, halt_id, asked_at)
        return rows, await _cancel(tx, rows)

    count = 0
    while True:
        # A worker that writes the ends of several runs may have one locked and need the next.
        rows, gone = await side.run_retrying(look)
        if not rows:
            return count
        # Runs that changed state meanwhile are found by the next query.
        count += gone + await side.run_retrying(partial(_cancel_soon, rows))


async def _cancel_soon(rows: Any, tx: Transaction) -> int:
    return len(await tx.fetch(_CANCEL_SOON, *_split_targets(rows)))


async def _cancel(tx: Transaction, rows: Any) -> int:
    lanes: list[Lane] = sorted(
        {(row["workspace_id"], row["lane"]) for row in rows if row["lane"] is not None}
    )
    # A lane is always locked before a row.
    await lock_lanes(tx, lanes)
    gone = await tx.fetch(_CANCEL_NOW, *_split_targets(rows))
    end = RunEnd("cancelled", "cancelled", "failed")
    events = [
        run_event(
            row["workspace_id"], row["id"], row["automation_id"], row["name"], end, row["mode"]
        )
        for row in gone
    ]
    await append_events(tx, [event for event in events if event is not None])
    await release_lanes(tx, lanes)
    return len(gone)


def _split_targets(rows: Any) -> tuple[list[UUID], list[UUID]]:
    return [row["workspace_id"] for row in rows], [row["id"] for row in rows]


async def _in_portions(side: Side, statement: str, workspace_id: UUID | None) -> int:
    """In separate transactions, so that locks are short."""
    count = 0
    while True:
        async with side.transaction() as tx:
            moved = len(await tx.fetch(statement, workspace_id))
        count += moved
        if moved < _PORTION:
            return count
