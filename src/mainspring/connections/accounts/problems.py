"""What is said when a call cannot go over a connection: which one, and how to connect it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Conflict, Finding, NotFound, ReconnectRequired
from mainspring.contracts.manifest import get_source_name
from mainspring.definition.suggestions import suggest_nearest

if TYPE_CHECKING:
    from mainspring.contracts.errors import Problem
    from mainspring.contracts.integration import Integration
    from mainspring.workspace.accounts.rows import AccountRow

NOT_CONNECTED: Final = "not_connected"
RECONNECT: Final = ReconnectRequired.kind


def connect_at(source: str) -> str:
    """The page on which somebody connects."""
    return f"/integrations/{source}"


def not_connected_error(integration: Integration, *, own: bool) -> NotFound:
    """Nobody has connected it; ``own`` when whoever is told is the one who can."""
    source = get_source_name(integration.manifest)
    whose = "You are" if own else "The member whose connection this uses is"
    return NotFound(
        f"{whose} not connected to {integration.name}.",
        code=NOT_CONNECTED,
        suggestion=f"Connect it at {connect_at(source)}, or with `mainspring integrations "
        f"connect {source}`.",
        unsent=True,
    )


def already_shared_error(integration: Integration, row: AccountRow) -> Conflict:
    """A workspace has one connection of its own for each integration."""
    source = get_source_name(integration.manifest)
    return Conflict(
        f"The workspace has a connection to {integration.name} already: {row.shown_name}.",
        code="shared_already",
        suggestion=f"Withdraw it first: `mainspring integrations unshare {source}`.",
    )


def unknown_integration_error(name: str, known: Iterable[str]) -> NotFound:
    """Nothing here is called so; perhaps something of nearly that name was meant."""
    detail = f"There is no integration called {name!r} here."
    there = sorted(known)
    way = suggest_nearest(name, there) or f"There is {', '.join(there)}."
    return NotFound(
        detail,
        code="unknown_integration",
        findings=[Finding("/integration", detail, "unknown_integration", way)],
        suggestion=way,
    )


def reconnect_error(
    integration: Integration, row: AccountRow, reason: str = "", code: str = RECONNECT
) -> ReconnectRequired:
    """A connection by its name, and where a person connects it again."""
    source = get_source_name(integration.manifest)
    name = row.shown_name
    why = reason.strip() or f"{integration.name} does not accept what lets it in any more."
    called = name if integration.name in name else f"{integration.name}, {name}"
    return ReconnectRequired(
        f"The connection {called} has to be connected again: {why}",
        code=code,
        suggestion=f"Connect it again at {connect_at(source)}, or with `mainspring integrations "
        f"connect {source}`.",
    )


def complete_reconnect_error(
    problem: ReconnectRequired, integration: Integration, row: AccountRow
) -> ReconnectRequired:
    """What an integration says of a connection that it does not know the name of."""
    made = reconnect_error(integration, row, problem.detail, problem.code)
    made.findings = problem.findings
    if problem.suggestion:
        made.suggestion = f"{problem.suggestion.rstrip('.')}. {made.suggestion}"
    return made


def reconnect_pending_error(integration: Integration, row: AccountRow) -> Problem:
    """Somebody has to connect it again, for the reason that was found when it was last tried."""
    last = row.last_error or {}
    if str(last.get("type", "")).endswith(f":{RECONNECT}") and last.get("detail"):
        source = get_source_name(integration.manifest)
        return ReconnectRequired(
            str(last["detail"]),
            code=str(last.get("code") or RECONNECT),
            suggestion=str(last.get("suggestion") or f"Connect it at {connect_at(source)}."),
        )
    return reconnect_error(integration, row)


def missing_oauth_client_error(integration: Integration) -> Conflict:
    """Nobody has said as whom this installation is known to the provider."""
    provider = str(integration.manifest["auth"].get("provider", ""))
    return Conflict(
        f"Sign-in to {integration.name} is not available yet: this installation has no client id "
        f"of {provider}.",
        code="no_oauth_client",
        suggestion=f"An admin sets it with `mainspring integrations client set {provider}`.",
    )
