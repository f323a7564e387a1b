"""Who need not be asked again: only for as much, and at the very address, that they agreed to."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from mainspring.contracts.roles import Role
from mainspring.workspace.oauth.authorization import (
    ClientConsent,
    PendingAuthorization,
    is_consent_sufficient,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = "https://a.example/cb"


def _waiting(uri: str, role: Role | None = Role.OPERATOR) -> PendingAuthorization:
    return PendingAuthorization(
        UUID(int=1), "A", NOW, uri, None, role, "c", "https://own.example", NOW
    )


def _passes(agreed: str, asked: str, role: Role | None = Role.OPERATOR) -> bool:
    return is_consent_sufficient(
        ClientConsent(Role.OPERATOR, agreed, NOW), _waiting(asked, role), "own.example"
    )


def test_agreement_passes_for_as_much_at_the_same_address() -> None:
    assert _passes(WEB, WEB)
    assert _passes(WEB, WEB, None)
    assert not _passes(WEB, WEB, Role.EDITOR)
    assert not is_consent_sufficient(None, _waiting(WEB), "own.example")


def test_agreement_passes_nowhere_else() -> None:
    for other in (WEB + "?x=1", "https://b.example/cb", "https://a.example:444/cb"):
        assert not _passes(WEB, other), other
        assert not _passes(other, WEB), other
    # On a machine anybody may listen, and this server is nobody's client.
    for here in (
        "http://127.0.0.1:1/cb",
        "https://localhost/cb",
        "https://127.0.0.2/cb",
        "cursor://x/cb",
        "https://own.example/cb",
        "https://own.example:8443/cb",
    ):
        assert not _passes(here, here), here
