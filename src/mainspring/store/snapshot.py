"""The whole database as it was at one moment, read while others go on writing.

One transaction sees one moment. The tables are held first, so that none is changed or dropped
before it was read; whoever drops history steps back meanwhile and comes again later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Protocol

import asyncpg

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.store.asking import DedicatedConnection
from mainspring.store.database import Database
from mainspring.store.migrate import AppliedMigration, read_applied
from mainspring.store.outage import convert_driver_error
from mainspring.store.sessions import count_other_processes
from mainspring.store.tables import (
    StoredTable,
    compute_table_digest,
    quote_identifier,
    read_periods,
    read_sequences,
    read_tables,
)

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


def _parse_copy_count(said: str) -> int:
    """Postgres ends a copy with the words COPY and a number."""
    return int(said.rpartition(" ")[2])
