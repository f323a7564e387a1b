"""The interface for acquiring connections and running a single query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

Record: TypeAlias = "asyncpg.Record"
DedicatedConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Connection: TypeAlias = "DedicatedConnection | PoolConnectionProxy[asyncpg.Record]"


class QueryExecutor(ABC):
    """Acquires a connection, runs a query and releases the connection."""

    __slots__ = ()

    @abstractmethod
    def acquire(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for the duration of a block."""

    async def fetch(self, query: str, *values: Any) -> list[Record]:
        async with self.acquire() as connection:
            return await connection.fetch(query, *values)

    async def fetchrow(self, query: str, *values: Any) -> Record | None:
        async with self.acquire() as connection:
            return await connection.fetchrow(query, *values)

    async def fetchval(self, query: str, *values: Any) -> Any:
        async with self.acquire() as connection:
            return await connection.fetchval(query, *values)

    async def execute(self, query: str, *values: Any) -> str:
        async with self.acquire() as connection:
            return await connection.execute(query, *values)
