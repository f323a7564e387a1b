"""The schedule trigger: a cron expression, single moments or an interval, in a time zone.

A scheduled run has three times: when it was created, the fire time it is for, and
``last_fired_at``, up to which earlier runs have succeeded. A failed run does not advance the last
one, so the next run covers the same period again and nothing is lost between two runs. Before the
first success it is the creation time of the automation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.schedules import (
    MOST_DATES,
    MOST_REGIONS,
    MOST_TIMES,
    Schedule,
    parse_schedule,
)
from mainspring.triggers.fire_times import Misfire

CATCH_UP_SECONDS: Final = 3_600
LONGEST_CATCH_UP_SECONDS: Final = 2_592_000

_CRON: Final[dict[str, Any]] = {
    "title": "Cron expression",
    "description": "Minute, hour, day of month, month, day of week; or @daily and its kin.",
    "type": "string",
    "format": "cron",
    "minLength": 1,
    "maxLength": 200,
    "examples": ["0 9 * * 1-5", "*/30 * * * *", "@daily"],
}
_MOMENT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 40}
_AT: Final[dict[str, Any]] = {
    "title": "At",
    "description": "Moments at which it fires once, in local time unless they have an offset.",
    "type": ["string", "array"],
    "minLength": 1,
    "maxLength": 40,
    "minItems": 1,
    "maxItems": MOST_TIMES,
    "items": _MOMENT,
    "examples": ["2026-11-19T15:00", ["2026-11-19T15:00:00Z", "2026-12-01T09:00:00Z"]],
}
_EVERY: Final[dict[str, Any]] = {
    "title": "Interval",
    "description": "An interval in m, h, d or w; d and w keep the local time of day.",
    "type": "string",
    "minLength": 1,
    "maxLength": 10,
    "examples": ["2d", "3w", "90m"],
}
_ANCHOR: Final[dict[str, Any]] = {
    "title": "Anchor",
    "description": "The first fire time of an interval. Default: 2024-01-01T00:00.",
    **_MOMENT,
    "examples": ["2026-11-02T09:00"],
}

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Schedule",
    "type": "object",
    "required": ["timezone"],
    "additionalProperties": False,
    "properties": {
        "cron": _CRON,
        "at": _AT,
        "every": _EVERY,
        "anchor": _ANCHOR,
        "times": {
            "title": "Several times",
            "description": "Several of them; one of cron, at, every and times is set.",
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_TIMES,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"cron": {}, "at": {}, "every": {}, "anchor": {}},
            },
            "examples": [[{"cron": "0 9 * * 1-5"}, {"cron": "0 11 * * 6"}]],
        },
        "except": {
            "title": "Except",
            "description": "Local days on which it does not fire.",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "dates": {
                    "title": "Dates",
                    "description": "Days, and ranges of days with both ends included.",
                    "type": "array",
                    "maxItems": MOST_DATES,
                    "items": {"type": "string", "minLength": 1, "maxLength": 30},
                    "examples": [["2026-12-24", "2026-12-27/2027-01-02"]],
                },
                "holidays": {
                    "title": "Holidays",
                    "description": "Public holidays by ISO 3166 code: a country such as DE, or a "
                    "region of it such as DE-BY; or a list of them.",
                    "type": ["string", "array"],
                    "minLength": 1,
                    "maxLength": 40,
                    "maxItems": MOST_REGIONS,
                    "items": {"type": "string", "minLength": 1, "maxLength": 40},
                    "examples": ["DE-BY", ["US", "CA-ON"]],
                },
            },
        },
        "jitter": {
            "title": "Jitter",
            "description": "The longest delay of a fire time, in s, m or h.",
            "type": "string",
            "minLength": 1,
            "maxLength": 10,
            "examples": ["30s", "5m"],
        },
        "timezone": {
            "title": "Time zone",
            "description": "The IANA name of the zone of all times.",
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
            "description": "How long ago, in seconds, a missed fire time may be and still fire.",
            "type": "integer",
            "minimum": 0,
            "maximum": LONGEST_CATCH_UP_SECONDS,
            "default": CATCH_UP_SECONDS,
        },
    },
    "examples": [
        {"cron": "0 9 * * 1-5", "timezone": "Africa/Kigali"},
        {"at": "2026-11-19T15:00", "timezone": "Europe/Berlin"},
        {"every": "2d", "anchor": "2026-11-02T09:00", "timezone": "Europe/Berlin"},
        {
            "cron": "0 9 * * 1-5",
            "timezone": "Europe/Berlin",
            "except": {"holidays": "DE-BY", "dates": ["2026-12-27/2027-01-02"]},
            "jitter": "5m",
        },
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
            "description": "The fire time.",
            "type": "string",
            "format": "date-time",
        },
        "last_fired_at": {
            "description": "Up to where earlier runs have succeeded; before the first of them, "
            "when the automation was made.",
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

TRIGGER: Final = TriggerKind(
    type="schedule",
    description="Fires by a cron expression, at single moments, or at an interval.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """The parsed config of a schedule."""

    schedule: Schedule
    misfire: Misfire
    catch_up: timedelta


def read_schedule(config: Any, trigger_id: UUID | None = None) -> ScheduleConfig:
    """Parse a stored config; ``Invalid`` when it was saved under other rules.

    The jitter depends on the trigger's id; without one, the fire times have none.
    """
    if not isinstance(config, Mapping):
        raise _damaged_config_error("is not an object")
    misfire = config.get("misfire", "fire_once")
    seconds = config.get("catch_up_seconds", CATCH_UP_SECONDS)
    if misfire not in get_args(Misfire):
        raise _damaged_config_error("has an unknown policy for missed fire times")
    if type(seconds) is not int or not 0 <= seconds <= LONGEST_CATCH_UP_SECONDS:
        raise _damaged_config_error("has an invalid catch-up window")
    seed = "" if trigger_id is None else str(trigger_id)
    return ScheduleConfig(parse_schedule(config, seed), misfire, timedelta(seconds=seconds))


def key_of(timestamp: datetime) -> str:
    """The dedup key of a fire time; deterministic."""
    return f"at:{rfc3339(timestamp)}"


def payload_of(timestamp: datetime, fired_at: datetime, last_fired_at: datetime) -> dict[str, str]:
    """The payload of a scheduled run."""
    return {
        "fired_at": rfc3339(fired_at),
        "scheduled_for": rfc3339(timestamp),
        "last_fired_at": rfc3339(last_fired_at),
    }


def rfc3339(timestamp: datetime) -> str:
    return timestamp.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _damaged_config_error(what: str) -> Invalid:
    return Invalid(
        f"The stored schedule {what}.",
        code="unreadable",
        suggestion="Save the automation again.",
    )
