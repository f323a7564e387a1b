"""A visit to an outside system: the context that a handler of an integration is given.

It speaks through the real way out, to the one host and port of a double, with a token that
is in requests by its name alone. No other part of the gate is involved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from mainspring.connections.call_context import ConnectionAccess, GateContext
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Account, Actor, Mailer
from mainspring.contracts.errors import InternalError
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.outbound.egress import Egress
from mainspring.store.database import DatabaseClock

WORKSPACE = UUID("01900000-0000-7000-8000-0000000000a1")
MEMBER = UUID("01900000-0000-7000-8000-0000000000a2")
CONNECTION = UUID("01900000-0000-7000-8000-0000000000a3")


async def _no_model(request: ModelRequest) -> ModelReply:
    del request
    raise InternalError("Nobody is asked here.")


async def _no_address() -> str | None:
    return None


class _NoMail:
    async def send(self, message: Any, *, key: str) -> Any:
        del message, key
        raise InternalError("No mail leaves here.")


@asynccontextmanager
async def visiting(
    *pairs: str,
    integration: str,
    secrets: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    account: str = "",
    clock: Clock | None = None,
    limits: Limits | None = None,
    key: str = "visit/1",
) -> AsyncIterator[GateContext]:
    """A context over a connection to the doubles at these host:port pairs.

    ``secrets`` are by their names in the connection: {"token": …} is connection.token.
    """
    held = {f"connection.{name}": value for name, value in (secrets or {}).items()}
    egress = Egress(limits or Limits(), pairs)

    async def reveal(names: frozenset[str]) -> Mapping[str, str]:
        return {name: held[name] for name in names if name in held}

    http = egress.bound(frozenset(pairs), reveal)
    whose = Account(CONNECTION, integration, integration, account, settings or {})

    async def connect(route: ConnectionRoute) -> ConnectionAccess:
        del route
        return ConnectionAccess(http, whose)

    mail: Mailer = _NoMail()
    try:
        yield GateContext(
            Actor(WORKSPACE, "member", MEMBER),
            None,
            clock or DatabaseClock(),
            key,
            lambda: http,
            mail,
            _no_address,
            "",
            _no_model,
            account=whose,
            connect=connect,
        )
    finally:
        await egress.aclose()
