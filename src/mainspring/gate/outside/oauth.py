"""Signing in to a server of tools: OAuth 2.1, begun by a member and finished by the same one.

Nothing of a connection changes before the whole way has been gone: whoever begins and does not
come back leaves it as it was.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from mcp.client.auth.utils import issuers_match

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, PermissionDenied, UpstreamError
from mainspring.gate.outside.authority import (
    AuthorizationServerClient,
    TokenEndpointError,
    normalize_oauth_error,
)
from mainspring.gate.outside.discovery import (
    AuthorizationServerMetadata,
    OAuthClientRegistration,
    become_known,
    build_given_client,
    discover_authorization_server,
)
from mainspring.gate.outside.tokens import CLIENT_SECRET, McpTokenManager
from mainspring.store.database import Database
from mainspring.workspace.connections import rows, sign_ins
from mainspring.workspace.connections.rows import McpConnection
from mainspring.workspace.vault import Vault, connection_scope

_VERIFIER_BYTES: Final = 48
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint")
# The server of tokens at which a client of a person's own was first used.
_CLIENT_ISSUER: Final = "client_issuer"


class McpOAuthFlow:
    """Sends members to sign in, and takes them back."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        authority: AuthorizationServerClient,
        keeper: McpTokenManager,
    ) -> None:
        self._database = database
        self._vault = vault
        self._authority = authority
        self._keeper = keeper

    async def begin(self, actor: Actor, connection_id: UUID, redirect_uri: str) -> str:
        """The address at which the member signs in."""
        async with self._database.acquire() as reading:
            connection = await rows.find(reading, actor.workspace_id, connection_id)
        if connection.auth != "oauth" or connection.server_url is None:
            raise Conflict(
                f"Nobody signs in to {connection.alias}: it is connected in another way.",
                code="no_sign_in",
            )
        place = await discover_authorization_server(self._authority, connection.server_url)
        await self._check_others(connection, place)
        client = await self._client(connection, place, redirect_uri)
        verifier = secrets.token_urlsafe(_VERIFIER_BYTES)
        kept = {
            "place": asdict(place),
            "client": asdict(client),
            "verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        async with self._database.transaction() as tx:
            state = await sign_ins.leave(
                tx, self._vault, actor.workspace_id, connection.id, actor.id, kept
            )
        return _address(place, client, state, verifier, redirect_uri)

    async def finish(
        self,
        actor: Actor,
        connection_id: UUID,
        state: str,
        code: str | None,
        *,
        iss: str | None,
        error: str | None,
    ) -> McpConnection:
        """Tokens for what the member came back with, and the connection with them."""
        # Used up whatever comes of it, so not undone by a problem.
        async with self._database.acquire() as tx:
            left = await sign_ins.redeem_sign_in(
                tx, self._vault, actor.workspace_id, actor.id, connection_id, state
            )
            connection = await rows.find(tx, actor.workspace_id, connection_id)
        place = AuthorizationServerMetadata(
            **{**left.kept["place"], "methods": tuple(left.kept["place"]["methods"])}
        )
        client = OAuthClientRegistration(**left.kept["client"])
        _check_answer(place, code, iss, error)
        form = {
            "grant_type": "authorization_code",
            "code": str(code),
            "redirect_uri": left.kept["redirect_uri"],
            "code_verifier": left.kept["verifier"],
            "resource": place.resource,
        }
        shown = {"id": client.id, "method": client.method}
        learnt = _learnt(place, client, left.kept["redirect_uri"])
        async with self._keeper.held(connection) as tx:
            if client.given:
                _check_given(await rows.find(tx, actor.workspace_id, connection_id), place)
                await self._bind(connection, place)
            try:
                tokens = await self._authority.tokens(
                    place.token_endpoint, form, shown, client.secret
                )
            except TokenEndpointError as refusal:
                raise _mcp_sign_in_failed_error(refusal.word) from None
            return await self._keeper.keep(
                connection, tokens, learnt, renewal=False, client_secret=client.secret
            )

    async def _bind(self, connection: McpConnection, place: AuthorizationServerMetadata) -> None:
        """Written before the secret leaves: whoever has seen it is the only one who ever will."""
        async with self._database.transaction() as tx:
            await rows.keep_oauth(
                tx, connection.workspace_id, connection.id, {_CLIENT_ISSUER: place.issuer}
            )

    async def _check_others(
        self, connection: McpConnection, place: AuthorizationServerMetadata
    ) -> None:
        """One server of tokens has one name; under a second one, somebody poses as it."""
        async with self._database.acquire() as reading:
            there = await rows.list_connections(reading, connection.workspace_id)
        ours = {place.authorization_endpoint, place.token_endpoint}
        for other in there:
            theirs = {other.oauth.get(name) for name in _ENDPOINTS}
            known = other.oauth.get("issuer")
            if other.id == connection.id or known is None or not ours & theirs:
                continue
            if not issuers_match(str(known), place.issuer):
                raise PermissionDenied(
                    f"The server of {connection.alias} sends its members to the server of tokens "
                    f"of {other.alias}, and calls it by another name.",
                    code="issuer_mismatch",
                    suggestion="Sign in only if you trust both; remove the one you do not trust.",
                )

    async def _client(
        self, connection: McpConnection, place: AuthorizationServerMetadata, redirect_uri: str
    ) -> OAuthClientRegistration:
        """As whom we ask: as whom a person says, as before, or as somebody new."""
        known = connection.oauth
        secret = await self._secret(connection)
        if known.get("client_given") and known.get("client_id"):
            _check_given(connection, place)
            return build_given_client(place, str(known["client_id"]), secret)
        before = (known.get("issuer"), known.get("client_redirect"))
        if known.get("client_id") and before == (place.issuer, redirect_uri):
            return OAuthClientRegistration(
                str(known["client_id"]), str(known["client_method"]), secret
            )
        return await become_known(self._authority, place, redirect_uri)

    async def _secret(self, connection: McpConnection) -> str | None:
        drawer = connection_scope(connection.workspace_id, connection.id)
        there = {secret.name for secret in await self._vault.names(drawer)}
        if CLIENT_SECRET not in there:
            return None
        return (await self._vault.reveal(drawer, [CLIENT_SECRET]))[CLIENT_SECRET]


def _address(
    place: AuthorizationServerMetadata,
    client: OAuthClientRegistration,
    state: str,
    verifier: str,
    redirect_uri: str,
) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": place.resource,
    }
    if place.scope:
        asked["scope"] = place.scope
        if "offline_access" in place.scope.split():
            asked["prompt"] = "consent"
    joint = "&" if "?" in place.authorization_endpoint else "?"
    return place.authorization_endpoint + joint + urlencode(asked)


