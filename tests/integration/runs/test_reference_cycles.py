"""A run that has ended is gone: it leaves no circle of objects for the collector."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.runs.execute import RunExecution
from mainspring.runs.step import StepAttempt
from tests.kit.bench import Bench, document, step
from tests.kit.garbage import left_over

MADE = step("made", "transform_data", {"output": {"n": 1}})
SAY = step("say", "test.echo", {"text": "{{ made.n }}"})
EACH = step("each", "for_each", {"items": [1, 2, 3], "steps": [SAY]})


@pytest.mark.parametrize(
    "plan",
    [
        [MADE, SAY],
        [MADE, EACH],
        [step("note", "test.note", {"mark": "x"})],
    ],
    ids=["steps", "for_each", "a write"],
)
async def test_a_run_leaves_nothing_for_the_collector(bench: Bench, plan: list[Any]) -> None:
    saved = document(*plan)
    assert (await bench.run(saved))["status"] == "succeeded"
    with left_over() as found:
        for _ in range(5):
            assert (await bench.run(saved))["status"] == "succeeded"
    assert sum(isinstance(one, (RunExecution, StepAttempt)) for one in found) <= 1
