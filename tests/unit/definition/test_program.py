"""The program: everything looked up, read and compiled before a run begins."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Registry
from mainspring.definition.model import Definition
from mainspring.definition.program import CompiledDefinition, compile_program
from mainspring.triggers import webhook
from tests.kit.definitions import LIMITS, WORDS, document, inputs, loop, shape, step


def program(*plan: dict[str, Any], **more: Any) -> CompiledDefinition:
    return compile_program(Definition.from_json(document(*plan, **more)), WORDS, LIMITS)


def test_a_step_has_its_action_its_condition_and_its_rendered_config() -> None:
    made = program(
        shape("a", {"id": "{{ inputs.n }}"}, when="inputs.n > 1"),
        inputs=inputs(["n"], n={"type": "integer"}),
    )
    (first,) = made.steps
    assert first.action is WORDS.actions["transform_data"]
    assert first.capability is None
    assert first.when is not None
    assert first.when.test({"inputs": {"n": 2}})
    assert first.config.render({"inputs": {"n": 2}}) == {"output": {"id": 2}}
    assert first.output_name == "a"


def test_a_capability_is_called_directly_and_judged_by_its_own_schemas() -> None:
    (first,) = program(step("a", "automation_kv.get", config={"key": "{{ run.id }}"})).steps
    assert first.action is None
    assert first.capability is WORDS.capabilities["automation_kv.get"]
    assert first.config_validator.findings({}) != []
    assert first.config_validator.is_valid({"key": "x"})
    assert first.output_validator is not None
    assert not first.output_validator.is_valid({"found": True})


def test_a_steps_policy_comes_before_that_of_the_run() -> None:
    made = program(
        step("a"),
        step("b", max_retries=0, retry_backoff="none", timeout_seconds=5, output_as="out"),
        execution={"max_retries": 7, "retry_backoff": "linear", "timeout_seconds": 90},
    )
    policies = [(one.max_retries, one.backoff, one.timeout_seconds) for one in made.steps]
    assert policies == [(7, "linear", 90), (0, "none", 5)]
    assert made.steps[1].output_name == "out"
    assert made.timeout_seconds == 90


def test_nested_steps_are_ready_and_stay_unrendered_in_the_config() -> None:
    inner = shape("inner", "{{ item }}")
    (outer,) = program(
        loop("all", inner, items="{{ inputs.rows }}"),
        inputs=inputs(["rows"], rows={"type": "array"}),
    ).steps
    assert [one.step_id for one in outer.nested] == ["inner"]
    assert outer.nested[0].config.render({"item": 5}) == {"output": 5}
    rendered = outer.config.render({"inputs": {"rows": [1, 2]}})
    assert rendered == {"items": [1, 2], "steps": [inner]}
    assert outer.config_validator.is_valid(rendered)


def test_failure_steps_are_compiled_too() -> None:
    made = program(execution={"on_failure": [shape("alarm", "{{ run.error.code }}")]})
    (alarm,) = made.on_failure
    assert alarm.config.render({"run": {"error": {"code": "x"}}}) == {"output": "x"}


def test_a_shape_that_the_step_declares_is_compiled() -> None:
    (slow,) = program(step("a", "slow_report", config={"output_schema": {"type": "array"}})).steps
    assert slow.output_validator is not None
    assert not slow.output_validator.is_valid({})
    (free,) = program(step("a", "slow_report", config={})).steps
    assert free.output_validator is None


@pytest.mark.parametrize(
    ("plan", "queue"),
    [
        (step("a"), "fast"),
        (step("a", "callback_webhook", config={"url": "https://a.example/"}), "fast"),
        (step("a", "llm.complete", config={"prompt": "x"}), "medium"),
        (step("a", "slow_report", config={}), "long"),
        (loop("l", step("a", "slow_report", config={})), "long"),
    ],
)
def test_the_longest_step_decides_the_queue(plan: dict[str, Any], queue: str) -> None:
    assert program(step("first"), plan).queue == queue


def test_a_long_failure_step_counts() -> None:
    slow = step("a", "slow_report", config={})
    assert program(step("first"), execution={"on_failure": [slow]}).queue == "long"


def test_the_program_knows_what_it_may_call() -> None:
    made = program(step("a", "http_fetch", config={"url": "https://a.example/"}))
    assert made.grants == (Grant("http_fetch", {"hosts": ["a.example"]}),)
    assert made.execution is made.definition.execution


def test_a_definition_that_todays_words_do_not_fit_is_refused_with_findings() -> None:
    definition = Definition.from_json(document(step("a"), triggers=[{"type": "webhook"}]))
    compile_program(definition, WORDS, LIMITS)
    with pytest.raises(Invalid) as caught:
        compile_program(definition, Registry(triggers=[webhook.TRIGGER]), LIMITS)
    assert [finding.pointer for finding in caught.value.findings] == ["/plan/0/action"]
