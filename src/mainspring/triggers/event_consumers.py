"""The triggers that an event fired: the firings with its key, and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.triggers.matcher import event_key

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Redundant on purpose: the index covers keys with this prefix, and the planner cannot infer that
# from a parameter.
_CONSUMED = """
    SELECT f.source_id AS trigger_id, r.automation_id, f.run_id, r.status,
        coalesce(f.reason, r.reason) AS reason
    FROM firings f
    LEFT JOIN LATERAL (
        SELECT automation_id, status, reason FROM runs
        WHERE workspace_id = f.workspace_id AND id = f.run_id LIMIT 1
    ) AS r ON true
    WHERE f.workspace_id = $1 AND f.key = ANY($2::text[]) AND f.key LIKE 'event:%'
    ORDER BY f.run_id
"""


async def list_event_consumers(
    tx: Transaction, workspace_id: UUID, event_id: UUID, message_key: str | None = None
) -> list[dict[str, Any]]:
    """The triggers that an event fired, each with its run and, if it did not run, the reason.

    ``message_key``: of the chat message that the event is about.
    """
    keys = [event_key(event_id)] + ([] if message_key is None else [message_key])
    rows = await tx.fetch(_CONSUMED, workspace_id, keys)
    return [dict(row) for row in rows]
