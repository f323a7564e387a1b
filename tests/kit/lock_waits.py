"""Waits until a statement is queued for a lock that a test holds, which fixes the order."""

from __future__ import annotations

import asyncio
from typing import Final

from mainspring.store.database import Connection, Database

_IN_LINE: Final = """
    FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE NOT l.granted AND a.datname = current_database()
"""


async def until_in_line(database: Database, many: int = 1) -> None:
    """Returns when that many are held up."""
    async with asyncio.timeout(60):
        while await database.fetchval(f"SELECT count(*) {_IN_LINE}") < many:
            await asyncio.sleep(0.01)


async def cut_off(tx: Connection) -> None:
    """Ends the sessions of all who are held up."""
    await tx.execute(f"SELECT pg_terminate_backend(l.pid) {_IN_LINE}")
