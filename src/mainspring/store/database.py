"""The database: connection pools that reconnect.

Connections of the pool are shared, so session state must not change: only ``SET LOCAL`` and
transaction-level locks. In return, a connection is not reset when it is released, which saves a
round trip each time. Code that needs its own session (LISTEN, planner settings, session locks)
opens a dedicated connection.

Code that works for one workspace uses ``inside`` instead: a second pool, whose role is restricted
to the rows of one workspace by row-level security.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
import orjson
from asyncpg.pool import PoolConnectionProxy

from mainspring.contracts.errors import Problem
from mainspring.settings import Settings
from mainspring.store.application_name import build_application_name
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.store.database_errors import (
    convert_driver_error,
    database_unavailable_error,
    is_collision,
    is_lost_connection,
    is_storage_full,
)
from mainspring.store.database_source import (
    DatabaseSource,
    EmbeddedDatabaseSource,
    ExternalDatabaseSource,
    add_database_location,
)
from mainspring.store.disk_space import DiskSpaceMonitor
from mainspring.store.embedded import EmbeddedServer
from mainspring.store.known_types import TypeCachingConnection

# How values travel: JSON as Python values, in Postgres's binary form.
#
# The binary form of ``jsonb`` is the text behind one byte for its version; arrays of it
# are sent the same way, which the text form would not allow. A value that is JSON text
# already is handed in as ``orjson.Fragment`` and not parsed again. An integer beyond 64
# bits is refused instead of being rounded.
#
# In an array of ``jsonb`` the driver takes a list for one more dimension and None for NULL:
# elements that may be either go through ``as_json``.


_JSONB_VERSION = b"\x01"


async def set_codecs(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """To be done once for each new connection."""
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_to_jsonb, decoder=_decode_jsonb
    )
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=orjson.dumps, decoder=orjson.loads
    )


def as_json(value: Any) -> orjson.Fragment:
    """One JSON value, whatever its kind, as an element of an array."""
    return orjson.Fragment(orjson.dumps(value))


def _to_jsonb(value: Any) -> bytes:
    return _JSONB_VERSION + orjson.dumps(value)


def _decode_jsonb(value: bytes) -> Any:
    return orjson.loads(value[1:])


# Connections, and one query on a connection of its own, as all who lend them offer it.


Record: TypeAlias = "asyncpg.Record"
DedicatedConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Connection: TypeAlias = "DedicatedConnection | PoolConnectionProxy[asyncpg.Record]"


class QueryExecutor(ABC):
    """Takes a connection, asks, and gives it back."""

    __slots__ = ()

    @abstractmethod
    def acquire(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for the time of a block."""

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


# The database's time, read without asking the database.
#
# Every heartbeat brings the database's own time; between two of them the machine's steady
# clock counts on from there. So moments that end up in rows come from one clock, whatever
# the clocks of the machines around it say.


_TICK = timedelta(microseconds=1)


class DatabaseClock:
    """A contracts Clock that follows the database."""

    def __init__(self) -> None:
        # In this order, so that a pause between the two does not put it behind.
        self._seen = time.monotonic()
        self._moment = datetime.now(UTC)
        self._last = self._moment

    def sync(self, timestamp: datetime, *, asked: float) -> None:
        """Corrects this clock by an answer of the database, if the answer proves it wrong.

        The database read its time somewhere between ``asked``, a reading of ``monotonic`` from
        before the question, and now; under load that may be seconds. A clock between those two
        bounds is left alone. Another one is set to the later bound, so that it is never behind;
        what it is ahead then, the next quicker answer corrects.
        """
        seen = time.monotonic()
        latest = timestamp.astimezone(UTC) + timedelta(seconds=seen - asked)
        here = self._moment + timedelta(seconds=seen - self._seen)
        if timestamp <= here <= latest:
            return
        self._moment, self._seen = latest, seen

    def now(self) -> datetime:
        """Later than every answer before it: what is recorded keeps its order."""
        moment = self._moment + timedelta(seconds=time.monotonic() - self._seen)
        self._last = max(moment, self._last + _TICK)
        return self._last

    def monotonic(self) -> float:
        return time.monotonic()


__all__ = [
    "Connection",
    "Database",
    "DedicatedConnection",
    "convert_driver_error",
    "is_lost_connection",
]

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Work = TypeVar("Work")

# The role that row-level security restricts; the migrations create it.
INSIDE: Final = "mainspring_inside"
_SET_WORKSPACE = "SELECT set_config('mainspring.workspace', $1, false)"

