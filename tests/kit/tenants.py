"""Two workspaces in one database, full of rows, and people of every role.

Rows come from the product where a test made them, and from the catalogue of the database
for every other table: a table that is added tomorrow has a row in each workspace by itself.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.store.database import Connection, Database
from mainspring.workspace.tokens import hash_token

NEIGHBOUR: Final = UUID("01900000-0000-7000-8000-00000000000b")

# Every table that keeps something of a workspace; partitions belong to their table.
WALLED: Final = """
    SELECT c.relname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'workspace_id' AND a.attnum > 0
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND NOT a.attisdropped
    ORDER BY c.relname
"""
_COLUMNS: Final = """
    SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type, a.atttypmod AS size,
        a.attnotnull AS required,
        a.atthasdef OR a.attidentity <> '' AS has_default, a.attgenerated <> '' AS generated
    FROM pg_attribute a
    WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_CHECKS: Final = """
    SELECT pg_get_constraintdef(oid) AS said FROM pg_constraint
    WHERE conrelid = $1::text::regclass AND contype = 'c'
"""
_CHOICE: Final = re.compile(r"\((\w+) = (?:ANY \(ARRAY\[)?'([^']+)'::text")
# Where the shape of a column is not enough to make a row that the product could have made.
_TOLD: Final[Mapping[tuple[str, str], Any]] = {
    ("pages", "type"): "note",
    ("artifacts", "visibility"): "workspace",
    ("artifacts", "retention"): "permanent",
    ("mcp_connections", "server_url"): "http://localhost:9/mcp",
    ("sessions", "expires_at"): datetime(2099, 1, 1, tzinfo=UTC),
    # A halt of the workspace itself would keep everything in it from happening.
    ("halts", "scope"): "automation",
    ("halts", "subject"): "01900000-0000-7000-8000-0000000000a1",
}
# Columns that need nothing in them, and are looked for by what they hold.
_FILLED: Final = {("pages", "source_ref")}
_NUMBERS: Final = ("integer", "bigint", "smallint", "numeric", "double precision", "real")
# Types that are written as text.
_SPELT: Final = ("halfvec", "vector", "tsvector")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token."""

    id: UUID
    workspace_id: UUID
    token: str
    token_id: UUID


async def walled_tables(database: Database) -> list[str]:
    return [row["relname"] for row in await database.fetch(WALLED)]


async def columns(connection: Connection, table: str) -> list[str]:
    """The columns that an INSERT may name."""
    rows = await connection.fetch(_COLUMNS, table)
    return [row["name"] for row in rows if not row["generated"]]


async def add_workspace(database: Database, workspace_id: UUID, name: str) -> None:
    await database.execute(
        "INSERT INTO workspaces (workspace_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        workspace_id,
        name,
    )


async def add_person(
    database: Database,
    workspace_id: UUID,
    role: Role = Role.OWNER,
    *,
    name: str = "",
    member: bool = True,
    capabilities: Sequence[str] | None = None,
    revoked: bool = False,
    expired: bool = False,
) -> Person:
    """A person of a workspace, and a token of theirs with all that their role gives."""
    person, token_id, plain = generate_id(), generate_id(), "msk_" + secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    async with database.transaction() as tx:
        await tx.execute(
            "INSERT INTO users (id, email, name) VALUES ($1, $2, $3)",
            person,
            f"{person}@example.test",
            name or role.value,
        )
        if member:
            await tx.execute(
                "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, $3)",
                workspace_id,
                person,
                role.value,
            )
        await tx.execute(
            "INSERT INTO access_tokens (workspace_id, id, member_id, name, hash, hint, role, "
            "capabilities, revoked_at, expires_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            workspace_id,
            token_id,
            person,
            f"of {role.value}",
            hash_token(plain),
            plain[-4:],
            role.value,
            capabilities,
            now if revoked else None,
            now - timedelta(seconds=1) if expired else None,
        )
    return Person(person, workspace_id, plain, token_id)


async def furnish(database: Database, workspace_id: UUID) -> None:
    """A row in every walled table in which this workspace has none yet."""
    connection = await database.dedicated(settings={"session_replication_role": "replica"})
    try:
        for table in [row["relname"] for row in await connection.fetch(WALLED)]:
            there = await connection.fetchval(
                f"SELECT EXISTS (SELECT FROM {table} WHERE workspace_id = $1)", workspace_id
            )
            if not there:
                await _add_row(connection, table, workspace_id)
    finally:
        await connection.close()


async def _add_row(connection: Connection, table: str, workspace_id: UUID) -> None:
    output = "\n".join(row["said"] for row in await connection.fetch(_CHECKS, table))
    choices = dict(reversed(_CHOICE.findall(output)))
    row: dict[str, Any] = {}
    found = await connection.fetch(_COLUMNS, table)
    for column in found:
        name, result = column["name"], (table, column["name"])
        if name == "workspace_id":
            row[name] = workspace_id
        elif result in _TOLD:
            row[name] = _TOLD[result]
        elif result in _FILLED:
            row[name] = _value(table, column)
        elif column["required"] and not column["has_default"] and not column["generated"]:
            row[name] = choices.get(name) or _value(table, column)
    names, kinds = ", ".join(row), {column["name"]: column["type"] for column in found}
    places = ", ".join(
        # The driver does not know every type; the database reads them from text.
        f"${number}::text::{kinds[name]}" if kinds[name] in _SPELT else f"${number}"
        for number, name in enumerate(row, 1)
    )
    await connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", *row.values())


def _value(table: str, column: Any) -> Any:
    """Something that fits a column and that nobody else has."""
    name, kind = column["name"], column["type"]
    if name.endswith("_kind"):
        return "member"
    if kind.endswith("[]"):
        return []
    made: Mapping[str, Callable[[], Any]] = {
        "uuid": generate_id,
        "text": lambda: f"{table}-{name}-{uuid4().hex[:12]}".replace("_", "-"),
        "boolean": lambda: False,
        "bytea": lambda: hashlib.sha256(uuid4().bytes).digest(),
        "json": dict,
        "jsonb": dict,
        "timestamp with time zone": lambda: datetime.now(UTC),
        "date": lambda: datetime.now(UTC).date(),
        **dict.fromkeys(_NUMBERS, lambda: 1),
        **dict.fromkeys(_SPELT, lambda: f"[{','.join('1' * max(column['size'], 3))}]"),
        "tsvector": lambda: "word",
    }
    assert kind in made, f"{table}.{name} is {kind}: say here what may stand in it"
    return made[kind]()


async def fingerprint(database: Database, workspace_id: UUID) -> dict[str, str]:
    """Each table's rows of a workspace in one hash, as the owner of the database sees them."""
    found = {}
    for table in await walled_tables(database):
        found[table] = await database.fetchval(
            "SELECT count(*) || md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), ''))"
            f" FROM {table} t WHERE workspace_id = $1",
            workspace_id,
        )
    return found
