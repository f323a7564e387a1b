"""Which tables there are, in an order in which they can be filled, and what of them is kept.

Whoever carries a database elsewhere asks the database itself: a table that a later migration
adds is carried without a word here. Left behind is what another server makes anew, and what
means something on the server of today only is told in a way that every server understands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from graphlib import TopologicalSorter
from typing import Final
from uuid import UUID

from mainspring.store.asking import Connection

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
