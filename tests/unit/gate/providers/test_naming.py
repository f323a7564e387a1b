"""By which name which model is asked, as a table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.contracts.errors import Clash, Missing
from mainspring.contracts.ids import new_id
from mainspring.contracts.model import DEFAULT_MODEL
from mainspring.gate.providers.naming import named
from mainspring.workspace.model_connections import HOME_URLS, ModelConnection, ModelKind

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _at(
    name: str, kind: ModelKind, *offers: str, usual: str | None = None, own: bool = False
) -> ModelConnection:
    url = HOME_URLS.get(kind, "https://models.example/v1")
    space = new_id() if own else None
    return ModelConnection(new_id(), space, name, kind, url, offers, usual, True, _NOW, _NOW)


ANTHROPIC = _at("anthropic", "anthropic")
OPENAI = _at("openai", "openai")
GROQ = _at("groq", "groq")
LOCAL = _at("local", "compatible")
LISTED = _at("listed", "compatible", "qwen3", "claude-clone", "meta/llama")
OURS = _at("ours", "anthropic", own=True)
ALL = (ANTHROPIC, OPENAI, GROQ, LOCAL, LISTED)

# The connections in their order, the name, the connection that is asked and for which model.
MEANT: list[tuple[tuple[ModelConnection, ...], str, str, str]] = [
    (ALL, "claude-sonnet-4-6", "anthropic", "claude-sonnet-4-6"),
    (ALL, "gpt-4.1", "openai", "gpt-4.1"),
    (ALL, "chatgpt-4o-latest", "openai", "chatgpt-4o-latest"),
    (ALL, "o3-mini", "openai", "o3-mini"),
    # An o without a digit is nobody's mark; whoever takes any takes it.
    (ALL, "olmo-2", "groq", "olmo-2"),
    (ALL, "qwen3", "listed", "qwen3"),
    (ALL, "groq/gpt-4.1", "groq", "gpt-4.1"),
    # A model with a slash, at the connection that is named and at the one that lists it.
    (ALL, "groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
    (ALL, "openai/gpt-oss-120b", "openai", "gpt-oss-120b"),
    ((GROQ,), "openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
    (ALL, "meta/llama", "listed", "meta/llama"),
    # The workspace's own come first, as they stand first.
    ((OURS, *ALL), "claude-sonnet-4-6", "ours", "claude-sonnet-4-6"),
    ((OURS, *ALL), "anthropic/claude-sonnet-4-6", "anthropic", "claude-sonnet-4-6"),
    # One that lists its models has no others.
    ((_at("few", "anthropic", "claude-a"), LOCAL), "claude-b", "local", "claude-b"),
    # No name at all.
    (ALL, "", "anthropic", DEFAULT_MODEL),
    ((LOCAL, _at("x", "compatible", usual="qwen3"), ANTHROPIC), "", "x", "qwen3"),
]
UNKNOWN: list[tuple[tuple[ModelConnection, ...], str]] = [
    ((ANTHROPIC,), "gpt-4.1"),
    ((ANTHROPIC, LISTED), "qwen4"),
    # It was named with its connection, so nobody else is asked instead.
    ((ANTHROPIC, LISTED, LOCAL), "listed/qwen4"),
    ((ANTHROPIC,), "CLAUDE-SONNET-4-6"),
    # Nobody knows a usual one; a server that takes any name is not asked for Anthropic's model.
    ((OPENAI, LOCAL), ""),
]


@pytest.mark.parametrize(("connections", "name", "connection", "model"), MEANT)
def test_a_name_means_one_model_at_one_connection(
    connections: tuple[ModelConnection, ...], name: str, connection: str, model: str
) -> None:
    found = named(name, connections)

    assert (found.connection.name, found.model) == (connection, model)
    assert found.name == (name or f"{connection}/{model}")


@pytest.mark.parametrize(("connections", "name"), UNKNOWN)
def test_a_model_that_nobody_offers_is_a_problem_that_says_what_there_is(
    connections: tuple[ModelConnection, ...], name: str
) -> None:
    with pytest.raises(Missing) as refused:
        named(name, connections)

    assert refused.value.code == "unknown_model"
    assert refused.value.findings[0].pointer == "/model"
    assert all(one.name in str(refused.value.suggestion) for one in connections)


def test_without_any_connection_the_problem_is_that_there_is_none() -> None:
    with pytest.raises(Clash) as refused:
        named("claude-sonnet-4-6", ())

    assert refused.value.code == "no_model"
