"""Credentials that people enter, the state of their connections, and what they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.connections.accounts.member_access import (
    MemberConnections,
    describe_integration,
    state_of,
    usable_for,
)
from mainspring.connections.accounts.problems import (
    complete_reconnect_error,
    reconnect_pending_error,
)
from mainspring.connections.accounts.service import read_fields
from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid, ReconnectRequired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.integration import Adapter, Integration
from mainspring.gate.capability_offers import CapabilityOffer, restrict_to_connections
from mainspring.workspace.accounts.rows import AccountRow, AccountState

FIELDS = [
    {"name": "password", "label": "Password", "secret": True},
    {"name": "server", "label": "Server", "help": "Such as imap.example.com."},
    {"name": "port", "label": "Port", "type": "integer", "default": 993},
    {"name": "tls", "label": "TLS", "type": "boolean", "required": False},
]


def made(name: str, auth: Mapping[str, Any], **more: Any) -> Integration:
    manifest = {
        "id": name,
        "name": name.title(),
        "description": "A test.",
        "tier": "bronze",
        "auth": {"how": "Somehow.", **auth},
        "hosts": [],
        "capabilities": [],
    }
    return Integration(manifest=manifest, **more)


def account(name: str, state: AccountState, error: Mapping[str, Any] | None = None) -> AccountRow:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return AccountRow(
        generate_id(),
        generate_id(),
        generate_id(),
        name,
        name.title(),
        "ada@example.org",
        "token",
        {},
        frozenset(),
        None,
        None,
        None,
        None,
        state,
        None,
        None,
        None,
        error,
        0,
        now,
    )


@pytest.mark.parametrize(
    ("arguments", "pointers"),
    [
        ({}, ["/fields/password", "/fields/server"]),
        ({"password": "p", "server": ""}, ["/fields/server"]),
        ({"password": 7, "server": "s"}, ["/fields/password"]),
        ({"password": "p\r\nX: y", "server": "s"}, ["/fields/password"]),
        ({"password": "p" * 8_193, "server": "s"}, ["/fields/password"]),
        ({"password": "p", "server": "s", "port": "993"}, ["/fields/port"]),
        ({"password": "p", "server": "s", "port": True}, ["/fields/port"]),
        ({"password": "p", "server": "s", "tls": "yes"}, ["/fields/tls"]),
        ({"password": "p", "server": "s", "pasword": "hunter2"}, ["/fields"]),
    ],
)
def test_what_does_not_fit_is_named_and_its_value_is_not(
    arguments: Mapping[str, Any], pointers: list[str]
) -> None:
    with pytest.raises(Invalid) as caught:
        read_fields(made("mail", {"kind": "token", "fields": FIELDS}), arguments)
    assert [finding.pointer for finding in caught.value.findings] == pointers
    assert "hunter2" not in str(caught.value.as_dict())
    assert "pasword" not in str(caught.value.as_dict())


def test_secrets_and_settings_are_kept_apart() -> None:
    found = read_fields(
        made("mail", {"kind": "token", "fields": FIELDS}), {"password": "p", "server": "s"}
    )
    assert dict(found.secrets) == {"password": "p"}
    assert dict(found.settings) == {"server": "s", "port": 993}
    assert "'p'" not in repr(found)


def test_a_role_decides_what_its_holder_may_name() -> None:
    adapter = Adapter("rows", "Rows.", {}, ())
    catalog = [
        made("open", {"kind": "none"}, adapters=(adapter,)),
        made("mail", {"kind": "operator"}, adapters=(adapter,)),
        made("bot", {"kind": "secret", "secrets": ["bot_token"]}, adapters=(adapter,)),
        made("keyed", {"kind": "token", "fields": FIELDS}, adapters=(adapter,)),
        made("signed", {"kind": "oauth", "provider": "acme"}, adapters=(adapter,)),
    ]
    nothing = MemberConnections({})
    rows = {"keyed": account("keyed", "ready"), "signed": account("signed", "reconnect")}
    much = MemberConnections(rows, ["bot_token", "other"], ["mail"])
    begun = MemberConnections({"signed": account("signed", "sign_in")})

    assert [state_of(one, nothing) for one in catalog] == [
        "not_needed",
        "operator",
        "secret_missing",
        "not_connected",
        "not_connected",
    ]
    assert [state_of(one, much) for one in catalog] == [
        "not_needed",
        "ready",
        "ready",
        "ready",
        "reconnect",
    ]
    assert state_of(catalog[-1], begun) == "not_connected"
    assert usable_for(catalog, nothing, "adapter") == ["open"]
    assert usable_for(catalog, much, "adapter") == ["bot", "keyed", "mail", "open"]
    assert usable_for(catalog, much, "fetch") == []
    row = describe_integration(catalog[-1], much)
    assert (row["connected"], row["oauth_provider"], row["connect_url"]) == (
        False,
        "acme",
        "/integrations/signed",
    )
    assert row["connection"]["health"] == "reconnect"
    assert describe_integration(catalog[-1], begun)["connection"] is None


def test_what_an_integration_says_is_completed_with_the_name_of_the_connection() -> None:
    one, row = made("signed", {"kind": "oauth"}), account("signed", "ready")
    output = ReconnectRequired(
        "Slack says token_revoked.", code="token_revoked", suggestion="Ask Eve."
    )
    result = complete_reconnect_error(output, one, row)
    again = reconnect_pending_error(one, account("signed", "reconnect", result.as_dict()))

    assert result.code == "token_revoked"
    assert "Signed (ada@example.org)" in result.detail
    assert "token_revoked" in result.detail
    assert result.suggestion is not None
    assert result.suggestion.startswith("Ask Eve. ")
    assert "/integrations/signed" in result.suggestion
    assert (again.detail, again.code) == (result.detail, result.code)
    assert isinstance(again, ReconnectRequired)
    assert not again.retryable


def test_the_sources_of_a_list_are_those_that_the_caller_is_connected_to() -> None:
    async def nothing(ctx: CallContext, arguments: Mapping[str, Any]) -> None:
        del ctx, arguments

    def offer(source: Mapping[str, Any]) -> CapabilityOffer:
        schema = {
            "type": "object",
            "properties": {"source": source, "other": {"type": "string"}},
            "examples": [{"source": "gmail"}],
        }
        capability = Capability(
            "fetch",
            "Fetch",
            schema,
            {},
            nothing,
            annotations=Annotations(connected={"source": "fetch"}),
        )
        return CapabilityOffer(capability, schema)

    both = {"fetch": ["gmail", "slack"]}
    free = restrict_to_connections(offer({"type": "string"}), both).input_schema
    narrowed = restrict_to_connections(
        offer({"type": "string", "enum": ["slack", "drive"]}), both
    ).input_schema
    pinned = restrict_to_connections(offer({"type": "string", "const": "slack"}), both).input_schema
    none = restrict_to_connections(offer({"type": "string", "enum": ["drive"]}), both).input_schema
    plain = CapabilityOffer(
        Capability("x", "X", {"type": "object"}, {}, nothing), {"type": "object"}
    )

    assert free["properties"]["source"]["enum"] == ["gmail", "slack"]
    assert free["examples"] == [{"source": "gmail"}]
    assert narrowed["properties"]["source"]["enum"] == ["slack"]
    assert pinned["properties"]["source"]["enum"] == ["slack"]
    assert "enum" not in none["properties"]["source"]
    assert "/integrations" in none["properties"]["source"]["description"]
    assert restrict_to_connections(plain, both) is plain
