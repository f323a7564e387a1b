"""A pattern of tools matches the names it spells, in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.capability import Annotations, Audience, Capability, ConnectionRoute
from mainspring.contracts.grant import Grant
from mainspring.definition.tool_patterns import (
    is_pattern,
    match_pattern,
    matches_pattern,
    read_agent_grants,
    read_fixed_params,
    read_tool_name,
)
from tests.kit.runaway import RUNAWAY


async def _nothing(ctx: Any, value: Any) -> None:
    del ctx, value


def _found(pattern: str, *names: str) -> list[str]:
    words = {name: Capability(name, name, {}, {}, _nothing) for name in names}
    return list(match_pattern(pattern, words))


def _spells(pattern: str, name: str) -> bool:
    """The same, said slowly: each star is nothing, or a letter and a star."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return _spells(pattern[1:], name) or bool(name and _spells(pattern, name[1:]))
    return bool(name) and name[0] == pattern[0] and _spells(pattern[1:], name[1:])


@given(st.text("ab.*", min_size=1, max_size=8), st.text("ab.", min_size=1, max_size=8))
def test_a_star_matches_anything_and_all_else_matches_itself(pattern: str, name: str) -> None:
    assert bool(_found(pattern, name)) is _spells(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "names", "found"),
    [
        ("slack.*", ["slack.post", "slack.", "slackish"], ["slack.", "slack.post"]),
        ("*.post", ["slack.post", ".post", "slack.poster"], [".post", "slack.post"]),
        ("a*a", ["a", "aa", "aba"], ["aa", "aba"]),
        ("a+*", ["aab", "a+b"], ["a+b"]),
        ("*", ["a"], ["a"]),
    ],
)
def test_pieces_are_found_in_their_order_and_not_twice(
    pattern: str, names: list[str], found: list[str]
) -> None:
    assert _found(pattern, *names) == found


def test_the_pattern_of_an_integration_matches_all_of_its_capabilities() -> None:
    own = Annotations(route=ConnectionRoute("slack", frozenset({"slack.com"}), connection="used"))
    words = {
        "slack_post": Capability("slack_post", "Post", {}, {}, _nothing, annotations=own),
        "slack.lookup": Capability("slack.lookup", "A tool", {}, {}, _nothing),
        "slack_like": Capability("slack_like", "Another", {}, {}, _nothing),
    }
    assert list(match_pattern("slack.*", words)) == ["slack.lookup", "slack_post"]
    assert list(match_pattern("*.*", words)) == ["slack.lookup"]
    assert list(match_pattern("slack.p*", words)) == []


def test_stars_without_number_are_looked_at_once() -> None:
    # The first would end one day, in whatever way it is looked for.
    for pattern in ("*" * 13 + "Z", "*" * 199 + "Z", "*a" * 99 + "Z"):
        begun = time.thread_time()
        assert _found(pattern, "admin_list_model_prices") == []
        assert time.thread_time() - begun < RUNAWAY
    assert _found("*a" * 99 + "Z", "a" * 200) == []


@pytest.mark.parametrize(
    "name",
    [
        "http_fetch",
        "ingest_from_endpoint",
        "confirm_action",
        "delete_automation",
        "rehearse_automation",
        "run_automation_once",
        "save_automation_draft",
        "update_automation",
        "agent.run",
    ],
)
def test_what_needs_a_further_word_is_named_and_never_meant_by_a_pattern(name: str) -> None:
    assert _found("*", name) == []
    assert _found(f"{name}*", name, f"{name}s") == [f"{name}s"]


