"""The tokens of connections: good before they are needed, and renewed once for everybody.

A token is renewed a minute before its end, or after the server has refused it. Of all workers
that want that at the same moment one asks; the others wait for it and find the new token. What
a renewal brings is in the vault before anybody uses it. If a worker is lost between the answer
and its record, a server that hands out each renewal token once will refuse the next renewal:
then that is said, and somebody signs in again. Whoever signs in takes their turn among those
who renew, and what a renewal of earlier tokens brings after that is dropped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from mainspring.connections.oauth.authorization_server import (
    AuthorizationServerClient,
    OAuthTokenResponse,
    TokenEndpointError,
)
from mainspring.connections.oauth.renewal_locks import EARLY, TokenRenewalLocks, mark_of
from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import NotFound, Problem, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.outbound.mcp.http_transport import SIGN_IN_NEEDED, sign_in_needed
from mainspring.store.database import Connection as DatabaseConnection
from mainspring.store.database import Database
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import Vault, connection_scope, delete_secret

ACCESS: Final = "access_token"
REFRESH: Final = "refresh_token"
CLIENT_SECRET: Final = "client_secret"  # noqa: S105
# What is set before a renewal is asked for, and taken away with its answer.
RENEWING: Final = "renewing"


class McpTokenManager:
    """Keeps the tokens of all connections good."""

    def __init__(
        self, database: Database, vault: Vault, authority: AuthorizationServerClient, clock: Clock
    ) -> None:
        self._database = database
        self._vault = vault
        self._authority = authority
        self._clock = clock
        self._turns = TokenRenewalLocks(database)

    async def reveal(self, connection: McpConnection, names: frozenset[str]) -> dict[str, str]:
        """What lets a connection in; nothing there means that somebody has to sign in."""
        scope = connection_scope(connection.workspace_id, connection.id)
        try:
            return await self._vault.reveal(scope, names)
        except NotFound:
            raise sign_in_needed(connection.alias) from None

    async def ready(self, connection: McpConnection) -> McpConnection:
        """The connection with a token that is good for a while."""
        if connection.auth != "oauth":
            return connection
        if connection.state == "sign_in":
            raise _waits(connection)
        if not self._ends_soon(connection):
            return connection
        try:
            return await self._renewed(connection, None)
        except UpstreamError:
            # A server of tokens that is away does not matter yet.
            if connection.expires_at is None or connection.expires_at <= self._clock.now():
                raise
            return connection

    async def renew(self, connection: McpConnection, refused: str) -> bool:
        """Whether there is another token than the one that was refused."""
        if connection.auth != "oauth":
            return False
        await self._renewed(connection, refused)
        return True

    async def keep(
        self,
        connection: McpConnection,
        tokens: OAuthTokenResponse,
        learnt: Mapping[str, Any],
        *,
        renewal: bool,
        client_secret: str | None = None,
    ) -> McpConnection:
        """Seals new tokens; a renewal without a new renewal token leaves the one that is there.

        A renewal of what was there before a later signing in changes nothing.
        """
        workspace_id = connection.workspace_id
        scope = connection_scope(workspace_id, connection.id)
        sealed = {ACCESS: tokens.access, REFRESH: tokens.refresh, CLIENT_SECRET: client_secret}
        ends = None
        if tokens.lasts is not None:
            ends = self._clock.now() + timedelta(seconds=tokens.lasts)
        known = {**learnt, RENEWING: None}
        if not renewal:
            known["sign_in"] = str(generate_id())

        async def store() -> McpConnection:
            async with self._database.transaction() as tx:
                now = await rows.lock_mcp_connection(tx, workspace_id, connection.id)
                if renewal and now.sign_in != connection.sign_in:
                    return now
                for name, value in sealed.items():
                    if value is not None:
                        await self._vault.put(tx, scope, name, value)
                    elif not renewal:
                        await delete_secret(tx, scope, name)
                await rows.mark_signed_in(tx, workspace_id, connection.id, ends, known)
                return await rows.find(tx, workspace_id, connection.id)

        # There is no second answer, so this one is not given up with a lost connection.
        return await self._database.retrying(store)

    def _ends_soon(self, connection: McpConnection) -> bool:
        ends = connection.expires_at
        return ends is not None and ends - EARLY <= self._clock.now()

    async def _renewed(self, connection: McpConnection, refused: str | None) -> McpConnection:
        async with self.held(connection) as tx:
            now = await rows.find(tx, connection.workspace_id, connection.id)
            if now.state == "sign_in":
                raise _waits(now)
            if not await self._still_wanted(now, refused):
                return now
            return await self._asked(now)

    async def _still_wanted(self, now: McpConnection, refused: str | None) -> bool:
        """Somebody else may have renewed it while we waited."""
        if refused is None:
            return self._ends_soon(now)
        values = await self.reveal(now, frozenset({ACCESS}))
        return mark_of(values[ACCESS]) == refused

    async def _asked(self, connection: McpConnection) -> McpConnection:
        form, client, secret = await self._grant(connection)
        lost = connection.oauth.get(RENEWING) is not None
        await self._note(connection, {RENEWING: self._clock.now().isoformat()})
        try:
            tokens = await self._authority.tokens(
                str(connection.oauth["token_endpoint"]), form, client, secret
            )
        except TokenEndpointError as refusal:
            problem = sign_in_needed(
                connection.alias, _describe_token_refusal(connection, refusal, lost=lost)
            )
            if (later := await self._sign_out(connection, problem)) is not None:
                return later
            raise problem from None
        return await self.keep(connection, tokens, {}, renewal=True)

    async def _grant(self, connection: McpConnection) -> tuple[dict[str, str], dict[str, str], Any]:
        known = connection.oauth
        scope = connection_scope(connection.workspace_id, connection.id)
        there = {secret.name for secret in await self._vault.names(scope)}
        if REFRESH not in there or "token_endpoint" not in known:
            problem = sign_in_needed(connection.alias)
            await self._sign_out(connection, problem)
            raise problem
        values = await self.reveal(connection, frozenset({REFRESH, CLIENT_SECRET} & there))
        form = {"grant_type": "refresh_token", "refresh_token": values[REFRESH]}
        if known.get("resource"):
            form["resource"] = str(known["resource"])
        client = {"id": str(known["client_id"]), "method": str(known.get("client_method", "none"))}
        return form, client, values.get(CLIENT_SECRET)

    async def _note(self, connection: McpConnection, learnt: Mapping[str, Any]) -> None:
        async with self._database.transaction() as tx:
            await rows.store_oauth_metadata(tx, connection.workspace_id, connection.id, learnt)

    async def _sign_out(self, connection: McpConnection, problem: Problem) -> McpConnection | None:
        """Written before others who wait go on, so that they do not ask once more.

        Whoever has signed in meanwhile stays so, and what they signed in to is answered.
        """
        whose = (connection.workspace_id, connection.id)
        async with self._database.transaction() as tx:
            now = await rows.lock_mcp_connection(tx, *whose)
            if now.sign_in != connection.sign_in:
                return now
            await rows.mark_failed(tx, *whose, problem, sign_in=True)
            await rows.store_oauth_metadata(tx, *whose, {RENEWING: None})
        return None

    @asynccontextmanager
    async def held(self, connection: McpConnection) -> AsyncIterator[DatabaseConnection]:
        """Alone with a connection over all processes, for one renewal or one signing in."""
        async with self._turns.held(connection.id, connection.alias) as tx:
            yield tx


def _waits(connection: McpConnection) -> Problem:
    """Somebody has to sign in, for the reason that was found when it was last tried."""
    last = connection.last_error or {}
    why = str(last.get("detail", "")) if last.get("code") == SIGN_IN_NEEDED else ""
    return sign_in_needed(connection.alias, why)


def _describe_token_refusal(
    connection: McpConnection, refusal: TokenEndpointError, *, lost: bool
) -> str:
    if refusal.word == "invalid_grant" and lost:
        return (
            f"The token of {connection.alias} was being renewed when a worker was lost, and the "
            "new one was lost with it."
        )
    if refusal.word == "invalid_grant":
        return f"The server of {connection.alias} has ended what was signed in to."
    said = refusal.word or f"status {refusal.status}"
    return f"The server of {connection.alias} does not renew its token: {said}."
