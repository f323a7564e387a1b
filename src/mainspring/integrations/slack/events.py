"""Event type of Slack: a new message."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.integrations.slack.messages import MESSAGE_POSTED

_PAYLOAD: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["channel", "ts", "user", "author", "text", "posted_at"],
    "properties": {
        "channel": {"type": "string"},
        "ts": {"type": "string", "description": "The message's own name; thread_ts of an answer."},
        "user": {"type": "string", "description": "The id of the author."},
        "author": {"type": "string", "description": "What they are called in Slack."},
        "text": {"type": "string", "description": "How it begins, up to 4000 characters."},
        "posted_at": {"type": "string", "format": "date-time"},
        "page_slug": {"type": "string", "description": "The page that it became."},
    },
    "examples": [
        {
            "channel": "C0123456789",
            "ts": "1503435956.000247",
            "user": "U0123456789",
            "author": "Ada",
            "text": "The build is green again.",
            "posted_at": "2017-08-22T21:05:56+00:00",
        }
    ],
}

EVENTS: Final = (
    EventType(MESSAGE_POSTED, "A conversation was started in a followed channel.", _PAYLOAD),
)
