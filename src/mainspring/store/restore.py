"""Restores a whole database into an empty one, atomically.

The tables are created with the schema version of the backup, the rows are inserted in one
transaction, and later migrations follow as for any older database. A kill at any time leaves empty
tables, which the next attempt recognises.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import asyncpg

from mainspring.contracts.errors import Conflict, InternalError, Invalid
from mainspring.store.database import Connection, Database, DedicatedConnection
from mainspring.store.database_errors import convert_driver_error, is_lost_connection
from mainspring.store.migrate import PACKAGED, list_pending, migrate, read_migrations
from mainspring.store.partitions import ensure_partitions
from mainspring.store.snapshot import (
    PLAIN_SESSION,
    DatabaseContent,
    SnapshotHeader,
    StoredTable,
    compute_table_digest,
    ignore_progress,
    quote_identifier,
    read_tables,
)

_OTHERS = """
    SELECT relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = pg_class.oid AND d.deptype = 'e')
    ORDER BY relname LIMIT 1
"""
_IS_OURS = "SELECT to_regclass('schema_migrations') IS NOT NULL"


async def load_nothing_more() -> None:
    """The default for ``bring``: nothing else to restore."""


async def load(
    database: Database,
    content: DatabaseContent,
    *,
    bring: Callable[[], Awaitable[None]] = load_nothing_more,
    folder: Path = PACKAGED,
    progress: Callable[[str, int, int], None] = ignore_progress,
) -> dict[str, int]:
    """Fill an empty database; returns the number of rows per table.

    ``progress`` is called with the table in progress, and how many of how many are done.

    ``bring`` is called after all rows are inserted and before the commit: it restores data that
    belongs to the rows but is stored elsewhere, and its failure rolls everything back.
    """
    heading = content.heading
    refuse_unfit(heading, folder)
    await refuse_occupied(database)
    await migrate(database, folder, upto=heading.version)
    filled: dict[str, int] = {}
    async with _open_dedicated(database) as connection:
        tables = await _match_tables(connection, heading)
        async with connection.transaction():
            await _hold_empty(connection, tables)
            await _create_partitions(connection, heading)
            for done, table in enumerate(tables):
                progress(table.name, done, len(tables))
                filled[table.name] = await _fill(connection, table, content)
            progress("files and indexes", len(tables), len(tables))
            await _count_on(connection, heading.sequences)
            await bring()
        await connection.execute("ANALYZE")
    await migrate(database, folder)
    return filled


def refuse_unfit(heading: SnapshotHeader, folder: Path = PACKAGED) -> None:
    """Reject rows of a newer or another program before anything is changed."""
    try:
        list_pending(read_migrations(folder), heading.applied)
    except Conflict as clash:
        newer = clash.code == "database_newer"
        raise Conflict(
            f"The rows come from {'a newer' if newer else 'another'} Mainspring: their schema is "
            f"at {heading.applied[-1].label}, which this version does not "
            f"{'know' if newer else 'have'}.",
            code="rows_newer" if newer else "rows_foreign",
            suggestion=f"Use the {'newer ' if newer else ''}Mainspring that they come from.",
        ) from None
    if not heading.applied:
        raise Invalid("The rows do not name their tables.", code="rows_foreign")


async def refuse_occupied(database: Database) -> None:
    """Reject a database that is not empty."""
    async with database.acquire() as connection:
        if not await connection.fetchval(_IS_OURS):
            other = await connection.fetchval(_OTHERS)
            if other is not None:
                raise _occupied_error(f"it has a table or view {other!r} of another program")
            return
        for table in await read_tables(connection):
            await _refuse_filled(connection, table)


async def _refuse_filled(connection: Connection, table: StoredTable) -> None:
    if await connection.fetchval(f"SELECT EXISTS (SELECT FROM {quote_identifier(table.name)})"):
        raise _occupied_error(f"there are rows in {table.name}")


def _occupied_error(why: str) -> Conflict:
    return Conflict(
        f"The database is not empty: {why}. Nothing was changed.",
        code="not_empty",
        suggestion="Create a new, empty database and use that one.",
    )


@contextlib.asynccontextmanager
async def _open_dedicated(database: Database) -> AsyncIterator[DedicatedConnection]:
    connection = await database.dedicated(settings=PLAIN_SESSION)
    try:
        yield connection
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        if isinstance(error, asyncpg.PostgresError) and not is_lost_connection(error):
            raise _load_error(error) from error
        raise convert_driver_error(error) from error
    finally:
        connection.terminate()


def _load_error(error: asyncpg.PostgresError) -> InternalError:
    return InternalError(
        f"The database rejected the rows (SQLSTATE {error.sqlstate}); nothing was kept.",
        code="rows_refused",
        retryable=False,
    )


async def _match_tables(
    connection: DedicatedConnection, heading: SnapshotHeader
) -> list[StoredTable]:
    """The tables of this schema with the columns of the backup; both must be known here."""
    here = await read_tables(connection)
    came = {table.name: set(table.columns) for table in heading.tables}
    if came != {table.name: set(table.columns) for table in here}:
        apart = sorted({t.name for t in here} ^ came.keys()) or [
            table.name for table in here if came[table.name] != set(table.columns)
        ]
        raise Invalid(
            f"The rows do not match the tables here: {', '.join(apart)[:200]}.", code="rows_foreign"
        )
    columns = {table.name: table.columns for table in heading.tables}
    return [StoredTable(table.name, columns[table.name]) for table in here]


async def _hold_empty(connection: DedicatedConnection, tables: list[StoredTable]) -> None:
    names = ", ".join(quote_identifier(table.name) for table in tables)
    await connection.execute(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
    for table in tables:
        await _refuse_filled(connection, table)


async def _create_partitions(connection: DedicatedConnection, heading: SnapshotHeader) -> None:
    """Create partitions first: rows without one would stay in the default partition."""
    now = await connection.fetchval("SELECT now()")
    for moment in (*heading.periods, now):
        await ensure_partitions(connection, moment)


async def _fill(
    connection: DedicatedConnection, table: StoredTable, content: DatabaseContent
) -> int:
    said = await connection.copy_to_table(
        table.name, source=content.pieces(table), columns=list(table.columns)
    )
    rows = int(said.rpartition(" ")[2])
    sent, digest = content.rows(table), await content.digest(table)
    if rows != sent or (
        digest is not None and (rows, digest) != await compute_table_digest(connection, table)
    ):
        raise InternalError(
            f"Of {sent} rows of {table.name}, {rows} arrived unchanged; nothing was kept.",
            code="rows_lost",
        )
    return rows


async def _count_on(connection: DedicatedConnection, sequences: Mapping[str, int | None]) -> None:
    there = await connection.fetch(
        "SELECT sequencename::text AS name FROM pg_sequences WHERE schemaname = current_schema()"
    )
    for row in there:
        last = sequences.get(row["name"])
        if last is not None:
            await connection.execute(
                "SELECT setval(quote_ident($1)::regclass, $2)", row["name"], last
            )


async def is_same(database: Database, content: DatabaseContent) -> int | None:
    """The number of rows, if both sides are equal; None if they are not."""
    total = 0
    async with _open_dedicated(database) as connection:
        if not await connection.fetchval(_IS_OURS):
            return None
        here = {table.name: table for table in await read_tables(connection)}
        for table in content.heading.tables:
            if table.name not in here or set(here[table.name].columns) != set(table.columns):
                return None
            rows, digest = await compute_table_digest(connection, table)
            if digest != await content.digest(table):
                return None
            total += rows
    return total
