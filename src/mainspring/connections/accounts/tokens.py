"""The tokens of members' accounts: good before they are needed, and renewed once for everybody.

A token is renewed a minute before its end, or after the other side has refused it. What a
renewal brings is in the vault before anybody uses it. If a worker is lost between the answer
and its record, a provider that hands out each renewal token once will refuse the next renewal:
then that is said, and somebody connects again. What a renewal of earlier tokens brings after
somebody has signed in anew is dropped.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.accounts.problems import reconnect_error, reconnect_pending_error
from mainspring.connections.oauth.authorization_server import (
    AuthorizationServerClient,
    TokenEndpointError,
    is_token,
    lasts_seconds,
    normalize_oauth_error,
)
from mainspring.connections.oauth.renewal_locks import EARLY, TokenRenewalLocks, mark_of
from mainspring.contracts.errors import NotFound, ReconnectRequired, UpstreamError
from mainspring.workspace.accounts import clients, rows
from mainspring.workspace.accounts.rows import AccountRow

if TYPE_CHECKING:
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.integration import Integration
    from mainspring.store.database import Connection, Database
    from mainspring.workspace.accounts.clients import OAuthClient
    from mainspring.workspace.vault import Vault


# What a provider answers when it is asked for tokens, in the ways that providers have.

_MOST_SCOPES: Final = 200
_MOST_TEXT: Final = 10_000
_TELLING: Final = 8
# Words of GitHub and Slack, and what the standard calls them; one that it has no word for stays.
_OWN_WORDS: Final[Mapping[str, str]] = {
    "bad_client_secret": "invalid_client",
    "bad_redirect_uri": "redirect_uri_mismatch",
    "bad_refresh_token": "invalid_grant",
    "bad_verification_code": "invalid_grant",
    "code_already_used": "invalid_grant",
    "incorrect_client_credentials": "invalid_client",
    "invalid_client_id": "invalid_client",
    "invalid_code": "invalid_grant",
    "invalid_refresh_token": "invalid_grant",
    "token_revoked": "invalid_grant",
    "unverified_user_email": "unverified_user_email",
}


@dataclass(frozen=True, slots=True, repr=False)
class ProviderTokenResponse:
    """What a provider has handed out."""

    access: str
    refresh: str | None
    # Seconds that the access token is good for, if that was said.
    lasts: int | None
    # What was agreed to; None: nothing was said of it.
    scopes: frozenset[str] | None


def parse_token_response(answer: Any, auth: Mapping[str, Any]) -> ProviderTokenResponse:
    """Tokens from an answer; a Refusal where it says no, Upstream where it cannot be read."""
    if not isinstance(answer, dict):
        raise _bad()
    if answer.get("error") or answer.get("ok") is False:
        raise TokenEndpointError(map_oauth_error(answer.get("error")), 200)
    *above, name = str(auth.get("token_field", "access_token")).split(".")
    place: Any = answer
    for step in above:
        place = place.get(step) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise _bad()
    refresh = place.get("refresh_token", answer.get("refresh_token"))
    access, renewal = _token(place.get(name)), _token(refresh) if refresh else None
    scopes = _scopes(place.get("scope", answer.get("scope")))
    return ProviderTokenResponse(
        access,
        renewal,
        lasts_seconds(place.get("expires_in", answer.get("expires_in"))),
        scopes and frozenset(one for one in scopes if not _tells(one, access, renewal)),
    )


def _tells(scope: str, *tokens: str | None) -> bool:
    """Whether a token stands in a scope, which is shown; a very short one does so by chance."""
    return any(one in scope for one in tokens if one is not None and len(one) >= _TELLING)


def missing_scopes(asked: frozenset[str], granted: frozenset[str] | None) -> frozenset[str]:
    """What was asked for and not agreed to; a provider that says nothing gave what was asked.

    An empty scope says nothing either: GitHub gives it to the user tokens of its Apps, whose
    permissions are the App's own. Whether such a token works is tried before it is kept.
    """
    return asked - granted if granted else frozenset()


def map_oauth_error(error: object) -> str:
    """An error of a provider in the standard's words; empty for one that is not known."""
    own = _OWN_WORDS.get(error) if isinstance(error, str) else None
    return own or normalize_oauth_error(error)


def _scopes(said: object) -> frozenset[str] | None:
    if isinstance(said, list):
        said = " ".join(str(one) for one in said[:_MOST_SCOPES])
    if not isinstance(said, str):
        return None
    return frozenset(re.split(r"[\s,]+", said[:_MOST_TEXT].strip())[:_MOST_SCOPES]) - {""}


def _token(text: object) -> str:
    if not is_token(text):
        raise _bad()
    return text


def _bad() -> UpstreamError:
    return UpstreamError(
        "The provider answered with something that cannot be read instead of a token.",
        code="bad_response",
        retryable=False,
    )


TOKEN: Final = "token"  # noqa: S105
REFRESH: Final = "refresh_token"


