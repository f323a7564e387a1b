"""Partitions by time: made ahead of need, dropped whole when their time is over.

A partition holds the ids of one month or week: the first 48 bits of a UUIDv7 are its
time, so the bounds of a period are two ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from mainspring.contracts.context import Transaction
from mainspring.contracts.ids import floor_id

Period = Literal["month", "week"]

# Each partitioned table and how long one of its partitions lasts. Events live for a
# week, so they are cut by weeks; the rest is kept for months.
TABLES: dict[str, Period] = {
    "runs": "month",
    "steps": "month",
    "calls": "month",
    "large_results": "month",
    "events": "week",
}
AHEAD = 1
# Run rows are updated twice in their life: room in the page keeps them where they are,
# and an early vacuum keeps the queue's indexes small.
_OPTIONS = {
    "runs": "fillfactor=60, autovacuum_vacuum_scale_factor=0.02, "
    "autovacuum_vacuum_threshold=500, autovacuum_vacuum_cost_delay=1",
}


@dataclass(frozen=True, slots=True)
class Span:
    """One period: its name and its two ends."""

    name: str
    start: datetime
    end: datetime


def spans(period: Period, now: datetime, ahead: int = AHEAD) -> Iterator[Span]:
    """The period that holds ``now`` and the ones after it."""
    start = _start(period, now.astimezone(UTC))
    for _ in range(ahead + 1):
        end = _start(period, start + timedelta(days=32 if period == "month" else 7))
        shown = f"{start:%Y_%m}" if period == "month" else f"{start:%G_w%V}"
        yield Span(shown, start, end)
        start = end


def _start(period: Period, moment: datetime) -> datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "month":
        return midnight.replace(day=1)
    return midnight - timedelta(days=midnight.weekday())


async def ensure_partitions(tx: Transaction, now: datetime) -> list[str]:
    """Makes what is missing for now and the next period; safe to repeat and to race."""
    made: list[str] = []
    # Held to the end of the transaction: two processes that start at once take turns.
    await tx.execute("SELECT pg_advisory_xact_lock(7311, 1)")
    rows = await tx.fetch("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
    there = {row["relname"] for row in rows}
    for table, period in TABLES.items():
        for span in spans(period, now):
            name = f"{table}_{span.name}"
            if name not in there:
                await tx.execute(_create(table, name, span))
                made.append(name)
    return made


def _create(table: str, name: str, span: Span) -> str:
    options = _OPTIONS.get(table)
    return (
        f"CREATE TABLE {name} PARTITION OF {table} "
        f"FOR VALUES FROM ('{floor_id(span.start)}') TO ('{floor_id(span.end)}')"
        + (f" WITH ({options})" if options else "")
    )


# Rows that point at a run go before the run.
_DROP_ORDER = ("large_results", "calls", "steps", "runs", "events")
_ENDS = """
    SELECT c.relname AS name, p.relname AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relispartition AND c.relkind = 'r'
"""
_TO = re.compile(r"TO \('([0-9a-f-]{36})'\)")


async def drop_partitions(tx: Transaction, before: datetime) -> list[str]:
    """Drops every period that ended before a moment: history goes without a scan."""
    bound = floor_id(before)
    old: dict[str, list[str]] = {table: [] for table in _DROP_ORDER}
    for row in await tx.fetch(_ENDS):
        end = _TO.search(row["bound"])
        if row["parent"] in old and end is not None and UUID(end[1]) <= bound:
            old[row["parent"]].append(row["name"])
    dropped = [(table, name) for table in _DROP_ORDER for name in sorted(old[table])]
    for table, name in dropped:
        await tx.execute(f"ALTER TABLE {table} DETACH PARTITION {name}")
        await tx.execute(f"DROP TABLE {name}")
    return [name for _, name in dropped]
