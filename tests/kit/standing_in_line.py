"""Waiting until somebody stands in line for a lock that a test holds: two orders become one."""

from __future__ import annotations

import asyncio
from typing import Final

from mainspring.store.database import Database

_IN_LINE: Final = """
    SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE NOT l.granted AND a.datname = current_database()
"""


async def until_in_line(database: Database, many: int = 1) -> None:
    """Returns when that many are held up."""
    async with asyncio.timeout(20):
        while await database.fetchval(_IN_LINE) < many:
            await asyncio.sleep(0.01)
