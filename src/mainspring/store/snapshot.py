"""The whole database as it was at one moment, read while others go on writing.

One transaction sees one moment. The tables are held first, so that none is changed or dropped
before it was read; whoever drops history steps back meanwhile and comes again later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from graphlib import TopologicalSorter
from typing import Any, Final, Protocol
from uuid import UUID

import asyncpg

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.store.application_name import count_other_processes
from mainspring.store.database import Connection, Database, DedicatedConnection
from mainspring.store.database_errors import convert_driver_error
from mainspring.store.migrate import AppliedMigration, read_applied

# Which tables there are, in an order in which they can be filled, and what of them is kept.

# The number of the migrations is told apart; vectors are made anew from their pages.
_LEFT_BEHIND: Final = frozenset({"schema_migrations", "page_vectors"})
# Every server counts its transactions by itself, so a place in the event log is told by which
# readers have passed it. The smallest numbers are below those of any server: what is carried
# lies before everything that happens later, and no reader sees an event twice or never.
_TOLD_OTHERWISE: Final[Mapping[tuple[str, str], str]] = {
    ("events", "xid"): "(10 + 2 * (SELECT count(*) FROM event_cursors AS reader"
    " WHERE (reader.xid, reader.id) < (kept.xid, kept.id)))::text::xid8",
    ("event_cursors", "xid"): "(11 + 2 * (SELECT count(*) FROM event_cursors AS reader"
    " WHERE (reader.xid, reader.id) < (kept.xid, kept.id)))::text::xid8",
    ("pages", "embedded_by"): "NULL::text",
}

_TABLES = """
    SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND c.relpersistence = 'p'
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                      AND d.objid = c.oid AND d.deptype = 'e')
    GROUP BY c.relname ORDER BY c.relname
"""
_POINTING = """
    SELECT DISTINCT f.relname AS name, t.relname AS pointed
    FROM pg_constraint k
    JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
    WHERE k.contype = 'f' AND f.relnamespace = current_schema()::regnamespace
"""
_SEQUENCES = """
    SELECT sequencename::text AS name, last_value FROM pg_sequences
    WHERE schemaname = current_schema()
"""
_PERIODS = """
    SELECT DISTINCT
        substring(pg_get_expr(relpartbound, oid) from 'FROM \\(''([0-9a-f-]{36})') AS first
    FROM pg_class
    WHERE relispartition AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table, and the columns of it that are stored and not computed."""

    name: str
    columns: tuple[str, ...]

    @property
    def query(self) -> str:
        """Everything that is kept of it."""
        shown = ", ".join(self._shown(column) for column in self.columns)
        return f"SELECT {shown} FROM {quote_identifier(self.name)} AS kept"

    @property
    def digest(self) -> str:
        """A query for one number over all its rows, whatever their order."""
        same = [c for c in self.columns if (self.name, c) not in _TOLD_OTHERWISE]
        row = ", ".join(f"kept.{quote_identifier(column)}" for column in same)
        return (
            f"SELECT count(*) AS rows, coalesce(sum(hashtextextended(ROW({row})::text, 0)), 0) "
            f"AS digest FROM {quote_identifier(self.name)} AS kept"
        )

    def _shown(self, column: str) -> str:
        told = _TOLD_OTHERWISE.get((self.name, column))
        return (
            f"kept.{quote_identifier(column)}"
            if told is None
            else f"{told} AS {quote_identifier(column)}"
        )


def quote_identifier(name: str) -> str:
    """A name as SQL wants it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


async def read_tables(connection: Connection) -> list[StoredTable]:
    """What is carried, each table after those that it points at."""
    rows = await connection.fetch(_TABLES)
    there = {row["name"]: StoredTable(row["name"], tuple(row["columns"])) for row in rows}
    pairs = [(row["name"], row["pointed"]) for row in await connection.fetch(_POINTING)]
    order = sort_by_references(there, pairs)
    return [there[name] for name in order if name not in _LEFT_BEHIND]


def sort_by_references(names: Iterable[str], pointing: Sequence[tuple[str, str]]) -> list[str]:
    """The names so that each comes after what it points at; one may point at itself."""
    graph: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for name, pointed in pointing:
        if name != pointed and name in graph and pointed in graph:
            graph[name].add(pointed)
    return list(TopologicalSorter(graph).static_order())


async def read_sequences(connection: Connection) -> dict[str, int | None]:
    """How far each sequence has counted; None for one that has not begun."""
    return {row["name"]: row["last_value"] for row in await connection.fetch(_SEQUENCES)}


async def read_periods(connection: Connection) -> list[datetime]:
    """When each period begins that a table has a partition for."""
    rows = await connection.fetch(_PERIODS)
    moments = {_decode_id_time(UUID(row["first"])) for row in rows if row["first"] is not None}
    return sorted(moments)


async def compute_table_digest(connection: Connection, table: StoredTable) -> tuple[int, Decimal]:
    """How many rows a table has, and a number that two equal tables share."""
    row = await connection.fetchrow(table.digest)
    assert row is not None
    return row["rows"], row["digest"]


def _decode_id_time(first: UUID) -> datetime:
    return datetime.fromtimestamp((first.int >> 80) / 1000, UTC)


