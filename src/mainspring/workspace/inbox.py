"""The inbox: messages that automations leave for the people of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.ids import new_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_INSERT = """
    INSERT INTO notifications (workspace_id, id, automation_id, run_id, level, title, message)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_LIST = """
    SELECT id, run_id, level, title, message, created_at, read_at FROM notifications
    WHERE workspace_id = $1 ORDER BY id DESC LIMIT $2
"""


async def _post(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    notification_id = new_id()
    run = ctx.run
    await ctx.tx.execute(
        _INSERT, ctx.actor.workspace_id, notification_id,
        None if run is None else run.automation_id, None if run is None else run.id,
        arguments.get("level", "info"), arguments["title"], arguments.get("message", ""),
    )  # fmt: skip
    return {"notification_id": str(notification_id)}


POST_NOTIFICATION = Capability(
    id="inbox.post_notification",
    description="Leave a message in the inbox\n\nFor the people of this workspace only.",
    input_schema={
        "type": "object",
        "required": ["title"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "message": {"type": "string", "maxLength": 20_000, "default": ""},
            "level": {"enum": ["info", "warning", "error"], "default": "info"},
        },
        "examples": [{"title": "Digest ready", "message": "Five new pages."}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "a message needs a title"},
            {"value": {"title": "x", "to": "y"}, "reason": "it goes to everyone here"},
        ],
    },
    output_schema={
        "type": "object",
        "required": ["notification_id"],
        "properties": {"notification_id": {"type": "string", "format": "uuid"}},
    },
    handler=_post,
    annotations=Annotations(effect=Effect.KEEP, transactional=True, seconds=0.05),
)


async def notifications(
    tx: Transaction, workspace_id: UUID, most: int = 50
) -> list[dict[str, Any]]:
    """The newest messages first."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id, most)]
