"""Upgrades: an older document becomes one of today's, with nothing lost on the way."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.model import CURRENT_VERSION, Definition
from mainspring.definition.upgrade import upgrade
from mainspring.definition.validate import read_definition, validate
from mainspring.registry import build_registry
from tests.kit.documented_examples import DIGEST
from tests.kit.vocabulary import vocabulary

OLD: dict[str, Any] = {
    "schema_version": "1.0",
    "name": "Old",
    "goal": "Use every old name.",
    "triggers": [
        {"type": "webhook", "config": {"tz": "left alone"}},
        {"type": "schedule", "config": {"cron": "0 9 * * *", "tz": "UTC"}},
    ],
    "tool_grants": [{"tool": "http_fetch", "params": {"hosts": ["a.example"]}}],
    "plan": [{"step_id": "read", "action": "http_fetch", "config": {"url": "https://a.example/"}}],
    "execution": {"max_wall_seconds": 60},
}


def test_a_document_of_the_first_format_upgrades_cleanly() -> None:
    made, notes = upgrade(DIGEST)
    definition = Definition.from_json(made)
    assert definition.schema_version == CURRENT_VERSION
    assert definition.execution.concurrency == "drop_if_running"
    assert definition.execution.write_policy == "always_draft"
    assert [note.pointer for note in notes] == [
        "/schema_version",
        "/execution/cost_cap_daily_usd",
        "/plan/1/config/channel",
        "/plan/1/config/text",
        "/schema_version",
    ]
    stored = {key for key in DIGEST if key not in ("schema_version", "execution", "plan")}
    assert {key: made[key] for key in stored} == {key: DIGEST[key] for key in stored}
    research, deliver = DIGEST["plan"]
    assert made["plan"][0] == research
    assert made["plan"][1] == {
        **deliver,
        "config": {"channel": "C0123", "text": deliver["config"]["message_template"]},
    }


def test_a_post_to_slack_is_renamed_wherever_it_is() -> None:
    post = {"step_id": "a", "action": "slack_post", "config": {"channel_id": "C1"}}
    loop = {"step_id": "b", "action": "for_each", "config": {"steps": [post, 5, {"config": 5}]}}
    other = {"step_id": "c", "action": "notification", "config": {"message_template": "x"}}
    document = {**OLD, "plan": [loop, other], "execution": {"on_failure": [post]}}
    before = deepcopy(document)
    made, notes = upgrade(document)
    renamed = {**post, "config": {"channel": "C1"}}
    assert made["plan"][0]["config"]["steps"] == [renamed, 5, {"config": 5}]
    assert made["plan"][1] == other
    assert made["execution"]["on_failure"] == [renamed]
    assert [note.was for note in notes if note.was and note.was.endswith("channel_id")] == [
        "/plan/0/config/steps/0/config/channel_id",
        "/execution/on_failure/0/config/channel_id",
    ]
    assert document == before


def test_the_digest_of_the_first_format_is_valid_as_it_is_printed() -> None:
    report = validate(DIGEST, build_registry(Limits()), Limits())
    assert report.findings == ()
    assert {grant.capability for grant in report.grants} >= {"slack_post", "search_space.query"}


def test_the_digest_lacks_exactly_the_actions_that_are_not_there_yet() -> None:
    report = validate(DIGEST, vocabulary(), Limits())
    assert [(found.pointer, found.code) for found in report.findings] == [
        ("/plan/0/action", "unknown_action"),
        ("/plan/1/action", "unknown_action"),
    ]
    assert "'agent_task'" in report.findings[0].detail
    assert "'slack_post'" in report.findings[1].detail


def test_old_names_become_new_ones_and_each_change_is_reported() -> None:
    made, notes = upgrade(OLD)
    assert made["triggers"][1]["config"] == {"cron": "0 9 * * *", "timezone": "UTC"}
    assert made["triggers"][0]["config"] == {"tz": "left alone"}
    assert made["execution"] == {"timeout_seconds": 60}
    assert made["grants"] == [{"capability": "http_fetch", "params": {"hosts": ["a.example"]}}]
    assert "tool_grants" not in made
    assert [(note.was, note.pointer) for note in notes] == [
        (None, "/schema_version"),
        ("/triggers/1/config/tz", "/triggers/1/config/timezone"),
        ("/tool_grants", "/grants"),
        ("/tool_grants/0/tool", "/grants/0/capability"),
        ("/execution/max_wall_seconds", "/execution/timeout_seconds"),
        (None, "/schema_version"),
    ]
    assert all(note.detail.endswith(".") for note in notes)


def test_the_document_that_is_upgraded_is_not_touched() -> None:
    before = deepcopy(OLD)
    upgrade(OLD)
    assert before == OLD


@pytest.mark.parametrize(
    ("budget", "cap"), [(0.5, None), (1, None), (1.5, "1.5"), ("250", "100"), ("x", None)]
)
def test_a_run_budget_above_the_new_day_cap_brings_its_own(budget: Any, cap: str | None) -> None:
    made, _ = upgrade({**OLD, "execution": {"budget_cap_usd": budget}})
    assert made["execution"].get("cost_cap_daily_usd") == cap


def test_findings_point_to_the_value_the_author_wrote() -> None:
    document = deepcopy(OLD)
    document["triggers"] = [{"type": "schedule", "config": {"cron": "0 9 * * *", "tz": "Mars"}}]
    document["execution"]["max_wall_seconds"] = 0
    document["tool_grants"][0]["tool"] = "http_fetsch"
    report = validate(document, vocabulary(), Limits())
    assert {found.pointer for found in report.findings} == {
        "/triggers/0/config/tz",
        "/execution/max_wall_seconds",
        "/tool_grants/0/tool",
        "/plan/0/action",
    }


def test_an_old_name_with_its_new_one_is_shown_to_the_author() -> None:
    document = {**OLD, "execution": {"max_wall_seconds": 60, "timeout_seconds": 90}}
    report = validate({**document, "triggers": []}, vocabulary(), Limits())
    assert [(found.pointer, found.code) for found in report.findings] == [
        ("/execution/max_wall_seconds", "additional_properties")
    ]


@pytest.mark.parametrize("part", ["triggers", "tool_grants", "execution", "plan"])
@pytest.mark.parametrize("value", [None, 5, "x", [5], {"a": 1}, [{"config": 5}]])
def test_parts_of_any_other_shape_are_left_to_the_validator(part: str, value: Any) -> None:
    upgrade({**OLD, part: value})
    assert validate({**OLD, part: value}, vocabulary(), Limits()) is not None


def test_a_document_of_today_is_returned_as_it_is() -> None:
    document = {"schema_version": CURRENT_VERSION}
    assert upgrade(document) == (document, ())
    assert upgrade({}) == ({}, ())


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.0", "a newer release is needed"),
        ("1.3", "a newer release is needed"),
        ("0.9", "There is no version"),
        ("latest", "There is no version"),
        ("9" * 5000, "There is no version"),
        (1.0, "is text"),
        (None, "is text"),
        (["1.0"], "is text"),
    ],
)
def test_a_version_nobody_can_read_is_refused_with_a_sentence(version: Any, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        upgrade({"schema_version": version})
    (finding,) = caught.value.findings
    assert (finding.pointer, finding.code) == ("/schema_version", "unknown_version")
    assert text in finding.detail
    assert len(finding.detail) < 250
    report = validate({"schema_version": version}, vocabulary(), Limits())
    assert report.findings == (finding,)


def test_a_stored_definition_is_read_in_any_format_it_was_kept_in() -> None:
    assert read_definition(OLD).execution.timeout_seconds == 60
    with pytest.raises(Invalid) as caught:
        read_definition({**OLD, "plan": []})
    assert caught.value.findings[0].pointer == "/plan"
    with pytest.raises(Invalid):
        read_definition("x")


def _modes(*plan: dict[str, Any], **execution: Any) -> list[Any]:
    """The approval modes that steps of 1.1 have after their upgrade."""
    made, _ = upgrade({"schema_version": "1.1", "plan": list(plan), "execution": execution})
    return [one.get("approval") for one in made["plan"]]


def _step(action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": "one", "action": action, "config": config}


def test_requests_that_were_sent_at_once_still_are() -> None:
    assert _modes(
        _step("callback_webhook", url="https://a.example/"),
        _step("http_fetch", url="https://a.example/", method="POST"),
        _step("http_fetch", url="https://a.example/", method="{{ inputs.method }}"),
        _step("http_fetch", url="https://a.example/", method="HEAD"),
        _step("http_fetch", url="https://a.example/"),
        _step("slack_post", channel="C1", text="x"),
        {"action": "http_fetch", "config": 5},
    ) == ["automatic", "automatic", "automatic", None, None, None, None]


def test_of_an_agent_and_a_script_only_the_requests_are_sent_as_before() -> None:
    tools = ["slack_post", {"tool": "http_fetch", "params": {"url": "https://a.example/"}}]
    read = {"tool": "http_fetch", "params": {"url": "https://a.example/", "method": "GET"}}
    assert _modes(
        _step("agent_task", tools=tools),
        _step("agent.run", tools=[read, 5]),
        _step("script", source="await brains.http_fetch({url})"),
        _step("script", source="return 1"),
        _step("agent_task", tools=None),
        execution={},
    ) == [{"http_fetch": "automatic"}, None, {"http_fetch": "automatic"}, None, None]


def test_mail_to_the_owner_that_waited_still_waits() -> None:
    plan = [
        _step("email.notify_owner", subject="x", text="y"),
        _step("agent_task", tools=["email.*"]),
        _step("script", source="await brains.email.notify_owner(mail)"),
    ]
    waits = {"email.notify_owner": "ask"}
    assert _modes(*plan) == ["ask", waits, waits]
    assert _modes(*plan, write_policy="auto_confirm_safe") == [None, None, None]


def test_nested_and_failure_steps_are_upgraded_and_reported_too() -> None:
    inner = _step("callback_webhook", url="https://a.example/")
    document = {
        "schema_version": "1.1",
        "plan": [_step("for_each", items=[1], steps=[inner])],
        "execution": {"on_failure": [inner]},
    }
    before = deepcopy(document)
    made, notes = upgrade(document)
    assert made["plan"][0]["config"]["steps"][0]["approval"] == "automatic"
    assert made["execution"]["on_failure"][0]["approval"] == "automatic"
    assert [note.pointer for note in notes] == [
        "/schema_version",
        "/plan/0/config/steps/0/approval",
        "/execution/on_failure/0/approval",
    ]
    assert all(note.detail.endswith(".") for note in notes)
    assert document == before


def test_a_mode_that_somebody_wrote_is_kept() -> None:
    asks = {**_step("callback_webhook", url="https://a.example/"), "approval": "ask"}
    assert _modes(asks) == ["ask"]


@pytest.mark.parametrize("part", ["plan", "execution"])
@pytest.mark.parametrize("value", [None, 5, "x", [5], {"on_failure": 5}, [{"config": 5}]])
def test_parts_of_1_1_of_any_other_shape_are_left_to_the_validator(part: str, value: Any) -> None:
    upgrade({"schema_version": "1.1", part: value})
