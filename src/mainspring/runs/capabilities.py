"""What an automation may ask about its own runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import InternalError
from mainspring.contracts.toolset import Toolset

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_MOST: Final = 50
_USUAL: Final = 10

# The result of a trial says nothing about the automation's health.
_RECENT = """
    SELECT id, status, reason, finished_at, error FROM runs
    WHERE workspace_id = $1 AND automation_id = $2 AND id <> $3 AND mode = 'live'
      AND status IN ('failed', 'timed_out', 'dead') AND finished_at IS NOT NULL
    ORDER BY id DESC LIMIT $4
"""


def capabilities() -> tuple[Capability, ...]:
    """The capabilities of this package."""
    return (_recent_failures(),)


async def _handle(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if ctx.run is None:
        raise InternalError("Only a run has an automation of its own.", retryable=False)
    rows = await ctx.tx.fetch(
        _RECENT,
        ctx.actor.workspace_id,
        ctx.run.automation_id,
        ctx.run.id,
        arguments.get("limit", _USUAL),
    )
    return {"failures": [_describe_run(row) for row in rows]}


def _describe_run(row: Any) -> dict[str, Any]:
    error = row["error"] or {}
    return {
        "run_id": str(row["id"]),
        "status": row["status"],
        "finished_at": row["finished_at"].isoformat(),
        "code": error.get("code") or row["reason"] or "",
        "detail": error.get("detail") or "",
    }


def _recent_failures() -> Capability:
    failure = {
        "type": "object",
        "required": ["run_id", "status", "finished_at", "code", "detail"],
        "additionalProperties": False,
        "properties": {
            "run_id": {"type": "string", "format": "uuid"},
            "status": {"enum": ["failed", "timed_out", "dead"]},
            "finished_at": {"type": "string", "format": "date-time"},
            "code": {"type": "string"},
            "detail": {"type": "string"},
        },
    }
    return Capability(
        id="automation_recent_failures",
        description="List the latest failures of this automation\n\n"
        "Newest first, without the current run. Use it in a script to adapt after "
        "failures.",
        input_schema={
            "$schema": _DIALECT,
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _USUAL}
            },
            "examples": [{}, {"limit": 3}],
            "x-mainspring-anti-examples": [
                {"value": {"limit": 0}, "reason": "at least one"},
                {"value": {"automation_id": "x"}, "reason": "the run says whose failures"},
            ],
        },
        output_schema={
            "$schema": _DIALECT,
            "type": "object",
            "required": ["failures"],
            "additionalProperties": False,
            "properties": {"failures": {"type": "array", "items": failure, "maxItems": _MOST}},
            "examples": [{"failures": []}],
            "x-mainspring-anti-examples": [
                {"value": {}, "reason": "an empty list says that there are none"}
            ],
        },
        handler=_handle,
        annotations=Annotations(
            toolset=Toolset.RUNS,
            effect=Effect.READ,
            transactional=True,
            seconds=0.1,
            audience=Audience.RUNS,
        ),
    )