def _check_given(connection: McpConnection, place: AuthorizationServerMetadata) -> None:
    """What a person was given at one server of tokens is shown to no other."""
    known = connection.oauth.get(_CLIENT_ISSUER) or connection.oauth.get("issuer")
    if known is not None and not issuers_match(str(known), place.issuer):
        raise PermissionDenied(
            f"The server of {connection.alias} now names another server of tokens. The client id "
            "and its secret were given for the one before, so they are not used there.",
            code="issuer_changed",
            suggestion="If that is meant, disconnect it, and connect it again with a client id "
            "of the new one.",
        )


def _check_answer(
    place: AuthorizationServerMetadata, code: str | None, iss: str | None, error: str | None
) -> None:
    """Whoever came back must come from where they were sent, and bring what they went for."""
    if iss is None and place.tells_issuer:
        raise _other_issuer()
    if iss is not None and not issuers_match(iss, place.issuer):
        raise _other_issuer()
    if error or not code:
        raise _mcp_sign_in_failed_error(normalize_oauth_error(error))


def _other_issuer() -> PermissionDenied:
    return PermissionDenied(
        "The answer does not come from the server at which signing in was begun.",
        code="issuer_mismatch",
        suggestion="Begin to sign in again.",
    )


def _mcp_sign_in_failed_error(word: str) -> UpstreamError:
    if word == "access_denied":
        return UpstreamError(
            "Signing in was not agreed to there.",
            code="sign_in_failed",
            suggestion="Begin to sign in again, and agree.",
            retryable=False,
        )
    told = f": {word}." if word else "."
    return UpstreamError(
        f"The server of tokens did not accept the signing in{told}",
        code="sign_in_failed",
        suggestion="Begin to sign in again.",
        retryable=False,
    )


def _learnt(
    place: AuthorizationServerMetadata, client: OAuthClientRegistration, redirect_uri: str
) -> Mapping[str, Any]:
    """What is known from now on about where the tokens come from; nothing of it is secret."""
    return {
        "issuer": place.issuer,
        "authorization_endpoint": place.authorization_endpoint,
        "token_endpoint": place.token_endpoint,
        "resource": place.resource,
        "scope": place.scope,
        "client_id": client.id,
        "client_method": client.method,
        "client_given": client.given,
        "client_redirect": redirect_uri,
    }
