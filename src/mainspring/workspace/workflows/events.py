"""What a workflow tells the event log, in the transaction of the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.store.events import append_events
from mainspring.workspace.workflows.judging import STATUSES

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.workflows.keeping import Workflow

STATUS_CHANGED: Final = EventType(
    "workflow.status_changed",
    "A workflow was set going, at rest or aside.",
    {
        "type": "object",
        "required": ["workflow_id", "title", "before", "after", "by"],
        "properties": {
            "workflow_id": {"type": "string", "format": "uuid"},
            "title": {"type": "string"},
            "before": {"enum": list(STATUSES)},
            "after": {"enum": list(STATUSES)},
            "by": {
                "type": "object",
                "required": ["kind", "id"],
                "properties": {
                    "kind": {"enum": ["member", "client", "run"]},
                    "id": {"type": "string", "format": "uuid"},
                },
            },
        },
    },
)
EVENTS: Final = (STATUS_CHANGED,)


async def tell_status(ctx: CallContext, workflow: Workflow, after: str) -> None:
    """One change of status; a run that made it begins or continues a chain."""
    run_id = None if ctx.run is None else ctx.run.id
    payload = {
        "workflow_id": str(workflow.id),
        "title": workflow.title,
        "before": workflow.status,
        "after": after,
        "by": {"kind": ctx.actor.kind, "id": str(ctx.actor.id)},
    }
    text = orjson.dumps(payload).decode()
    row = EventRow(
        ctx.actor.workspace_id, generate_id(), STATUS_CHANGED.type, str(workflow.id), text, run_id
    )
    await append_events(ctx.tx, [row])
