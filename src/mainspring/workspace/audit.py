"""Reading the audit log: changes and denials, newest first.

Entries are written in the transaction of their change. The details of a save are built here, so
that every interface shows the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.workspace.automations import SavedAutomation

_LIST = """
    SELECT a.id, a.at, a.actor_kind, a.actor_id, a.token_id, a.action, a.subject, a.detail,
        coalesce(nullif(u.name, ''), u.email) AS actor_name
    FROM audit_log a LEFT JOIN users u ON u.id = a.actor_id
    WHERE a.workspace_id = $1
      AND ($2::text IS NULL OR a.action = $2)
      AND ($3::uuid IS NULL OR a.actor_id = $3)
      AND ($4::timestamptz IS NULL OR a.at >= $4)
      AND ($5::timestamptz IS NULL OR a.at < $5)
      AND ($6::uuid IS NULL OR a.id < $6)
    ORDER BY a.id DESC LIMIT $7
"""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Filters for audit entries; an omitted field does not filter."""

    action: str | None = None
    actor: UUID | None = None
    since: datetime | None = None
    before: datetime | None = None


async def read_audit(
    tx: Transaction,
    workspace_id: UUID,
    sought: AuditQuery,
    *,
    after: UUID | None = None,
    most: int = 50,
) -> Sequence[dict[str, Any]]:
    """List entries, newest first; ``after`` is the last id of the previous page."""
    rows = await tx.fetch(
        _LIST, workspace_id, sought.action, sought.actor, sought.since, sought.before, after, most
    )
    return [dict(row) for row in rows]


def describe_save(saved: SavedAutomation, name: str) -> dict[str, Any]:
    """Describe a save: its version, and the permissions that it added."""
    return {
        "automation_id": str(saved.automation_id),
        "name": name,
        "version": saved.version,
        "changed": saved.changed,
        "widened": [grant.as_dict() for grant in saved.widened],
    }


def is_unchanged(saved: SavedAutomation) -> bool:
    """Whether a save changed nothing, so that there is nothing to record."""
    return not saved.changed and not saved.switched_back
