"""Bounds: limits of the installation, and limits that contradict each other."""

from __future__ import annotations

from dataclasses import replace

from mainspring.definition.validate import validate
from tests.kit.definitions import LIMITS, WORDS, document, judged, loop, shape, step, told


def test_steps_are_counted_with_those_in_loops_and_after_failures() -> None:
    made = document(step("a"), loop("b", shape("c", 1)), execution={"on_failure": [step("d")]})
    assert validate(made, WORDS, replace(LIMITS, steps=4)).ok
    assert told(validate(made, WORDS, replace(LIMITS, steps=3)).findings) == [
        ("/plan", "too_many_steps")
    ]


def test_triggers_are_counted() -> None:
    made = document(triggers=[{"type": "webhook"}] * 3)
    assert validate(made, WORDS, replace(LIMITS, triggers=3)).ok
    assert told(validate(made, WORDS, replace(LIMITS, triggers=2)).findings) == [
        ("/triggers", "too_many_triggers")
    ]


def test_loops_are_nested_as_deep_as_the_limit_says() -> None:
    made = document(loop("a", loop("b", shape("c", 1))))
    assert validate(made, WORDS, LIMITS).ok
    assert told(validate(made, WORDS, replace(LIMITS, nesting=1)).findings) == [
        ("/plan/0/config/steps/0", "nested_too_deeply")
    ]


def test_a_definition_is_measured_as_it_is_stored() -> None:
    made = document(shape("a", "x" * 1_000))
    assert validate(made, WORDS, replace(LIMITS, definition_bytes=1_200)).ok
    assert told(validate(made, WORDS, replace(LIMITS, definition_bytes=1_000)).findings) == [
        ("", "definition_too_large")
    ]


def test_templates_are_measured_together_and_plain_texts_are_not() -> None:
    made = document(
        shape("a", "{{ run.id }}" + "x" * 200),
        loop("b", shape("c", "{{ item }}" + "x" * 200)),
        shape("d", "x" * 5_000),
    )
    assert validate(made, WORDS, replace(LIMITS, templates_bytes=500)).ok
    assert told(validate(made, WORDS, replace(LIMITS, templates_bytes=400)).findings) == [
        ("/plan", "too_much_template")
    ]


def test_bounds_that_can_never_be_reached_are_pointed_out() -> None:
    report = judged(
        step("a", timeout_seconds=700),
        step("c", budget_cap_usd="2.01"),
        execution={
            "budget_cap_usd": 2,
            "concurrency": "allow_parallel",
            "concurrency_key": "x",
            "on_failure": [step("b", timeout_seconds=601)],
        },
    )
    assert report.ok
    assert told(report.warnings) == [
        ("/execution/budget_cap_usd", "budget_above_day_cap"),
        ("/execution/concurrency_key", "key_without_effect"),
        ("/execution/on_failure/0/timeout_seconds", "timeout_above_run"),
        ("/plan/0/timeout_seconds", "timeout_above_run"),
        ("/plan/1/budget_cap_usd", "step_budget_above_run"),
    ]


def test_bounds_that_fit_together_are_not_mentioned() -> None:
    report = judged(
        step("a", timeout_seconds=600, budget_cap_usd=1), execution={"cost_cap_daily_usd": 1}
    )
    assert report.warnings == ()
