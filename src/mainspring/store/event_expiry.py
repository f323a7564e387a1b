"""Expiry of events that are older than the retention period and consumed by every reader.

An event that a reader has not consumed yet is kept, however old it is; while no reader has started,
nothing is deleted.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.ids import get_lowest_id_at
from mainspring.store.batch_delete import delete_in_batches
from mainspring.store.partitions import ExpiredPartition, drop_partitions, list_ended_partitions

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

READER = "triggers"
# The slowest reader decides, and nothing expires before the matcher has started reading.
_CURSOR = """
    SELECT xid::text AS xid, id FROM event_cursors
    WHERE EXISTS (SELECT 1 FROM event_cursors WHERE consumer = $1)
    ORDER BY xid, id LIMIT 1
"""
_UNREAD = """
    SELECT EXISTS (
        SELECT 1 FROM events
        WHERE id >= $1 AND id < $2 AND (xid, id) > ($3::text::xid8, $4::uuid)
    ) AS found
"""
_DELETE = """
    DELETE FROM events e USING (
        SELECT workspace_id, id FROM events
        WHERE (xid, id) <= ($1::text::xid8, $2::uuid) AND id < $3
        ORDER BY xid, id LIMIT $4 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE e.workspace_id = old.workspace_id AND e.id = old.id AND e.id < $3
    RETURNING e.id
"""

LogPosition = tuple[str, UUID]


async def expire_events(database: Database, before: datetime) -> tuple[int, list[str]]:
    """The number of deleted events, and the dropped partitions."""
    row = await database.fetchrow(_CURSOR, READER)
    if row is None:
        return 0, []
    read: LogPosition = (row["xid"], row["id"])
    dropped: list[str] = []
    for cut in await _list_ended_event_partitions(database, before):
        dropped += await drop_partitions(database, ["events"], cut, partial(_is_unread, cut, read))
    bound = get_lowest_id_at(before)

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_DELETE, *read, bound, most))

    return await delete_in_batches(database, batch), dropped


async def _list_ended_event_partitions(
    database: Database, before: datetime
) -> list[ExpiredPartition]:
    async with database.acquire() as connection:
        return await list_ended_partitions(connection, "events", before)


async def _is_unread(cut: ExpiredPartition, read: LogPosition, tx: Transaction) -> bool:
    row = await tx.fetchrow(_UNREAD, cut.start, cut.end, *read)
    return row is None or bool(row["found"])
