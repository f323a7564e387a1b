"""Secrets in the text of a program: put in where its source marked them, refused from data."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import ScriptSecrets, SecretLocation
from mainspring.gate.capability_call import (
    CapabilityCall,
    mark_secrets,
    show_secret_names,
    with_secrets,
)
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import RunBudget
from mainspring.registry import build_registry

MARK, OTHER = "0123456789abcdef" * 2, "f" * 32
URL = "https://a.com/"
PLACES = frozenset({SecretLocation("key", "query", "a.com:443"), SecretLocation("key", "url")})
SPELT = ScriptSecrets(PLACES, MARK)


@pytest.fixture(scope="module")
def fetches() -> Capability:
    return build_registry(Limits()).capabilities["http_fetch"]


def _ask(spelt: ScriptSecrets | None, **arguments: Any) -> CapabilityCall:
    actor = Actor(UUID(int=1), "run", UUID(int=2))
    budget = RunBudget(Decimal(1))
    return CapabilityCall(
        "http_fetch", {"url": URL, **arguments}, actor, None, 1, RunPolicy(()), budget, spelt=spelt
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": {"a": "{{key}}"}},
        {"query": {"a": ["x", "so {{ secrets.key }}"]}},
        {"query": {"a": "{{" + OTHER + ":key}}"}},
        {"query": {"a": "{{" + MARK + ":key}} and {{key}}"}},
        {"query": {"{{" + MARK + ":key}}": "a"}},
        {"query": {"a": "{{" + MARK + ":key}}"}, "url": "https://b.com/"},
        {"headers": {"a": "{{" + MARK + ":key}}"}},
        {"body": "{{" + MARK + ":key}}"},
        {"body": "{{key}}"},
    ],
)
def test_a_secret_is_only_where_the_source_spells_it(
    arguments: dict[str, Any], fetches: Capability
) -> None:
    with pytest.raises(Invalid) as refused:
        with_secrets(_ask(SPELT, **arguments), fetches)

    assert refused.value.code == "secret_not_allowed_here"
    assert MARK not in refused.value.detail


def test_every_try_asks_for_the_same(fetches: Capability) -> None:
    shown = []
    for mark in (MARK, OTHER):
        spelt = ScriptSecrets(PLACES, mark)
        ask = _ask(spelt, query={"a": "Bearer {{" + mark + ": secrets.key }}", "b": "{{word}}"})
        shown.append(show_secret_names(with_secrets(ask, fetches).arguments))
        assert show_secret_names(mark_secrets(ask.arguments, fetches, spelt)) == shown[-1]

    assert shown[0] == shown[1]
    assert shown[0] == {"url": URL, "query": {"a": "Bearer [secret key]", "b": "{{word}}"}}


def test_nothing_is_put_in_without_a_mark(fetches: Capability) -> None:
    for text in ("{{key}}", "{{:key}}", "{{" + MARK + ":key}}"):
        ask = _ask(ScriptSecrets(PLACES), query={"a": text})
        assert mark_secrets(ask.arguments, fetches, ask.spelt) == ask.arguments
    with pytest.raises(Invalid, match="data cannot insert a secret"):
        with_secrets(_ask(ScriptSecrets(named=frozenset({"key"})), query={"a": "{{key}}"}), fetches)
