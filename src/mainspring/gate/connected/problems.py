"""What is said when a call cannot go over a connection: which one, and how to connect it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Clash, Finding, Missing, ReconnectNeeded
from mainspring.contracts.manifest import source_of
from mainspring.definition.words import did_you_mean

if TYPE_CHECKING:
    from mainspring.contracts.errors import Problem
    from mainspring.contracts.integration import Integration
    from mainspring.workspace.accounts.rows import AccountRow

NOT_CONNECTED: Final = "not_connected"
RECONNECT: Final = ReconnectNeeded.kind


def connect_at(source: str) -> str:
    """The page on which somebody connects."""
    return f"/integrations/{source}"


def not_connected(integration: Integration, *, own: bool) -> Missing:
    """Nobody has connected it; ``own`` when whoever is told is the one who can."""
    source = source_of(integration.manifest)
    whose = "You are" if own else "The member whose connection this uses is"
    return Missing(
        f"{whose} not connected to {integration.name}.",
        code=NOT_CONNECTED,
        suggestion=f"Connect it at {connect_at(source)}, or with `mainspring integrations "
        f"connect {source}`.",
        unsent=True,
    )


def shared_already(integration: Integration, row: AccountRow) -> Clash:
    """A workspace has one connection of its own for each integration."""
    source = source_of(integration.manifest)
    return Clash(
        f"The workspace has a connection to {integration.name} already: {row.shown_name}.",
        code="shared_already",
        suggestion=f"Withdraw it first: `mainspring integrations unshare {source}`.",
    )


def not_on_the_shelf(name: str, known: Iterable[str]) -> Missing:
    """Nothing here is called so; perhaps something of nearly that name was meant."""
    detail = f"There is no integration called {name!r} here."
    there = sorted(known)
    way = did_you_mean(name, there) or f"There is {', '.join(there)}."
    return Missing(
        detail,
        code="unknown_integration",
        findings=[Finding("/integration", detail, "unknown_integration", way)],
        suggestion=way,
    )


def reconnect_needed(
    integration: Integration, row: AccountRow, reason: str = "", code: str = RECONNECT
) -> ReconnectNeeded:
    """A connection by its name, and where a person connects it again."""
    source = source_of(integration.manifest)
    name = row.shown_name
    why = reason.strip() or f"{integration.name} does not accept what lets it in any more."
    called = name if integration.name in name else f"{integration.name}, {name}"
    return ReconnectNeeded(
        f"The connection {called} has to be connected again: {why}",
        code=code,
        suggestion=f"Connect it again at {connect_at(source)}, or with `mainspring integrations "
        f"connect {source}`.",
    )


def completed(
    problem: ReconnectNeeded, integration: Integration, row: AccountRow
) -> ReconnectNeeded:
    """What an integration says of a connection that it does not know the name of."""
    made = reconnect_needed(integration, row, problem.detail, problem.code)
    made.findings = problem.findings
    if problem.suggestion:
        made.suggestion = f"{problem.suggestion.rstrip('.')}. {made.suggestion}"
    return made


def waits(integration: Integration, row: AccountRow) -> Problem:
    """Somebody has to connect it again, for the reason that was found when it was last tried."""
    last = row.last_error or {}
    if str(last.get("type", "")).endswith(f":{RECONNECT}") and last.get("detail"):
        source = source_of(integration.manifest)
        return ReconnectNeeded(
            str(last["detail"]),
            code=str(last.get("code") or RECONNECT),
            suggestion=str(last.get("suggestion") or f"Connect it at {connect_at(source)}."),
        )
    return reconnect_needed(integration, row)


def no_client(integration: Integration) -> Clash:
    """Nobody has said as whom this installation is known to the provider."""
    provider = str(integration.manifest["auth"].get("provider", ""))
    return Clash(
        f"Nobody can sign in to {integration.name} yet: this installation has no client id of "
        f"{provider}.",
        code="no_oauth_client",
        suggestion=f"An admin sets it with `mainspring integrations client set {provider}`.",
    )
