"""How automations are doing, for a list of them: their latest runs, their money, what waits.

Asked for a page of automations at once. Every part goes through an index that begins with the
automation, or through the few rows that wait for a person, so a long history costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# How many of the latest runs are looked at, and how many of them are shown.
LOOKED_AT: Final = 50
SHOWN: Final = 12
# Neither a success nor a failure: somebody stopped it, or it did not begin.
_NEITHER: Final = frozenset({"cancelled", "skipped"})
_UNDER_WAY: Final = frozenset({"pending", "running", "waiting"})

# A month is one in UTC, as the days of the caps are.
SPENT = """(SELECT coalesce(sum(s.usd), 0) FROM spend s
    WHERE s.workspace_id = a.workspace_id AND s.automation_id = a.id
      AND s.day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date)"""
_SIGNS = f"""
    WITH drafts_here AS (
        SELECT d.automation_id, count(*) AS waiting FROM drafts d
        WHERE d.workspace_id = $1 AND d.status = 'pending' AND d.expires_at > now()
          AND d.automation_id = ANY($2::uuid[])
        GROUP BY d.automation_id
    ), questions_here AS (
        SELECT q.automation_id, count(*) AS waiting FROM approvals q
        WHERE q.workspace_id = $1 AND q.status = 'pending' AND q.automation_id = ANY($2::uuid[])
        GROUP BY q.automation_id
    )
    SELECT a.id, {SPENT} AS month_usd, coalesce(l.statuses, '{{}}') AS statuses,
        coalesce(d.waiting, 0) AS drafts_waiting, coalesce(q.waiting, 0) AS approvals_waiting,
        EXISTS (SELECT 1 FROM consents c WHERE c.workspace_id = a.workspace_id
            AND c.automation_id = a.id AND c.status = 'waiting') AS consent_waiting,
        coalesce(t.types, '{{}}') AS trigger_types
    FROM automations a
    LEFT JOIN drafts_here d ON d.automation_id = a.id
    LEFT JOIN questions_here q ON q.automation_id = a.id
    LEFT JOIN LATERAL (
        SELECT array_agg(n.status ORDER BY n.id DESC) AS statuses FROM (
            SELECT r.id, r.status FROM runs r
            WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id AND r.mode = 'live'
            ORDER BY r.id DESC LIMIT {LOOKED_AT}
        ) AS n
    ) AS l ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(DISTINCT g.type ORDER BY g.type) AS types FROM triggers g
        WHERE g.workspace_id = a.workspace_id AND g.automation_id = a.id AND g.enabled
    ) AS t ON true
    WHERE a.workspace_id = $1 AND a.id = ANY($2::uuid[])
"""
# The calls of the newest runs alone, each run through the key of the table.
_USED = """
    WITH latest AS (
        SELECT r.id, r.created_at FROM runs r
        WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.mode = 'live'
          AND r.rehearsal_id IS NULL
        ORDER BY r.id DESC LIMIT $3
    )
    SELECT c.capability, count(c.run_id) AS calls, max(c.at) AS last_used_at,
        (SELECT count(*) FROM latest) AS runs, (SELECT min(created_at) FROM latest) AS since
    FROM (SELECT 1) AS once LEFT JOIN (
        SELECT k.capability, k.run_id, k.at FROM calls k
        JOIN latest ON k.workspace_id = $1 AND k.run_id = latest.id
        WHERE k.outcome <> 'denied'
    ) AS c ON true
    GROUP BY c.capability
"""
RUNS_FOR_USE: Final = 500


def count_success_streak(statuses: Sequence[str]) -> int:
    """How many of the latest runs in a row succeeded; the newest comes first."""
    won = 0
    for status in statuses:
        if status == "succeeded":
            won += 1
        elif status not in _NEITHER and status not in _UNDER_WAY:
            break
    return won


async def read_signs(
    tx: Transaction, workspace_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, dict[str, Any]]:
    """How each of some automations is doing, by its id."""
    rows = await tx.fetch(_SIGNS, workspace_id, list(ids))
    return {row["id"]: _describe_health(row) for row in rows}


async def read_use(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> dict[str, Any]:
    """What the latest runs of an automation have really called, and how far back that looks."""
    rows = await tx.fetch(_USED, workspace_id, automation_id, RUNS_FOR_USE)
    first = rows[0] if rows else {"runs": 0, "since": None}
    return {
        "runs": first["runs"],
        "since": first["since"],
        "used": {row["capability"]: row for row in rows if row["capability"] is not None},
    }


def _describe_health(row: Any) -> dict[str, Any]:
    told = dict(row)
    del told["id"]
    statuses = list(told.pop("statuses"))
    # The oldest first, as a line is read.
    return {**told, "streak": count_success_streak(statuses), "recent": statuses[:SHOWN][::-1]}
