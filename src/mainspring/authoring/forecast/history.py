"""What has happened in a workspace so far, as far as a forecast rests on it. It only reads.

Each look is bounded: the newest rows, so many of them and no more than some bytes. Where that
bound cuts something off, the answer says how far back it really reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.forecast.costs import PastConversation
from mainspring.contracts.agency import AGENT_RUN
from mainspring.contracts.ids import get_lowest_id_at

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

LOOK_BACK: Final = timedelta(days=30)
_EVENTS: Final = 20_000
_EVENT_BYTES: Final = 2_097_152
_ASKS: Final = 1_000
_RUNS: Final = 200
_VERSIONS: Final = 10

_SPACE = """
    SELECT created_at, cost_cap_daily_usd FROM workspaces WHERE workspace_id = $1
"""
_REACH = """
    SELECT count(*) AS looked_at, min(e.created_at) AS since FROM (
        SELECT created_at FROM events
        WHERE workspace_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3
    ) AS e
"""
_TOLD = """
    WITH sized AS (
        SELECT e.created_at, e.payload, count(*) OVER () AS told,
            sum(pg_column_size(e.payload)) OVER (ORDER BY e.id DESC) AS bytes
        FROM (
            SELECT id, created_at, type, payload FROM events
            WHERE workspace_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3
        ) AS e
        WHERE e.type = $4
    )
    SELECT created_at, payload, told FROM sized WHERE bytes <= $5 ORDER BY created_at DESC
"""
# Trials are not what an automation does by itself, and skipped runs did nothing.
_RUN_DAYS = """
    SELECT r.created_at FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.id >= $3 AND r.mode = 'live'
      AND r.trigger_type = $4 AND r.status <> 'skipped'
    ORDER BY r.id DESC LIMIT $5
"""
_BEGUN = "SELECT created_at FROM automations WHERE workspace_id = $1 AND id = $2"
_FINISHED = """
    SELECT r.id, r.version, r.cost_usd FROM runs r
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.mode = 'live'
      AND r.finished_at IS NOT NULL AND r.status IN ('succeeded', 'failed', 'timed_out', 'dead')
    ORDER BY r.id DESC LIMIT $3
"""
_DOCUMENTS = """
    SELECT v.version, d.document FROM automation_versions v
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = ANY($3::int[])
"""
_STEPS = """
    SELECT u.run_id, u.step, sum(u.cost_usd) AS usd FROM llm_usage u
    WHERE u.workspace_id = $1 AND u.run_id = ANY($2::uuid[]) GROUP BY u.run_id, u.step
"""
_TALKS = """
    SELECT u.id, u.caller, u.model, u.run_id, u.step, u.item, u.attempt, u.input_tokens,
        u.output_tokens, u.cached_tokens
    FROM llm_usage u
    WHERE u.workspace_id = $1 AND u.at >= $2 AND NOT u.reported AND u.run_id IS NOT NULL
      AND u.caller = ANY($3::text[])
    ORDER BY u.at DESC, u.id DESC LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class WorkspaceBudget:
    """The workspace itself."""

    created_at: datetime
    day_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class EventHistory:
    """Events of one type, and since when all of them are here."""

    since: datetime
    events: Sequence[tuple[datetime, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run, what it cost, and the definition that it followed."""

    id: UUID
    cost_usd: Decimal
    version: int
    document: Mapping[str, Any] | None


async def read_workspace_budget(
    tx: Transaction, workspace_id: UUID, now: datetime
) -> WorkspaceBudget:
    row = await tx.fetchrow(_SPACE, workspace_id)
    return (
        WorkspaceBudget(now)
        if row is None
        else WorkspaceBudget(row["created_at"], row["cost_cap_daily_usd"])
    )


async def read_event_history(
    tx: Transaction, workspace_id: UUID, event_type: str, since: datetime
) -> EventHistory:
    """The newest events of a type, as far back as they are kept and looked through."""
    bounds = (workspace_id, get_lowest_id_at(since), _EVENTS)
    reach = await tx.fetchrow(_REACH, *bounds)
    rows = await tx.fetch(_TOLD, *bounds, event_type, _EVENT_BYTES)
    if reach["looked_at"] >= _EVENTS:
        since = max(since, reach["since"])
    if rows and len(rows) < rows[0]["told"]:
        since = max(since, rows[-1]["created_at"])
    return EventHistory(since, [(row["created_at"], row["payload"]) for row in rows])


async def read_starts(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, kind: str, now: datetime
) -> tuple[datetime, list[datetime]]:
    """Since when an automation can have been started in one way, and when it was."""
    begun = await tx.fetchrow(_BEGUN, workspace_id, automation_id)
    since = now - LOOK_BACK if begun is None else max(begun["created_at"], now - LOOK_BACK)
    rows = await tx.fetch(
        _RUN_DAYS, workspace_id, automation_id, get_lowest_id_at(since), kind, _EVENTS
    )
    if len(rows) >= _EVENTS:
        since = rows[-1]["created_at"]
    return since, [row["created_at"] for row in rows]


async def read_past_runs(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> list[PastRun]:
    """Its newest finished runs, each with its definition if that is one of the newest."""
    rows = await tx.fetch(_FINISHED, workspace_id, automation_id, _RUNS)
    versions = list(dict.fromkeys(row["version"] for row in rows))[:_VERSIONS]
    kept = await tx.fetch(_DOCUMENTS, workspace_id, automation_id, versions)
    documents = {row["version"]: row["document"] for row in kept}
    return [
        PastRun(row["id"], row["cost_usd"], row["version"], documents.get(row["version"]))
        for row in rows
    ]


async def read_step_costs(
    tx: Transaction, workspace_id: UUID, runs: Sequence[UUID]
) -> dict[str, dict[UUID, Decimal]]:
    """What the models of each step cost, by step and run."""
    found: dict[str, dict[UUID, Decimal]] = {}
    for row in await tx.fetch(_STEPS, workspace_id, list(runs)):
        found.setdefault(row["step"], {})[row["run_id"]] = row["usd"]
    return found


async def read_talks(
    tx: Transaction, workspace_id: UUID, callers: Sequence[str], now: datetime
) -> list[PastConversation]:
    """The workspace's newest conversations with models."""
    rows = await tx.fetch(_TALKS, workspace_id, now - LOOK_BACK, list(callers), _ASKS)
    talks: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
    for row in rows:
        place: tuple[Any, ...] = (row["run_id"], row["step"], row["item"], row["attempt"])
        if row["caller"] != AGENT_RUN:
            # An agent's asks are one conversation; anything else asks once.
            place = (row["id"],)
        ask = (row["input_tokens"], row["output_tokens"], row["cached_tokens"])
        talks.setdefault((row["caller"], row["model"], *place), []).append(ask)
    return [PastConversation(key[0], key[1], tuple(asks)) for key, asks in talks.items()]
