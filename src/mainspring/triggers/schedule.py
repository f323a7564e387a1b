"""The schedule trigger: a cron expression, read in a time zone."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.trigger import Trigger

CATCH_UP_SECONDS: Final = 3_600
LONGEST_CATCH_UP_SECONDS: Final = 2_592_000

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Schedule",
    "type": "object",
    "required": ["cron", "timezone"],
    "additionalProperties": False,
    "properties": {
        "cron": {
            "title": "Cron expression",
            "description": "Minute, hour, day of month, month, day of week; or @daily and its kin.",
            "type": "string",
            "format": "cron",
            "minLength": 1,
            "maxLength": 200,
            "examples": ["0 9 * * 1-5", "*/30 * * * *", "@daily"],
        },
        "timezone": {
            "title": "Time zone",
            "description": "The IANA name of the zone in which the expression is read.",
            "type": "string",
            "format": "iana-timezone",
            "examples": ["Africa/Kigali", "UTC"],
        },
        "misfire": {
            "title": "Missed moments",
            "description": "What happens to moments that passed while nothing was running: "
            "none of them fires, the latest one does, or each one does.",
            "enum": ["skip", "fire_once", "fire_all"],
            "default": "fire_once",
        },
        "catch_up_seconds": {
            "title": "Catch-up window",
            "description": "How far back, in seconds, a missed moment may still fire.",
            "type": "integer",
            "minimum": 0,
            "maximum": LONGEST_CATCH_UP_SECONDS,
            "default": CATCH_UP_SECONDS,
        },
    },
    "examples": [
        {"cron": "0 9 * * 1-5", "timezone": "Africa/Kigali"},
        {
            "cron": "*/30 * * * *",
            "timezone": "UTC",
            "misfire": "fire_all",
            "catch_up_seconds": 43_200,
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"cron": "0 9 * * *"}, "reason": "nine o'clock in which zone?"},
        {"value": {"cron": "61 * * * *", "timezone": "UTC"}, "reason": "no hour has that minute"},
        {"value": {"cron": "0 9 * * *", "timezone": "Mars/Base"}, "reason": "no such zone"},
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Schedule payload",
    "type": "object",
    "required": ["fired_at", "scheduled_for", "last_fired_at"],
    "properties": {
        "fired_at": {
            "description": "When the firing was made.",
            "type": "string",
            "format": "date-time",
        },
        "scheduled_for": {
            "description": "The moment that the expression names.",
            "type": "string",
            "format": "date-time",
        },
        "last_fired_at": {
            "description": "The firing before; at the first one, when the automation was made.",
            "type": "string",
            "format": "date-time",
        },
    },
    "examples": [
        {
            "fired_at": "2026-05-26T07:00:01Z",
            "scheduled_for": "2026-05-26T07:00:00Z",
            "last_fired_at": "2026-05-25T07:00:00Z",
        }
    ],
}

TRIGGER: Final = Trigger(
    type="schedule",
    description="Goes off at the moments that a cron expression names in a time zone.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
