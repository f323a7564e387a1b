"""Reminders of held writes that are about to expire, and the end of those whose run is over.

People are reminded once of a write that a run holds, after three quarters of its time. A write
that is held for less than an hour needs no reminder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from mainspring.gate.drafting.resume import withdraw_drafts_of_ended_runs
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.inbox import post_message

if TYPE_CHECKING:
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

_PAUSE: Final = 20.0
_MOST: Final = 100
_DUE = """
    UPDATE drafts d SET reminded_at = now()
    FROM (
        SELECT workspace_id, id FROM drafts
        WHERE status = 'pending' AND run_id IS NOT NULL AND reminded_at IS NULL
          AND expires_at > now() AND expires_at - created_at >= interval '1 hour'
          AND now() >= expires_at - (expires_at - created_at) / 4
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE d.workspace_id = due.workspace_id AND d.id = due.id
    RETURNING d.workspace_id, d.automation_id, d.run_id, d.preview, d.expires_at, d.awaited
"""


class DraftReminders:
    """The loop that reminds people; any number of processes may run it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        while not stop.is_set():
            try:
                while await self.once() == _MOST:
                    pass
            except Exception as error:
                log.warning("Could not write reminders: %s", log_and_convert_error(error).detail)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _PAUSE)

    async def once(self) -> int:
        """Writes the reminders that are due; answers how many those were."""
        async with self._database.transaction() as tx:
            await withdraw_drafts_of_ended_runs(tx)
            due = await tx.fetch(_DUE, _MOST)
            for row in due:
                after = " The run waits for it, and its step fails after that." * row["awaited"]
                await post_message(
                    tx,
                    row["workspace_id"],
                    title="A draft expires soon",
                    message=(
                        f"{row['preview'][:2000]}\n\nApprove or discard it in the inbox, or with "
                        f"`mainspring drafts`, before {row['expires_at']:%Y-%m-%d %H:%M} "
                        f"UTC.{after}"
                    ),
                    automation_id=row["automation_id"],
                    run_id=row["run_id"],
                )
        return len(due)
