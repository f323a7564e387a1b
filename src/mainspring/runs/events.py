"""The events that a run emits when it ends, and the dedup keys of external events.

An event that is sent twice under one key is stored once: the key is kept with the other dedup keys,
for a day.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.gate.call_records import dumps
from mainspring.gate.policy import Mode
from mainspring.runs.rows import RunEnd

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

KEY_LIFETIME = timedelta(hours=24)
# The workspace is the source: the event does not exist yet, and no trigger is involved.
_KEEP_KEY = """
    INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
    VALUES ($1, $1, $2, now() + $3::interval, $4, $5)
    ON CONFLICT (workspace_id, source_id, key) DO UPDATE
        SET run_id = excluded.run_id, body_hash = excluded.body_hash,
            expires_at = excluded.expires_at, at = now()
        WHERE firings.expires_at < now()
    RETURNING run_id
"""
_KEPT_KEY = """
    SELECT run_id, body_hash FROM firings
    WHERE workspace_id = $1 AND source_id = $1 AND key = $2
"""

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
    workspace_id: UUID, run_id: UUID, automation_id: UUID, name: str, end: RunEnd, mode: Mode
) -> EventRow | None:
    """The event row of an end; None when the run has not ended for good.

    A trial emits no event: it must start nothing and alert nobody.
    """
    kind = _BY_STATUS.get(end.status)
    if kind is None or mode != "live":
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
    text = dumps(payload) or "{}"
    return EventRow(workspace_id, generate_id(), kind, str(automation_id), text, run_id)


async def keep_event_key(
    tx: Transaction, workspace_id: UUID, key: str, event_id: UUID, body_hash: bytes
) -> UUID:
    """The id of the event with this key: the given one, or an earlier one's."""
    named = f"told:{key}"
    fresh = await tx.fetchrow(_KEEP_KEY, workspace_id, named, KEY_LIFETIME, event_id, body_hash)
    if fresh is not None:
        return event_id
    row = await tx.fetchrow(_KEPT_KEY, workspace_id, named)
    if row["body_hash"] != body_hash:
        raise Invalid(
            "This idempotency key was used before with another event.",
            code="idempotency_mismatch",
        )
    found: UUID = row["run_id"]
    return found
