"""Trying a connection before anything of it is kept, and when somebody asks whether it works.

The integration is asked who it is over there. What lets it in is at hand and in no table yet, so
one that does not work leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.accounts.problems import reconnect_error
from mainspring.connections.call_context import ConnectionAccess, GateContext
from mainspring.contracts.errors import InternalError, Invalid, NotFound, ReconnectRequired

if TYPE_CHECKING:
    from mainspring.connections.accounts.http import ConnectedHttp
    from mainspring.contracts.capability import ConnectionRoute
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Actor, Mail, MailReceipt
    from mainspring.contracts.integration import Integration
    from mainspring.contracts.model import ModelReply, ModelRequest
    from mainspring.workspace.accounts.rows import AccountRow

LONGEST_ACCOUNT: Final = 300


class InMemoryTokenProvider:
    """What lets a connection in, before it is in the vault."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    async def ready(self, integration: Integration, row: AccountRow) -> AccountRow:
        del integration
        return row

    async def renew(self, integration: Integration, row: AccountRow, refused: str) -> AccountRow:
        del refused
        raise reconnect_error(integration, row)

    async def reveal(
        self, integration: Integration, row: AccountRow, names: frozenset[str]
    ) -> dict[str, str]:
        del integration, row
        return {name: self._values[name] for name in names if name in self._values}


class _NullMailer:
    async def send(self, message: Mail, *, key: str) -> MailReceipt:
        del message, key
        raise InternalError("No mail leaves while a connection is tried.", retryable=False)


async def fetch_account_name(way: ConnectedHttp, actor: Actor, clock: Clock) -> str:
    """Who a connection is over there; whatever the integration raises when it does not work."""
    found = way.masked(await way.integration.account(build_connection_context(way, actor, clock)))
    return " ".join(str(found).split())[:LONGEST_ACCOUNT]


def build_connection_context(way: ConnectedHttp, actor: Actor, clock: Clock) -> GateContext:
    """What an integration is given where the house itself asks it, in no call of anybody."""

    async def nobody() -> str | None:
        return None

    async def no_model(request: ModelRequest) -> ModelReply:
        del request
        raise InternalError("No model is called here.", retryable=False)

    async def itself(route: ConnectionRoute) -> ConnectionAccess:
        del route
        return ConnectionAccess(way, way.account)

    return GateContext(
        actor,
        None,
        clock,
        f"connection/{way.row.id}",
        lambda: way,
        _NullMailer(),
        nobody,
        "",
        no_model,
        account=way.account,
        connect=itself,
    )


async def reveal_no_secrets(names: frozenset[str]) -> Mapping[str, str]:
    """While a connection is tried nothing but what lets it in is put into a request."""
    raise NotFound(f"There is no secret called {min(names)}.", code="secret_missing")


def ignore_values(values: Mapping[str, str]) -> None:
    """There is no run whose record could show them."""
    del values


def sign_in_rejected_error(integration: Integration, problem: ReconnectRequired) -> Invalid:
    """What somebody gave does not let them in over there."""
    said = "" if problem.code == ReconnectRequired.kind else f" {problem.detail}"
    return Invalid(
        f"{integration.name} does not accept what was given.{said}",
        code="not_let_in",
        suggestion=problem.suggestion
        if problem.code != ReconnectRequired.kind
        else str(integration.manifest["auth"]["how"]),
    )


def describe_fields(integration: Integration) -> list[dict[str, Any]]:
    """What a person gives to be let in, as a form shows it."""
    return [
        {
            "name": one["name"],
            "label": one["label"],
            "help": one.get("help"),
            "secret": bool(one.get("secret", False)),
            "required": bool(one.get("required", True)),
            "type": one.get("type", "string"),
            "default": None if one.get("secret") else one.get("default"),
        }
        for one in integration.manifest["auth"].get("fields", ())
    ]
