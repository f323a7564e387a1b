"""Event type of e-mail: a new mail."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.integrations.email.messages import MESSAGE_RECEIVED

_PAYLOAD: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["message_id", "from", "to", "subject", "text"],
    "properties": {
        "message_id": {"type": "string", "description": "Empty where the mail has none."},
        "from": {"type": "string"},
        "to": {"type": "array", "items": {"type": "string"}},
        "subject": {"type": "string"},
        "text": {"type": "string", "description": "How it begins, up to 4000 characters."},
        "sent_at": {"type": "string", "format": "date-time"},
        "page_slug": {"type": "string", "description": "The page that it became."},
    },
    "examples": [
        {
            "message_id": "<0f2a@example.com>",
            "from": "Ada <ada@example.com>",
            "to": ["grace@example.com"],
            "subject": "Next week",
            "text": "Does Friday work for you?",
            "sent_at": "2026-08-01T10:00:00+00:00",
            "page_slug": "next-week",
        }
    ],
}

EVENTS: Final = (EventType(MESSAGE_RECEIVED, "A mail arrived in a followed mailbox.", _PAYLOAD),)
