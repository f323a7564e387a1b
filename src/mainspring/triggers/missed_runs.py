"""Runs that an automation missed while it had no owner, and which of them are caught up.

Each is recorded as a skipped run with its payload. A webhook request or an event happened once, so
each of them is caught up. A schedule has a policy for missed fire times: none, the latest or all of
them, within its catch-up window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.triggers.schedule import CATCH_UP_SECONDS
from mainspring.workspace.departed_members import MOST_COUNTED, OWNER_LEFT

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_SCHEDULE: Final = "schedule"
# A replayed run is not missed any more.
_MISSED = f"""
    SELECT r.id, r.trigger_id, r.trigger_type, r.created_at, t.config
    FROM runs r
    LEFT JOIN triggers t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
    WHERE r.workspace_id = $1 AND r.automation_id = $2
        AND r.status = 'skipped' AND r.reason = '{OWNER_LEFT}'
        AND NOT EXISTS (SELECT FROM runs x WHERE x.workspace_id = r.workspace_id
            AND x.automation_id = r.automation_id AND x.replay_of = r.id)
    ORDER BY r.id DESC LIMIT {MOST_COUNTED}
"""


async def list_runs_to_catch_up(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, now: datetime
) -> list[UUID]:
    """The missed runs that the triggers of an automation catch up, oldest first."""
    return choose_missed(await tx.fetch(_MISSED, workspace_id, automation_id), now)


def choose_missed(newest_first: Iterable[Mapping[str, Any]], now: datetime) -> list[UUID]:
    """The runs to catch up, by the policy of each trigger; oldest first."""
    chosen: list[UUID] = []
    once: set[UUID | None] = set()
    for row in newest_first:
        if row["trigger_type"] == _SCHEDULE:
            config = row["config"] or {}
            policy = config.get("misfire", "fire_once")
            window = timedelta(seconds=config.get("catch_up_seconds", CATCH_UP_SECONDS))
            if policy == "skip" or row["created_at"] < now - window:
                continue
            if policy == "fire_once" and row["trigger_id"] in once:
                continue
            once.add(row["trigger_id"])
        chosen.append(row["id"])
    return chosen[::-1]