class AccountTokenManager:
    """Keeps the tokens of all members' accounts good."""

    def __init__(
        self, database: Database, vault: Vault, authority: AuthorizationServerClient, clock: Clock
    ) -> None:
        self._database = database
        self._vault = vault
        self._authority = authority
        self._clock = clock
        self._turns = TokenRenewalLocks(database)

    async def reveal(
        self, integration: Integration, row: AccountRow, names: frozenset[str]
    ) -> dict[str, str]:
        """What lets a connection in; nothing there means that somebody has to connect again."""
        try:
            return await self._vault.reveal(row.secret_scope, names)
        except NotFound:
            raise reconnect_error(integration, row, "nothing lets it in any more.") from None

    async def ready(self, integration: Integration, row: AccountRow) -> AccountRow:
        """The connection with a token that is good for a while."""
        if row.auth != "oauth" or not self._ends_soon(row):
            return row
        try:
            return await self._renewed(integration, row, None)
        except UpstreamError:
            # A provider whose server of tokens is away does not matter yet.
            if row.expires_at is None or row.expires_at <= self._clock.now():
                raise
            return row

    async def renew(self, integration: Integration, row: AccountRow, refused: str) -> AccountRow:
        """The connection with another token than the one that was refused."""
        return await self._renewed(integration, row, refused)

    async def keep(
        self,
        row: AccountRow,
        granted: ProviderTokenResponse,
        client: OAuthClient,
        complete: Callable[[Transaction, AccountRow], Awaitable[AccountRow]] | None = None,
    ) -> AccountRow:
        """Stores new tokens; a renewal without a new renewal token leaves the one that is there.

        A renewal of what was there before a later sign-in changes nothing. ``complete`` is what a
        sign-in writes in the same transaction; a renewal has none.
        """
        renewal = complete is None
        sealed = {TOKEN: granted.access, REFRESH: granted.refresh}
        ends = None
        if granted.lasts is not None:
            ends = self._clock.now() + timedelta(seconds=granted.lasts)

        async def store() -> AccountRow:
            async with self._database.transaction() as tx:
                now = await rows.lock_account(tx, row.workspace_id, row.id)
                if renewal and now.sign_in_id != row.sign_in_id:
                    return now
                put = {name: value for name, value in sealed.items() if value is not None}
                for name, value in put.items():
                    await self._vault.put(tx, row.secret_scope, name, value)
                if renewal:
                    await rows.mark_renewed(tx, row, ends, granted.scopes)
                else:
                    await rows.delete_secrets(tx, row, keep=frozenset(put))
                    scopes = granted.scopes or frozenset()
                    await rows.mark_signed_in(tx, row, scopes, client.id, ends)
                made = await rows.find(tx, row.workspace_id, row.id)
                return made if complete is None else await complete(tx, made)

        # There is no second answer, so this one is not given up with a lost connection.
        return await self._database.retrying(store)

    @asynccontextmanager
    async def held(self, row: AccountRow) -> AsyncIterator[Connection]:
        """Alone with a connection over all processes, for one renewal or one signing in."""
        async with self._turns.held(row.id, row.shown_name) as tx:
            yield tx

    def _ends_soon(self, row: AccountRow) -> bool:
        return row.expires_at is not None and row.expires_at - EARLY <= self._clock.now()

    async def _renewed(
        self, integration: Integration, row: AccountRow, refused: str | None
    ) -> AccountRow:
        async with self.held(row) as tx:
            now = await rows.find(tx, row.workspace_id, row.id)
            if now.state != "ready":
                raise reconnect_pending_error(integration, now)
            if not await self._still_wanted(integration, now, refused):
                return now
            return await self._asked(integration, now)

    async def _still_wanted(
        self, integration: Integration, now: AccountRow, refused: str | None
    ) -> bool:
        """Somebody else may have renewed it while we waited."""
        if refused is None:
            return self._ends_soon(now)
        values = await self.reveal(integration, now, frozenset({TOKEN}))
        return mark_of(values[TOKEN]) == refused

    async def _asked(self, integration: Integration, row: AccountRow) -> AccountRow:
        client, secret, refresh = await self._means(integration, row)
        auth = integration.manifest["auth"]
        lost = row.renewing_at is not None
        async with self._database.transaction() as tx:
            await rows.mark_renewing(tx, row)
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        try:
            said = await self._authority.asked(auth["token_url"], form, client.method(auth), secret)
            granted = parse_token_response(said, auth)
        except TokenEndpointError as refusal:
            why = _describe_refusal(integration, refusal, lost=lost)
            return await self._mark_signed_out(row, reconnect_error(integration, row, why))
        return await self.keep(row, granted, client)

    async def _means(
        self, integration: Integration, row: AccountRow
    ) -> tuple[OAuthClient, str | None, str]:
        """As whom a renewal is asked for, and with what; without either nobody is asked."""
        there = {secret.name for secret in await self._vault.names(row.secret_scope)}
        client = None
        if row.client_id is not None:
            client = await clients.find(self._database, row.client_id)
        if client is None or REFRESH not in there:
            why = (
                "its access has ended, and it was given nothing to renew it with."
                if client is not None
                else "the client id with which it was connected was removed."
            )
            await self._mark_signed_out(row, problem := reconnect_error(integration, row, why))
            raise problem
        values = await self.reveal(integration, row, frozenset({REFRESH}))
        return client, await client.secret(self._vault), values[REFRESH]

    async def _mark_signed_out(self, row: AccountRow, problem: ReconnectRequired) -> AccountRow:
        """Written before others who wait go on, so that they do not ask once more.

        Whoever has signed in meanwhile stays so, and what they signed in to is answered.
        """
        async with self._database.transaction() as tx:
            now = await rows.lock_account(tx, row.workspace_id, row.id)
            if now.sign_in_id != row.sign_in_id:
                return now
            await rows.mark_failed(tx, row, problem, reconnect=True)
        raise problem


def _describe_refusal(integration: Integration, refusal: TokenEndpointError, *, lost: bool) -> str:
    if refusal.word == "invalid_grant" and lost:
        return "its token was being renewed when a worker was lost, and the new one with it."
    if refusal.word == "invalid_grant":
        return f"{integration.name} has ended what was agreed to there."
    said = refusal.word or f"status {refusal.status}"
    return f"{integration.name} does not renew its token: {said}."
