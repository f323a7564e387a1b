"""The events a run publishes when it ends, so that other automations can follow it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.contracts.event import EventType
from mainspring.contracts.ids import new_id
from mainspring.gate.record import dumps
from mainspring.runs.rows import End
from mainspring.store.events import EventRow

_PAYLOAD: dict[str, Any] = {
    "type": "object",
    "required": ["run_id", "automation_id", "automation_name", "status", "outcome"],
    "properties": {
        "run_id": {"type": "string", "format": "uuid"},
        "automation_id": {"type": "string", "format": "uuid"},
        "automation_name": {"type": "string"},
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


def run_event(
    workspace_id: UUID, run_id: UUID, automation_id: UUID, name: str, end: End
) -> EventRow | None:
    """The row that tells of an end; None when the run has not ended for good."""
    kind = _BY_STATUS.get(end.status)
    if kind is None:
        return None
    payload: dict[str, Any] = {
        "run_id": str(run_id),
        "automation_id": str(automation_id),
        "automation_name": name,
        "status": end.status,
        "outcome": end.outcome,
    }
    if end.reason is not None:
        payload["reason"] = end.reason
    return workspace_id, new_id(), kind, str(automation_id), dumps(payload) or "{}"
