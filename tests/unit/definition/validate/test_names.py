"""Names: one thing each, and none of the language's own."""

from __future__ import annotations

import pytest

from mainspring.definition.templates import RESERVED
from tests.kit.definitions import judged, loop, shape, step, told


def test_step_ids_are_unique_over_plan_loops_and_failure_steps() -> None:
    report = judged(step("a"), loop("b", shape("a", 1)), execution={"on_failure": [step("b")]})
    assert told(report.findings) == [
        ("/execution/on_failure/0/step_id", "duplicate_step_id"),
        ("/plan/1/config/steps/0/step_id", "duplicate_step_id"),
    ]
    assert "/plan/0" in report.findings[1].detail


def test_an_output_has_one_name_and_a_name_one_output() -> None:
    report = judged(
        step("a", output_as="rows"),
        step("b", output_as="rows"),
        step("c", output_as="a"),
        step("d", output_as="d"),
        step("e", output_as="later"),
        step("later"),
    )
    assert told(report.findings) == [
        ("/plan/1/output_as", "duplicate_output"),
        ("/plan/2/output_as", "duplicate_output"),
        ("/plan/4/output_as", "duplicate_output"),
    ]


@pytest.mark.parametrize("name", sorted(name for name in RESERVED if name.islower()))
def test_words_of_the_language_name_neither_steps_nor_outputs(name: str) -> None:
    assert told(judged(step(name), step("x", output_as=name)).findings) == [
        ("/plan/0/step_id", "reserved_name"),
        ("/plan/1/output_as", "reserved_name"),
    ]


def test_an_item_may_not_take_the_name_of_something_else() -> None:
    inner = shape("inner", 1)
    assert told(judged(loop("all", inner, **{"as": "inputs"})).findings) == [
        ("/plan/0/config/as", "reserved_name")
    ]
    assert judged(loop("all", inner, **{"as": "item"})).ok
    report = judged(step("a", output_as="row"), loop("all", inner, **{"as": "row"}))
    assert told(report.findings) == [("/plan/1/config/as", "duplicate_output")]


def test_trigger_ids_are_unique() -> None:
    hook = {"type": "webhook", "id": "hook"}
    assert told(judged(triggers=[hook, hook, {"type": "webhook"}]).findings) == [
        ("/triggers/1/id", "duplicate_trigger_id")
    ]