POOL_SIZE = 16
_CONNECT_SECONDS = 10.0
_GIVING_BACK = 5.0
# A Postgres backend costs memory; after a burst most connections are closed again.
_IDLE_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
# What the driver may raise when a connection breaks; on an open connection it means misuse.
_WHEN_CLOSED = (ConnectionError, asyncpg.InterfaceError)
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PoolUse:
    """How many connections of this process are busy and idle, and the maximum."""

    used: int
    idle: int
    most: int


class Database(QueryExecutor):
    """A connection pool for the embedded server or an external one."""

    def __init__(
        self, source: DatabaseSource, *, name: str, pool_size: int, idle_seconds: float
    ) -> None:
        self._source = source
        self._session = {
            "application_name": name,
            "timezone": "UTC",
            # A process that is frozen inside a transaction would keep its locks for ever; the
            # timeout ends the transaction when the lease expires.
            "idle_in_transaction_session_timeout": str(int(idle_seconds * 1000)),
        }
        self.storage = DiskSpaceMonitor()
        self._pool = _create_pool(self._connect_for_pool, pool_size)
        self._inner = _create_pool(self._connect_inside, pool_size)
        # The workspace that each connection of the inner pool was last set to, by the pid of its
        # backend.
        self._set_to: dict[int, UUID] = {}

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        attach: bool = False,
        name: str = "mainspring",
        pool_size: int = POOL_SIZE,
    ) -> Database:
        """Connect to the database, starting the embedded server if needed.

        With ``attach``, another process may own the embedded server already; without it, a second
        owner is refused.
        """
        source: DatabaseSource = (
            ExternalDatabaseSource(settings.database_url)
            if settings.database_url
            else EmbeddedDatabaseSource(settings.home, attach=attach)
        )
        await source.open()
        database = cls(
            source,
            name=build_application_name(name),
            pool_size=pool_size,
            idle_seconds=settings.lease_seconds,
        )
        try:
            await database._pool
            await database._inner
            await database.execute("SELECT 1")
        except BaseException as error:
            await database.close()
            if (
                isinstance(error, Problem)
                and (told := add_database_location(error, settings)) is not error
            ):
                raise told from error
            raise
        return database

    def in_use(self) -> PoolUse:
        """The use of both pools together."""
        idle = self._pool.get_idle_size() + self._inner.get_idle_size()
        size = self._pool.get_size() + self._inner.get_size()
        return PoolUse(size - idle, idle, self._pool.get_max_size() + self._inner.get_max_size())

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server, in the process that owns it."""
        return self._source.server if isinstance(self._source, EmbeddedDatabaseSource) else None

    async def close(self) -> None:
        """Close all connections; running queries are cancelled."""
        try:
            async with asyncio.timeout(5.0):
                await self._inner.close()
                await self._pool.close()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            # Too slow, or the server is gone: terminate the connections.
            self._inner.terminate()
            self._pool.terminate()
        finally:
            await self._source.close()

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection of the pool; a lost connection is raised as a problem."""
        async with self._lent(self._pool) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def inside(self, workspace_id: UUID) -> AsyncIterator[Connection]:
        """A connection restricted to one workspace by row-level security."""
        async with self._lent(self._inner) as connection:
            known = connection.get_server_pid()
            if self._set_to.get(known) != workspace_id:
                self._set_to.pop(known, None)
                await connection.execute(_SET_WORKSPACE, str(workspace_id))
                self._set_to[known] = workspace_id
            yield connection

    @contextlib.asynccontextmanager
    async def _lent(self, pool: Pool) -> AsyncIterator[PoolConnectionProxy[asyncpg.Record]]:
        connection = await self._checked_out(pool)
        try:
            yield connection
        except Exception as error:
            if _is_outage(error, connection):
                with contextlib.suppress(asyncpg.InterfaceError):
                    connection.terminate()
                raise database_unavailable_error() from error
            if is_storage_full(error):
                raise self.problem_of(error) from error
            raise
        finally:
            # A frozen server does not process a cancel request; the connection is cut after this
            # time.
            with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await pool.release(connection, timeout=_GIVING_BACK)

    def problem_of(self, error: BaseException) -> Problem:
        """Convert a driver error to a problem; a full disk is recorded."""
        if is_storage_full(error):
            self.storage.note_failure()
        return convert_driver_error(error)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction: committed at the end of the block, rolled back on any error."""
        async with self.acquire() as connection, connection.transaction():
            yield connection

    async def dedicated(self, *, settings: Mapping[str, str] = _NONE) -> DedicatedConnection:
        """A connection outside the pool that its caller closes and reopens."""
        return await self._connected({**self._session, **settings})

    async def recover(self, *, seconds: float = 30.0) -> None:
        """Wait until the database answers again."""
        await self.run_retrying(_ask, seconds=seconds)

    async def run_retrying(
        self, work: Callable[[Connection], Awaitable[Work]], *, seconds: float = 30.0
    ) -> Work:
        """Retry the work after a lost connection or a serialization conflict, until the time is up.

        A connection may break during its commit, so the work must be idempotent.
        """

        async def once() -> Work:
            async with self.acquire() as connection:
                return await work(connection)

        return await self.retrying(once, seconds=seconds)

    async def retrying(self, work: Callable[[], Awaitable[Work]], *, seconds: float = 30.0) -> Work:
        """Like ``run_retrying``, for work that acquires its own connections."""
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while True:
            try:
                return await work()
            except Exception as error:
                again = is_lost_connection(error) or is_collision(error)
                if not again or time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _checked_out(self, pool: Pool) -> PoolConnectionProxy[asyncpg.Record]:
        try:
            return await pool.acquire()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise convert_driver_error(error) from error

    async def _connect_for_pool(self, *_: Any, **__: Any) -> DedicatedConnection:
        return await self._connected(self._session)

    async def _connect_inside(self, *_: Any, **__: Any) -> DedicatedConnection:
        made = await self._connected({**self._session, "role": INSIDE})
        self._set_to.pop(made.get_server_pid(), None)
        return made

    async def _connected(self, session: Mapping[str, str]) -> DedicatedConnection:
        """Open a connection; the embedded server is restarted first if necessary."""
        deadline, pause = time.monotonic() + self._source.patience, _FIRST_PAUSE
        while True:
            try:
                return await self._dial(session)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                problem = convert_driver_error(error)
                if not is_lost_connection(problem) or time.monotonic() > deadline:
                    raise problem from error
            await self._source.heal()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _dial(self, session: Mapping[str, str]) -> DedicatedConnection:
        made = await asyncpg.connect(
            self._source.dsn,
            timeout=_CONNECT_SECONDS,
            server_settings=dict(session),
            connection_class=TypeCachingConnection,
        )
        try:
            await set_codecs(made)
        except BaseException:
            made.terminate()
            raise
        return made


def _create_pool(
    connect: Callable[..., Coroutine[Any, Any, DedicatedConnection]], most: int
) -> Pool:
    return asyncpg.create_pool(
        connect=connect,
        reset=_keep,
        min_size=0,
        max_size=most,
        max_inactive_connection_lifetime=_IDLE_SECONDS,
    )


async def _keep(connection: DedicatedConnection) -> None:
    """Replaces the pool's reset; see the module docstring."""


