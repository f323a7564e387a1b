"""The events a run publishes when it ends, so that other automations can follow it."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.event import EventType
from mainspring.runs.rows import ClaimedRun, End

_PAYLOAD: dict[str, Any] = {
    "type": "object",
    "required": ["run_id", "automation_id", "status", "outcome"],
    "properties": {
        "run_id": {"type": "string", "format": "uuid"},
        "automation_id": {"type": "string", "format": "uuid"},
        "status": {"type": "string"},
        "outcome": {"type": ["string", "null"]},
        "reason": {"type": ["string", "null"]},
    },
}

SUCCEEDED = EventType("automation.run.succeeded", "A run reached the end of its plan.", _PAYLOAD)
FAILED = EventType(
    "automation.run.failed", "A run failed, ran out of time or died with its workers.", _PAYLOAD
)
CANCELLED = EventType("automation.run.cancelled", "A run was cancelled.", _PAYLOAD)

EVENTS = (SUCCEEDED, FAILED, CANCELLED)
_BY_STATUS = {
    "succeeded": SUCCEEDED.type,
    "failed": FAILED.type,
    "timed_out": FAILED.type,
    "dead": FAILED.type,
    "cancelled": CANCELLED.type,
}


def event_of(run: ClaimedRun, end: End) -> tuple[str, dict[str, Any]] | None:
    """The event's type and payload, for an end that is final."""
    kind = _BY_STATUS.get(end.status)
    if kind is None:
        return None
    payload: dict[str, Any] = {
        "run_id": str(run.id),
        "automation_id": str(run.automation_id),
        "status": end.status,
        "outcome": end.outcome,
    }
    if end.reason is not None:
        payload["reason"] = end.reason
    return kind, payload
