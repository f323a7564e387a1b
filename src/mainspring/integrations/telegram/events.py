"""Event types of a Telegram bot: a text from its owner, a chat to link, a button press."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.integrations.telegram.chat import MESSAGE


def _event(name: str, description: str, /, **fields: str) -> EventType:
    properties: dict[str, Any] = {key: {"type": kind} for key, kind in fields.items()}
    return EventType(
        type=f"telegram.{name}",
        description=description,
        payload_schema={
            "type": "object",
            "additionalProperties": False,
            "required": sorted(properties),
            "properties": properties,
        },
    )


MESSAGE_RECEIVED: Final = _event(
    "message_received",
    "The owner wrote to their bot.",
    text="string",
    message_id="integer",
    date="string",
    page_slug="string",
)
STARTED: Final = _event(
    "started",
    "A person pressed Start with the code of a link.",
    code="string",
    chat_id="integer",
    user_id="integer",
    name="string",
)
BUTTON_PRESSED: Final = _event(
    "button_pressed",
    "A person pressed a button under a message of the bot.",
    data="string",
    chat_id="integer",
    user_id="integer",
    message_id="integer",
    callback_id="string",
)
EVENTS: Final = (MESSAGE_RECEIVED, STARTED, BUTTON_PRESSED, MESSAGE)
