"""What a database is made of, as text that can be compared, and its files cut into statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mainspring.store.database import Connection

_PARTS = """
    SELECT 'column ' || c.relname || '.' || a.attname AS part,
        format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attidentity::text
        || ' ' || a.attgenerated::text || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
        || ' ' || coalesce(a.attacl::text, '') AS said
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
      AND c.relkind IN ('r', 'p', 'S')
    UNION ALL
    SELECT 'table ' || relname, relkind::text || relpersistence::text || relrowsecurity
        || coalesce(relacl::text, '') || coalesce(reloptions::text, '')
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
    UNION ALL
    SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT 'constraint ' || conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT 'policy ' || tablename || '.' || policyname,
        roles::text || cmd || coalesce(qual, '') || coalesce(with_check, '')
    FROM pg_policies WHERE schemaname = 'public'
    UNION ALL
    SELECT 'function ' || p.oid::regprocedure,
        pg_get_functiondef(p.oid) || coalesce(proacl::text, '')
    FROM pg_proc p WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT 'trigger ' || tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
"""
_QUOTES = re.compile(r"\$\w*\$")


async def catalog(connection: Connection) -> dict[str, str]:
    """Every table, column, index, constraint, policy, function and trigger, and what it is."""
    return {row["part"]: row["said"] for row in await connection.fetch(_PARTS)}


def statements(sql: str) -> list[str]:
    """A migration cut into its statements, so that it can be broken off after each of them."""
    return [text for text in _cut(sql) if re.sub(r"(?m)^\s*--.*$", "", text).strip()]


def _cut(sql: str) -> Iterator[str]:
    gathered: list[str] = []
    for line in sql.splitlines(keepends=True):
        gathered.append(line)
        bare = re.sub(r"--.*", "", line).rstrip()
        text = "".join(gathered)
        open_quotes = len(_QUOTES.findall(text)) % 2
        # The body of a function without quotes ends with a word of its own.
        open_body = "BEGIN ATOMIC" in text and not re.search(r"(?m)^END;", text)
        if bare.endswith(";") and not open_quotes and not open_body:
            yield text
            gathered = []
    yield "".join(gathered)
