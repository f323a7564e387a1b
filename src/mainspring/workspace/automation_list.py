"""Reading automations: the list, and one automation in detail.

The detail has the definition, its triggers with their next fire times, the permissions of its runs,
the last run's result and consecutive failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.workspace.automations import (
    AutomationStatus,
    list_triggers,
    merge_stored_triggers,
    no_automation_error,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Health of automations for lists: latest runs, spend, pending approvals.

# How many of the latest runs are read, and how many of them are shown.
LOOKED_AT: Final = 50
SHOWN: Final = 12
# Neither a success nor a failure: cancelled, or never started.
_NEITHER: Final = frozenset({"cancelled", "skipped"})
_UNDER_WAY: Final = frozenset({"pending", "running", "waiting"})

# Months are in UTC, as are the days of the budgets.
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
            AND c.automation_id = a.id AND c.status = 'waiting'
            AND c.asked_kind <> 'repeat') AS consent_waiting,
        coalesce(t.types, '{{}}') AS trigger_types,
        (SELECT n.config ->> 'timezone' FROM triggers n
         WHERE n.workspace_id = a.workspace_id AND n.automation_id = a.id
           AND n.next_due_at IS NOT NULL
         ORDER BY n.next_due_at, n.id LIMIT 1) AS next_due_timezone
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
# The calls of the newest runs only, each looked up by the table's primary key.
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
    """Count the latest consecutive successes; ``statuses`` is newest first."""
    won = 0
    for status in statuses:
        if status == "succeeded":
            won += 1
        elif status not in _NEITHER and status not in _UNDER_WAY:
            break
    return won


async def load_health(
    tx: Transaction, workspace_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, dict[str, Any]]:
    """Load the health of some automations, by id."""
    rows = await tx.fetch(_SIGNS, workspace_id, list(ids))
    return {row["id"]: _describe_health(row) for row in rows}


async def load_usage(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> dict[str, Any]:
    """Load which capabilities the latest runs called, and how far back that goes."""
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
    # Oldest first, for a sparkline.
    return {**told, "streak": count_success_streak(statuses), "recent": statuses[:SHOWN][::-1]}


AutomationSort = Literal["newest", "name", "next", "last", "cost"]
AutomationHealth = Literal["failing", "healthy", "waiting", "never_run"]


@dataclass(frozen=True, slots=True)
class AutomationQuery:
    """Filters and sort order of the automation list, beyond state and name."""

    health: AutomationHealth | None = None
    trigger: str | None = None
    sort: AutomationSort = "newest"
    # Whether the search also covers the goal.
    in_goal: bool = False


ANY: Final = AutomationQuery()
_COLUMNS = """
    SELECT a.id, a.name, d.document ->> 'goal' AS goal, a.state, a.paused_reason, a.version,
        a.failures, a.acknowledged_at, a.created_by, a.created_at, a.updated_at,
        a.agreed_version, a.agreed_by, a.agreed_via,
        (SELECT min(t.next_due_at) FROM triggers t
         WHERE t.workspace_id = a.workspace_id AND t.automation_id = a.id) AS next_due_at,
        l.id AS run_id, l.status AS run_status, l.outcome AS run_outcome,
        l.reason AS run_reason,
        coalesce(l.finished_at, l.started_at, l.created_at) AS run_at,
        (SELECT h.reason FROM halting(a.workspace_id, a.id) AS h
         ORDER BY h.halted_at LIMIT 1) AS halted
"""
_FROM = """
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    LEFT JOIN LATERAL (
        SELECT r.id, r.status, r.outcome, r.reason, r.created_at, r.started_at, r.finished_at
        FROM runs r
        WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id AND r.mode = 'live'
        ORDER BY r.id DESC LIMIT 1
    ) AS l ON true
"""
# The sort key of each order; ids are in creation order. The row at the cursor gives the position of
# the previous page, with the id as tie-breaker.
_KEYS: Final[Mapping[AutomationSort, tuple[str, str]]] = {
    "newest": ("a.id", "DESC"),
    "name": ("lower(a.name)", "ASC"),
    "next": (
        """coalesce((SELECT min(t.next_due_at) FROM triggers t
    WHERE t.workspace_id = a.workspace_id AND t.automation_id = a.id), 'infinity')""",
        "ASC",
    ),
    "last": (
        """coalesce((SELECT r.id FROM runs r
    WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id AND r.mode = 'live'
    ORDER BY r.id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000'::uuid)""",
        "DESC",
    ),
    "cost": (SPENT, "DESC"),
}
_RAN = """EXISTS (SELECT 1 FROM runs r WHERE r.workspace_id = a.workspace_id
    AND r.automation_id = a.id AND r.mode = 'live')"""
_LATEST = """(SELECT r.status FROM runs r WHERE r.workspace_id = a.workspace_id
    AND r.automation_id = a.id AND r.mode = 'live' AND r.finished_at IS NOT NULL
    ORDER BY r.id DESC LIMIT 1)"""
