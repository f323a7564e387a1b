"""The event that a page leaves in the log when it comes in or comes in anew."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType

_PAYLOAD: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["page_id", "slug", "type", "title", "source_ref", "source", "created"],
    "properties": {
        "page_id": {"type": "string", "format": "uuid"},
        "slug": {"type": "string"},
        "type": {"type": "string"},
        "title": {"type": "string"},
        "source_ref": {"type": ["string", "null"]},
        "source": {
            "type": "string",
            "description": "Who brought it: member, client, automation or an integration.",
        },
        "created": {"type": "boolean", "description": "False: it was there and came in anew."},
        "ingested_at": {"type": "string", "format": "date-time"},
        "automation_id": {"type": "string", "format": "uuid"},
    },
}

PAGE_INGESTED: Final = EventType(
    "page.ingested", "A page came into the workspace, or came in anew.", _PAYLOAD
)
EVENTS: Final = (PAGE_INGESTED,)
