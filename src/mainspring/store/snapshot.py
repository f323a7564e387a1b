"""A consistent snapshot of the whole database, read while others write.

One transaction sees one snapshot. The tables are locked first, so that none is altered or dropped
before it is read; partition removal backs off meanwhile and retries later.
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

# The tables in an order in which they can be filled, and the columns that are kept.

# The schema version is stored separately; embeddings are recomputed from their pages.
_LEFT_BEHIND: Final = frozenset({"schema_migrations", "page_vectors"})
# Transaction ids are local to a server, so a position in the event log is exported as the set of
# readers that have passed it. The smallest ids are below those of any server: exported events sort
# before all later ones, and no reader sees an event twice or never.
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
    """A table and its stored (not generated) columns."""

    name: str
    columns: tuple[str, ...]

    @property
    def query(self) -> str:
        """A query for all exported rows."""
        shown = ", ".join(self._shown(column) for column in self.columns)
        return f"SELECT {shown} FROM {quote_identifier(self.name)} AS kept"

    @property
    def digest(self) -> str:
        """A query for one digest over all rows, in any order."""
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
    """A quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


async def read_tables(connection: Connection) -> list[StoredTable]:
    """The exported tables, each after those that it references."""
    rows = await connection.fetch(_TABLES)
    there = {row["name"]: StoredTable(row["name"], tuple(row["columns"])) for row in rows}
    pairs = [(row["name"], row["pointed"]) for row in await connection.fetch(_POINTING)]
    order = sort_by_references(there, pairs)
    return [there[name] for name in order if name not in _LEFT_BEHIND]


def sort_by_references(names: Iterable[str], pointing: Sequence[tuple[str, str]]) -> list[str]:
    """The names in topological order; a table may reference itself."""
    graph: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for name, pointed in pointing:
        if name != pointed and name in graph and pointed in graph:
            graph[name].add(pointed)
    return list(TopologicalSorter(graph).static_order())


async def read_sequences(connection: Connection) -> dict[str, int | None]:
    """The current value of each sequence; None for one that is unused."""
    return {row["name"]: row["last_value"] for row in await connection.fetch(_SEQUENCES)}


async def read_periods(connection: Connection) -> list[datetime]:
    """The start of each period for which a table has a partition."""
    rows = await connection.fetch(_PERIODS)
    moments = {_decode_id_time(UUID(row["first"])) for row in rows if row["first"] is not None}
    return sorted(moments)


async def compute_table_digest(connection: Connection, table: StoredTable) -> tuple[int, Decimal]:
    """The number of rows of a table, and a digest that equal tables share."""
    row = await connection.fetchrow(table.digest)
    assert row is not None
    return row["rows"], row["digest"]


def _decode_id_time(first: UUID) -> datetime:
    return datetime.fromtimestamp((first.int >> 80) / 1000, UTC)


# Values have the same text on every server, and a long copy is not an idle transaction.
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
    """What must be known before the first row is inserted."""

    applied: tuple[AppliedMigration, ...]
    tables: tuple[StoredTable, ...]
    sequences: Mapping[str, int | None]
    periods: tuple[datetime, ...]

    @property
    def version(self) -> int:
        return self.applied[-1].version if self.applied else 0


class DatabaseContent(Protocol):
    """The rows of a restore: from a file, or from another database."""

    @property
    def heading(self) -> SnapshotHeader: ...

    def pieces(self, table: StoredTable) -> AsyncIterator[bytes]:
        """The rows of a table, in Postgres's copy format."""
        ...

    def rows(self, table: StoredTable) -> int:
        """The number of rows; known once all chunks are consumed."""
        ...

    async def digest(self, table: StoredTable) -> Decimal | None:
        """A digest over all rows, if available."""
        ...


@dataclass(slots=True)
class Snapshot:
    """One snapshot of a database."""

    connection: DedicatedConnection
    heading: SnapshotHeader
    taken_at: datetime
    postgres: str
    # The ids of the keys that encrypt its secrets.
    keys: tuple[str, ...]
    _rows: dict[str, int] = field(default_factory=dict)

    async def copy(
        self, table: StoredTable, put: Callable[[bytes], Coroutine[Any, Any, None]]
    ) -> int:
        """Write every row to a sink; returns the number of rows."""
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
    """The current state of the database. With ``still``, writes are blocked while it is read."""
    connection = await database.dedicated(settings=PLAIN_SESSION)
    try:
        tables = await read_tables(connection)
        if "workspaces" not in {table.name for table in tables}:
            raise empty_database_error()
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ" + ("" if still else " READ ONLY")
        await connection.execute(begin)
        names = ", ".join(quote_identifier(table.name) for table in tables)
        # The snapshot is taken by the first query after this.
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


def ignore_progress(table: str, done: int, total: int) -> None:
    """The default listener of a copy: progress is not reported."""
    del table, done, total


async def refuse_at_work(database: Database) -> None:
    """Refuse while other processes use the database."""
    if await database.fetchval("SELECT to_regclass('workers') IS NULL"):
        return
    name = await database.fetchval(_LIVE)
    if name is not None:
        raise Conflict(
            f"The worker {name} still uses this database, or stopped a few seconds ago.",
            code="still_at_work",
            suggestion=(
                "Stop every server and worker that uses it, wait half a minute and try again."
            ),
        )
    if count := await count_other_processes(database):
        raise Conflict(
            f"{count} Mainspring process{'' if count == 1 else 'es'} still open on this database, "
            "on this machine or on others.",
            code="still_at_work",
            suggestion=(
                "Stop every API, scheduler, worker and command that uses it, and try again."
            ),
        )


def empty_database_error() -> NotFound:
    return NotFound(
        "This database has no Mainspring data, so there is nothing to copy.",
        code="nothing_to_carry",
        suggestion="Check MAINSPRING_HOME and MAINSPRING_DATABASE_URL.",
    )


def _parse_copy_count(text: str) -> int:
    """Postgres ends a copy with the status COPY and a number."""
    return int(text.rpartition(" ")[2])
