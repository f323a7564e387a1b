"""Halts: what a person has stopped, why, and since when.

A halt covers a workspace, one automation, or a recipe with everything installed from it. One SQL
rule decides which automations that includes. A released halt no longer holds anything; its row is
deleted when all its runs are queued again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

HaltScope = Literal["workspace", "automation", "recipe"]

_COLUMNS = "h.id, h.workspace_id, h.scope, h.subject, h.reason, h.halted_by, h.halted_at"
# A halt that is being released and requested again restarts.
_MAKE = f"""
    INSERT INTO halts AS h (id, workspace_id, scope, subject, reason, halted_by)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (coalesce(workspace_id, '00000000-0000-0000-0000-000000000000'), scope, subject)
    DO UPDATE SET id = excluded.id, reason = excluded.reason, halted_by = excluded.halted_by,
        halted_at = now(), released_at = NULL
        WHERE h.released_at IS NOT NULL
    RETURNING {_COLUMNS}
"""
_STANDING = f"""
    SELECT {_COLUMNS} FROM halts h
    WHERE h.workspace_id IS NOT DISTINCT FROM $1 AND h.scope = $2 AND h.subject = $3
      AND h.released_at IS NULL
"""
_RELEASE = f"""
    UPDATE halts h SET released_at = now()
    WHERE h.workspace_id IS NOT DISTINCT FROM $1 AND h.scope = $2 AND h.subject = $3
      AND h.released_at IS NULL
    RETURNING {_COLUMNS}
"""
# How many runs each halt holds and still has running: due runs, and runs queued behind them.
# Counted up to what the page can show.
_LIST = f"""
    SELECT {_COLUMNS}, a.name AS automation, u.email AS halted_by_email, held.runs AS held,
        going.runs AS under_way
    FROM halts h
    LEFT JOIN automations a ON h.scope = 'automation' AND a.workspace_id = h.workspace_id
        AND a.id::text = h.subject
    LEFT JOIN users u ON u.id = h.halted_by
    CROSS JOIN LATERAL (SELECT count(*) AS runs FROM (
        SELECT FROM (
            SELECT r.workspace_id, r.automation_id FROM runs r WHERE r.parked_due_at IS NOT NULL
            UNION ALL
            SELECT r.workspace_id, r.automation_id FROM runs r
            WHERE r.status = 'pending' AND r.due_at = 'infinity' AND r.lane IS NOT NULL) AS r
        WHERE r.workspace_id = coalesce($1, h.workspace_id, r.workspace_id)
          AND EXISTS (SELECT FROM halting(r.workspace_id, r.automation_id) g WHERE g.id = h.id)
        LIMIT 1000) AS counted) AS held
    CROSS JOIN LATERAL (SELECT count(*) AS runs FROM runs r WHERE r.status = 'running'
          AND r.workspace_id = coalesce($1, h.workspace_id, r.workspace_id)
          AND EXISTS (SELECT FROM halting(r.workspace_id, r.automation_id) g WHERE g.id = h.id)
        ) AS going
    WHERE h.released_at IS NULL
      AND ($1::uuid IS NULL OR h.workspace_id = $1 OR h.workspace_id IS NULL)
    ORDER BY h.halted_at DESC, h.id DESC
"""
_HOLDING = f"SELECT {_COLUMNS} FROM halting($1, $2) AS h ORDER BY h.halted_at LIMIT 1"
_RECIPE_STILL = f"""
    SELECT {_COLUMNS} FROM halts h
    WHERE h.released_at IS NULL AND (h.workspace_id = $1 OR h.workspace_id IS NULL)
      AND (h.scope = 'workspace' OR (h.scope = 'recipe' AND h.subject = $2))
    ORDER BY h.halted_at LIMIT 1
"""
_RELEASED = "SELECT workspace_id, id FROM halts WHERE released_at IS NOT NULL"
# A claim that started before the release may still set a run aside. Its transaction is aborted
# after the lease time, which none reaches.
_FORGET = """
    DELETE FROM halts WHERE id = $1 AND released_at < now() - interval '10 minutes'
