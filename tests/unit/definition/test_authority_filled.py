"""What a program changes behind an unchanged template is sent too, and is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.authority import AuthorityAddition, find_additions, read_authority
from mainspring.definition.authority_writes import list_outgoing_by
from mainspring.definition.traits import flatten_steps
from tests.kit.bench import document, step

Plan = dict[str, Any]


def _post(text: Any = "hi", channel: str = "#a", **more: Any) -> Plan:
    config = {"channel": channel, "text": text}
    return step("tell", "slack_post", config, **{"approval": "automatic", **more})


def _compute(output: Any, name: str = "draw", **more: Any) -> Plan:
    return step(name, "transform_data", {"output": output}, **more)


def _script(value: str, content: Any = None) -> Plan:
    return step("draw", "script", {"source": f'return "{value}" + input;', "input": content})


def _loop(items: Any, *steps: Plan) -> Plan:
    return step("loop", "for_each", {"items": items, "steps": list(steps)})


def _input(schema: Plan, *steps: Plan, **more: Any) -> Plan:
    whole = {"type": "object", **schema}
    return document(*steps, inputs={"schema": whole}, **more)


def _default(value: str, *steps: Plan, **more: Any) -> Plan:
    schema = {"properties": {"to": {"type": "string", "default": value}}}
    return _input(schema, *steps, **more)


def _trigger(config: Plan, inputs: Plan | None = None) -> Plan:
    kind = "schedule" if "cron" in config else "webhook"
    return {"id": "start", "type": kind, "config": config, "inputs": inputs or {}}


DAILY = {"cron": "0 9 * * *", "timezone": "UTC"}
TO = "{{ inputs.to }}"


def _filled(value: str) -> dict[str, Plan]:
    """Plans in which the same template sends another value."""
    return {
        "trigger": _default("#a", _post(channel=TO), triggers=[_trigger(DAILY, {"to": value})]),
        "mapping": _default(
            "#a", _post(channel=TO), triggers=[_trigger({"input_mapping": {"to": f"$.{value}"}})]
        ),
        "further name": document(_compute(value, output_as="zed"), _post("{{ zed }}")),
        "step id": document(_compute(value, output_as="zed"), _post("{{ steps.draw }}")),
        "bare name": document(_compute(value), _post("{{ draw }}")),
        "list": document(_compute(value), _post(["{{ steps.draw }}"])),
        "all steps": document(_compute(value), _post("{{ steps | tojson }}")),
        "set": document(_compute(value), _post("{% set all = steps %}{{ all.draw }}")),
        "all inputs": _default(value, _post("{{ inputs | tojson }}")),
        "all inputs of a trigger": _default(
            "#a", _post("{{ inputs | tojson }}"), triggers=[_trigger(DAILY, {"to": value})]
        ),
        "computed key": _default(value, _post("{{ inputs['t' ~ 'o'] }}")),
        "script": document(_script(value), _post("{{ steps.draw }}")),
        "input of a script": document(
            _compute(value, "first"), _script("x", "{{ steps.first }}"), _post("{{ steps.draw }}")
        ),
        "items": document(_compute([value]), _loop("{{ steps.draw }}", _post("{{ item }}"))),
        "items that ask": document(_loop([value], _post("{{ item }}", approval="ask"))),
        "results": document(_loop([1], _compute(value)), _post("{{ steps.loop.results }}")),
        "condition": document(
            _compute("x", when=f"{{{{ run.attempt > {len(value)} }}}}"), _post("{{ draw | d(1) }}")
        ),
        "own condition": document(_compute(value), _post(when="{{ steps.draw == 'b2' }}")),
        "name": {**document(_post("{{ run.automation_name }}")), "name": value},
        "nested": _input(
            {
                "properties": {
                    "o": {"properties": {"to": {"default": value}}, "type": "object"},
                },
                "required": ["o"],
            },
            _post("{{ inputs.o.to }}"),
        ),
        "allOf": _input({"allOf": [{"properties": {"to": {"default": value}}}]}, _post(TO)),
        "reference": _input(
            {"properties": {"to": {"$ref": "#/$defs/to"}}, "$defs": {"to": {"default": value}}},
            _post(TO),
        ),
        "other reference": _input(
            {
                "properties": {"to": {"$ref": f"#/$defs/{value}"}},
                "$defs": {"a": {"default": "x"}, "b2": {"default": "y"}},
            },
            _post(TO),
        ),
    }


BEFORE, AFTER = _filled("a"), _filled("b2")


def _added(before: Plan, after: Plan) -> tuple[AuthorityAddition, ...]:
    was, now = (read_authority(one, (), Limits(), sends=_sends(one)) for one in (before, after))
    return find_additions(was, now)


def _sends(plan: Plan) -> frozenset[str]:
    sending = ("slack_post", "telegram_push")
    return frozenset(one.pointer for one in flatten_steps(plan) if one.action in sending)


@pytest.mark.parametrize("way", BEFORE)
def test_another_value_behind_the_same_template_is_another_text(way: str) -> None:
    assert "send" in {one.kind for one in _added(BEFORE[way], AFTER[way])}
    assert _added(BEFORE[way], {**BEFORE[way], "goal": "Another goal."}) == ()


@pytest.mark.parametrize("way", sorted(set(BEFORE) - {"own condition"}))
def test_a_rule_for_drafts_ends_with_another_value_behind_its_template(way: str) -> None:
    then, now = (list_outgoing_by(one[way], "slack_post") for one in (BEFORE, AFTER))
    assert not now <= then
    assert then <= list_outgoing_by({**BEFORE[way], "goal": "Another goal."}, "slack_post")


def test_automatic_writes_are_compared_where_nothing_was_declared() -> None:
    was, now = (read_authority(one["script"], (), Limits()) for one in (BEFORE, AFTER))
    assert [one.kind for one in find_additions(was, now)] == ["send"]


@pytest.mark.parametrize(
    "after",
    [
        _default("#a", _compute("x"), _post(channel=TO)),
        _default("#a", _compute("y"), _post(channel=TO), triggers=[_trigger(DAILY, {"to": "b"})]),
        _default("#a", _compute("x"), _post(channel=TO, when="{{ steps.draw == 'x' }}")),
    ],
    ids=["trigger taken away", "another value that is not sent", "a condition more"],
)
def test_what_sends_nothing_else_is_no_addition(after: Plan) -> None:
    before = _default(
        "#a", _compute("x"), _post(channel=TO), triggers=[_trigger(DAILY, {"to": "b"})]
    )
    assert _added(before, after) == ()


def _held(**more: Any) -> Plan:
    return step("ask", "slack_post", {"channel": "#a", "text": "May I?"}, **more)


@pytest.mark.parametrize("gone", [False, True], ids=["goes on", "gone"])
def test_a_write_for_which_the_run_waited_is_waited_for_or_asked_about(gone: bool) -> None:
    waits = document(_held(approval="ask", on_hold="wait"), _post())
    ahead = [] if gone else [_held(approval="ask", on_hold="continue")]
    output = [one.says for one in _added(waits, document(*ahead, _post()))]
    assert "It now does tell (slack_post) without waiting for the approval of ask." in output
    # What asks for itself, and what only computes, needs no answer before it.
    asks = document(_held(approval="ask", on_hold="wait"), _post(approval="ask"), _compute("x"))
    rest = document(*ahead, _post(approval="ask"), _compute("x"))
    assert _added(asks, rest) == ()


@pytest.mark.parametrize("action", ["telegram_push", "email.notify_owner"])
def test_a_safe_write_that_does_not_ask_any_more_is_an_addition(action: str) -> None:
    policy = {"write_policy": "auto_confirm_safe"}
    config = {"text": "hi"} if action == "telegram_push" else {"subject": "x", "text": "hi"}
    before = document(step("tell", action, config, approval="ask"), execution=policy)
    after = document(step("tell", action, config), execution=policy)
    assert [one.kind for one in _added(before, after)] == ["approval"]
    assert _added(after, before) == ()


@pytest.mark.parametrize("changed", [{"title": "Water the plants?"}, {"message": "All is well."}])
def test_another_question_before_something_is_sent_is_asked_about(changed: Plan) -> None:
    before, after = (
        document(step("ask", "approval", config), _post())
        for config in ({"title": "Post it?"}, {"title": "Post it?"} | changed)
    )
    (one,) = _added(before, after)
    assert one.says == "It now asks a person a different question at the step ask."
    assert (one.kind, one.pointer) == ("approval", "/plan/0/config")


def test_an_input_that_is_not_read_is_no_part_of_what_is_sent() -> None:
    def sent(to: str, other: str) -> frozenset[bytes]:
        triggers = [
            _trigger(DAILY, {"to": to, "other": other}),
            _trigger({"input_mapping": {"to": f"$.{to}", "other": f"$.{other}"}}),
        ]
        plan = _default("#a", _post(channel=TO), triggers=triggers)
        return list_outgoing_by(plan, "slack_post")

    assert sent("b", "x") == sent("b", "y")
    assert sent("b", "x") != sent("c", "x")
