"""What the writes of the calendar take and answer."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.object_schema import build_object_schema

_ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "format": "idn-email",
    "pattern": r"^[^\s<>\"(),;:]+$",
    "x-mainspring-says": "This must be a mail address alone, without a name.",
    "minLength": 3,
    "maxLength": 254,
}
_WHEN: Final[dict[str, Any]] = {"type": "string", "minLength": 10, "maxLength": 40}
_FIELDS: Final[dict[str, Any]] = {
    "summary": {
        "type": "string",
        "description": "What it is called.",
        "minLength": 1,
        "maxLength": 1_000,
    },
    "description": {"type": "string", "maxLength": 8_000},
    "location": {"type": "string", "maxLength": 1_000},
    "start": {
        **_WHEN,
        "description": "A day, such as 2026-06-01, or a moment, such as 2026-06-01T09:00:00+02:00.",
    },
    "end": {**_WHEN, "description": "A moment, or for whole days the day after the last one."},
    "time_zone": {
        "type": "string",
        "description": "Where times without an offset are meant, such as Europe/Berlin.",
        "maxLength": 80,
    },
    "attendees": {
        "type": "array",
        "description": "The addresses of the guests.",
        "maxItems": 200,
        "items": _ADDRESS,
    },
    "recurrence": {
        "type": "array",
        "description": "How it repeats, such as RRULE:FREQ=WEEKLY;COUNT=10.",
        "maxItems": 10,
        "items": {
            "type": "string",
            "maxLength": 500,
            "pattern": r"^(RRULE|EXRULE|RDATE|EXDATE)[:;][ -~]+$",
            "x-mainspring-says": "This must be a rule such as RRULE:FREQ=WEEKLY;COUNT=10.",
        },
    },
    "send_updates": {
        "description": "Who is told by mail: all, guests outside (externalOnly) or none.",
        "enum": ["all", "externalOnly", "none"],
        "default": "none",
    },
    "calendar_id": {
        "type": "string",
        "description": "Which calendar, by its id; primary is the main one.",
        "minLength": 1,
        "maxLength": 254,
        "pattern": r"^\S+$",
        "x-mainspring-says": "This must be the id of a calendar.",
        "default": "primary",
    },
}
_EVENT_ID: Final[dict[str, Any]] = {
    "type": "string",
    "description": "The event, by its event_id.",
    "minLength": 1,
    "maxLength": 1_024,
    "pattern": r"^[A-Za-z0-9_-]+$",
    "x-mainspring-says": "This must be the id of an event.",
}

CREATE_INPUT: Final = build_object_schema(
    _FIELDS,
    ["summary", "start", "end"],
    [
        {
            "summary": "Planning",
            "start": "2026-06-01T09:00:00+02:00",
            "end": "2026-06-01T10:00:00+02:00",
            "attendees": ["noah@example.com"],
            "send_updates": "all",
        },
        {
            "summary": "Holiday of {{ inputs.name }}",
            "start": "2026-06-01",
            "end": "2026-06-06",
            "calendar_id": "team@group.calendar.google.com",
        },
    ],
    [
        ({"summary": "x", "start": "2026-06-01"}, "an event ends"),
        ({"start": "2026-06-01", "end": "2026-06-02"}, "an event is called something"),
        (
            {"summary": "x", "start": {"date": "2026-06-01"}, "end": "2026-06-02"},
            "a time is a text",
        ),
        (
            {"summary": "x", "start": "2026-06-01", "end": "2026-06-02", "attendees": ["Noah"]},
            "guests are addresses",
        ),
        (
            {"summary": "x", "start": "2026-06-01", "end": "2026-06-02", "send_updates": True},
            "it says who is told",
        ),
    ],
)
UPDATE_INPUT: Final = build_object_schema(
    {"event_id": _EVENT_ID, **_FIELDS},
    ["event_id"],
    [{"event_id": "7f3k2m9q", "start": "2026-06-01T11:00:00Z", "end": "2026-06-01T12:00:00Z"}],
    [
        ({"summary": "x"}, "it says which event"),
        ({"event_id": "a b", "summary": "x"}, "an id has no spaces"),
    ],
)
DELETE_INPUT: Final = build_object_schema(
    {
        "event_id": _EVENT_ID,
        "calendar_id": _FIELDS["calendar_id"],
        "send_updates": _FIELDS["send_updates"],
    },
    ["event_id"],
    [{"event_id": "7f3k2m9q", "send_updates": "all"}],
    [({}, "it says which event"), ({"event_id": ""}, "it says which event")],
)
CREATED: Final = build_object_schema(
    {"event_id": {"type": "string", "description": "Google's id of the event."}},
    ["event_id"],
    [{"event_id": "ms0f2a6c1be0d94c0f8f0c6a4c1f3d5e77"}],
    [({}, "what was made has an id")],
)
MODIFIED: Final = build_object_schema(
    {
        "modified_count": {
            "type": "integer",
            "description": "How many events are different now; 0: it was gone already.",
            "minimum": 0,
        }
    },
    ["modified_count"],
    [{"modified_count": 1}],
    [({"modified_count": "one"}, "a number")],
)
