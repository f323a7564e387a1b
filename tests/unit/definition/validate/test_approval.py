"""Approval modes are judged at their place: wrong places, and automatic writes without bounds."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry
from mainspring.definition.validate import ValidationReport, validate
from mainspring.definition.validate.approval_modes import check_approval, list_writes
from mainspring.definition.validate.outline import FindingCollector, read_outline
from tests.kit.definitions import document

LIMITS = Limits()
WORDS = build_registry(LIMITS)
POST = {"channel": "C0123456789", "text": "Hello"}
PINNED = {"tool": "slack_post", "params": {"channel": "C0123456789"}}


def judged(action: str, config: Any, approval: Any, **more: Any) -> ValidationReport:
    step = {"step_id": "one", "action": action, "config": config, "approval": approval}
    return validate(document(step, **more), WORDS, LIMITS)


def agent(*tools: Any) -> dict[str, Any]:
    return {"prompt": "Say hello.", "tools": list(tools)}


def told(report: ValidationReport) -> list[tuple[str, str]]:
    return [(one.pointer, one.code) for one in report.findings]


@pytest.mark.parametrize(
    ("action", "config", "approval"),
    [
        ("slack_post", POST, "ask"),
        ("slack_post", POST, "automatic"),
        ("slack_post", POST, {"slack_post": "automatic"}),
        ("email.notify_owner", {"subject": "x", "text": "y"}, "ask"),
        ("http_fetch", {"url": "https://a.example/", "method": "POST"}, "automatic"),
        ("http_fetch", {"url": "https://a.example/", "method": "{{ run.id }}"}, "automatic"),
        ("callback_webhook", {"url": "https://a.example/"}, "automatic"),
        ("agent_task", agent(PINNED), "automatic"),
        ("agent_task", agent("slack_post"), "ask"),
        ("agent_task", agent("telegram_push"), "automatic"),
        (
            "agent_task",
            agent("slack_post", PINNED | {"tool": "telegram_push", "params": {}}),
            {"telegram_push": "automatic"},
        ),
        (
            "agent_task",
            agent({"tool": "http_fetch", "params": {"url": "https://a.example/"}}),
            {"http_fetch": "automatic"},
        ),
        ("act_on_integration", {"source": "slack", "request": "say hi"}, "ask"),
    ],
)
def test_modes_in_their_places_are_accepted(action: str, config: Any, approval: Any) -> None:
    assert judged(action, config, approval).findings == ()


@pytest.mark.parametrize(
    ("action", "config"),
    [
        ("transform_data", {"output": 1}),
        ("notification", {"title": "x"}),
        ("http_fetch", {"url": "https://a.example/"}),
        ("http_fetch", {"url": "https://a.example/", "method": "HEAD"}),
        ("agent_task", agent("list_pages")),
    ],
)
@pytest.mark.parametrize("approval", ["ask", "automatic", {"slack_post": "ask"}])
def test_a_step_that_sends_nothing_outside_has_nothing_to_approve(
    action: str, config: Any, approval: Any
) -> None:
    report = judged(action, config, approval)
    assert told(report) == [("/plan/0/approval", "approval_without_write")]
    assert report.findings[0].suggestion == "Remove approval from it."
    assert "unused_approval" not in [one.code for one in report.warnings]


@pytest.mark.parametrize("approval", ["always", {}, {"slack_post": "never"}, 5, ["ask"], None])
def test_another_shape_of_approval_is_reported_at_its_place(approval: Any) -> None:
    found = told(judged("slack_post", POST, approval))
    assert found == ([] if approval is None else [("/plan/0/approval", "approval")])


def test_an_automatic_write_of_an_agent_needs_a_pinned_destination() -> None:
    report = judged("agent_task", agent("slack_post"), "automatic")
    assert told(report) == [("/plan/0/approval", "destination_open")]
    way = report.findings[0].suggestion or ""
    assert '{"tool": "slack_post", "params": {"channel": "…"}}' in way
    assert '"ask"' in way
    one = judged("agent_task", agent("slack_post"), {"slack_post": "automatic"})
    assert told(one) == [("/plan/0/approval/slack_post", "destination_open")]


def test_a_written_grant_pins_a_destination_too() -> None:
    grants = [
        {"capability": "agent.run"},
        {"capability": "slack_post", "params": {"channel": ["C0123456789"]}},
    ]
    assert judged("agent_task", agent("slack_post"), "automatic", grants=grants).findings == ()


def test_a_script_is_bounded_by_its_grants() -> None:
    source = 'await brains.slack_post({ channel: "C0123456789", text: "x" });'
    whole = f"export default async function run() {{ {source} }}"
    loose = judged("script", {"source": whole}, "automatic")
    assert ("/plan/0/approval", "destination_open") in told(loose)
    bound = judged("script", {"source": whole, "grants": [PINNED]}, "automatic")
    assert "destination_open" not in {code for _, code in told(bound)}


def test_what_is_worked_out_in_the_run_cannot_be_automatic() -> None:
    given = {"source": "slack", "request": "say hi"}
    report = judged("act_on_integration", given, "automatic")
    assert told(report) == [("/plan/0/approval", "approval_not_automatic")]


def test_names_in_a_mode_are_those_that_the_step_sends_with() -> None:
    wrong = judged("slack_post", POST, {"slack_pots": "automatic"})
    assert told(wrong) == [("/plan/0/approval/slack_pots", "unknown_capability")]
    unused = judged("slack_post", POST, {"send_email": "automatic"})
    assert unused.findings == ()
    assert [(one.pointer, one.code) for one in unused.warnings] == [
        ("/plan/0/approval/send_email", "unused_approval")
    ]


def held(name: str, effect: Effect) -> Capability:
    """A tool from outside that waits for a person, as its registry describes it."""

    async def refuse(ctx: Any, arguments: Any) -> Any:
        raise AssertionError("it is not called")

    return Capability(
        id=name,
        description=f"{name}\n\nIt cannot be called.",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        handler=refuse,
        annotations=Annotations(effect=effect, seconds=1.0, held_back=f"{name} is held back."),
    )


HELD = build_registry(
    LIMITS, capabilities=[held("crm.send", Effect.SEND), held("crm.read", Effect.READ)]
)


@pytest.mark.parametrize("approval", ["ask", "automatic", {"crm.send": "automatic"}])
@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("crm.send", {}),
        ("crm.send", {"on_hold": "wait"}),
        ("crm.send", {"hold_expires_after": "1h"}),
        ("agent_task", {}),
    ],
)
def test_a_write_that_is_held_back_keeps_its_approval(
    action: str, more: dict[str, Any], approval: Any
) -> None:
    """It can be saved while a person decides about the tool."""
    config = agent("crm.send") if action == "agent_task" else {}
    step = {"step_id": "one", "action": action, "config": config, "approval": approval, **more}
    report = validate(document(step), HELD, LIMITS)
    assert report.findings == ()
    assert "unused_approval" not in [one.code for one in report.warnings]


def test_a_read_that_is_held_back_has_nothing_to_approve() -> None:
    step = {"step_id": "one", "action": "crm.read", "config": {}, "approval": "ask"}
    report = validate(document(step), HELD, LIMITS)
    assert told(report) == [("/plan/0/approval", "approval_without_write")]


def test_an_approval_of_a_write_with_another_held_back_is_checked() -> None:
    config = agent("crm.send", "slack_post")
    modes = {"crm.send": "ask", "slack_post": "automatic"}
    step = {"step_id": "one", "action": "agent_task", "config": config, "approval": modes}
    report = validate(document(step), HELD, LIMITS)
    assert told(report) == [("/plan/0/approval/slack_post", "destination_open")]
    assert "unused_approval" not in [one.code for one in report.warnings]


def test_what_a_template_decides_may_send() -> None:
    async def refuse(ctx: Any, arguments: Any) -> Any:
        raise AssertionError("it is not called")

    def reach(arguments: Any) -> Effect:
        return Effect.SEND if arguments.get("method") == "POST" else Effect.READ

    call = Capability(
        id="crm.call",
        description="Call it\n\nReads, unless the method is POST.",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        handler=refuse,
        write=Write(preview=str),
        annotations=Annotations(effect=Effect.SEND, seconds=1.0, reach=reach),
    )
    words = build_registry(LIMITS, capabilities=[call])
    for method, sends in (("POST", True), ("GET", False), ("{{ inputs.how }}", True)):
        assert ("crm.call" in list_writes("crm.call", {"method": method}, words)) is sends


def test_a_tool_that_is_gone_writes_nothing() -> None:
    config = agent("crm.gone", "slack_post", "list_pages")
    assert [*list_writes("agent_task", config, WORDS)] == ["slack_post"]


@pytest.mark.parametrize("name", ["http", "http_fetch_each"])
def test_an_action_that_sends_with_a_capability_is_not_that_capability(name: str) -> None:
    """What such an action calls is not decided by its own config."""

    async def refuse(ctx: Any, config: Any) -> Any:
        raise AssertionError("it does not run")

    def uses(config: Any) -> tuple[Grant, ...]:
        del config
        return (Grant("http_fetch"),)

    action = Action(name, "Calls", {"type": "object"}, None, refuse, uses)
    words = Registry(actions=[action], capabilities=WORDS.capabilities.values())
    assert [*list_writes(name, {"method": "GET"}, words)] == ["http_fetch"]
    assert [*list_writes("http_fetch", {"method": "GET"}, words)] == []


def test_a_step_whose_config_cannot_be_read_is_left_out() -> None:
    steps = [
        {"step_id": "one", "action": "transform_data", "config": 5, "approval": "ask"},
        {"step_id": "two", "action": "transform_data", "config": {}, "approval": "ask"},
    ]
    sheet = FindingCollector()
    check_approval(read_outline({"plan": steps}, WORDS), WORDS, sheet)
    assert [one.pointer for one in sheet.findings] == ["/plan/1/approval"]


@pytest.mark.parametrize("broken", [{"config": {}}, {"config": 5}, {"action": "nope"}])
def test_of_a_step_that_is_broken_only_that_is_reported(broken: dict[str, Any]) -> None:
    step = {"step_id": "one", "action": "transform_data", "config": {"output": 1}, **broken}
    before = told(validate(document(step), WORDS, LIMITS))
    assert before != []
    assert told(validate(document({**step, "approval": "ask"}), WORDS, LIMITS)) == before


@pytest.mark.parametrize("other", ["configuration", "act"])
def test_a_problem_in_another_place_hides_no_wrong_approval(other: str) -> None:
    step = {"step_id": "one", "action": "transform_data", "config": {"output": 1}, other: 1}
    report = validate(document({**step, "approval": "ask"}), WORDS, LIMITS)
    assert {pointer for pointer, _ in told(report)} == {f"/plan/0/{other}", "/plan/0/approval"}
