"""get_usage: the ledger of models as a capability for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.object_schema import DIALECT, build_object_part
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.gate.usage_ledger import MOST_DAYS, MOST_LINES, USUAL_DAYS, read_sums, span_of

_DAY: Final = {"type": "string", "format": "date"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_USD: Final = {"type": "number", "minimum": 0}
_SUMS: Final[dict[str, Any]] = {
    "asks": _COUNT,
    "input_tokens": _COUNT,
    "output_tokens": _COUNT,
    "cached_tokens": {**_COUNT, "description": "Input tokens read from the provider's cache."},
    "cost_usd": _USD,
    "reported_usd": {**_USD, "description": "The part of the cost reported by scripts."},
}
_AUTOMATION: Final = "0190f3a0-0000-7000-8000-00000000000a"
_EXAMPLE_SUMS: Final = {
    "asks": 2,
    "input_tokens": 1_200,
    "output_tokens": 300,
    "cached_tokens": 0,
    "cost_usd": 0.0081,
    "reported_usd": 0,
}


async def _get_usage(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    first, last, whose = (arguments.get(name) for name in ("from", "to", "automation_id"))
    span = span_of(_day(first), _day(last), ctx.clock.now())
    automation_id = None if whose is None else UUID(whose)
    return await read_sums(ctx.tx, ctx.actor.workspace_id, span, automation_id)


def _day(text: Any) -> date | None:
    return None if text is None else date.fromisoformat(text)


def _rows_schema(most: int, **names: Any) -> dict[str, Any]:
    line = build_object_part({**names, **_SUMS})
    return {"type": "array", "maxItems": most, "items": line}


_TEXT: Final = {"type": "string"}
_OUTPUT: Final = {
    "from": _DAY,
    "to": _DAY,
    "zone": {"const": "UTC", "description": "Time zone of the days."},
    "total": build_object_part(_SUMS),
    "days": _rows_schema(MOST_DAYS, day=_DAY),
    "automations": _rows_schema(
        MOST_LINES,
        automation_id={"type": ["string", "null"], "format": "uuid"},
        name={"type": ["string", "null"]},
    ),
    "models": _rows_schema(MOST_LINES, provider=_TEXT, model=_TEXT),
    "callers": _rows_schema(MOST_LINES, caller=_TEXT),
}

GET_USAGE = Capability(
    id="get_usage",
    description="Get model usage and cost\n\n"
    f"Totals by day, automation, model and caller (the top {MOST_LINES} of the last "
    f"three). Covers the last {USUAL_DAYS} days unless days is given. Days are UTC, "
    "as for budgets.",
    input_schema={
        "$schema": DIALECT,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "from": {**_DAY, "description": "First day."},
            "to": {**_DAY, "description": "Last day. Default: today."},
            "automation_id": {
                "type": "string",
                "format": "uuid",
                "description": "Only runs of this automation.",
            },
        },
        "examples": [
            {},
            {"from": "2026-03-01", "to": "2026-03-31"},
            {"automation_id": _AUTOMATION},
        ],
        "x-mainspring-anti-examples": [
            {"value": {"from": "last week"}, "reason": "a day is written as 2026-03-01"},
            {"value": {"from": "2026-03-01T09:00:00Z"}, "reason": "whole days are added up"},
            {"value": {"automation_id": "mine"}, "reason": "an automation is named by its id"},
            {"value": {"by": "day"}, "reason": "it is always added up in every way"},
        ],
    },
    output_schema={
        "$schema": DIALECT,
        **build_object_part(_OUTPUT),
        "examples": [
            {
                "from": "2026-03-01",
                "to": "2026-03-02",
                "zone": "UTC",
                "total": _EXAMPLE_SUMS,
                "days": [{"day": "2026-03-02", **_EXAMPLE_SUMS}],
                "automations": [{"automation_id": _AUTOMATION, "name": "Digest", **_EXAMPLE_SUMS}],
                "models": [{"provider": "anthropic", "model": "small", **_EXAMPLE_SUMS}],
                "callers": [{"caller": "automation_llm_complete", **_EXAMPLE_SUMS}],
            }
        ],
        "x-mainspring-anti-examples": [
            {"value": {"total": _EXAMPLE_SUMS}, "reason": "it says which days it added up"},
        ],
    },
    handler=_get_usage,
    annotations=Annotations(
        toolset=Toolset.RUNS,
        effect=Effect.READ,
        transactional=True,
        seconds=0.5,
        audience=Audience.PEOPLE,
        permission=Permission.READ,
    ),
)
