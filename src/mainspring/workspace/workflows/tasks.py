"""The tasks of a workflow, read from the dataset of that name on its board.

People may have written anything into it: a row without a day that can be read is due never.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.workspace.workflows.standing import DONE, NUDGE_WINDOW, WEEK, WorkflowTask
from mainspring.workspace.workflows.templates import NUDGES, TASKS

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# So many are told of at a time; those that nobody was reminded of come first.
MOST_TASKS: Final = 200

_OPEN = """
    SELECT r.row_id, r.data, EXISTS (
        SELECT FROM board_rows n JOIN board_datasets s
            ON s.workspace_id = n.workspace_id AND s.id = n.dataset_id
        WHERE n.workspace_id = $1 AND s.board_id = $2 AND s.name = $6 AND n.deleted_at IS NULL
            AND n.data ->> 'key' = r.row_id || ' ' || (r.data ->> 'due')
    ) AS nudged
    FROM board_rows r JOIN board_datasets d
        ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE r.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
        AND lower(coalesce(r.data ->> 'status', '')) <> ALL($4::text[])
        AND r.data ->> 'due' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
        AND left(r.data ->> 'due', 10) <= $5
    ORDER BY nudged, r.data ->> 'due', r.row_id LIMIT $7
"""
_DONE = """
    SELECT r.row_id, r.data FROM board_rows r JOIN board_datasets d
        ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE r.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
        AND lower(coalesce(r.data ->> 'status', '')) = ANY($4::text[]) AND r.updated_at >= $5
    ORDER BY r.row_id LIMIT $6
"""


async def open_tasks(
    tx: Transaction, workspace_id: UUID, board_id: UUID, now: datetime
) -> list[WorkflowTask]:
    """Open tasks that are due within a day, or were due before."""
    # Days are compared as they are written, and a moment may be written far east of here.
    last = (now + 2 * NUDGE_WINDOW).date().isoformat()
    rows = await tx.fetch(
        _OPEN, workspace_id, board_id, TASKS, list(DONE), last, NUDGES, MOST_TASKS
    )
    return [WorkflowTask(str(row["row_id"]), row["data"], row["nudged"]) for row in rows]


async def list_done_tasks(
    tx: Transaction, workspace_id: UUID, board_id: UUID, now: datetime
) -> list[WorkflowTask]:
    """Tasks that were done in the last seven days."""
    rows = await tx.fetch(_DONE, workspace_id, board_id, TASKS, list(DONE), now - WEEK, MOST_TASKS)
    return [WorkflowTask(str(row["row_id"]), row["data"]) for row in rows]
