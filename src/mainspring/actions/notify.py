"""notification: a message to the members of the workspace, in their inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.grant import Grant

CAPABILITY = "inbox.post_notification"


async def notify(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    return await ctx.call(
        CAPABILITY,
        {
            "title": config["title"],
            "message": config.get("message_template", ""),
            "level": config.get("level", "info"),
        },
    )


def _list_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    del config
    return (Grant(CAPABILITY),)


NOTIFICATION = Action(
    type="notification",
    description="Put a message into the inbox\n\nIt stays in the workspace; nothing is sent.",
    config_schema={
        "type": "object",
        "required": ["title"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "message_template": {"type": "string", "maxLength": 20_000},
            "level": {"enum": ["info", "warning", "error"], "default": "info"},
        },
        "examples": [
            {"title": "Digest ready", "message_template": "{{ steps.read.count }} new pages."}
        ],
        "x-mainspring-anti-examples": [
            {"value": {"message_template": "x"}, "reason": "a message needs a title"},
            {"value": {"title": "x", "level": "loud"}, "reason": "no such level"},
        ],
    },
    output_schema={
        "type": "object",
        "required": ["notification_id"],
        "properties": {"notification_id": {"type": "string", "format": "uuid"}},
    },
    handler=notify,
    uses=_list_grants,
)
