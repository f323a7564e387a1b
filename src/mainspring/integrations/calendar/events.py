"""Event types of the calendar: created, updated and cancelled events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.contracts.object_schema import build_object_schema

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_PAYLOAD: Final[Mapping[str, Any]] = build_object_schema(
    {
        "event_id": {"type": "string", "description": "Google's event id."},
        "calendar_id": _TEXT,
        "calendar": {"type": "string", "description": "What the calendar is called."},
        "summary": _TEXT,
        "start": {"type": "string", "description": "A date, or a date and time."},
        "end": {"type": "string", "description": "A date, or a date and time."},
        "status": {"type": "string", "description": "confirmed, tentative or cancelled."},
        "html_link": _TEXT,
        "updated": _TEXT,
        "page_slug": {"type": "string", "description": "The page of the event."},
    },
    ["event_id", "calendar_id", "calendar", "summary", "start", "end", "status", "html_link"],
    [
        {
            "event_id": "7f3k2m9q",
            "calendar_id": "ada@example.com",
            "calendar": "Ada",
            "summary": "Planning",
            "start": "2026-06-01T09:00:00+02:00",
            "end": "2026-06-01T10:00:00+02:00",
            "status": "confirmed",
            "html_link": "https://www.google.com/calendar/event?eid=abc",
            "updated": "2026-05-30T08:00:00.000Z",
        }
    ],
    [({"event_id": "7f3k2m9q"}, "it says in which calendar it is")],
)

EVENT_CHANGED: Final = EventType(
    "calendar.event_changed", "An event of a calendar is new, changed or cancelled.", _PAYLOAD
)
EVENTS: Final = (EVENT_CHANGED,)
