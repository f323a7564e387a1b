"""The event log's writing side: a fact is appended in the transaction that made it true.

Readers go by (xid, id) and stop before the oldest transaction still open, so a late commit
with a smaller id is never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Workspace, id, type, source and the payload as JSON text.
EventRow = tuple[UUID, UUID, str, str, str]

_APPEND = """
    INSERT INTO events (workspace_id, id, type, source_id, payload)
    SELECT e.workspace_id, e.id, e.type, e.source_id, e.payload::jsonb
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[])
        AS e(workspace_id, id, type, source_id, payload)
"""

_READ = """
    SELECT workspace_id, id, xid::text AS xid, type, source_id, payload, created_at
    FROM events
    WHERE (xid, id) > ($1::text::xid8, $2::uuid)
      AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, id
    LIMIT $3
"""


async def append_events(tx: Transaction, events: Sequence[EventRow]) -> None:
    """Adds facts to the log, inside the caller's transaction."""
    if events:
        await tx.execute(_APPEND, *(list(column) for column in zip(*events, strict=True)))


async def read_events(
    tx: Transaction, after: tuple[str, UUID], most: int
) -> Sequence[dict[str, Any]]:
    """The next events after a place in the log, oldest first, none ever passed over."""
    return [dict(row) for row in await tx.fetch(_READ, after[0], after[1], most)]
