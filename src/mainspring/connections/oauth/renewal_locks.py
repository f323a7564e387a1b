"""One renewal at a time: whoever renews a token is alone with its connection, over all workers.

Of all that want a token renewed at the same moment one asks; the others wait for it and find the
new one.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final
from uuid import UUID

from mainspring.connections.oauth.authorization_server import SECONDS
from mainspring.contracts.errors import DeadlineExceeded
from mainspring.store.database import Connection as DatabaseConnection
from mainspring.store.database import Database

# A token that ends while a call is under way would fail it.
EARLY: Final = timedelta(seconds=60)
# Each renewal holds a connection to the database while it waits for the server of tokens.
_AT_ONCE: Final = 4
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended('renew ' || $1, 0))"


class TokenRenewalLocks:
    """Who may renew what now."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._busy = asyncio.Semaphore(_AT_ONCE)
        self._locks: dict[UUID, asyncio.Lock] = {}

    @asynccontextmanager
    async def held(self, connection_id: UUID, name: str) -> AsyncIterator[DatabaseConnection]:
        """Alone with a connection over all processes, for one renewal or one signing in.

        In this process others wait before they take a connection to the database: whoever
        renews needs a second one.
        """
        lock = self._locks.setdefault(connection_id, asyncio.Lock())
        try:
            async with lock, self._busy, self._database.transaction() as tx:
                await _hold(tx, connection_id, name)
                yield tx
        finally:
            if not lock.locked():
                self._locks.pop(connection_id, None)


def mark_of(token: str) -> str:
    """By which two tokens are told apart without keeping either."""
    return hashlib.sha256(token.encode()).hexdigest()


async def _hold(tx: DatabaseConnection, connection_id: UUID, name: str) -> None:
    try:
        async with asyncio.timeout(2 * SECONDS):
            await tx.execute(_HOLD, str(connection_id))
    except TimeoutError:
        raise DeadlineExceeded(
            f"The token of {name} is being renewed elsewhere, and that takes long.",
            code="timed_out",
        ) from None
