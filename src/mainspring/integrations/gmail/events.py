"""Event type of Gmail: a received message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.contracts.object_schema import build_object_schema

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_PAYLOAD: Final[Mapping[str, Any]] = build_object_schema(
    {
        "message_id": {"type": "string", "description": "Gmail's message id."},
        "thread_id": {"type": "string", "description": "The conversation that it belongs to."},
        "from": {"type": "string", "description": "The sender, as the message says it."},
        "to": _TEXT,
        "subject": _TEXT,
        "snippet": {"type": "string", "description": "How it begins."},
        "received_at": {"type": "string", "format": "date-time"},
        "labels": {"type": "array", "items": _TEXT},
        "page_slug": {"type": "string", "description": "The page of its thread."},
    },
    ["message_id", "thread_id", "from", "to", "subject", "snippet", "labels"],
    [
        {
            "message_id": "18c2a1f0b3d4e5f6",
            "thread_id": "18c2a1f0b3d4e5f6",
            "from": "Noah <noah@example.com>",
            "to": "ada@example.com",
            "subject": "Next week",
            "snippet": "Would Tuesday suit you?",
            "received_at": "2026-06-01T09:00:00Z",
            "labels": ["INBOX", "UNREAD"],
            "page_slug": "next-week-1f0b3d",
        }
    ],
    [({"message_id": "18c2a1f0b3d4e5f6"}, "it says which conversation it belongs to")],
)

MESSAGE_RECEIVED: Final = EventType(
    "gmail.message_received", "A message arrived in a Gmail mailbox.", _PAYLOAD
)
EVENTS: Final = (MESSAGE_RECEIVED,)
