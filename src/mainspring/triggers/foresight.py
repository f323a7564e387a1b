"""Foresight: while nothing is due, what will be due soon is made ready.

Reading and compiling a version costs more than starting its run. When many schedules share
a minute, doing that ahead of time is the difference between starting them at once and
starting them one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Problem
from mainspring.runs.versions import VersionCache
from mainspring.workspace.schedules import list_coming_schedules

if TYPE_CHECKING:
    from mainspring.store.database import Database

AHEAD = timedelta(seconds=30)
# As many as are kept ready in memory.
MOST = 5_000
# Nothing is begun this close to a moment: punctuality comes first.
_QUIET_SECONDS = 0.1


class VersionPrefetcher:
    """Makes ready the versions that schedules are about to run."""

    def __init__(self, database: Database, versions: VersionCache) -> None:
        self._database = database
        self._versions = versions

    async def look(self, now: datetime, seconds: float) -> None:
        """Uses the time until the next moment, which is so many seconds ahead."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds - _QUIET_SECONDS
        if loop.time() >= end:
            return
        async with self._database.acquire() as connection:
            found = await list_coming_schedules(connection, now, now + AHEAD, MOST)
        for workspace_id, automation_id, version in found:
            if loop.time() >= end:
                return
            # What cannot be read is told when its moment comes.
            with contextlib.suppress(Problem):
                await self._versions.get(workspace_id, automation_id, version)
