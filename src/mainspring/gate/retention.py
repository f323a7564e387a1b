"""Forgetting what was called, when its time is over.

The calls of a run go with the run. Those that people and clients made by themselves are
kept for a while of their own, and so are tokens and promises that a crash has left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.gate.unanswered_requests import settle_expired_reservations
from mainspring.store.batch_delete import delete_in_batches

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

# The two ends say which partitions to look into.
_LARGE_RESULTS = """
    DELETE FROM large_results l
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE l.workspace_id = old.workspace_id AND l.run_id = old.run_id
      AND l.run_id BETWEEN $3 AND $4
"""
_TURNS = """
    DELETE FROM agent_turns t
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE t.workspace_id = old.workspace_id AND t.run_id = old.run_id
      AND t.run_id BETWEEN $3 AND $4
"""
_CALLS = """
    DELETE FROM calls c
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE c.workspace_id = old.workspace_id AND c.run_id = old.run_id
      AND c.run_id BETWEEN $3 AND $4
"""

_TOKENS = """
    DELETE FROM run_tokens t
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE t.workspace_id = old.workspace_id AND t.run_id = old.run_id
"""
_STARTS = """
    DELETE FROM step_starts s
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE s.workspace_id = old.workspace_id AND s.run_id = old.run_id
"""
_PROMISES = """
    DELETE FROM reservations m
    USING unnest($1::uuid[], $2::uuid[]) AS old(workspace_id, run_id)
    WHERE m.workspace_id = old.workspace_id AND m.run_id = old.run_id
"""
_OLD_DIRECT = """
    DELETE FROM direct_calls d USING (
        SELECT workspace_id, id FROM direct_calls WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE d.workspace_id = old.workspace_id AND d.id = old.id
    RETURNING 1 AS gone
"""
# A run's step never lasts so long that its token could still be in use.
_OLD_TOKENS = """
    DELETE FROM run_tokens t WHERE t.hash IN (
        SELECT o.hash FROM run_tokens o WHERE o.created_at < $1
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.workspace_id = o.workspace_id
              AND r.id = o.run_id AND r.fence = o.fence AND r.status = 'running')
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING 1 AS gone
"""
# The month of its run may have been dropped whole.
_OLD_STARTS = """
    DELETE FROM step_starts s USING (
        SELECT o.workspace_id, o.run_id FROM step_starts o WHERE o.began_at < $1
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.workspace_id = o.workspace_id
              AND r.id = o.run_id)
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE s.workspace_id = old.workspace_id AND s.run_id = old.run_id
    RETURNING 1 AS gone
"""
_OLD_PROMISES = """
    DELETE FROM reservations m USING (
        SELECT workspace_id, id FROM reservations
        WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE m.workspace_id = old.workspace_id AND m.id = old.id
    RETURNING 1 AS gone
"""
# The ledger outlives the runs it tells of.
_OLD_USAGE = """
    DELETE FROM llm_usage u USING (
        SELECT workspace_id, id FROM llm_usage WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE u.workspace_id = old.workspace_id AND u.id = old.id
    RETURNING 1 AS gone
"""
# What was settled today still bounds what may be spent today.
_LEFT_BEHIND = timedelta(days=2)


async def forget_calls(tx: Transaction, runs: Sequence[tuple[UUID, UUID]]) -> None:
    """Deletes the calls of runs, each named by its workspace and its id."""
    if not runs:
        return
    spaces, ids = [space for space, _ in runs], [run_id for _, run_id in runs]
    for statement in (_TURNS, _LARGE_RESULTS, _CALLS):
        await tx.execute(statement, spaces, ids, min(ids), max(ids))
    for statement in (_TOKENS, _STARTS, _PROMISES):
        await tx.execute(statement, spaces, ids)


async def expire_direct_calls(database: Database, before: datetime) -> int:
    """Deletes the records of calls outside of runs that are older than a moment."""
    return await delete_in_batches(database, partial(_delete_batch, _OLD_DIRECT, before))


async def expire_usage(database: Database, before: datetime) -> int:
    """Deletes rows of the ledger of models that are older than a moment."""
    return await delete_in_batches(database, partial(_delete_batch, _OLD_USAGE, before))


async def expire_leftovers(database: Database, now: datetime) -> int:
    """Deletes tokens and starts whose run is over, and promises whose day is past."""
    before = now - _LEFT_BEHIND
    gone = 0
    # What may have been charged is on the books before its promise is forgotten.
    await settle_expired_reservations(database, now)
    for statement in (_OLD_TOKENS, _OLD_STARTS, _OLD_PROMISES):
        gone += await delete_in_batches(database, partial(_delete_batch, statement, before))
    return gone


async def _delete_batch(statement: str, before: datetime, tx: Transaction, most: int) -> int:
    return len(await tx.fetch(statement, before, most))
