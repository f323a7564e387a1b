"""A workspace with connections to outside servers, without the rest of an application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from mainspring.connections.mcp_servers.client import McpClientPool, roomy_egress
from mainspring.contracts.clock import SystemClock
from mainspring.contracts.context import Actor
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import ConnectionAuth, McpConnection
from mainspring.workspace.people.users import ensure_first_person
from mainspring.workspace.vault import Vault, connection_scope
from tests.kit.mcp_server import McpDouble

HERE = FIRST_WORKSPACE
OWNER = Actor(HERE, "member", FIRST_MEMBER, role=Role.OWNER)
BACK = "https://mainspring.example/connections/back"
_EXPIRE = "UPDATE mcp_connections SET expires_at = now() + $3 WHERE workspace_id = $1 AND id = $2"


@dataclass(slots=True)
class ConnectionBench:
    """What a test of connections works with."""

    database: Database
    vault: Vault
    outside: McpClientPool
    limits: Limits

    async def connect(
        self,
        double: McpDouble,
        auth: ConnectionAuth = "none",
        token: str | None = None,
        alias: str = "tools",
    ) -> McpConnection:
        """A connection to a double, with a token if one is given."""
        async with self.database.transaction() as tx:
            made = await rows.add_http(tx, HERE, FIRST_MEMBER, alias, double.url, auth=auth)
        if token is not None:
            await self.vault.set(connection_scope(HERE, made.id), "access_token", token)
        return made

    async def signed_in(
        self, double: McpDouble, *, lasts: float = 3600.0, alias: str = "tools"
    ) -> McpConnection:
        """A connection that somebody has signed in to, with a token that lasts so long."""
        double.script.oauth = True
        made = await self.connect(double, "oauth", alias=alias)
        access, renewal = double.issue_tokens()
        scope = connection_scope(HERE, made.id)
        await self.vault.set(scope, "access_token", access)
        await self.vault.set(scope, "refresh_token", renewal)
        known = {
            "issuer": double.issuer,
            "token_endpoint": f"{double.origin}/token",
            "resource": double.url,
            "client_id": "client",
            "client_method": "none",
        }
        async with self.database.transaction() as tx:
            await rows.mark_signed_in(tx, HERE, made.id, None, known)
            await tx.execute(_EXPIRE, HERE, made.id, timedelta(seconds=lasts))
        return await self.find(made.id)

    async def find(self, connection_id: UUID) -> McpConnection:
        async with self.database.acquire() as reading:
            return await rows.find(reading, HERE, connection_id)

    async def held(self, connection: McpConnection, name: str) -> str:
        """What the vault holds for a connection."""
        scope = connection_scope(HERE, connection.id)
        return (await self.vault.reveal(scope, [name]))[name]

    async def ask(self, connection: McpConnection, tool: str = "echo", **arguments: Any) -> Any:
        """One call in a session of its own."""
        async with self.outside.session(HERE, connection.id) as session:
            return (await session.call(tool, arguments, key="a key")).value


@asynccontextmanager
async def open_room(
    database: Database, folder: Path, allow: Iterable[str], **limits: int
) -> AsyncIterator[ConnectionBench]:
    """A workspace over a database that has its tables."""
    allowed = tuple(allow)
    within = replace(Limits(), **{"mcp_seconds": 5, **limits})
    vault = Vault(database, folder / "master.key", within)
    async with database.transaction() as tx:
        await ensure_workspace(tx, HERE, "Home")
        await ensure_first_person(tx, FIRST_MEMBER, HERE)
    egress = roomy_egress(within, allowed)
    outside = McpClientPool(database, vault, egress, within, SystemClock(), allow=allowed)
    try:
        yield ConnectionBench(database, vault, outside, within)
    finally:
        await outside.aclose()
