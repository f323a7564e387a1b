"""Stored tools of MCP connections: what was approved, and what the server offers now.

Automations rely on these rows, so they are written in one transaction with the connection's
generation number, which caches compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import orjson

from mainspring.contracts.errors import NotFound, Problem

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

ToolState = Literal["agreed", "new", "changed", "gone", "refused"]
# The lease of a tool listing.
LEASE_MINUTES: Final = 10
_COLUMNS = """
    id, connection_id, name, state, title, description, input_schema, output_schema, hints,
    pinned_hash, offered, reason, side_effects, effect, agreed_by, agreed_at
"""
_TOOLS = f"""
    SELECT {_COLUMNS} FROM mcp_tools WHERE workspace_id = $1 AND connection_id = $2 ORDER BY name
"""
_AGREED = f"""
    SELECT {_COLUMNS} FROM mcp_tools
    WHERE workspace_id = $1 AND state = 'agreed' ORDER BY connection_id, name
"""
_NAMED = f"""
    SELECT {_COLUMNS} FROM mcp_tools
    WHERE workspace_id = $1 AND (connection_id, name) IN
        (SELECT t.connection_id, t.name FROM unnest($2::uuid[], $3::text[])
            AS t(connection_id, name))
"""
# Includes withheld tools: they may be offered again as approved.
_AGREED_BYTES = """
    SELECT coalesce(sum(octet_length(title) + octet_length(description)
        + octet_length(input_schema::text) + coalesce(octet_length(output_schema::text), 0)
    ), 0) AS size
    FROM mcp_tools WHERE workspace_id = $1 AND agreed_at IS NOT NULL
"""
_ONE = f"""
    SELECT {_COLUMNS} FROM mcp_tools WHERE workspace_id = $1 AND connection_id = $2 AND name = $3
"""
# Bulk insert with one array per column; JSON is passed as text.
_PUT = """
    INSERT INTO mcp_tools (workspace_id, id, connection_id, name, state, title, description,
        input_schema, output_schema, hints, pinned_hash, offered, reason, side_effects, effect,
        agreed_by, agreed_at, seen_at)
    SELECT $1, t.id, t.connection_id, t.name, t.state, t.title, t.description,
        t.input_schema::json, t.output_schema::json, t.hints::jsonb, t.pinned_hash,
        t.offered::json, t.reason, ARRAY(SELECT jsonb_array_elements_text(t.side_effects::jsonb)),
        t.effect, t.agreed_by, t.agreed_at, now()
    FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::text[], $14::text[],
        $15::text[], $16::uuid[], $17::timestamptz[])
        AS t(id, connection_id, name, state, title, description, input_schema, output_schema,
            hints, pinned_hash, offered, reason, side_effects, effect, agreed_by, agreed_at)
    ON CONFLICT (workspace_id, connection_id, name) DO UPDATE SET
        state = excluded.state, title = excluded.title, description = excluded.description,
        input_schema = excluded.input_schema, output_schema = excluded.output_schema,
        hints = excluded.hints, pinned_hash = excluded.pinned_hash, offered = excluded.offered,
        reason = excluded.reason, side_effects = excluded.side_effects, effect = excluded.effect,
        agreed_by = excluded.agreed_by, agreed_at = excluded.agreed_at, seen_at = now()
"""
_DROP = """
    DELETE FROM mcp_tools WHERE workspace_id = $1 AND connection_id = $2 AND name = ANY($3::text[])
"""
_HOLD = """
    SELECT alias, looks_first, last_harvested_at FROM mcp_connections
    WHERE workspace_id = $1 AND id = $2 FOR UPDATE
"""
_COUNT_ON = """
    UPDATE mcp_connections SET generation = generation + 1 WHERE workspace_id = $1 AND id = $2
"""
_HARVESTED = """
    UPDATE mcp_connections
    SET last_harvested_at = now(), harvest_error = NULL,
        harvest_due_at = now() + $3 * interval '1 second'
    WHERE workspace_id = $1 AND id = $2
"""
_NOT_HARVESTED = """
    UPDATE mcp_connections
    SET harvest_error = $3, harvest_due_at = now() + $4 * interval '1 second'
    WHERE workspace_id = $1 AND id = $2
