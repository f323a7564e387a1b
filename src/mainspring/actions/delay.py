"""delay: the run sleeps until a time, without occupying a worker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Invalid
from mainspring.contracts.outcome import WaitUntil

LONGEST = timedelta(days=366)


async def delay(ctx: StepContext, config: Mapping[str, Any]) -> WaitUntil:
    now = ctx.clock.now()
    if "seconds" in config:
        until = now + timedelta(seconds=float(config["seconds"]))
    else:
        until = _parse_time(str(config["until"]))
    if until - now > LONGEST:
        raise Invalid("A delay lasts at most 366 days.", code="delay_too_long")
    return WaitUntil(until, {"waited_until": until.isoformat()})


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{text[:60]!r} is not a date and time.",
            code="not_a_moment",
            suggestion="Write it like 2026-03-01T09:00:00+01:00.",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


DELAY = Action(
    type="delay",
    description="Wait before the next step\n\n"
    "For a number of seconds, or until a date and time in ISO 8601 (UTC when no zone is given). "
    "A time in the past does not wait.",
    config_schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "seconds": {"type": "number", "minimum": 0, "maximum": 31_622_400},
            "until": {"type": "string", "minLength": 10, "maxLength": 64},
        },
        "oneOf": [{"required": ["seconds"]}, {"required": ["until"]}],
        "examples": [{"seconds": 60}, {"until": "2026-03-01T09:00:00+01:00"}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "neither seconds nor until"},
            {"value": {"seconds": -1}, "reason": "time does not run backwards"},
            {"value": {"seconds": 1, "until": "2026-03-01"}, "reason": "one of the two, not both"},
        ],
    },
    output_schema={
        "type": "object",
        "required": ["waited_until"],
        "properties": {"waited_until": {"type": "string", "format": "date-time"}},
    },
    handler=delay,
    seconds=0.01,
    waits=True,
)
