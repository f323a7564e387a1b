"""The end of messages in the inbox: read, and long ago. An unread one waits for its reader."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mainspring.contracts.ids import get_lowest_id_at
from mainspring.store.turns import delete_in_batches

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

_DELETE = """
    DELETE FROM notifications n USING (
        SELECT m.workspace_id, m.id FROM workspaces w CROSS JOIN LATERAL (
            SELECT workspace_id, id FROM notifications
            WHERE workspace_id = w.workspace_id AND id < $1 AND read_at < $2
              AND (mail_due_at IS NULL OR mailed_at IS NOT NULL)
            ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
        ) AS m LIMIT $3
    ) AS old
    WHERE n.workspace_id = old.workspace_id AND n.id = old.id
    RETURNING n.id
"""


async def expire_notifications(database: Database, before: datetime) -> int:
    """Deletes what was made and read before a moment."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_DELETE, get_lowest_id_at(before), before, most))

    return await delete_in_batches(database, batch)