_HEALTH: Final[Mapping[AutomationHealth, str]] = {
    "failing": f"(a.failures > 0 OR {_LATEST} IN ('failed', 'timed_out', 'dead'))",
    "healthy": f"{_LATEST} = 'succeeded'",
    "never_run": f"NOT {_RAN}",
    "waiting": """(a.paused_reason IN ('consent', 'owner_left')
        OR a.id IN (SELECT c.automation_id FROM consents c
            WHERE c.workspace_id = $1 AND c.status = 'waiting')
        OR a.id IN (SELECT d.automation_id FROM drafts d WHERE d.workspace_id = $1
            AND d.status = 'pending' AND d.expires_at > now() AND d.automation_id IS NOT NULL)
        OR a.id IN (SELECT q.automation_id FROM approvals q
            WHERE q.workspace_id = $1 AND q.status = 'pending'))""",
}
# The goal is only searched when the name does not match.
_PICKED = """
    SELECT a.id, {key} AS place FROM automations a
    WHERE a.workspace_id = $1
      AND (a.state = $2 OR ($2::text IS NULL AND a.state <> 'archived'))
      AND ($3::text IS NULL OR strpos(lower(a.name), lower($3)) > 0 OR ($7 AND EXISTS (
          SELECT 1 FROM automation_versions v JOIN definitions d
            ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
          WHERE v.workspace_id = a.workspace_id AND v.automation_id = a.id
            AND v.version = a.version AND strpos(lower(d.document ->> 'goal'), lower($3)) > 0)))
      AND ($6::text IS NULL OR EXISTS (SELECT 1 FROM triggers t
          WHERE t.workspace_id = a.workspace_id AND t.automation_id = a.id AND t.type = $6))
      AND {health}
      AND ($4::uuid IS NULL OR {beyond})
    ORDER BY {key} {order}, a.id {order} LIMIT $5
"""
# A cursor may be an id prefix that matches no row: the newest-first order compares the id itself,
# whether such a row exists or not.
_BEFORE = "a.id < $4"
_BEYOND = """({key}, a.id) {than} (
          SELECT {key}, a.id FROM automations a WHERE a.workspace_id = $1 AND a.id = $4)"""
_ONE = f"""{_COLUMNS}, d.document, v.grants {_FROM} WHERE a.workspace_id = $1 AND a.id = $2"""
_AGREED = ("agreed_version", "agreed_by", "agreed_via")
_LAST_RUN = ("run_id", "run_status", "run_outcome", "run_reason", "run_at")


async def list_automations(
    tx: Transaction,
    workspace_id: UUID,
    *,
    state: AutomationStatus | None = None,
    search: str | None = None,
    after: UUID | None = None,
    most: int = 50,
    wanted: AutomationQuery = ANY,
) -> list[dict[str, Any]]:
    """List automations, newest first; archived ones only when filtered by that state."""
    given = (state, search, after, most, wanted.trigger, wanted.in_goal)
    rows = await tx.fetch(_list(wanted.health, wanted.sort), workspace_id, *given)
    return [_describe_automation(row) for row in rows]


async def list_with_health(
    tx: Transaction,
    workspace_id: UUID,
    query: AutomationQuery,
    *,
    state: AutomationStatus | None,
    search: str | None,
    after: UUID | None,
    most: int,
) -> list[dict[str, Any]]:
    """List automations with their health."""
    rows = await list_automations(
        tx, workspace_id, state=state, search=search, after=after, most=most, wanted=query
    )
    signs = await load_health(tx, workspace_id, [row["id"] for row in rows])
    return [{**row, **signs[row["id"]]} for row in rows]


@cache
def _list(health: AutomationHealth | None, sort: AutomationSort) -> str:
    """Select the page first, so that details are only computed for its rows."""
    key, order = _KEYS[sort]
    beyond = _BEYOND.format(key=key, than=">" if order == "ASC" else "<")
    picked = _PICKED.format(
        key=key,
        order=order,
        beyond=_BEFORE if sort == "newest" else beyond,
        health="true" if health is None else _HEALTH[health],
    )
    return f"""WITH picked AS MATERIALIZED ({picked}) {_COLUMNS} {_FROM}
        JOIN picked p ON p.id = a.id
        WHERE a.workspace_id = $1 ORDER BY p.place {order}, a.id {order}"""


async def read_automation(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> dict[str, Any]:
    """Load one automation in its current state, archived ones included."""
    row = await tx.fetchrow(_ONE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    triggers = await list_triggers(tx, workspace_id, automation_id)
    result = _describe_automation(row)
    result["definition"] = merge_stored_triggers(result.pop("document"), triggers)
    return {**result, "triggers": triggers}


def _describe_automation(row: Any) -> dict[str, Any]:
    told = dict(row)
    last = {name.removeprefix("run_"): told.pop(name) for name in _LAST_RUN}
    told["last_run"] = None if last["id"] is None else last
    agreed = {name.removeprefix("agreed_"): told.pop(name) for name in _AGREED}
    told["agreed"] = None if agreed["version"] is None else agreed
    return told
