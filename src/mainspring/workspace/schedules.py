"""Stored schedules: which are due, and their next fire times.

One scheduler serves all workspaces, so these statements cross them on purpose. Only the index on
due times is read: schedules that are not due cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# SKIP LOCKED: another scheduler may be firing the same schedules.
_DUE = """
    SELECT workspace_id, id, automation_id, config, inputs, next_due_at, covered_until
    FROM triggers
    WHERE next_due_at <= $1 AND NOT id = ANY($3::uuid[])
    ORDER BY next_due_at LIMIT $2 FOR UPDATE SKIP LOCKED
"""
# A replay may have had other inputs, so it covers nothing.
_BEHIND = """
    SELECT a.created_at, (
        SELECT r.payload ->> 'scheduled_for' FROM runs r
        WHERE r.workspace_id = d.workspace_id AND r.trigger_id = d.id
          AND r.status = 'succeeded' AND r.trigger_type = 'schedule' AND r.replay_of IS NULL
        ORDER BY r.id DESC LIMIT 1) AS covered
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[])
        WITH ORDINALITY AS d(workspace_id, id, automation_id, place)
    LEFT JOIN automations a ON a.workspace_id = d.workspace_id AND a.id = d.automation_id
    ORDER BY d.place
"""
_MOVE = """
    UPDATE triggers t
    SET next_due_at = m.next_due, last_fired_at = coalesce(m.fired, t.last_fired_at),
        covered_until = greatest(t.covered_until, m.covered)
    FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[])
        AS m(workspace_id, id, next_due, fired, covered)
    WHERE t.workspace_id = m.workspace_id AND t.id = m.id
"""
_NEXT = """
    SELECT next_due_at FROM triggers
    WHERE next_due_at IS NOT NULL AND NOT id = ANY($1::uuid[])
    ORDER BY next_due_at LIMIT 1
"""
_WAITING = """
    SELECT workspace_id, id, config, next_due_at FROM triggers
    WHERE (workspace_id, automation_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
      AND next_due_at IS NOT NULL
    ORDER BY id
"""
_NOW = """
    SELECT t.id, t.config, t.next_due_at, clock_timestamp() AS now
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS w(workspace_id, id, place)
    LEFT JOIN triggers t ON t.workspace_id = w.workspace_id AND t.id = w.id
    ORDER BY w.place
"""
_COMING = """
    SELECT DISTINCT t.workspace_id, t.automation_id, a.version
    FROM (SELECT workspace_id, automation_id FROM triggers
          WHERE next_due_at > $1 AND next_due_at <= $2 ORDER BY next_due_at LIMIT $3) AS t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
"""


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A due schedule; its row is locked until the transaction ends."""

    workspace_id: UUID
    trigger_id: UUID
    automation_id: UUID
    # As stored, which may be invalid.
    config: Any
    inputs: Any
    due_at: datetime
    # Until when succeeded runs cover the timeline; None before the first success.
    covered_until: datetime | None
    created_at: datetime

    @property
    def last_fired_at(self) -> datetime:
        """Where the window of the next run starts."""
        return self.covered_until or self.created_at


@dataclass(frozen=True, slots=True)
class ScheduleAdvance:
    """A schedule's next fire time, or None when it ends."""

    schedule: DueSchedule
    next_due: datetime | None
    fired: datetime | None = None


@dataclass(frozen=True, slots=True)
class WaitingSchedule:
    """A schedule's fire time before a change."""

    workspace_id: UUID
    trigger_id: UUID
    config: Any
    due_at: datetime


@dataclass(frozen=True, slots=True)
class SupersededSchedule:
    """A schedule that no longer waits for a fire time that was due."""

    schedule: WaitingSchedule
    # Paused with its config, rather than changed or deleted.
    resting: bool
    # Fire times before this instant are lost.
    until: datetime


async def list_waiting_schedules(
    tx: Transaction, automations: Sequence[tuple[UUID, UUID]]
) -> list[WaitingSchedule]:
    """List what automations' schedules wait for; their rows are locked."""
    spaces, ids = [space for space, _ in automations], [one for _, one in automations]
    rows = await tx.fetch(_WAITING, spaces, ids)
    return [
        WaitingSchedule(row["workspace_id"], row["id"], row["config"], row["next_due_at"])
        for row in rows
    ]


async def list_superseded_schedules(
    tx: Transaction, before: Sequence[WaitingSchedule]
) -> list[SupersededSchedule]:
    """List schedules whose fire time passed and that no longer wait for it."""
    spaces, ids = [one.workspace_id for one in before], [one.trigger_id for one in before]
    rows = await tx.fetch(_NOW, spaces, ids)
    found = []
    for one, row in zip(before, rows, strict=True):
        # A changed schedule may have the same fire times from its next one on.
        passed = row["now"] + timedelta(microseconds=1)
        until = min(passed, row["next_due_at"] or passed)
        if one.due_at < until and row["next_due_at"] != one.due_at:
            resting = row["id"] is not None and row["config"] == one.config
            found.append(SupersededSchedule(one, resting, until))
    return found


async def claim_due_schedules(
    tx: Transaction, now: datetime, most: int, aside: Collection[UUID] = ()
) -> list[DueSchedule]:
    """Claim due schedules that no other scheduler holds, most overdue first."""
    rows = await tx.fetch(_DUE, now, most, list(aside))
    behind = await tx.fetch(
        _BEHIND,
        [row["workspace_id"] for row in rows],
        [row["id"] for row in rows],
        [row["automation_id"] for row in rows],
    )
    return [
        DueSchedule(
            row["workspace_id"],
            row["id"],
            row["automation_id"],
            row["config"],
            row["inputs"],
            row["next_due_at"],
            _max_time(row["covered_until"], _read(past["covered"])),
            past["created_at"],
        )
        for row, past in zip(rows, behind, strict=True)
    ]


async def move(tx: Transaction, moves: Sequence[ScheduleAdvance]) -> None:
    """Update all of them in one statement.

    The covered time is stored, so that it survives the deletion of old runs.
    """
    await tx.execute(
        _MOVE,
        [one.schedule.workspace_id for one in moves],
        [one.schedule.trigger_id for one in moves],
        [one.next_due for one in moves],
        [one.fired for one in moves],
        [one.schedule.covered_until for one in moves],
    )


async def load_next_due(tx: Transaction, aside: Collection[UUID] = ()) -> datetime | None:
    """Return the earliest fire time of any schedule."""
    row = await tx.fetchrow(_NEXT, list(aside))
    found: datetime | None = row and row["next_due_at"]
    return found


async def list_coming_schedules(
    tx: Transaction, now: datetime, until: datetime, most: int
) -> list[tuple[UUID, UUID, int]]:
    """List workspace, automation and version of the schedules due next."""
    rows = await tx.fetch(_COMING, now, until, most)
    return [(row["workspace_id"], row["automation_id"], row["version"]) for row in rows]


def _max_time(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the later time: ids are not ordered by fire time, and coverage never shrinks."""
    return max((moment for moment in (one, other) if moment is not None), default=None)


def _read(text: str | None) -> datetime | None:
    """Parse a time from a payload; an unreadable one covers nothing."""
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
