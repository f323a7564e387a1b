"""Events about board changes, written in the transaction of the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.store.events import append_events

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.boards.lookup import Board

CHANGES: Final = (
    "created",
    "details",
    "archived",
    "unarchived",
    "schema",
    "rows_appended",
    "rows_updated",
    "rows_deleted",
    "rows_restored",
    "skill",
    "form",
    "dashboard",
)
# An event lists the first rows; consumers that need more read the board.
MOST_ROW_IDS: Final = 100

BOARD_CHANGED: Final = EventType(
    "board.changed",
    "Rows, columns, skills, forms or the dashboard of a board changed.",
    {
        "type": "object",
        "required": ["board_id", "board_name", "dataset", "change", "count", "by", "run_id"],
        "properties": {
            "board_id": {"type": "string", "format": "uuid"},
            "board_name": {"type": "string"},
            "dataset": {
                "description": "Null for what concerns the whole board.",
                "type": ["string", "null"],
            },
            "change": {"enum": list(CHANGES)},
            "count": {"description": "How many rows it was.", "type": "integer"},
            "row_ids": {
                "description": f"The first {MOST_ROW_IDS} of them.",
                "type": "array",
                "items": {"type": "string", "format": "uuid"},
            },
            "row_ids_cut": {"description": "Whether there were more.", "type": "boolean"},
            "name": {"description": "Of the skill or form.", "type": "string"},
            "by": {
                "type": "object",
                "required": ["kind", "id"],
                "properties": {
                    "kind": {"enum": ["member", "client", "run"]},
                    "id": {"type": "string", "format": "uuid"},
                },
            },
            "run_id": {"type": ["string", "null"]},
        },
    },
)
EVENTS: Final = (BOARD_CHANGED,)


async def publish_change(
    ctx: CallContext,
    board: Board,
    change: str,
    *,
    dataset: str | None = None,
    row_ids: Sequence[UUID] = (),
    name: str | None = None,
) -> None:
    """Publish one change of a board; a change made by a run continues its event chain."""
    run_id = None if ctx.run is None else ctx.run.id
    payload: dict[str, Any] = {
        "board_id": str(board.id),
        "board_name": board.name,
        "dataset": dataset,
        "change": change,
        "count": len(row_ids),
        "by": {"kind": ctx.actor.kind, "id": str(ctx.actor.id)},
        "run_id": None if run_id is None else str(run_id),
    }
    if row_ids:
        payload["row_ids"] = [str(one) for one in row_ids[:MOST_ROW_IDS]]
        payload["row_ids_cut"] = len(row_ids) > MOST_ROW_IDS
    if name is not None:
        payload["name"] = name
    text = orjson.dumps(payload).decode()
    row = EventRow(
        ctx.actor.workspace_id, generate_id(), BOARD_CHANGED.type, str(board.id), text, run_id
    )
    await append_events(ctx.tx, [row])
