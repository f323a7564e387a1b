"""A database with a row in every table, filled from what the catalog says of each.

All ids are one id, so every row points at the others; where a column takes some words only, it
gets the first of them. Texts hold what is easily spoilt on the way.
"""

from __future__ import annotations

import re
from typing import Any, Final

import asyncpg

from mainspring.contracts.ids import generate_id
from mainspring.store.database import Connection
from mainspring.store.snapshot import StoredTable, quote_identifier, read_tables

AWKWARD: Final = "tab\t, line\nend\r, back\\slash, \\N, \\., 'quote', \"double\" and € 🕰"
_COLUMNS = """
    SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type, a.attnotnull AS needed
    FROM pg_attribute a
    WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attgenerated = ''
    ORDER BY a.attnum
"""
_CHECKS = """
    SELECT pg_get_constraintdef(oid) AS said FROM pg_constraint
    WHERE conrelid = $1::text::regclass AND contype = 'c'
"""
_WORDS = re.compile(r"\(?\(?(\w+) = ANY \(ARRAY\['([^']+)'")
_LITERALS: Final = {
    "smallint": "1",
    "integer": "1",
    "bigint": "1",
    "numeric": "1.50",
    "boolean": "true",
    "real": "0.1",
    "double precision": "0.1",
    "timestamp with time zone": "'2026-11-16 09:00:00.123456+00'",
    "date": "'2026-11-16'",
    "interval": "'1 day 00:00:01.5'",
    # The spelling of json is kept, that of jsonb is not.
    "json": '\'{"b": 1.0,  "a": 1e5, "a": "\\u00e9"}\'',
    "jsonb": '\'{"b": [1.50, null], "a": "x"}\'',
    "bytea": "'\\x00ff0a5c'",
    "text[]": "ARRAY['a,b', NULL, '\"']",
    "uuid[]": "'{}'",
    "bytea[]": "'{}'",
    "integer[]": "'{1,2}'",
    "smallint[]": "'{1}'",
    "xid8": "pg_current_xact_id()",
}


async def fill(connection: Connection) -> list[StoredTable]:
    """One row in every table that is carried; answers the tables."""
    tables = await read_tables(connection)
    own = str(generate_id())
    for table in tables:
        await _row(connection, table, own)
    return tables


async def _row(connection: Connection, table: StoredTable, own: str) -> None:
    rows = await connection.fetch(_COLUMNS, quote_identifier(table.name))
    checks = [row["said"] for row in await connection.fetch(_CHECKS, quote_identifier(table.name))]
    words = {found[1]: found[2] for output in checks for found in _WORDS.finditer(output)}
    values: dict[str, str] = {}
    for row in rows:
        values[row["name"]] = _literal(row["type"], row["name"], own, words)
    needed = {row["name"] for row in rows if row["needed"]}
    try:
        await _insert(connection, table.name, values)
    except asyncpg.CheckViolationError:
        # Something about columns together: then only what must be there.
        await _insert(connection, table.name, {n: v for n, v in values.items() if n in needed})


def _literal(kind: str, name: str, own: str, words: dict[str, Any]) -> str:
    if kind == "uuid":
        return f"'{own}'"
    if kind == "text":
        text = str(words.get(name, AWKWARD))
        return "'" + text.replace("'", "''") + "'"
    return _LITERALS[kind]


async def _insert(connection: Connection, table: str, values: dict[str, str]) -> None:
    names = ", ".join(quote_identifier(name) for name in values)
    async with connection.transaction():
        await connection.execute(
            f"INSERT INTO {quote_identifier(table)} ({names}) OVERRIDING SYSTEM VALUE "
            f"VALUES ({', '.join(values.values())})"
        )
