"""Signing in at a provider: OAuth 2.0 with an authorisation code and PKCE.

Begun by a member and finished by the same one, in the same browser. Nothing of a connection
changes before the whole way has been gone and the integration has shown that it works: whoever
begins and does not come back leaves it as it was.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from authlib.oauth2.rfc6749.errors import OAuth2Error
from authlib.oauth2.rfc6749.parameters import (
    parse_authorization_code_response,
    prepare_grant_uri,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from mainspring.connections.accounts.connection_test import (
    InMemoryTokenProvider,
    fetch_account_name,
    ignore_values,
    reveal_no_secrets,
    sign_in_rejected_error,
)
from mainspring.connections.accounts.dependencies import (
    AccountConnectionDependencies,
    describe_connection_change,
)
from mainspring.connections.accounts.problems import missing_oauth_client_error
from mainspring.connections.accounts.tokens import (
    REFRESH,
    TOKEN,
    ProviderTokenResponse,
    map_oauth_error,
    missing_scopes,
    parse_token_response,
)
from mainspring.connections.oauth.authorization_server import TokenEndpointError
from mainspring.contracts.errors import PermissionDenied, Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.roles import Permission, check_may
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.accounts import clients, rows, sign_ins
from mainspring.workspace.consent_rows import hold_agreements
from mainspring.workspace.sign_in_state import unknown_state_error

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.contracts.integration import Integration
    from mainspring.workspace.accounts.clients import OAuthClient
    from mainspring.workspace.accounts.rows import AccountRow

_VERIFIER_BYTES: Final = 48
_SHARED: Final = (
    "{name} is disconnected here. Another connection uses the same agreement at the provider, so "
    "that ends with the last of them."
)


@dataclass(frozen=True, slots=True)
class AccountSignInResult:
    """A connection that somebody has just signed in to."""

    integration: Integration
    row: AccountRow
    # What whoever signed in should know.
    note: str | None = None


class AccountOAuthFlow:
    """Sends members to providers, and takes them back."""

    def __init__(self, parts: AccountConnectionDependencies) -> None:
        self._parts = parts

    async def begin(
        self, actor: Actor, integration: Integration, redirect_uri: str, *, share: bool = False
    ) -> str:
        """The address at which the member signs in."""
        auth = integration.manifest["auth"]
        parts = self._parts
        client = await clients.find_client(parts.database, actor.workspace_id, auth["provider"])
        if client is None:
            raise missing_oauth_client_error(integration)
        parts.authority.judged(auth["authorize_url"])
        verifier = secrets.token_urlsafe(_VERIFIER_BYTES)
        kept = {
            "provider": auth["provider"],
            "verifier": verifier,
            "redirect_uri": redirect_uri,
            "client": str(client.id),
        }
        inside = WorkspaceDatabase(parts.database, actor.workspace_id)

        async def work(tx: Any) -> str:
            at = (actor.workspace_id, actor.id, integration.id)
            row = await rows.find_reconnectable_account(tx, *at) if share else None
            row = row or await rows.begin_connection(tx, *at, integration.name, "oauth")
            return await sign_ins.begin_sign_in(tx, parts.vault, row, kept, actor.id)

        state = await inside.run_retrying(work)
        return _address(auth, client, state, verifier, redirect_uri)

    async def finish(
        self, actor: Actor, provider: str, state: str, code: str | None, error: str | None
    ) -> AccountSignInResult:
        """Tokens for what the member came back with, and the connection with them."""
        parts, space = self._parts, actor.workspace_id
        # Used up whatever comes of it, so not undone by a problem.
        async with parts.database.acquire() as tx:
            back = await sign_ins.redeem_sign_in(tx, parts.vault, space, actor.id, state)
            row = await rows.find(tx, space, back.connection_id)
            found = await rows.find_reconnectable_account(tx, space, actor.id, row.integration)
            shared = found is not None and found.id == row.id
        if back.kept["provider"] != provider or not (row.owner_id == actor.id or shared):
            raise unknown_state_error()
        if shared:
            check_may(actor.role, Permission.CONNECT)
        integration = parts.lines.named(row.integration)
        client = await clients.find(parts.database, UUID(back.kept["client"]))
        if client is None:
            raise missing_oauth_client_error(integration)
        brought = _read_callback_code(integration, back.kept, state, code, error)
        async with parts.lines.tokens.held(row):
            # What fails from here on is not revoked: at Google that would end all that the person
            # has agreed to for this client, this connection as it was before included.
            granted = await self._exchange_code(integration, client, back.kept, brought)
            account = await self._tried(actor, integration, row, granted)

            async def complete(tx: Transaction, made: AccountRow) -> AccountRow:
                # An agreement names the account that is used, so the tokens and the name of
                # another account are committed together and not while somebody agrees.
                await hold_agreements(tx, space)
                await rows.name_account(tx, made, account)
                await rows.mark_ok(tx, made)
                if shared:
                    await rows.transfer_account(tx, made, actor.id)
                made = await rows.find(tx, space, made.id)
                await parts.changed(tx, made, describe_connection_change(row, made))
                return made

            made = await parts.lines.tokens.keep(row, granted, client, complete)
        return AccountSignInResult(integration, made, _note(integration, granted))

    async def revoke(self, integration: Integration, row: AccountRow, token: str) -> str | None:
        """Asks the provider to forget what was agreed to; that it does is not certain.

        Revoking one token may end the whole grant of an account to a client (Google), so it waits
        for the last connection that uses the grant. Answers what the member should know of that.
        """
        parts = self._parts
        client = None
        if row.client_id is not None:
            client = await clients.find(parts.database, row.client_id)
        if client is None or "revoke_url" not in integration.manifest["auth"]:
            return None
        async with parts.database.acquire() as tx:
            shared = await rows.is_grant_shared(tx, row)
        if shared:
            return _SHARED.format(name=integration.name)
        await self._revoke_token(integration, client, token)
        return None

    async def _exchange_code(
        self, integration: Integration, client: OAuthClient, kept: Mapping[str, Any], code: str
    ) -> ProviderTokenResponse:
        auth = integration.manifest["auth"]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": str(kept["redirect_uri"]),
        }
        if auth.get("pkce", True):
            form["code_verifier"] = str(kept["verifier"])
        secret = await client.secret(self._parts.vault)
        try:
            said = await self._parts.authority.asked(
                auth["token_url"], form, client.method(auth), secret
            )
            granted = parse_token_response(said, auth)
        except TokenEndpointError as refusal:
            raise _sign_in_failed_error(integration, refusal.word, kept) from None
        missing = missing_scopes(frozenset(auth["scopes"]), granted.scopes)
        if missing:
            raise _too_little(integration, missing)
        if granted.scopes is None:
            granted = replace(granted, scopes=frozenset(auth["scopes"]))
        return granted

    async def _tried(
        self,
        actor: Actor,
        integration: Integration,
        row: AccountRow,
        granted: ProviderTokenResponse,
    ) -> str:
        held = {TOKEN: granted.access}
        if granted.refresh is not None:
            held[REFRESH] = granted.refresh
        way = self._parts.lines.over(
            integration,
            replace(row, scopes=granted.scopes or frozenset()),
            frozenset(integration.manifest["hosts"]),
            own=reveal_no_secrets,
            learn=ignore_values,
            tokens=InMemoryTokenProvider(held),
        )
        try:
            return await fetch_account_name(way, actor, self._parts.clock)
        except ReconnectRequired as problem:
            raise sign_in_rejected_error(integration, problem) from None

    async def _revoke_token(
        self, integration: Integration, client: OAuthClient, token: str
    ) -> None:
        auth = integration.manifest["auth"]
        try:
            secret = await client.secret(self._parts.vault)
            form = {"token": token}
            await self._parts.authority.asked(auth["revoke_url"], form, client.method(auth), secret)
        except (Problem, TokenEndpointError):
            # It is forgotten here in any case; an answer may be empty, and nobody waits for it.
            return


def _address(
    auth: Mapping[str, Any], client: OAuthClient, state: str, verifier: str, redirect_uri: str
) -> str:
    more = dict(auth.get("extra", {}))
    if auth.get("pkce", True):
        more["code_challenge"] = create_s256_code_challenge(verifier)
        more["code_challenge_method"] = "S256"
    made: str = prepare_grant_uri(
        auth["authorize_url"],
        client.client_id,
        "code",
        redirect_uri=redirect_uri,
        scope=str(auth.get("scope_separator", " ")).join(auth["scopes"]),
        state=state,
        **more,
    )
    return made


def _read_callback_code(
    integration: Integration,
    kept: Mapping[str, Any],
    state: str,
    code: str | None,
    error: str | None,
) -> str:
    """The code that somebody came back with."""
    if error or not code:
        raise _sign_in_failed_error(integration, map_oauth_error(error), kept)
    try:
        found = parse_authorization_code_response(
            f"?{urlencode({'code': code, 'state': state})}", state=state
        )
    except OAuth2Error:
        raise _sign_in_failed_error(integration, "", kept) from None
    return str(found["code"])


def _sign_in_failed_error(
    integration: Integration, word: str, kept: Mapping[str, Any]
) -> UpstreamError:
    if word == "access_denied":
        return UpstreamError(
            f"Signing in was not agreed to at {integration.name}.",
            code="sign_in_failed",
            suggestion="Begin to sign in again, and agree.",
            retryable=False,
        )
    told = f": {word}." if word else "."
    return UpstreamError(
        f"{integration.name} rejected the sign-in{told}",
        code="sign_in_failed",
        suggestion=_hint(integration, word, str(kept["redirect_uri"])),
        retryable=False,
    )


def _hint(integration: Integration, word: str, redirect_uri: str) -> str:
    """What to do about an error of a provider."""
    match word:
        case "redirect_uri_mismatch" | "invalid_redirect_uri":
            return (
                f"Register this redirect address at the provider, exactly as it is: {redirect_uri}"
            )
        case "invalid_client" | "unauthorized_client":
            return (
                "Check the client id and its secret, and that this redirect address is registered "
                f"at the provider: {redirect_uri}"
            )
        case "invalid_scope":
            scopes = ", ".join(integration.manifest["auth"]["scopes"])
            return f"Allow these scopes in the settings of the client at the provider: {scopes}."
        case "unverified_user_email":
            return f"Verify your e-mail address at {integration.name}, and sign in again."
    return "Begin to sign in again."


def _too_little(integration: Integration, missing: frozenset[str]) -> PermissionDenied:
    return PermissionDenied(
        f"{integration.name} was connected without all it needs; not agreed to: "
        f"{', '.join(sorted(missing))}.",
        code="scopes_missing",
        suggestion="Connect it again, and grant every requested permission.",
    )


def _note(integration: Integration, granted: ProviderTokenResponse) -> str | None:
    """An access that ends and cannot be renewed is told at once."""
    if granted.refresh is None and granted.lasts is not None:
        return (
            f"{integration.name} gave nothing to renew this access with. It ends in about "
            f"{max(1, granted.lasts // 60)} minutes, and has to be connected again then."
        )
    return None
