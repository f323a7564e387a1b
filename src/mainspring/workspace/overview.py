"""Reading automations: the list, and one of them with everything a person asks first.

What it is, what may start it and when that will be, what its runs may call, how the last
run ended, and whether it has been failing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.workspace.automations import State, no_automation
from mainspring.workspace.stored_triggers import written_back
from mainspring.workspace.triggers import list_triggers

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_COLUMNS = """
    SELECT a.id, a.name, d.document ->> 'goal' AS goal, a.state, a.paused_reason, a.version,
        a.failures, a.acknowledged_at, a.created_by, a.created_at, a.updated_at,
        (SELECT min(t.next_due_at) FROM triggers t
         WHERE t.workspace_id = a.workspace_id AND t.automation_id = a.id) AS next_due_at,
        l.id AS run_id, l.status AS run_status, l.outcome AS run_outcome,
        coalesce(l.finished_at, l.started_at, l.created_at) AS run_at
"""
_FROM = """
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    LEFT JOIN LATERAL (
        SELECT r.id, r.status, r.outcome, r.created_at, r.started_at, r.finished_at FROM runs r
        WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id AND r.mode = 'live'
        ORDER BY r.id DESC LIMIT 1
    ) AS l ON true
"""
_LIST = f"""{_COLUMNS} {_FROM}
    WHERE a.workspace_id = $1
      AND (a.state = $2 OR ($2::text IS NULL AND a.state <> 'archived'))
      AND ($3::text IS NULL OR strpos(lower(a.name), lower($3)) > 0)
      AND ($4::uuid IS NULL OR a.id < $4)
    ORDER BY a.id DESC LIMIT $5
"""
_ONE = f"""{_COLUMNS}, d.document, v.grants {_FROM} WHERE a.workspace_id = $1 AND a.id = $2"""
_LAST_RUN = ("run_id", "run_status", "run_outcome", "run_at")


async def list_automations(
    tx: Transaction,
    workspace_id: UUID,
    *,
    state: State | None = None,
    search: str | None = None,
    after: UUID | None = None,
    most: int = 50,
) -> list[dict[str, Any]]:
    """The newest first; archived ones only when they are asked for by their state."""
    rows = await tx.fetch(_LIST, workspace_id, state, search, after, most)
    return [_told(row) for row in rows]


async def read_automation(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> dict[str, Any]:
    """One automation as it is now, archived ones too."""
    row = await tx.fetchrow(_ONE, workspace_id, automation_id)
    if row is None:
        raise no_automation()
    triggers = await list_triggers(tx, workspace_id, automation_id)
    told = _told(row)
    told["definition"] = written_back(told.pop("document"), triggers)
    return {**told, "triggers": triggers}


def _told(row: Any) -> dict[str, Any]:
    told = dict(row)
    last = {name.removeprefix("run_"): told.pop(name) for name in _LAST_RUN}
    told["last_run"] = None if last["id"] is None else last
    return told