"""
_AUTOMATION = "SELECT 1 FROM automations WHERE workspace_id = $1 AND id = $2"
_RECIPE = """
    SELECT 1 FROM recipe_installs
    WHERE slug = $2 AND ($1::uuid IS NULL OR workspace_id = $1) LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Halt:
    """A halt with its reason."""

    id: UUID
    # None: every workspace.
    workspace_id: UUID | None
    scope: HaltScope
    subject: str
    reason: str
    halted_by: UUID
    halted_at: datetime


@dataclass(frozen=True, slots=True)
class HaltTarget:
    """What to halt or release."""

    workspace_id: UUID | None
    scope: HaltScope
    subject: str = ""


async def create_halt(
    tx: Transaction, named: HaltTarget, reason: str, by: UUID
) -> tuple[Halt, bool]:
    """Create a halt; return it, and whether it is new. An existing one is not changed."""
    await _check_subject(tx, named)
    place = (named.workspace_id, named.scope, named.subject)
    row = await tx.fetchrow(_MAKE, generate_id(), *place, reason, by)
    if row is not None:
        return Halt(**row), True
    return Halt(**(await tx.fetchrow(_STANDING, *place))), False


async def release(tx: Transaction, named: HaltTarget) -> Halt:
    """Release a halt; the caller or a worker queues the held runs again."""
    row = await tx.fetchrow(_RELEASE, named.workspace_id, named.scope, named.subject)
    if row is None:
        detail = _NOT_HALTED[named.scope].format(named.subject)
        pointer = "/scope" if named.scope == "workspace" else f"/{_ARGUMENT[named.scope]}"
        raise NotFound(
            detail,
            code="not_halted",
            findings=[Finding(pointer, detail, "not_halted")],
            suggestion="`mainspring halts` lists the active halts.",
        )
    return Halt(**row)


async def find_other_halt(tx: Transaction, named: HaltTarget) -> Halt | None:
    """Find the oldest other halt that covers everything just released."""
    if named.scope == "workspace" or named.workspace_id is None:
        return None
    if named.scope == "automation":
        row = await tx.fetchrow(_HOLDING, named.workspace_id, UUID(named.subject))
    else:
        row = await tx.fetchrow(_RECIPE_STILL, named.workspace_id, named.subject)
    return None if row is None else Halt(**dict(row))


async def list_halts(tx: Transaction, workspace_id: UUID | None) -> list[dict[str, Any]]:
    """List active halts, newest first; across all workspaces when none is given."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id)]


async def check_not_halted(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Reject external calls for a halted automation."""
    row = await tx.fetchrow(_HOLDING, workspace_id, automation_id)
    if row is not None:
        raise Conflict(
            f"This is halted: {row['reason']}",
            code="halted",
            suggestion="It can be sent after the halt is released; see `mainspring halts`.",
        )


async def list_released_halts(tx: Transaction) -> Sequence[tuple[UUID | None, UUID]]:
    """List released halts that may still hold runs out of the queue."""
    return [(row["workspace_id"], row["id"]) for row in await tx.fetch(_RELEASED)]


async def delete_halt(tx: Transaction, halt_id: UUID) -> None:
    """Delete a released halt once no run can be set aside for it any more."""
    await tx.execute(_FORGET, halt_id)


async def _check_subject(tx: Transaction, named: HaltTarget) -> None:
    if named.scope == "automation":
        known = await tx.fetchrow(_AUTOMATION, named.workspace_id, UUID(named.subject))
    elif named.scope == "recipe":
        known = await tx.fetchrow(_RECIPE, named.workspace_id, named.subject)
    else:
        return
    if known is None:
        detail = _UNKNOWN[named.scope].format(named.subject)
        code = f"no_{named.scope}"
        finding = Finding(f"/{_ARGUMENT[named.scope]}", detail, code)
        raise NotFound(detail, code=code, findings=[finding])


_ARGUMENT = {"automation": "automation_id", "recipe": "recipe"}
_UNKNOWN = {
    "automation": "There is no automation {} here.",
    "recipe": "Nothing here was installed from a recipe called {!r}.",
}
_NOT_HALTED = {
    "workspace": "The workspace is not halted.",
    "automation": "The automation {} has no halt of its own.",
    "recipe": "The recipe {!r} is not halted.",
}
