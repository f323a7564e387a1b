"""A workspace's MCP connections: address, authentication and health of each server.

Rows hold no secrets. Credentials are in the connection's secret scope of the vault and are deleted
with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.workspace.sealing import connection_scope
from mainspring.workspace.vault import delete_secret, list_secrets

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

Transport = Literal["http", "stdio"]
ConnectionAuth = Literal["none", "bearer", "oauth"]
ConnectionState = Literal["ready", "sign_in"]

ALIAS: Final = "^[a-z][a-z0-9_]{0,31}$"
_ALIAS: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_COLUMNS = """
    workspace_id, id, alias, transport, server_url, command, auth, oauth, expires_at, state,
    generation, last_harvested_at, harvest_error, last_ok_at, last_failed_at, last_error,
    failures_in_row, created_at, created_by
"""
_ADD = f"""
    INSERT INTO mcp_connections
        (workspace_id, id, alias, transport, server_url, command, auth, oauth, state, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (workspace_id, alias) DO NOTHING RETURNING {_COLUMNS}
"""
_FIND = f"SELECT {_COLUMNS} FROM mcp_connections WHERE workspace_id = $1 AND id = $2"
_NAMED = f"SELECT {_COLUMNS} FROM mcp_connections WHERE workspace_id = $1 AND alias = $2"
_HOLD = f"{_FIND} FOR UPDATE"
_LIST = f"SELECT {_COLUMNS} FROM mcp_connections WHERE workspace_id = $1 ORDER BY alias"
_REMOVE = "DELETE FROM mcp_connections WHERE workspace_id = $1 AND id = $2 RETURNING id"
# At most one write per minute. A success with a manually entered token also clears the need to sign
# in.
_OK = """
    UPDATE mcp_connections SET last_ok_at = now(), failures_in_row = 0, last_error = NULL,
        state = CASE WHEN auth = 'oauth' THEN state ELSE 'ready' END
    WHERE workspace_id = $1 AND id = $2
        AND (failures_in_row > 0 OR last_ok_at IS NULL OR (state <> 'ready' AND auth <> 'oauth')
            OR last_ok_at < now() - interval '1 minute')
"""
# A connection that waits for sign-in is not called, so its state is kept.
_FAILED = """
    UPDATE mcp_connections
    SET last_failed_at = now(), last_error = $3, failures_in_row = failures_in_row + 1,
        state = CASE WHEN $4 THEN 'sign_in' ELSE state END
    WHERE workspace_id = $1 AND id = $2 AND NOT (auth = 'oauth' AND state = 'sign_in')
        AND ($5::text IS NULL OR coalesce(oauth ->> 'sign_in', '') = $5)
"""
_SIGNED_IN = """
    UPDATE mcp_connections SET state = 'ready', expires_at = $3, failures_in_row = 0,
        last_error = NULL, oauth = coalesce(oauth, '{}') || $4
    WHERE workspace_id = $1 AND id = $2
"""
_BEARER = """
    UPDATE mcp_connections SET auth = 'bearer', state = 'ready', failures_in_row = 0,
        last_error = NULL, harvest_error = NULL
    WHERE workspace_id = $1 AND id = $2
"""
_LEARN = """
    UPDATE mcp_connections SET oauth = coalesce(oauth, '{}') || $3
    WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class McpConnection:
    """An MCP connection, without secrets."""

    workspace_id: UUID
    id: UUID
    alias: str
    transport: Transport
    server_url: str | None
    command: tuple[str, ...]
    auth: ConnectionAuth
    # The discovered OAuth metadata of the server.
    oauth: Mapping[str, Any]
    expires_at: datetime | None
    state: ConnectionState
    generation: int
    last_harvested_at: datetime | None
    harvest_error: Mapping[str, Any] | None
    last_ok_at: datetime | None
    last_failed_at: datetime | None
    last_error: Mapping[str, Any] | None
    failures_in_row: int
    created_at: datetime
    created_by: UUID

    @property
    def sign_in(self) -> str:
        """The sign-in that its tokens come from; refreshing them does not change it."""
        return str(self.oauth.get("sign_in") or "")


async def add_http(
    tx: Transaction,
    workspace_id: UUID,
    created_by: UUID,
    alias: str,
    server_url: str,
    *,
    auth: ConnectionAuth = "none",
    oauth: Mapping[str, Any] | None = None,
) -> McpConnection:
    """Add a connection over HTTP; with OAuth it waits for a sign-in."""
    state: ConnectionState = "sign_in" if auth == "oauth" else "ready"
    given = (alias, "http", server_url, None, auth, oauth and dict(oauth), state)
    return await _add(tx, workspace_id, created_by, given)


async def add_stdio(
    tx: Transaction, workspace_id: UUID, created_by: UUID, alias: str, command: Sequence[str]
) -> McpConnection:
    """Add a connection to a local program, for the operator's CLI only.

    No capability or route calls this: naming a program means running it.
    """
    if not command or not command[0] or any("\0" in word for word in command):
        raise _invalid_connection_error(
            "/command", "The command names a program and its arguments.", "bad_command"
        )
    given = (alias, "stdio", None, list(command), "none", None, "ready")
    return await _add(tx, workspace_id, created_by, given)


async def find(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> McpConnection:
    """Load a connection by id."""
    row = await tx.fetchrow(_FIND, workspace_id, connection_id)
    if row is None:
        raise _connection_missing_error()
    return _read(row)


async def lock_mcp_connection(
    tx: Transaction, workspace_id: UUID, connection_id: UUID
) -> McpConnection:
    """Load and lock a connection until the transaction ends."""
    row = await tx.fetchrow(_HOLD, workspace_id, connection_id)
    if row is None:
        raise _connection_missing_error()
    return _read(row)


async def find_named(tx: Transaction, workspace_id: UUID, alias: str) -> McpConnection:
    """Find a connection by its alias."""
    row = await tx.fetchrow(_NAMED, workspace_id, alias)
    if row is None:
        raise NotFound(f"There is no connection called {alias}.", code="connection_missing")
    return _read(row)


async def list_connections(tx: Transaction, workspace_id: UUID) -> tuple[McpConnection, ...]:
    """List a workspace's connections, by alias."""
    return tuple(_read(row) for row in await tx.fetch(_LIST, workspace_id))


async def remove(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> bool:
    """Delete a connection with its tools and credentials; False when there was none."""
    if await tx.fetchrow(_REMOVE, workspace_id, connection_id) is None:
        return False
    scope = connection_scope(workspace_id, connection_id)
    for secret in await list_secrets(tx, scope):
        await delete_secret(tx, scope, secret.name)
    return True


async def mark_ok(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> None:
    """Record a successful response."""
    await tx.execute(_OK, workspace_id, connection_id)


async def mark_failed(
    tx: Transaction,
    workspace_id: UUID,
    connection_id: UUID,
    problem: Problem,
    *,
    sign_in: bool = False,
    seen_with: str | None = None,
) -> None:
    """Record a failure; ``sign_in`` when it now waits for a person.

    A failure observed with the tokens of an earlier sign-in is ignored.
    """
    told = problem.as_dict()
    await tx.execute(_FAILED, workspace_id, connection_id, told, sign_in, seen_with)


async def mark_signed_in(
    tx: Transaction,
    workspace_id: UUID,
    connection_id: UUID,
    expires_at: datetime | None,
    learnt: Mapping[str, Any],
) -> None:
    """Record new tokens and their expiry."""
    await tx.execute(_SIGNED_IN, workspace_id, connection_id, expires_at, dict(learnt))


async def set_token(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> None:
    """Switch to a manually entered token and clear the health observed before."""
    await tx.execute(_BEARER, workspace_id, connection_id)


async def store_oauth_metadata(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, learnt: Mapping[str, Any]
) -> None:
    """Merge into the stored OAuth metadata."""
    await tx.execute(_LEARN, workspace_id, connection_id, dict(learnt))


async def _add(
    tx: Transaction, workspace_id: UUID, created_by: UUID, given: tuple[Any, ...]
) -> McpConnection:
    alias = str(given[0])
    if not _ALIAS.fullmatch(alias):
        raise _invalid_connection_error(
            "/alias",
            "An alias is 1 to 32 lower-case letters, digits and underscores, with a letter first.",
            "bad_alias",
        )
    row = await tx.fetchrow(_ADD, workspace_id, generate_id(), *given, created_by)
    if row is None:
        detail = f"There is a connection called {alias} already."
        raise Conflict(
            detail,
            code="alias_taken",
            findings=[Finding("/alias", detail, "alias_taken")],
            suggestion="Choose another alias, or remove that connection first.",
        )
    return _read(row)


def _read(row: Any) -> McpConnection:
    values = dict(row)
    values["command"] = tuple(values["command"] or ())
    values["oauth"] = values["oauth"] or {}
    return McpConnection(**values)


def _connection_missing_error() -> NotFound:
    return NotFound("There is no such connection here.", code="connection_missing")


def _invalid_connection_error(pointer: str, detail: str, code: str) -> Invalid:
    return Invalid(detail, code=code, findings=[Finding(pointer, detail, code)])
