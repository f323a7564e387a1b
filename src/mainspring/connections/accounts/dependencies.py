"""What stands behind an open reception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mainspring.workspace.accounts.rows import AccountRow

if TYPE_CHECKING:
    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.connections.oauth.authorization_server import AuthorizationServerClient
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

# Told in the transaction in which a connection begins or ends: "connected", "disconnected"; or
# "replaced" where it is connected again, to another account or with other settings.
Changed = Callable[["Transaction", AccountRow, str], Awaitable[None]]


async def notify_nobody(tx: Transaction, row: AccountRow, what: str) -> None:
    """Nobody wants to know."""
    del tx, row, what


def describe_connection_change(before: AccountRow, now: AccountRow) -> str:
    """Whether it is the connection that it was before, with a new key.

    A provider that does not say who an account is may have been asked for another one.
    """
    same = (before.account, dict(before.settings)) == (now.account, dict(now.settings))
    return "connected" if now.account and same else "replaced"


@dataclass(frozen=True, slots=True)
class AccountConnectionDependencies:
    """The rooms that connecting works with."""

    database: Database
    vault: Vault
    clock: Clock
    address: str
    authority: AuthorizationServerClient
    lines: AccountConnections
    changed: Changed
