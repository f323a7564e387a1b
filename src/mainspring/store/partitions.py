"""Partitions by time: made ahead of need, dropped whole when nothing in them is kept.

A partition holds the ids of one month or week: the first 48 bits of a UUIDv7 are its
time, so the bounds of a period are two ids.
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

# Each partitioned table and how long one of its partitions lasts. Events live for a
# week, so they are cut by weeks; the rest is kept for months.
TABLES: dict[str, Period] = {
    "runs": "month",
    "steps": "month",
    "calls": "month",
    "large_results": "month",
    "run_output": "month",
    "agent_turns": "month",
    "events": "week",
}
# The column that each is cut by.
_KEYS = {
    "runs": "id",
    "steps": "run_id",
    "calls": "run_id",
    "large_results": "run_id",
    "run_output": "run_id",
    "agent_turns": "run_id",
    "events": "id",
}
# How many periods are made ahead: a machine that slept for weeks wakes up with room.
AHEAD: dict[Period, int] = {"month": 2, "week": 4}
# Run rows are updated twice in their life: room in the page keeps them where they are,
# and an early vacuum keeps the queue's indexes small.
_OPTIONS = {
    "runs": "fillfactor=60, autovacuum_vacuum_scale_factor=0.02, "
    "autovacuum_vacuum_threshold=500, autovacuum_vacuum_cost_delay=1",
}


@dataclass(frozen=True, slots=True)
class PartitionPeriod:
    """One period: its name and its two ends."""

    name: str
    start: datetime
    end: datetime


def iterate_periods(period: Period, now: datetime) -> Iterator[PartitionPeriod]:
    """The period that holds ``now`` and the ones after it."""
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
    """Makes what is missing for now and some time ahead; safe to repeat and to race.

    A period that already has rows in the table for all others is left out: they are found
    there as well, and moving them would mean letting go of everything that points at them.
    """
    # Held to the end of the transaction: two processes that start at once take turns.
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
        # Somebody reads for long, and all work would stand behind us: there is time.
        return []
    return made


async def _is_taken(tx: Transaction, table: str, span: PartitionPeriod) -> bool:
    # Nobody adds to it between this look and the new partition.
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
# Shorter than the time after which Postgres looks for deadlocks, so whoever drops history
# steps back and work under way goes on.
_PATIENCE = "SET LOCAL lock_timeout = '400ms'"
# All work waits while a partition leaves, because Postgres makes sure that nothing points
# into it. One that is too large for that has to be emptied first.
_LONGEST = "SET LOCAL statement_timeout = '2s'"
_STOOD_BACK = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.DeadlockDetectedError,
)

KeepPartition = Callable[["Transaction"], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """One period of a table that is over: the end of its name, and its two ids."""

    name: str
    start: UUID
    end: UUID


async def list_ended_partitions(
    tx: Transaction, table: str, before: datetime
) -> list[ExpiredPartition]:
    """The periods of a table that were over at a moment, oldest first."""
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
    """Holds the month of an id for whoever drops it, by a session and not by a transaction.

    What is asked over the session's connection lets go of its own locks at once; a transaction
    that had looked at the tables would stand in the way of their dropping.
    """
    connection = await database.dedicated()
    try:
        await connection.execute("SELECT pg_advisory_lock(7312, $1)", _get_month(made))
        yield connection
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise convert_driver_error(error) from error
    finally:
        # Ends the session, and with it the lock.
        connection.terminate()


async def lock_month_shared(tx: Transaction, made: UUID) -> None:
    """The same to the end of a transaction, for whoever gives new life to one of its rows."""
    await tx.execute("SELECT pg_advisory_xact_lock_shared(7312, $1)", _get_month(made))


def _get_month(made: UUID) -> int:
    return int(f"{get_id_time(made):%Y%m}")


async def drop_cut(
    database: Database, tables: Sequence[str], cut: ExpiredPartition, spares: KeepPartition
) -> list[str]:
    """Drops one period of some tables whole: history goes without deleting row by row.

    The tables stand in the order in which they go: what points at a row before the row.
    ``spares`` is asked once nobody can write any more; its yes leaves everything as it is.
    So does a table that is in use for longer than a moment.
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
