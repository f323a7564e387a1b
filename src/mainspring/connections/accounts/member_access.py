"""How a member stands with each integration: whether they can use it, and what it can do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from mainspring.connections.accounts.connection_test import describe_fields
from mainspring.connections.accounts.problems import connect_at
from mainspring.contracts.integration import Adapter, Integration
from mainspring.contracts.manifest import get_source_name

if TYPE_CHECKING:
    from mainspring.workspace.accounts.rows import AccountRow

StandingState = Literal[
    "ready", "reconnect", "not_connected", "not_needed", "operator", "secret_missing"
]
STATES: Final = (
    "ready",
    "reconnect",
    "not_connected",
    "not_needed",
    "operator",
    "secret_missing",
)
_USABLE: Final = frozenset({"ready", "not_needed"})


@dataclass(frozen=True, slots=True)
class MemberConnections:
    """What is known of a member that decides what they can use."""

    rows: Mapping[str, AccountRow]
    # The names of their own secrets.
    secrets: Collection[str] = ()
    # What the operator has set up for everybody, by id.
    operated: Collection[str] = ()


def state_of(integration: Integration, known: MemberConnections) -> StandingState:
    """In one word how a member stands with an integration."""
    auth = integration.manifest["auth"]
    row = known.rows.get(integration.id)
    if row is not None and row.state != "sign_in":
        return row.state
    match auth["kind"]:
        case "none":
            return "not_needed"
        case "operator":
            return "ready" if integration.id in known.operated else "operator"
        case "secret":
            there = set(auth.get("secrets", ())) <= set(known.secrets)
            return "ready" if there else "secret_missing"
        case _:
            return "not_connected"


def supports(integration: Integration) -> dict[str, bool]:
    """Which of the three surfaces take it."""
    return {
        "fetch": bool(integration.sources),
        "act": any(one.write is not None for one in integration.capabilities),
        "adapter": bool(integration.adapters),
    }


def usable_for(
    integrations: Sequence[Integration], known: MemberConnections, surface: str
) -> list[str]:
    """The sources that a member can name now, for one surface."""
    return sorted(
        get_source_name(one.manifest)
        for one in integrations
        if supports(one)[surface] and state_of(one, known) in _USABLE
    )


def describe_integration(integration: Integration, known: MemberConnections) -> dict[str, Any]:
    """One row of list_integrations."""
    manifest, auth = integration.manifest, integration.manifest["auth"]
    source, state = get_source_name(manifest), state_of(integration, known)
    row = known.rows.get(integration.id)
    return {
        "name": source,
        "label": integration.name,
        "oauth_provider": auth.get("provider"),
        "supports": supports(integration),
        "polls": bool(integration.polls),
        "connected": state in _USABLE,
        "description": str(manifest["description"]),
        "state": state,
        "account": None if row is None or row.state == "sign_in" else row.account,
        "tier": manifest["tier"],
        "auth": auth["kind"],
        "how": auth["how"],
        "fields": describe_fields(integration),
        "connect_url": connect_at(source),
        "connection": None if row is None or row.state == "sign_in" else _health(row),
        "adapters": [_describe_adapter(one, integration) for one in integration.adapters],
        "prompts_over": _find_prompt_link(integration),
    }


def _describe_adapter(adapter: Adapter, integration: Integration) -> dict[str, Any]:
    """What a form needs to link a board with it."""
    return {
        "kind": adapter.kind,
        "label": adapter.label or integration.name,
        "description": adapter.description,
        "connection": adapter.connection,
        "fields": adapter.list_fields(),
        "operations": [
            {
                "id": one.id,
                "label": one.label or one.description,
                "description": one.description,
                "sample": dict(one.sample),
            }
            for one in adapter.operations
        ],
    }


def _find_prompt_link(integration: Integration) -> str | None:
    if integration.prompter is None:
        return None
    return "chat" if integration.interactions is None else "account"


def _health(row: AccountRow) -> dict[str, Any]:
    last = row.last_error
    return {
        "id": str(row.id),
        "label": row.label,
        "health": _state_word(row),
        "failures_in_row": row.failures_in_row,
        "last_ok_at": _format_time(row.last_ok_at),
        "last_failed_at": _format_time(row.last_failed_at),
        "last_error": None
        if last is None
        else {name: last.get(name) for name in ("code", "detail", "suggestion")},
        "scopes": sorted(row.scopes),
        "settings": dict(row.settings),
        "access_ends_at": _format_time(row.expires_at),
        "connected_at": row.created_at.isoformat(),
        "automation_id": None if row.automation_id is None else str(row.automation_id),
        "owner": "member" if row.shared_at is None else "workspace",
        "held_by": str(row.owner_id),
    }


def _state_word(row: AccountRow) -> str:
    if row.state == "reconnect":
        return "reconnect"
    if row.failures_in_row:
        return "failing"
    return "ok" if row.last_ok_at is not None else "unknown"


def _format_time(at: Any) -> str | None:
    return None if at is None else at.isoformat()
