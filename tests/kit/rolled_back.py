"""One database for the tests of a file: whatever a test does in it is rolled back afterwards.

For tests of queries and of decisions over rows, which need no second connection. Such a file has
``pytestmark = pytest.mark.asyncio(loop_scope="module")``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest_asyncio

from mainspring.settings import Settings
from mainspring.store.database import Connection, Database
from mainspring.store.embedded import EmbeddedServer
from tests.kit.postgres import fresh_database


class _RolledBack:
    """The part of a database that such tests use, over one connection with savepoints."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self._connection.transaction():
            yield self._connection

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        yield self._connection

    async def execute(self, query: str, *value: Any) -> str:
        return await self._connection.execute(query, *value)

    async def fetch(self, query: str, *value: Any) -> list[Any]:
        return await self._connection.fetch(query, *value)

    async def fetchrow(self, query: str, *value: Any) -> Any:
        return await self._connection.fetchrow(query, *value)

    async def fetchval(self, query: str, *value: Any) -> Any:
        return await self._connection.fetchval(query, *value)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def file_database(
    postgres_server: EmbeddedServer, migrated_template: str
) -> AsyncIterator[Database]:
    async with fresh_database(postgres_server, migrated_template) as url:
        opened = await Database.open(Settings(database_url=url))
        try:
            yield opened
        finally:
            await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def rolled_back(file_database: Database) -> AsyncIterator[Database]:
    """A database that is empty before each test."""
    async with file_database.acquire() as connection:
        whole = connection.transaction()
        await whole.start()
        try:
            yield cast("Database", _RolledBack(connection))
        finally:
            await whole.rollback()
