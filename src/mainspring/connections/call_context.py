"""What the gate hands to a capability's handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from mainspring.contracts.agent import AgentSession
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import (
    Account,
    Actor,
    ClientWait,
    HttpClient,
    Mailbox,
    Mailer,
    RunRef,
    Transaction,
)
from mainspring.contracts.errors import InternalError
from mainspring.contracts.model import ModelReply, ModelRequest


class DraftConfirmer(Protocol):
    """Performs a draft, once, and answers what came of it; or only gives it other words.

    ``seen`` is the hash of the wording that was seen. With ``noted``, the audit log is told of
    a refusal as well.
    """

    async def __call__(
        self,
        draft_id: UUID,
        *,
        edits: Mapping[str, Any] | None = None,
        seen: str | None = None,
        sends: bool = True,
        noted: bool = False,
    ) -> Any: ...


@runtime_checkable
class MailboxProvider(Protocol):
    """A way out over a connection that may be one to a mailbox."""

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]: ...


@dataclass(frozen=True, slots=True)
class ConnectionAccess:
    """A way out over a connection, and what may be known of it."""

    http: HttpClient
    account: Account | None


# Opens the connection that a route leads over; ``ReconnectNeeded`` or ``Missing`` without one.
Connect = Callable[[ConnectionRoute], Coroutine[Any, Any, ConnectionAccess]]


@dataclass(slots=True)
class GateContext:
    """One call's view of the world; it ends with the call."""

    actor: Actor
    run: RunRef | None
    clock: Clock
    key: str
    # Called when the handler first asks for ``http``.
    open_http: Callable[[], HttpClient]
    mail: Mailer
    owner_address: Callable[[], Coroutine[Any, Any, str | None]]
    # The model to ask when a call names none; empty: the workspace's usual one.
    model: str
    ask_model: Callable[[ModelRequest], Coroutine[Any, Any, ModelReply]]
    transaction: Transaction | None = None
    # The connection that ``http`` speaks over, if it is one.
    account: Account | None = None
    # Opens another connection for this call; what goes over it is masked and recorded alike.
    connect: Connect | None = None
    # No handler but those that answer drafts is given it.
    confirm: DraftConfirmer | None = None
    # No handler but that of ``agent.run`` is given it.
    agency: AgentSession | None = None
    # How its run was meant: live, verify or dry_run.
    mode: str = "live"
    client_wait: ClientWait | None = None
    # Whether an earlier attempt with the same key may have taken effect: yes, unless it is known.
    repeated: bool = True
    spent: Decimal = field(default=Decimal(0))
    _http: HttpClient | None = field(default=None, init=False)

    @property
    def http(self) -> HttpClient:
        if self._http is None:
            self._http = self.open_http()
        return self._http

    @property
    def tx(self) -> Transaction:
        if self.transaction is None:
            raise InternalError("This capability is not declared transactional.")
        return self.transaction

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        if not isinstance(self.http, MailboxProvider):
            raise InternalError("This call goes over no connection to a mailbox.", retryable=False)
        return self.http.mailbox()

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self.ask_model(request)

    def spend(self, usd: Decimal) -> None:
        if not usd.is_finite() or usd < 0:
            raise InternalError("A call cannot cost less than nothing.", retryable=False)
        self.spent += usd
