"""Batched deletes, one process at a time.

Each batch is a transaction of its own: a process that dies loses at most one batch, and row locks
are short. Any number of processes may run the same job; a process that finds the job locked skips
it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

BATCH = 1_000
_TURN = "SELECT pg_try_advisory_xact_lock(7311, 2) AS ours"

# Deletes a limited number of rows inside the transaction and returns how many.
DeleteBatch = Callable[["Transaction", int], Awaitable[int]]


async def delete_in_batches(database: Database, batch: DeleteBatch) -> int:
    """Repeat a batch until one is not full; returns the number of deleted rows."""
    total = 0
    while True:
        async with database.transaction() as tx:
            row = await tx.fetchrow(_TURN)
            if row is None or not row["ours"]:
                return total
            gone = await batch(tx, BATCH)
        total += gone
        if gone < BATCH:
            return total
