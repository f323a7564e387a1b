"""Deleting in batches, one process at a time.

Each batch is a transaction of its own: a process that dies loses no more than the batch it
was at, and nobody waits long for the rows of one. Any number of processes may do the same
work; whoever finds another one at it leaves it to the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

BATCH = 1_000
_TURN = "SELECT pg_try_advisory_xact_lock(7311, 2) AS ours"

# Deletes at most so many rows inside the transaction and says how many it deleted.
DeleteBatch = Callable[["Transaction", int], Awaitable[int]]


async def delete_in_batches(database: Database, batch: DeleteBatch) -> int:
    """Repeats a batch until one is not full; how many rows went."""
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
