"""What is said of an agent_task when it is judged, and what it is granted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.definition.grants import resolve_effective_grants
from mainspring.definition.tool_patterns import read_agent_grants
from mainspring.definition.validate import ValidationReport, validate
from mainspring.registry import build_registry
from tests.kit.bench import document, step

LIMITS = Limits()


def _with_a_tool_that_needs_a_secret(vocabulary: Vocabulary) -> Registry:
    """The same words, and ``chat.post``, which posts with the token that is named or not at all."""
    slack = vocabulary.capabilities["slack_post"]
    takes = {**slack.input_schema, "required": [*slack.input_schema["required"], "token"]}
    return Registry(
        actions=vocabulary.actions.values(),
        capabilities=[
            *vocabulary.capabilities.values(),
            replace(slack, id="chat.post", input_schema=takes),
        ],
        triggers=vocabulary.triggers.values(),
        events=vocabulary.events.values(),
    )


WORDS = _with_a_tool_that_needs_a_secret(build_registry(LIMITS))
SHAPE = {"type": "object", "properties": {}}


def _judged(config: dict[str, Any], action: str = "agent_task", **more: Any) -> ValidationReport:
    given = {"prompt": "Go.", "output_schema": SHAPE, **config}
    return validate(document(step("think", action, given), **more), WORDS, LIMITS)


def _granted(report: ValidationReport) -> set[str]:
    assert report.definition is not None, report.findings
    assert report.grants == resolve_effective_grants(report.definition, WORDS)
    return {grant.capability for grant in report.grants}


@pytest.mark.parametrize(
    ("tools", "pointer", "code", "hint"),
    [
        (["get_bord"], "/tools/0", "unknown_capability", "get_board"),
        (["search_spac.*"], "/tools/0", "unknown_capability", None),
        ([{"tool": "get_bord"}], "/tools/0/tool", "unknown_capability", "get_board"),
        (["agent.run"], "/tools/0", "agent_in_agent", None),
        (["get_board", "get_board"], "/tools/1", "tool_twice", None),
        (["admin_list_users"], "/tools/0", "never_granted", None),
        (["admin_*"], "/tools/0", "unknown_capability", None),
        (["*" * 9 + "Z"], "/tools/0", "pattern_stars", "fewer"),
        (["{{ inputs.tool }}"], "/tools/0", None, None),
        (["chat.post"], "/tools/0", "tool_needs_secret", "secrets.NAME"),
        (
            [{"tool": "get_board", "params": {"nam": "a"}}],
            "/tools/0/params",
            "unknown_argument",
            "name",
        ),
        (
            [{"tool": "search_space.*", "params": {"a": 1}}],
            "/tools/0/params",
            "params_of_pattern",
            None,
        ),
        (["http_fetch"], "/tools/0", "host_unknown", "hosts"),
        (
            [{"tool": "http_fetch", "params": {"url": "nowhere"}}],
            "/tools/0/params/url",
            "bad_url",
            None,
        ),
    ],
)
def test_a_tool_that_cannot_be_had_is_said_at_its_place(
    tools: list[Any], pointer: str, code: str | None, hint: str | None
) -> None:
    report = _judged({"tools": tools})
    found = {finding.pointer: finding for finding in report.findings}
    assert f"/plan/0/config{pointer}" in found, report.findings
    finding = found[f"/plan/0/config{pointer}"]
    assert code is None or finding.code == code
    assert hint is None or hint in (finding.suggestion or "")


def test_an_agent_is_granted_itself_and_its_tools_and_nothing_else() -> None:
    assert _granted(_judged({"tools": ["get_board"]})) == {"agent.run", "get_board"}
    assert _granted(_judged({})) == {"agent.run"}
    assert _granted(_judged({"tools": ["get_board"]}, "agent.run")) == {"agent.run", "get_board"}


def test_a_pattern_is_settled_into_the_names_there_are() -> None:
    granted = _granted(_judged({"tools": ["search_space.*", "get_b*"]}))
    assert granted == {
        "agent.run",
        "search_space.query",
        "search_space.fetch_document",
        "get_board",
        "get_board_dashboard",
    }


def test_a_pattern_for_everything_leaves_out_what_needs_a_word_of_its_own() -> None:
    granted = _granted(_judged({"tools": ["*"]}))
    assert "get_board" in granted
    assert not granted & {"http_fetch", "chat.post", "admin_list_users", "connect_model"}
    assert all(WORDS.capabilities[name].grantable for name in granted)


def test_a_pattern_for_very_many_tools_is_doubted() -> None:
    assert [(one.pointer, one.code) for one in _judged({"tools": ["*"]}).warnings] == [
        ("/plan/0/config/tools/0", "many_tools")
    ]
    assert not _judged({"tools": ["search_space.*"]}).warnings


def test_what_is_fixed_for_a_tool_is_all_that_is_granted_of_it() -> None:
    result = {"title": "A", "message_template": "{{ inputs.text }}", "hosts": ["h"]}
    (_, grant) = read_agent_grants({"tools": [{"tool": "notification", "params": result}]})
    assert grant.params == {"title": "A"}
    report = _judged({"tools": [{"tool": "get_board", "params": {"name": "Orders"}}]})
    (board,) = [one for one in report.grants if one.capability == "get_board"]
    assert board.params == {"name": "Orders"}


def test_a_fixed_address_says_which_host_an_agent_may_reach() -> None:
    tool = {"tool": "http_fetch", "params": {"url": "https://api.example.com/{{ run.id }}"}}
    report = _judged({"tools": [tool]})
    (grant,) = [one for one in report.grants if one.capability == "http_fetch"]
    assert grant.params == {"hosts": ["api.example.com"]}


def test_written_grants_narrow_a_pattern_and_must_cover_a_name() -> None:
    own = {"capability": "agent.run"}
    board = {"capability": "get_board", "params": {"name": "a"}}
    fetch = {"capability": "http_fetch", "params": {"hosts": ["example.com"]}}
    assert _granted(_judged({"tools": ["get_*"]}, grants=[own, board])) == {
        "agent.run",
        "get_board",
    }
    assert not _judged({"tools": ["http_fetch"]}, grants=[own, fetch]).findings
    for tools, grants, pointer in (
        (["get_*"], [own], "/plan/0/config/tools"),
        (["get_page"], [own, board], "/plan/0/action"),
        (["get_board"], [board], "/plan/0/action"),
    ):
        report = _judged({"tools": tools}, grants=grants)
        assert [(one.pointer, one.code) for one in report.findings] == [(pointer, "not_granted")]


def test_a_grant_may_bound_what_an_agent_uses() -> None:
    grants = [{"capability": "agent.run", "params": {"max_usd": 0.5, "max_turns": 5}}]
    assert not _judged({"max_usd": 0.5, "max_turns": 3}, grants=grants).findings
    for config in ({"max_usd": 0.6, "max_turns": 3}, {"max_turns": 3}):
        (found,) = _judged(config, grants=grants).findings
        assert found.code == "not_granted"


def test_an_agent_without_a_shape_is_doubted_and_saved_all_the_same() -> None:
    report = validate(document(step("think", "agent_task", {"prompt": "Go."})), WORDS, LIMITS)
    assert report.ok
    assert [(one.pointer, one.code) for one in report.warnings] == [
        ("/plan/0/config", "no_output_schema")
    ]
    assert not _judged({}).warnings


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({"prompt": ""}, "/prompt"),
        ({"prompt": 1}, "/prompt"),
        ({"tools": "get_board"}, "/tools"),
        ({"tools": [{}]}, "/tools/0/tool"),
        ({"max_turns": 101}, "/max_turns"),
        ({"max_usd": 0}, "/max_usd"),
        ({"output_schema": {"type": "nothing"}}, "/output_schema/type"),
        ({"documents": [{"title": "x"}]}, "/documents/0/text"),
        ({"system": "{{ secrets.key }}"}, "/system"),
        ({"prompt": "{{ secrets.key }}"}, "/prompt"),
        ({"promt": "x"}, "/promt"),
    ],
)
def test_a_config_that_is_wrong_is_said_at_its_place(config: dict[str, Any], pointer: str) -> None:
    report = _judged(config)
    assert f"/plan/0/config{pointer}" in {one.pointer for one in report.findings}, report.findings