"""
_LOOK_FIRST = """
    UPDATE mcp_connections SET looks_first = true WHERE workspace_id = $1 AND id = $2
"""
# Crosses workspaces on purpose: one poller serves all.
_TAKE_DUE = """
    UPDATE mcp_connections c SET harvest_due_at = now() + $1 * interval '1 minute'
    FROM (
        SELECT workspace_id, id FROM mcp_connections
        WHERE harvest_due_at <= now() AND state = 'ready'
        ORDER BY harvest_due_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE c.workspace_id = due.workspace_id AND c.id = due.id
    RETURNING c.workspace_id, c.id
"""
_GENERATIONS = (
    "SELECT id, alias, generation FROM mcp_connections WHERE workspace_id = $1 ORDER BY id"
)
_COUNTS = """
    SELECT connection_id, state, count(*) AS tools FROM mcp_tools
    WHERE workspace_id = $1 GROUP BY connection_id, state
"""
_USERS = """
    SELECT DISTINCT a.id, a.name, g.entry ->> 'capability' AS capability
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    CROSS JOIN LATERAL jsonb_array_elements(v.grants) AS g(entry)
    WHERE a.workspace_id = $1 AND a.state <> 'archived'
        AND g.entry ->> 'capability' = ANY($2::text[])
    ORDER BY a.name
"""
# Also of the version that a person agreed to, and of archived automations: both may be brought back
# with their agreement.
_USERS_OF_ALIAS = """
    SELECT DISTINCT a.name
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version IN (a.version, a.agreed_version)
    CROSS JOIN LATERAL jsonb_array_elements(v.grants) AS g(entry)
    WHERE a.workspace_id = $1
        AND starts_with(g.entry ->> 'capability', $2 || '.')
    ORDER BY a.name LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool; the columns hold the approved version, if there is one."""

    id: UUID
    connection_id: UUID
    name: str
    state: ToolState
    title: str
    description: str
    input_schema: Any
    output_schema: Any
    hints: Mapping[str, Any]
    pinned_hash: bytes
    # The server's current version, when it differs from the approved one.
    offered: Mapping[str, Any] | None = None
    # Why it cannot be used at all; None when a person rejected it.
    reason: str | None = None
    side_effects: tuple[str, ...] = ()
    # The effect that a person assigned.
    effect: str | None = None
    agreed_by: UUID | None = None
    agreed_at: datetime | None = None

    @property
    def size(self) -> int:
        """The size of the stored columns, as text."""
        schemas = orjson.dumps([self.input_schema, self.output_schema])
        return len(self.title) + len(self.description) + len(schemas)


@dataclass(frozen=True, slots=True)
class ConnectionGeneration:
    """A connection's generation number, by which tools are cached."""

    connection_id: UUID
    alias: str
    generation: int


@dataclass(frozen=True, slots=True)
class LockedConnection:
    """A connection locked until the transaction ends."""

    alias: str
    looks_first: bool
    last_harvested_at: datetime | None


async def list_connection_tools(
    tx: Transaction, workspace_id: UUID, connection_id: UUID
) -> list[ToolRow]:
    """List every tool of a connection, by name."""
    return [_read(row) for row in await tx.fetch(_TOOLS, workspace_id, connection_id)]


async def list_agreed_tools(tx: Transaction, workspace_id: UUID) -> list[ToolRow]:
    """List every callable tool of a workspace."""
    return [_read(row) for row in await tx.fetch(_AGREED, workspace_id)]


async def find_tools_by_name(
    tx: Transaction, workspace_id: UUID, names: Sequence[tuple[UUID, str]]
) -> list[ToolRow]:
    """Load tools by connection and name, in any state."""
    connections, tools = [one for one, _ in names], [name for _, name in names]
    return [_read(row) for row in await tx.fetch(_NAMED, workspace_id, connections, tools)]


async def count_agreed_bytes(tx: Transaction, workspace_id: UUID) -> int:
    """Sum the size of a workspace's approved tools, as text."""
    row = await tx.fetchrow(_AGREED_BYTES, workspace_id)
    return int(row["size"])


async def find_tool(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, name: str
) -> ToolRow | None:
    """Load a tool in its current state."""
    row = await tx.fetchrow(_ONE, workspace_id, connection_id, name)
    return None if row is None else _read(row)


async def put_tools(tx: Transaction, workspace_id: UUID, rows: Sequence[ToolRow]) -> None:
    """Upsert tool rows."""
    if not rows:
        return
    columns = [
        (
            row.id,
            row.connection_id,
            row.name,
            row.state,
            row.title,
            row.description,
            _to_text(row.input_schema),
            _to_text(row.output_schema),
            _to_text(dict(row.hints)),
            row.pinned_hash,
            _to_text(row.offered),
            row.reason,
            _to_text(list(row.side_effects)),
            row.effect,
            row.agreed_by,
            row.agreed_at,
        )
        for row in rows
    ]
    await tx.execute(_PUT, workspace_id, *map(list, zip(*columns, strict=True)))


async def drop_tools(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, names: Sequence[str]
) -> None:
    """Delete tools that were never approved."""
    if names:
        await tx.execute(_DROP, workspace_id, connection_id, list(names))


async def lock_connection(
    tx: Transaction, workspace_id: UUID, connection_id: UUID
) -> LockedConnection:
    """Lock a connection; required before changing its tools."""
    row = await tx.fetchrow(_HOLD, workspace_id, connection_id)
    if row is None:
        raise NotFound("There is no such connection here.", code="connection_missing")
    return LockedConnection(row["alias"], row["looks_first"], row["last_harvested_at"])


async def increment_generation(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> None:
    """Increment the generation number after a change of its tools."""
    await tx.execute(_COUNT_ON, workspace_id, connection_id)


async def record_tool_listing(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, seconds: float
) -> None:
    """Record a successful tool listing; the next one is due after this many seconds."""
    await tx.execute(_HARVESTED, workspace_id, connection_id, seconds)


async def record_tool_listing_failure(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, problem: Problem, seconds: float
) -> None:
    """Record a failed tool listing; the stored tools stay."""
    await tx.execute(_NOT_HARVESTED, workspace_id, connection_id, problem.as_dict(), seconds)


async def require_tool_review(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> None:
    """Require a review of a new connection's tools before any can be called."""
    await tx.execute(_LOOK_FIRST, workspace_id, connection_id)


async def claim_due_listings(tx: Transaction, most: int) -> list[tuple[UUID, UUID]]:
    """Claim connections whose tool listing is due, under a lease."""
    rows = await tx.fetch(_TAKE_DUE, LEASE_MINUTES, most)
    return [(row["workspace_id"], row["id"]) for row in rows]


async def list_connection_generations(
    tx: Transaction, workspace_id: UUID
) -> tuple[ConnectionGeneration, ...]:
    """List a workspace's connections with their generation numbers."""
    rows = await tx.fetch(_GENERATIONS, workspace_id)
    return tuple(ConnectionGeneration(row["id"], row["alias"], row["generation"]) for row in rows)


async def count_tools_by_state(tx: Transaction, workspace_id: UUID) -> dict[UUID, dict[str, int]]:
    """Count the tools of each connection by state."""
    found: dict[UUID, dict[str, int]] = {}
    for row in await tx.fetch(_COUNTS, workspace_id):
        found.setdefault(row["connection_id"], {})[row["state"]] = row["tools"]
    return found


async def list_capability_users(
    tx: Transaction, workspace_id: UUID, capabilities: Sequence[str]
) -> dict[str, list[str]]:
    """Name the automations that have a grant for each of these capabilities."""
    found: dict[str, list[str]] = {}
    for row in await tx.fetch(_USERS, workspace_id, list(capabilities)):
        found.setdefault(row["capability"], []).append(row["name"])
    return found


async def list_alias_users(tx: Transaction, workspace_id: UUID, alias: str) -> list[str]:
    """The names of the automations that were granted any tool under this alias."""
    rows = await tx.fetch(_USERS_OF_ALIAS, workspace_id, alias)
    return [row["name"] for row in rows]


def _to_text(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _read(row: Any) -> ToolRow:
    values = dict(row)
    values["side_effects"] = tuple(values["side_effects"])
    return ToolRow(**values)
