"""A definition that calls a tool, judged where nobody can know the tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.registry import build_registry
from mainspring.surfaces.cli import ApplicationFactory, build_app, run_cli
from mainspring.surfaces.cli.offline_validation import UNCHECKED, validate_offline
from tests.kit.bench import document, step
from tests.kit.scripts import SDK

NATIVES = build_registry(Limits())
LOOKUP = step("ask", "acme.lookup", {"name": "Ada"})
TELL = step("tell", "notification", {"title": "Found", "message_template": "{{ ask.anything }}"})


def _judged(wanted: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]], tuple[str, ...]]:
    found = validate_offline(wanted, NATIVES, Limits())
    wrong = [(one.pointer, one.code) for one in found.report.findings]
    doubts = [(one.pointer, one.code) for one in found.report.warnings]
    return wrong, doubts, found.tools


def test_a_step_that_may_be_a_tool_is_a_doubt_and_the_rest_is_judged() -> None:
    assert _judged(document(LOOKUP, TELL)) == (
        [],
        [("/plan/0/action", UNCHECKED)],
        ("acme.lookup",),
    )
    bad = {**TELL, "config": {"title": 1}}
    wrong, _, tools = _judged(document(LOOKUP, bad))
    assert {pointer for pointer, _ in wrong} >= {"/plan/1/config/title"}
    assert not {pointer for pointer, _ in wrong} & {"/plan/0/action"}
    assert tools == ("acme.lookup",)


@pytest.mark.parametrize(
    "name", ["search_space.qery", "automation_kv.gett", "lookup", "Acme.lookup", "acme.", "a b.c"]
)
def test_a_name_that_can_be_no_tool_stays_a_mistake(name: str) -> None:
    wrong, doubts, tools = _judged(document(step("ask", name)))
    assert ("/plan/0/action", "unknown_action") in wrong
    assert (doubts, tools) == ([], ())


def test_a_tool_may_be_used_in_grants_scripts_and_nested_steps() -> None:
    source = f'{SDK}\nexport default async () => await brains["acme.look-up"]({{}});'
    granted = {"source": source, "grants": [{"tool": "acme.look-up"}]}
    looped = step("each", "for_each", {"items": [1], "steps": [LOOKUP]})
    for expected, at in (
        (step("main", "script", {"source": source}), "/plan/0/config/source"),
        (step("main", "script", granted), "/plan/0/config/grants/0/tool"),
        (looped, "/plan/0/config/steps/0/action"),
    ):
        wrong, doubts, tools = _judged(document(expected))
        assert wrong == []
        assert (at, UNCHECKED) in doubts
        assert len(tools) == 1
    wrong, doubts, _ = _judged(document(LOOKUP, grants=[{"capability": "acme.lookup"}]))
    assert wrong == []
    assert ("/grants/0/capability", UNCHECKED) in doubts


def test_a_pattern_that_may_match_tools_is_a_doubt_too() -> None:
    expected = document(step("do", "agent_task", {"prompt": "Find Ada.", "tools": ["acme.*"]}))
    found = validate_offline(expected, NATIVES, Limits())
    assert found.report.findings == ()
    assert [(one.pointer, one.code) for one in found.report.warnings][-1:] == [
        ("/plan/0/config/tools/0", UNCHECKED)
    ]
    assert "acme.*" in found.report.warnings[-1].detail
    assert {one.capability for one in found.report.grants} == {"agent.run"}
    assert found.tools == ("acme.*",)
    wrong, _, tools = _judged(
        {
            **expected,
            "plan": [step("do", "agent_task", {"prompt": "Go.", "tools": ["search_spac.*"]})],
        }
    )
    assert (wrong, tools) == ([], ("search_spac.*",))


def test_natives_alone_are_judged_once_and_nothing_is_added() -> None:
    expected = document(step("tell", "notification", {"title": "A", "message_template": "B"}))
    assert _judged(expected) == ([], [], ())


def test_validate_says_that_the_server_judges_it_and_is_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tool.json"
    file.write_text(json.dumps(document(LOOKUP, TELL)))

    def locked(settings: Any) -> Any:
        raise AssertionError("the house was opened")

    app = build_app(ApplicationFactory(locked, build_registry))

    assert run_cli(app, ["validate", str(file)]) == 0
    assert "only be judged by the server" in " ".join(capsys.readouterr().out.split())
    assert run_cli(app, ["--json", "validate", str(file)]) == 0
    result = json.loads(capsys.readouterr().out)["files"][0]
    assert (result["valid"], result["warnings"][0]["code"]) == (True, UNCHECKED)
    file.write_text(json.dumps(document(LOOKUP, {**TELL, "action": "notificatoin"})))
    assert run_cli(app, ["validate", str(file)]) == 2