# Values read the same on every server, and a long copy is no idle transaction.
PLAIN_SESSION: Final = {
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "client_encoding": "UTF8",
    "idle_in_transaction_session_timeout": "0",
    "statement_timeout": "0",
    "lock_timeout": "60s",
}
_PIECES: Final = 16
_KEYS = "SELECT DISTINCT key_id FROM secrets ORDER BY key_id"
_LIVE = "SELECT name FROM workers WHERE lease_until > now() ORDER BY id LIMIT 1"


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """What must be known before the first row is put anywhere."""

    applied: tuple[AppliedMigration, ...]
    tables: tuple[StoredTable, ...]
    sequences: Mapping[str, int | None]
    periods: tuple[datetime, ...]

    @property
    def version(self) -> int:
        return self.applied[-1].version if self.applied else 0


class DatabaseContent(Protocol):
    """Rows on their way: from a file, or from another database."""

    @property
    def heading(self) -> SnapshotHeader: ...

    def pieces(self, table: StoredTable) -> AsyncIterator[bytes]:
        """The rows of a table, as Postgres writes them."""
        ...

    def rows(self, table: StoredTable) -> int:
        """How many there were; known once all pieces have been taken."""
        ...

    async def digest(self, table: StoredTable) -> Decimal | None:
        """A number over all of them, if it can be told."""
        ...


@dataclass(slots=True)
class Snapshot:
    """One moment of a database."""

    connection: DedicatedConnection
    heading: SnapshotHeader
    taken_at: datetime
    postgres: str
    # The ids of the keys that its secrets are sealed with.
    keys: tuple[str, ...]
    _rows: dict[str, int] = field(default_factory=dict)

    async def copy(
        self, table: StoredTable, put: Callable[[bytes], Coroutine[Any, Any, None]]
    ) -> int:
        """Hands on every row; answers how many there were."""
        said = await self.connection.copy_from_query(table.query, output=put)
        self._rows[table.name] = rows = _parse_copy_count(said)
        return rows

    async def pieces(self, table: StoredTable) -> AsyncIterator[bytes]:
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_PIECES)

        async def read() -> None:
            try:
                await self.copy(table, waiting.put)
            finally:
                await waiting.put(None)

        reading = asyncio.create_task(read(), name=f"copy-{table.name}")
        try:
            while (piece := await waiting.get()) is not None:
                yield piece
            await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def rows(self, table: StoredTable) -> int:
        return self._rows[table.name]

    async def digest(self, table: StoredTable) -> Decimal | None:
        return (await compute_table_digest(self.connection, table))[1]


@contextlib.asynccontextmanager
async def open_snapshot(database: Database, *, still: bool = False) -> AsyncIterator[Snapshot]:
    """The database at this moment. With ``still``, nobody may write while it is read."""
    connection = await database.dedicated(settings=PLAIN_SESSION)
    try:
        tables = await read_tables(connection)
        if "workspaces" not in {table.name for table in tables}:
            raise empty_database_error()
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ" + ("" if still else " READ ONLY")
        await connection.execute(begin)
        names = ", ".join(quote_identifier(table.name) for table in tables)
        # The moment is the one of the first query after this.
        await connection.execute(f"LOCK TABLE {names} IN {_get_lock_mode(still)} MODE")
        yield await _build_snapshot(connection, tables)
        await connection.execute("COMMIT")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise convert_driver_error(error) from error
    finally:
        connection.terminate()


def _get_lock_mode(still: bool) -> str:
    return "SHARE" if still else "ACCESS SHARE"


async def _build_snapshot(
    connection: DedicatedConnection, tables: Sequence[StoredTable]
) -> Snapshot:
    row: Any = await connection.fetchrow(
        "SELECT now() AS now, current_setting('server_version') AS release"
    )
    heading = SnapshotHeader(
        tuple(await read_applied(connection)),
        tuple(tables),
        await read_sequences(connection),
        tuple(await read_periods(connection)),
    )
    keys = tuple(found["key_id"] for found in await connection.fetch(_KEYS))
    return Snapshot(connection, heading, row["now"], row["release"], keys)


async def refuse_at_work(database: Database) -> None:
    """Whoever changes the ground under a database wants nobody to stand on it."""
    if await database.fetchval("SELECT to_regclass('workers') IS NULL"):
        return
    name = await database.fetchval(_LIVE)
    if name is not None:
        raise Conflict(
            f"The worker {name} still works on this database, or ended a moment ago.",
            code="still_at_work",
            suggestion="Stop every server and worker of it, wait half a minute and try again.",
        )
    if count := await count_other_processes(database):
        raise Conflict(
            f"Mainspring still has this database open: {count} of its processes, on this machine "
            "or on others.",
            code="still_at_work",
            suggestion="Stop every API, scheduler, worker and command of it, and try again.",
        )


def empty_database_error() -> NotFound:
    return NotFound(
        "There is no Mainspring in this database yet, so there is nothing to carry.",
        code="nothing_to_carry",
        suggestion="Look at MAINSPRING_HOME and MAINSPRING_DATABASE_URL.",
    )


def _parse_copy_count(text: str) -> int:
    """Postgres ends a copy with the words COPY and a number."""
    return int(text.rpartition(" ")[2])
