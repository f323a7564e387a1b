"""The way out over one connection, for one call.

What lets the connection in stands in requests by name, is put in at the last moment and goes to
the route's hosts alone. A token is renewed before it ends. If it is refused all the same it is
renewed once and the request sent again; refused again, only a person can help.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from mainspring.connections.accounts.problems import reconnect_error
from mainspring.connections.accounts.tokens import TOKEN
from mainspring.connections.oauth.renewal_locks import mark_of
from mainspring.contracts.context import Account, HttpRequest, HttpResponse, Mailbox
from mainspring.contracts.errors import InternalError, Invalid, Problem, ReconnectRequired
from mainspring.outbound.egress import CallHttp, Egress, Reveal, parse_url
from mainspring.outbound.egress.prepared_request import find_secret_names

if TYPE_CHECKING:
    from mainspring.contracts.integration import Integration
    from mainspring.workspace.accounts.rows import AccountRow

PREFIX: Final = "connection."
Learn = Callable[[Mapping[str, str]], None]


class TokenProvider(Protocol):
    """What lets connections in, kept good by whoever has it."""

    async def ready(self, integration: Integration, row: AccountRow) -> AccountRow: ...

    async def renew(
        self, integration: Integration, row: AccountRow, refused: str
    ) -> AccountRow: ...

    async def reveal(
        self, integration: Integration, row: AccountRow, names: frozenset[str]
    ) -> dict[str, str]: ...


class ConnectedHttp:
    """Carries the requests of one call over one connection."""

    def __init__(
        self,
        integration: Integration,
        row: AccountRow,
        tokens: TokenProvider,
        egress: Egress,
        hosts: frozenset[str],
        *,
        own: Reveal,
        learn: Learn,
    ) -> None:
        self.integration = integration
        self.row = row
        self._tokens = tokens
        self._egress = egress
        self._hosts = hosts
        self._own = own
        self._learn = learn
        # One for each token that was used: what either has hidden stays hidden.
        self._ways: list[CallHttp] = [egress.bound(hosts, self._reveal)]
        self._shown = ""
        # How the last request fared; None: it was answered.
        self.last: Problem | None = None
        # Why nothing is sent any more.
        self.ended: ReconnectRequired | None = None

    @property
    def account(self) -> Account:
        row = self.row
        return Account(
            row.id,
            self.integration.id,
            row.label,
            row.account,
            row.settings,
            row.scopes,
            row.owner_id,
        )

    @property
    def uses(self) -> set[tuple[str, str]]:
        return set().union(*(way.uses for way in self._ways))

    def masked(self, value: Any) -> Any:
        """A JSON value in which nothing that lets the connection in can be read."""
        for way in self._ways:
            value = way.masked(value)
        return value

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Sends one request; a refusal of the connection itself ends it for this call."""
        if self.ended is not None:
            raise self.ended
        self.last = None
        try:
            return await self._sent(request)
        except ReconnectRequired as problem:
            self.ended = problem
            raise
        except Problem as problem:
            self.last = problem
            raise

    @asynccontextmanager
    async def mailbox(self) -> AsyncIterator[Mailbox]:
        """Opens the mailbox that the connection's settings name."""
        # Loaded with the first mailbox: most connections lead to none.
        from mainspring.outbound.mail.imap import open_mailbox

        self.last = None
        try:
            async with open_mailbox(self._egress, self.row.settings, self._reveal) as box:
                yield box
        except Problem as problem:
            self.last = problem
            raise

    async def _sent(self, request: HttpRequest) -> HttpResponse:
        if not any(name.startswith(PREFIX) for name in find_secret_names(request)):
            # It shows nobody who we are, so its answer says nothing of the connection.
            return await self._ways[-1].send(request)
        self._take(await self._tokens.ready(self.integration, self.row))
        answer = await self._ways[-1].send(request)
        if not self._refuses(answer) or not _same_site(request, answer):
            return answer
        if self.row.auth == "oauth":
            self._take(await self._tokens.renew(self.integration, self.row, self._shown))
            answer = await self._ways[-1].send(request)
        if answer.status != 401:
            return answer
        raise reconnect_error(self.integration, self.row)

    def _refuses(self, answer: HttpResponse) -> bool:
        """Whether the token was refused: with 401, or in the provider's own way.

        A token that does not expire cannot be renewed; its refusal is left to the integration.
        """
        if answer.status == 401:
            return True
        renewable = self.row.auth == "oauth" and self.row.expires_at is not None
        return renewable and self.integration.refuses_token(answer)

    def _take(self, row: AccountRow) -> None:
        if row is not self.row:
            self.row = row
            self._ways.append(self._egress.bound(self._hosts, self._reveal))

    async def _reveal(self, names: frozenset[str]) -> Mapping[str, str]:
        held = frozenset(name for name in names if name.startswith(PREFIX))
        wanted = frozenset(name.removeprefix(PREFIX) for name in held)
        values = dict(await self._own(names - held)) if names - held else {}
        found = await self._tokens.reveal(self.integration, self.row, wanted)
        if TOKEN in found:
            self._shown = mark_of(found[TOKEN])
        # Each value by a name of its own: a run may use several accounts, and renew each.
        self._learn(
            {f"{PREFIX}{name} {mark_of(value)[:8]}": value for name, value in found.items()}
        )
        return {**values, **{f"{PREFIX}{name}": value for name, value in found.items()}}


def _same_site(request: HttpRequest, answer: HttpResponse) -> bool:
    """Whether the site that was shown who we are is the one that answered."""
    url = request.url if isinstance(request.url, str) else _first(request.url.parts)
    try:
        return parse_url(url).origin == parse_url(answer.url).origin
    except Invalid:
        return True


def _first(parts: tuple[Any, ...]) -> str:
    if not parts or not isinstance(parts[0], str):
        raise InternalError("An address begins with its host.")
    return parts[0]
