"""The firing history of a trigger: when it fired, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.definition.forms import FORM
from mainspring.triggers.webhook_signatures import has_auth

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Every webhook request has a run, and the runs of an automation are ordered; its firings are only
# ordered by keys that senders chose.
_CALLS = """
    SELECT r.id::text AS key, r.created_at AS at, r.id AS run_id, r.status, r.reason,
        1 AS moments
    FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.trigger_id = $3
      AND r.replay_of IS NULL AND ($4::uuid IS NULL OR r.id < $4)
    ORDER BY r.id DESC LIMIT $5
"""
# The other keys begin with the fire time or with a time-ordered id.
_KEYED = """
    SELECT f.key, f.run_id, r.status,
        -- Of a schedule: the moment itself, which may be long before it was written down.
        CASE WHEN f.key LIKE 'at:%' THEN substr(f.key, 4)::timestamptz ELSE f.at END AS at,
        coalesce(r.reason, f.reason) AS reason, f.moments
    FROM firings f
    LEFT JOIN runs r ON r.workspace_id = f.workspace_id AND r.id = f.run_id
    WHERE f.workspace_id = $1 AND f.source_id = $2 AND ($3::text IS NULL OR f.key < $3)
    ORDER BY f.key DESC LIMIT $4
"""
_LAST = """
    SELECT id AS run_id, created_at AS at, payload FROM runs
    WHERE workspace_id = $1 AND automation_id = $2 AND trigger_id = $3 AND replay_of IS NULL
    ORDER BY id DESC LIMIT 1
"""


async def list_fire_times(
    tx: Transaction, workspace_id: UUID, trigger: dict[str, Any], *, before: str | None, most: int
) -> list[dict[str, Any]]:
    """The newest first, fired or missed; ``key`` is the cursor of the next page."""
    if trigger["type"] in ("webhook", FORM):
        rows = await tx.fetch(
            _CALLS, workspace_id, trigger["automation_id"], trigger["id"], _run_id(before), most
        )
    else:
        rows = await tx.fetch(_KEYED, workspace_id, trigger["id"], before, most)
    return [dict(row) for row in rows]


async def last_payload(
    tx: Transaction, workspace_id: UUID, trigger: dict[str, Any]
) -> dict[str, Any]:
    """The last payload, for template authors."""
    row = await tx.fetchrow(_LAST, workspace_id, trigger["automation_id"], trigger["id"])
    if row is None:
        raise NotFound("This trigger has not received anything yet.", code="no_payload")
    # An empty payload is stored as NULL.
    return {**dict(row), "payload": {} if row["payload"] is None else row["payload"]}


def _run_id(text: str | None) -> UUID | None:
    """An invalid cursor begins at the newest."""
    try:
        return None if text is None else UUID(text)
    except ValueError:
        return None


_DELIVERIES = """
    SELECT r.id AS run_id, r.created_at AS at, r.status, r.reason, r.replay_of,
        CASE WHEN $4 THEN r.payload END AS payload
    FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.trigger_id = $3
      AND ($5::uuid IS NULL OR r.id < $5)
    ORDER BY r.id DESC LIMIT $6
"""

_IS_DELIVERY = "SELECT 1 FROM runs WHERE workspace_id = $1 AND trigger_id = $2 AND id = $3"


async def list_deliveries(
    tx: Transaction,
    workspace_id: UUID,
    trigger: Mapping[str, Any],
    *,
    before: UUID | None,
    most: int,
) -> list[dict[str, Any]]:
    """The requests that started runs, the newest first, with their headers.

    Only a webhook with ``auth`` gives its runs the request; of another only the run is known.
    """
    with_request = has_auth(trigger["config"])
    rows = await tx.fetch(
        _DELIVERIES,
        workspace_id,
        trigger["automation_id"],
        trigger["id"],
        with_request,
        before,
        most,
    )
    return [_describe_delivery(row) for row in rows]


async def check_delivery(
    tx: Transaction, workspace_id: UUID, trigger: Mapping[str, Any], run_id: UUID
) -> None:
    """Refuse a run that no request of this webhook started."""
    if await tx.fetchrow(_IS_DELIVERY, workspace_id, trigger["id"], run_id) is None:
        raise NotFound("There is no such delivery of this webhook.", code="no_delivery")


def _describe_delivery(row: Any) -> dict[str, Any]:
    payload = row["payload"] if isinstance(row["payload"], Mapping) else {}
    return {
        "run_id": row["run_id"],
        "at": row["at"],
        "status": row["status"],
        "reason": row["reason"],
        "redelivery_of": row["replay_of"],
        "method": payload.get("method"),
        "event": payload.get("event"),
        "headers": payload.get("headers"),
        "notes": payload.get("notes", []),
    }
