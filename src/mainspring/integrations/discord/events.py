"""Event type of Discord: a new message."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.integrations.discord.messages import MESSAGE_POSTED

_PAYLOAD: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["channel_id", "message_id", "author", "text", "posted_at"],
    "properties": {
        "channel_id": {"type": "string"},
        "message_id": {"type": "string"},
        "author": {"type": "string", "description": "The display name of the author."},
        "text": {"type": "string", "description": "How it begins, up to 4000 characters."},
        "posted_at": {"type": "string", "format": "date-time"},
        "page_slug": {"type": "string", "description": "The page that it became."},
    },
    "examples": [
        {
            "channel_id": "1100000000000000001",
            "message_id": "1100000000000000901",
            "author": "Ada",
            "text": "The build is green again.",
            "posted_at": "2023-04-24T15:05:56+00:00",
        }
    ],
}

EVENTS: Final = (EventType(MESSAGE_POSTED, "A message arrived in a followed channel.", _PAYLOAD),)
