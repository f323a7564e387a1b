"""Approval modes as values: which writes are sent at once, and what bounds them."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.grant import Grant
from mainspring.definition.approval import (
    AGENTS,
    StepApproval,
    can_be_automatic,
    get_write_bounds,
    is_pinned,
    list_required_pins,
    read_approvals,
    read_step_approval,
    read_written_grants,
)
from mainspring.definition.traits import flatten_steps

POST = {"channel": "C1", "text": "Hello"}


async def _never(ctx: Any, arguments: Any) -> None:
    raise AssertionError("a decision calls nothing")


def capability(
    *required: str, name: str = "x.y", properties: bool = True, **write: Any
) -> Capability:
    known: dict[str, Any] = {one: {} for one in ("channel", "cc", "text")} if properties else {}
    schema = {"required": list(required), "properties": known}
    held = Write(preview=str, **write)
    return Capability(name, "x", schema, {}, _never, held, Annotations(effect=Effect.SEND))


PLAIN = Capability("x.y", "x", {}, {}, _never)
AIMED = capability("channel", destination=("channel", "cc"))


@pytest.mark.parametrize(
    ("one", "params", "pinned"),
    [
        (AIMED, {"channel": "C1"}, True),
        (AIMED, {"channel": None}, True),
        (AIMED, {"cc": "b"}, False),
        (AIMED, {}, False),
        # Without a required one the first decides where it goes.
        (capability(destination=("channel", "cc")), {"channel": "C1"}, True),
        (capability(destination=("channel", "cc")), {"cc": "b"}, False),
        (capability("channel", "cc", destination=("channel", "cc")), {"channel": "C1"}, False),
        (
            capability("channel", "cc", destination=("channel", "cc")),
            {"channel": "C1", "cc": "b"},
            True,
        ),
        (capability("cc", destination=("channel", "cc")), {"cc": "b"}, True),
        (capability(safe=True, destination=("channel",)), {}, True),
        (capability(), {"text": "x"}, True),
        (capability(), {}, False),
        (capability(properties=False), {}, True),
        (capability(destination=("channel",)), {"hosts": ["a.example"]}, True),
        (capability(), {"hosts": [], "text": "x"}, False),
        (PLAIN, {"channel": "C1"}, False),
    ],
)
def test_a_grant_fixes_where_a_write_goes(one: Capability, params: Any, pinned: bool) -> None:
    assert is_pinned(one, Grant("x.y", params)) is pinned
    for other in ("x.yz", "x.", "z"):
        assert is_pinned(one, Grant(other, params)) is False


def test_the_arguments_that_must_be_fixed_are_the_required_ones_or_the_first() -> None:
    assert list_required_pins(AIMED) == ("channel",)
    assert list_required_pins(capability("text", destination=("channel", "cc"))) == ("channel",)
    assert list_required_pins(capability("cc", "channel", destination=("channel", "cc"))) == (
        "channel",
        "cc",
    )
    assert list_required_pins(PLAIN) == ()


def test_what_works_out_in_the_run_what_it_sends_is_never_automatic() -> None:
    assert can_be_automatic(AIMED) is True
    assert can_be_automatic(PLAIN) is False
    assert can_be_automatic(capability(resolve=_never)) is False
    assert can_be_automatic(capability(performs=lambda given: ("x.z", given))) is False


def test_a_mode_is_one_for_all_or_one_for_each_capability() -> None:
    one, each = StepApproval("automatic"), StepApproval({"x.y": "automatic", "x.z": "ask"})
    assert (one.mode("x.y"), one.is_automatic("x.y"), one.asks("x.y")) == ("automatic", True, False)
    assert (each.mode("x.z"), each.is_automatic("x.z"), each.asks("x.z")) == ("ask", False, True)
    assert (each.mode("x.a"), each.is_automatic("x.a"), each.asks("x.a")) == (None, False, False)


@pytest.mark.parametrize(
    ("said", "arguments", "sends"),
    [
        (StepApproval("automatic"), POST, True),
        (StepApproval("ask"), POST, False),
        (StepApproval({"x.z": "automatic"}), POST, False),
        (StepApproval("automatic", ()), POST, False),
        (StepApproval("automatic", (Grant("x.y", {"channel": "C1"}),)), POST, True),
        (StepApproval("automatic", (Grant("x.y", {"channel": "C2"}),)), POST, False),
        (StepApproval("automatic", (Grant("x.y", {"text": "Hello"}),)), POST, False),
        (
            StepApproval(
                "automatic", (Grant("x.y", {"channel": "C2"}), Grant("x.y", {"channel": "C1"}))
            ),
            POST,
            True,
        ),
        # All that decides who gets it is fixed, if it is there at all.
        (StepApproval("automatic", (Grant("x.y", {"channel": "C1"}),)), {**POST, "cc": "b"}, False),
        (
            StepApproval("automatic", (Grant("x.y", {"channel": "C1", "cc": "b"}),)),
            {**POST, "cc": "b"},
            True,
        ),
    ],
)
def test_an_automatic_write_stays_within_its_bounds(
    said: StepApproval, arguments: Any, sends: bool
) -> None:
    assert said.sends(AIMED, arguments) is sends


def test_what_cannot_be_automatic_is_not_sent_whatever_its_mode() -> None:
    assert StepApproval("automatic").sends(capability(resolve=_never), POST) is False
    assert StepApproval("automatic", (Grant("x.y", POST),)).sends(PLAIN, POST) is False


def test_a_mention_that_the_template_does_not_have_is_held() -> None:
    slack = capability(plain=lambda given: "<!" not in given["text"])
    calm, loud = {"text": "well"}, {"text": "<!here> look"}
    for template, result, sends in (
        (None, calm, True),
        (None, loud, False),
        (calm, calm, True),
        (calm, loud, False),
        (loud, loud, True),
        (loud, calm, True),
    ):
        assert StepApproval("automatic", None, template).sends(slack, result) is sends


def test_a_grant_knows_an_argument_by_the_name_that_it_is_granted_as() -> None:
    room = capability(destination=("channel",), granted_as=lambda given: {"channel": given["room"]})
    output = StepApproval("automatic", (Grant("x.y", {"channel": "C1"}),))
    assert output.sends(room, {"room": "C1"}) is True
    assert output.sends(room, {"room": "C2"}) is False


def _document(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"schema_version": "1.2", "plan": list(steps), **more}


def _step(action: str, approval: Any = None, **config: Any) -> dict[str, Any]:
    return {"step_id": action, "action": action, "config": config, "approval": approval}


TOOL = {"tool": "slack_post", "params": {"channel": "C1"}}
GRANTED = Grant("send_email", {"to": "a@example.com"})
PINNED = Grant("slack_post", {"channel": "C1"})


@pytest.mark.parametrize("action", sorted(AGENTS))
def test_an_agent_is_bounded_by_its_tools_and_the_written_grants(action: str) -> None:
    assert {"agent.run", "agent_task"} == AGENTS
    found = get_write_bounds(action, {"prompt": "p", "tools": [TOOL]}, [GRANTED])
    assert found is not None
    assert PINNED in found
    assert found[-1] == GRANTED


def test_a_script_is_bounded_by_its_grants_and_another_step_by_its_own_config() -> None:
    found = get_write_bounds("script", {"source": "", "grants": [TOOL]}, [GRANTED])
    assert found is not None
    assert PINNED in found
    assert found[-1] == GRANTED
    for other in ("slack_post", "scripts", "scrip"):
        assert get_write_bounds(other, POST, [GRANTED]) is None


def test_the_template_of_a_plain_step_is_its_config() -> None:
    plain, agent, quiet = flatten_steps(
        _document(
            _step("slack_post", "automatic", **POST),
            _step("agent_task", {"slack_post": "ask"}, prompt="p", tools=[TOOL]),
            _step("send_email"),
        )
    )
    assert read_step_approval(plain, ()) == StepApproval("automatic", None, POST)
    found = read_step_approval(agent, (GRANTED,))
    assert found is not None
    assert (found.modes, found.template) == ({"slack_post": "ask"}, None)
    assert found.bounds is not None
    assert read_step_approval(quiet, ()) is None


def test_a_definition_answers_the_modes_of_the_steps_that_have_one() -> None:
    grants = [{"capability": "send_email", "params": GRANTED.params}]
    found = read_approvals(
        _document(
            _step("slack_post", "ask"),
            _step("send_email"),
            _step("agent_task", "automatic", prompt="p"),
            grants=grants,
        )
    )
    assert set(found) == {"slack_post", "agent_task"}
    assert found["slack_post"].modes == "ask"
    assert found["agent_task"].bounds == (Grant("agent.run"), GRANTED)
    # The format before this one had no modes: what was sent at once goes on.
    sends = {
        "step_id": "callback_webhook",
        "action": "callback_webhook",
        "config": {"url": "https://a.example/"},
    }
    older = {"schema_version": "1.1", "plan": [sends]}
    assert read_approvals(older)["callback_webhook"].modes == "automatic"


def test_written_grants_are_those_that_can_be_read() -> None:
    odd = [
        {"capability": "x.y"},
        {"capability": "x.z", "params": None},
        "x.a",
        {"capability": "x.b", "params": [1]},
        {"capability": "x.c", "params": {"a": 1}},
    ]
    assert read_written_grants({"grants": odd}) == (
        Grant("x.y"),
        Grant("x.z"),
        Grant("x.c", {"a": 1}),
    )
    assert read_written_grants({"grants": tuple(odd[:1])}) == (Grant("x.y"),)
    assert read_written_grants({}) == read_written_grants({"grants": {"a": 1}}) == ()
