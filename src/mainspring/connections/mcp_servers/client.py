"""Outside: the way to the servers that a workspace is connected to.

Each use loads the row, makes sure that the token is good, calls the server and discards the
client. Programs on this machine are kept between uses, because they start slowly. A caller's token
is never forwarded: a server sees the connection's own token only, and only at its own address.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.mcp_servers.tokens import ACCESS, McpTokenManager
from mainspring.connections.mcp_servers.tool_inspection_pool import ToolInspectionPool
from mainspring.connections.oauth.authorization_server import AuthorizationServerClient
from mainspring.connections.oauth.renewal_locks import mark_of
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import InternalError, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import Egress
from mainspring.outbound.egress.transport import EgressTransport
from mainspring.outbound.mcp.http_transport import SIGN_IN_NEEDED, McpHttpTransport
from mainspring.outbound.mcp.session import ListedTool, McpSession
from mainspring.outbound.mcp.tool_results import McpToolResult
from mainspring.store.database import Database, is_lost_connection
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import Vault

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.oauth import McpOAuthFlow
    from mainspring.outbound.mcp.program_pool import McpProgramPool

__all__ = ["ListedTool", "McpClientPool", "McpSession", "McpToolResult", "roomy_egress"]

# Imported when a workspace first has a connection.
_OAUTH: Final = "mainspring.connections.mcp_servers.oauth"
_PROGRAM_POOL: Final = "mainspring.outbound.mcp.program_pool"
_SDK: Final = "mainspring.outbound.mcp.sdk"
_BEARER: Final = SecretText(("Bearer ", SecretRef(ACCESS)))


def roomy_egress(limits: Limits, allow: Iterable[str], **more: Any) -> Egress:
    """A way out with room for what servers of tools answer."""
    roomy = replace(
        limits,
        # The protocol and its escapes add to what a call hands over.
        http_request_bytes=max(limits.http_request_bytes, limits.call_arguments_bytes * 2),
        http_response_bytes=limits.mcp_response_bytes,
        http_seconds=limits.mcp_seconds,
    )
    return Egress(roomy, allow, **more)


class McpClientPool:
    """Sessions with the servers of all workspaces, and signing in to them."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        egress: Egress,
        limits: Limits,
        clock: Clock,
        address: str = "",
        *,
        allow: Iterable[str] = (),
    ) -> None:
        self._database = database
        self._vault = vault
        self._egress = egress
        self._limits = limits
        self._address = address
        self.authority = AuthorizationServerClient(egress, allow)
        self._tokens = McpTokenManager(database, vault, self.authority, clock)
        self.looking = ToolInspectionPool(float(limits.mcp_seconds))
        self._modules: dict[str, Any] = {}
        self._programs: McpProgramPool | None = None

    @asynccontextmanager
    async def session(
        self, workspace_id: UUID, connection_id: UUID, *, fresh: bool = False
    ) -> AsyncIterator[McpSession]:
        """One session with a server. How it fared is written down at its end.

        ``fresh`` starts a program on this machine anew, even if it is running.
        """
        async with self._database.acquire() as reading:
            connection = await rows.find(reading, workspace_id, connection_id)
        session: McpSession | None = None
        try:
            async with self._opened(connection, fresh=fresh) as session:
                yield session
        except Problem as problem:
            await self._mark(connection, problem if session is None else session.broken)
            raise
        assert session is not None
        await self._mark(connection, session.broken)

    async def begin_sign_in(self, actor: Actor, connection_id: UUID, redirect_uri: str) -> str:
        """The address at which a member signs in; they come back to ``redirect_uri``."""
        return await (await self._sign_ins()).begin(actor, connection_id, redirect_uri)

    async def finish_sign_in(
        self,
        actor: Actor,
        connection_id: UUID,
        *,
        state: str,
        code: str | None,
        iss: str | None = None,
        error: str | None = None,
    ) -> McpConnection:
        """Takes what a member came back with; they must be the one who left, for this server."""
        signing = await self._sign_ins()
        return await signing.finish(actor, connection_id, state, code, iss=iss, error=error)

    async def aclose(self) -> None:
        self.looking.close()
        if self._programs is not None:
            await self._programs.aclose()
        await self._egress.aclose()

    @asynccontextmanager
    async def _opened(self, connection: McpConnection, *, fresh: bool) -> AsyncIterator[McpSession]:
        if connection.transport == "stdio":
            module = await self._load(_PROGRAM_POOL)
            if self._programs is None:
                self._programs = module.McpProgramPool(self._vault, self._limits)
            async with self._programs.use(connection, fresh=fresh) as session:
                yield session
            return
        sdk = await self._load(_SDK)
        connection = await self._tokens.ready(connection)
        assert connection.server_url is not None
        wire = self._wire(connection)
        async with sdk.over_http(
            connection.server_url, wire, connection.alias, self._limits
        ) as session:
            yield session

    def _wire(self, connection: McpConnection) -> McpHttpTransport:
        """The wire to the connection's own host and port, and to no other."""
        assert connection.server_url is not None
        shown = ""

        async def reveal(names: frozenset[str]) -> Mapping[str, str]:
            nonlocal shown
            values = await self._tokens.reveal(connection, names)
            shown = mark_of(values[ACCESS])
            return values

        async def renew() -> bool:
            return await self._tokens.renew(connection, shown)

        target = self.authority.judged(connection.server_url)
        inner = EgressTransport(
            self._egress.bound(frozenset({target.pair}), reveal),
            seconds=float(self._limits.mcp_seconds),
            most_bytes=self._limits.mcp_response_bytes,
            headers={} if connection.auth == "none" else {"authorization": _BEARER},
        )
        return McpHttpTransport(
            inner, connection.alias, renew if connection.auth == "oauth" else None
        )

    async def _mark(self, connection: McpConnection, problem: Problem | None) -> None:
        """Health is told as well as it can be; failing to write it fails nothing else."""
        if isinstance(problem, InternalError) or (
            problem is not None and is_lost_connection(problem)
        ):
            return
        whose = (connection.workspace_id, connection.id)
        with contextlib.suppress(Problem):
            async with self._database.acquire() as writing:
                if problem is None:
                    await rows.mark_ok(writing, *whose)
                    return
                waits = problem.code == SIGN_IN_NEEDED and connection.auth != "none"
                await rows.mark_failed(
                    writing, *whose, problem, sign_in=waits, seen_with=connection.sign_in
                )

    async def _sign_ins(self) -> McpOAuthFlow:
        oauth = await self._load(_OAUTH)
        made: McpOAuthFlow = oauth.McpOAuthFlow(
            self._database, self._vault, self.authority, self._tokens
        )
        return made

    async def _load(self, name: str) -> Any:
        """Imports a module at its first use, in a thread: the MCP library is large."""
        found = self._modules.get(name)
        if found is None:
            found = await asyncio.to_thread(importlib.import_module, name)
            self._modules[name] = found
        return found