@pytest.mark.parametrize(
    ("annotations", "meant"),
    [
        (Annotations(), True),
        (Annotations(audience=Audience.RUNS), True),
        (Annotations(audience=Audience.PEOPLE), False),
        (Annotations(audience=Audience.ADMINISTRATORS), False),
        (Annotations(held_back="Nobody has looked at it."), False),
        (Annotations(only_secrets=frozenset({"key"})), False),
        (Annotations(only_secrets=frozenset({"other"})), True),
    ],
)
def test_a_pattern_means_only_what_can_be_granted_without_a_secret(
    annotations: Annotations, meant: bool
) -> None:
    schema = {"type": "object", "required": ["key"]}
    word = Capability("a.b", "a", schema, {}, _nothing, annotations=annotations)
    assert list(match_pattern("a.*", {"a.b": word})) == (["a.b"] if meant else [])


def test_a_name_without_a_star_is_no_pattern_and_fits_itself_alone() -> None:
    assert is_pattern("slack.*")
    assert not is_pattern("slack.post")
    assert matches_pattern("slack.post", "slack.post")
    assert not matches_pattern("slack.post", "slack.posts")
    assert not matches_pattern("slack.posts", "slack.post")
    assert matches_pattern("slack.*", "slack.post")
    assert not matches_pattern("slack.*", "kv.get")


@pytest.mark.parametrize(
    ("entry", "name", "params"),
    [
        ("kv.get", "kv.get", {}),
        ({"tool": "kv.get", "params": {"key": "a"}}, "kv.get", {"key": "a"}),
        ({"tool": "kv.get", "params": ["key"]}, "kv.get", {}),
        ({"tool": 5}, None, {}),
        ({"params": {"key": "a"}}, None, {"key": "a"}),
        (None, None, {}),
    ],
)
def test_an_entry_names_a_tool_and_the_arguments_it_fixes(
    entry: Any, name: str | None, params: dict[str, Any]
) -> None:
    assert read_tool_name(entry) == name
    assert read_fixed_params(entry) == params


def test_an_agent_is_granted_its_tools_as_they_are_written() -> None:
    tools = ["kv.*", {"tool": "board.append", "params": {"board": "b1"}}, None, "agent.run"]
    assert read_agent_grants({"tools": tools}) == (
        Grant("agent.run"),
        Grant("kv.*"),
        Grant("board.append", {"board": "b1"}),
    )
    # Only an agent itself is never a tool.
    assert read_agent_grants({"tools": ["agent.runs", "agent"]})[1:] == (
        Grant("agent.runs"),
        Grant("agent"),
    )
    assert read_agent_grants({"tools": "kv.get"}) == (Grant("agent.run"),)
    assert read_agent_grants({}) == (Grant("agent.run"),)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://a.example/x", ["a.example"]),
        ("https://{{ inputs.host }}/", []),
        (None, []),
    ],
)
def test_a_tool_that_goes_to_hosts_is_granted_the_host_of_its_url(
    url: str | None, hosts: list[str]
) -> None:
    tool = {"tool": "http_fetch", "params": {"url": url, "method": "GET"}}
    assert read_agent_grants({"tools": [tool]})[1:] == (Grant("http_fetch", {"hosts": hosts}),)


@pytest.mark.parametrize(
    "open_value",
    [
        "{{ inputs.id }}",
        "a{% if x %}b{% endif %}",
        ["b1", "{{ inputs.id }}"],
        {"id": "{{ inputs.id }}", "fixed": "b"},
        {"{{ inputs.id }}": 1},
        {"id": [{"deep": "{{ inputs.id }}"}]},
    ],
)
def test_what_a_template_decides_is_not_pinned(open_value: Any) -> None:
    params = {"open": open_value, "fixed": "b1", "list": ["a", 1], "map": {"a": "b"}, "number": 5}
    found = read_agent_grants({"tools": [{"tool": "board.append", "params": params}]})[1]
    assert found.params == {name: value for name, value in params.items() if name != "open"}


def test_an_argument_named_hosts_is_not_taken_for_hosts_of_a_url() -> None:
    tool = {"tool": "board.append", "params": {"hosts": ["a.example"], "board": "b1"}}
    assert read_agent_grants({"tools": [tool]})[1].params == {"board": "b1"}