async def _ask(connection: Connection) -> None:
    await connection.execute("SELECT 1")


def _is_outage(error: Exception, connection: Connection) -> bool:
    """Whether an error is a lost connection; errors of the block itself are not."""
    if isinstance(error, Problem):
        return False
    if is_lost_connection(error):
        return True
    return isinstance(error, _WHEN_CLOSED) and _is_closed(connection)


def _is_closed(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        # The pool has reclaimed the connection, which happens when it breaks.
        return True


# The database as one workspace sees it.
#
# It is used like the database itself, and everything asked of it happens behind the wall: a
# query that forgets its workspace finds nothing of anybody else's. A change that somebody is
# answerable for adds its entry to the audit log in its own transaction.


def _record_nothing() -> Sequence[AuditRecord]:
    return ()


@dataclass(frozen=True, slots=True)
class WorkspaceDatabase(QueryExecutor):
    """One workspace's side of the wall."""

    database: Database
    workspace_id: UUID
    # What the audit log records when a transaction of this object commits.
    tell: Callable[[], Sequence[AuditRecord]] = _record_nothing

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection, for reading."""
        async with self.database.inside(self.workspace_id) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction: committed with its audit entries, undone by any error."""
        async with self.acquire() as connection, connection.transaction():
            yield connection
            await append_audit(connection, self.tell())

    async def note(self) -> None:
        """Adds the entries for something that another room has committed by itself."""
        async with self.transaction():
            pass

    async def run_retrying(
        self, work: Callable[[Connection], Awaitable[Work]], *, seconds: float = 30.0
    ) -> Work:
        """Does the work in a transaction, and again after a lost connection or a collision."""

        async def behind() -> Work:
            async with self.transaction() as connection:
                return await work(connection)

        return await self.database.retrying(behind, seconds=seconds)
