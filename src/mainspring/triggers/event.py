"""The event trigger: events of one type in the log, optionally filtered."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EVENT_TYPE_PATTERN, EVENT_TYPE_SAYS, LONGEST_EVENT_TYPE
from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.filters import FILTER_SCHEMA

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Event",
    "type": "object",
    "required": ["event_type"],
    "additionalProperties": False,
    "properties": {
        "event_type": {
            "title": "Event type",
            "description": "The exact type of the event.",
            "type": "string",
            "pattern": EVENT_TYPE_PATTERN,
            "x-mainspring-says": EVENT_TYPE_SAYS,
            "maxLength": LONGEST_EVENT_TYPE,
            "examples": ["drive.file_added", "automation.run.succeeded"],
            "x-mainspring-source": "events",
        },
        "filters": {
            "title": "Filter",
            "description": FILTER_SCHEMA["description"],
            "$ref": "#/$defs/filter",
        },
    },
    # The filter schema's references start at the root, so its definitions are copied here.
    "$defs": FILTER_SCHEMA["$defs"],
    "examples": [
        {"event_type": "drive.file_added"},
        {
            "event_type": "automation.run.failed",
            "filters": {"automation_name": {"equals": "Daily digest"}},
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"filters": {"name": "x"}}, "reason": "an event of which type?"},
        {
            "value": {"event_type": "a.b", "filters": {"name": {"like": "x"}}},
            "reason": "no such operator",
        },
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Event payload",
    "description": "The payload of the event, in the shape that its type declares.",
    "type": "object",
    "examples": [{"file_id": "f-1", "name": "report.pdf"}],
}

TRIGGER: Final = TriggerKind(
    type="event",
    description="Fires when an event of its type passes its filter.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
