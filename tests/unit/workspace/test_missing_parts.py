"""Only what every run needs blocks activation."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Finding
from mainspring.workspace.automation_states import check_nothing_missing, filter_blocking_findings


def _step(action: str = "slack_post", **more: Any) -> dict[str, Any]:
    return {"step_id": "a", "action": action, "config": {}, **more}


def _blocks(plan: list[dict[str, Any]], pointer: str, code: str = "not_connected") -> bool:
    return bool(filter_blocking_findings({"plan": plan}, [Finding(pointer, "Missing.", code)]))


def test_a_step_that_always_runs_blocks() -> None:
    assert _blocks([_step()], "/plan/0")
    assert _blocks([_step()], "/plan/0/config/url", "address_not_public")
    assert _blocks([_step("agent_task")], "/plan/0/config", "no_model")
    assert _blocks([_step("agent_task")], "/execution/model", "unknown_model")


@pytest.mark.parametrize(
    "pointer",
    [
        "/execution/on_failure/0",
        "/plan/0/config/tools/0",
        "/plan/0/config/steps/0",
        "/plan/0/config/grants/0/params/hosts/0",
        "/plan/1",
        "/execution/model",
        "",
    ],
)
def test_what_a_run_may_not_need_does_not_block(pointer: str) -> None:
    code = "no_model" if pointer == "/execution/model" else "not_connected"
    assert not _blocks([_step(), _step(when="{{ inputs.a }}")], pointer, code)


def test_warnings_about_other_things_do_not_block() -> None:
    for code in ("credential_literal", "scope_outdated", "tool_held_back", "secret_missing"):
        assert not _blocks([_step()], "/plan/0", code)


def test_the_refusal_names_every_blocking_part() -> None:
    found = [
        Finding("/plan/0", "Slack is not connected.", "not_connected", "Connect it."),
        Finding("/plan/1", "Mail is not set up.", "mail_not_set_up", "Set it up."),
    ]
    with pytest.raises(Conflict) as refused:
        check_nothing_missing({"plan": [_step(), _step()]}, found)
    assert refused.value.code == "parts_missing"
    assert list(refused.value.findings) == found
    assert refused.value.suggestion == "Connect it."
