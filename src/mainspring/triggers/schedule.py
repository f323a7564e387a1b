"""The schedule trigger: a cron expression in a time zone.

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

from mainspring.contracts.errors import Invalid
from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.cron import Cron, parse_cron
from mainspring.triggers.fire_times import Misfire

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
    description="Goes off at the moments that a cron expression names in a time zone.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """The parsed config of a schedule."""

    cron: Cron
    zone: str
    misfire: Misfire
    catch_up: timedelta


def read_schedule(config: Any) -> ScheduleConfig:
    """Parse a stored config; ``Invalid`` when it was saved under other rules."""
    if not isinstance(config, Mapping):
        raise _damaged_config_error("is not an object")
    cron, zone = config.get("cron"), config.get("timezone")
    misfire = config.get("misfire", "fire_once")
    seconds = config.get("catch_up_seconds", CATCH_UP_SECONDS)
    if not isinstance(cron, str) or not isinstance(zone, str):
        raise _damaged_config_error("has no cron expression or no time zone")
    if misfire not in get_args(Misfire):
        raise _damaged_config_error("has an unknown policy for missed fire times")
    if type(seconds) is not int or not 0 <= seconds <= LONGEST_CATCH_UP_SECONDS:
        raise _damaged_config_error("has an invalid catch-up window")
    return ScheduleConfig(parse_cron(cron), zone, misfire, timedelta(seconds=seconds))


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
