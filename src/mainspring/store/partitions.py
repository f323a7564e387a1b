"""Time-based partitions: created in advance, dropped as a whole once expired.

A partition holds the ids of one month or week: the first 48 bits of a UUIDv7 are its timestamp, so
the bounds of a period are two ids.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal
from uuid import UUID

import asyncpg

from mainspring.contracts.context import Transaction
from mainspring.contracts.ids import get_id_time, get_lowest_id_at
from mainspring.store.database_errors import convert_driver_error

if TYPE_CHECKING:
    from mainspring.store.database import Connection, Database

Period = Literal["month", "week"]

# Each partitioned table and the period of its partitions. Events are kept for a week, so they have
# weekly partitions; other tables are kept for months.
TABLES: dict[str, Period] = {
    "runs": "month",
    "steps": "month",
    "calls": "month",
    "large_results": "month",
    "run_output": "month",
    "agent_turns": "month",
    "events": "week",
}
# The partition key of each table.
_KEYS = {
    "runs": "id",
    "steps": "run_id",
    "calls": "run_id",
    "large_results": "run_id",
    "run_output": "run_id",
    "agent_turns": "run_id",
    "events": "id",
}
# How many periods are created in advance, so that a machine that slept for weeks has partitions.
AHEAD: dict[Period, int] = {"month": 2, "week": 4}
# Run rows are updated twice: the fill factor keeps updates in the same page (HOT), and an early
# vacuum keeps the indexes of the queue small.
_OPTIONS = {
    "runs": "fillfactor=60, autovacuum_vacuum_scale_factor=0.02, "
    "autovacuum_vacuum_threshold=500, autovacuum_vacuum_cost_delay=1",
}


@dataclass(frozen=True, slots=True)
class PartitionPeriod:
    """One period: its name, start and end."""

    name: str
    start: datetime
    end: datetime


def iterate_periods(period: Period, now: datetime) -> Iterator[PartitionPeriod]:
    """The period that contains ``now`` and the ones after it."""
    start = _start(period, now.astimezone(UTC))
    for _ in range(AHEAD[period] + 1):
        end = _start(period, start + timedelta(days=32 if period == "month" else 7))
        shown = f"{start:%Y_%m}" if period == "month" else f"{start:%G_w%V}"
        yield PartitionPeriod(shown, start, end)
        start = end


def _start(period: Period, timestamp: datetime) -> datetime:
    midnight = timestamp.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "month":
        return midnight.replace(day=1)
    return midnight - timedelta(days=midnight.weekday())


async def ensure_partitions(tx: Connection, now: datetime) -> list[str]:
    """Create the missing partitions for now and some time ahead; idempotent and concurrency-safe.

    A period that already has rows in the default partition is skipped: they are found there as
    well, and moving them would require dropping the foreign keys that reference them.
    """
    # Held to the end of the transaction: concurrent processes run one after the other.
    await tx.execute("SELECT pg_advisory_xact_lock(7311, 1)")
    rows = await tx.fetch("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
    there = {row["relname"] for row in rows}
    missing = [
        (table, span)
        for table, period in TABLES.items()
        for span in iterate_periods(period, now)
        if f"{table}_{span.name}" not in there
    ]
    if not missing:
        return []
    made: list[str] = []
    try:
        async with tx.transaction():
            await tx.execute(_PATIENCE)
            for table, span in missing:
                if not await _is_taken(tx, table, span):
                    await tx.execute(_create(table, f"{table}_{span.name}", span))
                    made.append(f"{table}_{span.name}")
            await tx.execute("SET LOCAL lock_timeout = DEFAULT")
    except _STOOD_BACK:
        # A long read holds the table, and all writes would queue behind this lock: retry later.
        return []
    return made


async def _is_taken(tx: Transaction, table: str, span: PartitionPeriod) -> bool:
    # Prevents inserts between this check and the creation of the partition.
    await tx.execute(f"LOCK TABLE {table}_other IN SHARE ROW EXCLUSIVE MODE")
    row = await tx.fetchrow(
        f"SELECT EXISTS (SELECT 1 FROM {table}_other WHERE {_KEYS[table]} >= $1 "
        f"AND {_KEYS[table]} < $2) AS taken",
        get_lowest_id_at(span.start),
        get_lowest_id_at(span.end),
    )
    return bool(row["taken"])


def _create(table: str, name: str, span: PartitionPeriod) -> str:
    options = _OPTIONS.get(table)
    return (
        f"CREATE TABLE {name} PARTITION OF {table} "
        f"FOR VALUES FROM ('{get_lowest_id_at(span.start)}') TO ('{get_lowest_id_at(span.end)}')"
        + (f" WITH ({options})" if options else "")
    )


_ENDED = """
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relispartition AND c.relkind = 'r' AND p.relname = $1
"""
_BOUNDS = re.compile(r"FROM \('([0-9a-f-]{36})'\) TO \('([0-9a-f-]{36})'\)")
_PARTS = "SELECT relname FROM pg_class WHERE relispartition AND relname = ANY($1::text[])"
# Shorter than Postgres's deadlock_timeout, so dropping history backs off and concurrent work
# continues.
_PATIENCE = "SET LOCAL lock_timeout = '400ms'"
# All work waits while a partition is detached, because Postgres checks that nothing references it.
# A partition that is too large for that must be emptied first.
_LONGEST = "SET LOCAL statement_timeout = '2s'"
_STOOD_BACK = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.DeadlockDetectedError,
)

KeepPartition = Callable[["Transaction"], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """An expired period of a table: its name suffix and its two bounds."""

    name: str
    start: UUID
    end: UUID


async def list_ended_partitions(
    tx: Transaction, table: str, before: datetime
) -> list[ExpiredPartition]:
    """The periods of a table that had ended at an instant, oldest first."""
    bound = get_lowest_id_at(before)
    found: list[ExpiredPartition] = []
    for row in await tx.fetch(_ENDED, table):
        ids = _BOUNDS.search(row["bound"])
        if ids is not None and UUID(ids[2]) <= bound:
            found.append(
                ExpiredPartition(row["name"].removeprefix(f"{table}_"), UUID(ids[1]), UUID(ids[2]))
            )
    return sorted(found, key=lambda cut: cut.start)


@contextlib.asynccontextmanager
async def lock_month_exclusive(database: Database, made: UUID) -> AsyncIterator[Connection]:
    """Lock the month of an id for dropping it, with a session-level lock.

    Statements on the session's connection release their own locks at once; an open transaction that
    had read the tables would block their removal.
    """
    connection = await database.dedicated()
    try:
        await connection.execute("SELECT pg_advisory_lock(7312, $1)", _get_month(made))
        yield connection
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise convert_driver_error(error) from error
    finally:
        # Ends the session and releases the lock.
        connection.terminate()


async def lock_month_shared(tx: Transaction, made: UUID) -> None:
    """The shared lock until the end of a transaction, for reviving a row of that month."""
    await tx.execute("SELECT pg_advisory_xact_lock_shared(7312, $1)", _get_month(made))


def _get_month(made: UUID) -> int:
    return int(f"{get_id_time(made):%Y%m}")


async def drop_partitions(
    database: Database, tables: Sequence[str], cut: ExpiredPartition, spares: KeepPartition
) -> list[str]:
    """Drop one period of several tables as whole partitions, without row-by-row deletes.

    The tables are dropped in the given order: referencing tables before referenced ones. ``spares``
    is called once writes are blocked; if it returns True, or a table stays locked, nothing is
    dropped.
    """
    try:
        async with database.transaction() as tx:
            await tx.execute(_LONGEST)
            await tx.execute(_PATIENCE)
            for table in reversed(tables):
                await tx.execute(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE")
            if await spares(tx):
                return []
            wanted = [f"{table}_{cut.name}" for table in tables]
            there = {row["relname"] for row in await tx.fetch(_PARTS, wanted)}
            for table, name in zip(tables, wanted, strict=True):
                if name in there:
                    await tx.execute(f"ALTER TABLE {table} DETACH PARTITION {name}")
                    await tx.execute(f"DROP TABLE {name}")
            return [name for name in wanted if name in there]
    except _STOOD_BACK:
        return []
