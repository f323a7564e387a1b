"""Steps for failed runs, which are never part of the plan itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mainspring.authoring.sketch.action_steps import ActionContent, add_act
from mainspring.authoring.sketch.intents import read_intent
from mainspring.authoring.sketch.request import ParsedRequest
from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.word_tables import CALL, MAIL, SAY, TELL

_ON_FAILURE: Final = "/execution/on_failure"
_TITLE: Final = "{{ run.automation_name }} failed"
_DETAIL: Final = "{{ run.error.detail }}"


def split_alarms(request: ParsedRequest) -> tuple[list[Clause], list[Clause]]:
    """Separate the clauses that say what happens on failure."""
    clauses = list(request.clauses)
    alarms: list[Clause] = []
    for one in request.happenings:
        if one.sort != "failure" or not clauses:
            continue
        start, end = one.tokens[0].start, one.tokens[-1].end
        before = [two for two in clauses if two.tokens[0].start < start]
        after = [two for two in clauses if two.tokens[0].start >= end]
        told_next = bool(after) and after[0].verb in TELL
        called = bool(before) and before[-1].verb in CALL and bool(before[-1].of("url"))
        # In "call it, and if it fails tell me" the following clause is for the failure.
        fitting = after[:1] if one.leading or (told_next and called) else before[-1:]
        for clause in fitting:
            if clause.verb in TELL | SAY | MAIL | CALL:
                clauses.remove(clause)
                alarms.append(clause)
    return clauses, alarms


def alarm_steps(bench: SketchBuilder, alarms: Sequence[Clause]) -> list[dict[str, Any]]:
    """Build the failure steps: at the requested target, or in the inbox."""
    there = bench.enter("on_failure")
    bench.root = _ON_FAILURE
    content = ActionContent(_DETAIL, _TITLE)
    for clause in alarms:
        intent = read_intent(clause, bench)
        for target in intent.targets:
            if target.where not in {"inbox", "board", "rows", "wait"}:
                add_act(bench, target, intent, content)
            elif target.where != "inbox":
                bench.lose(clause.text())
    made = bench.steps or [_notice(bench)]
    bench.drop(there)
    return made


def _notice(bench: SketchBuilder) -> dict[str, Any]:
    return {
        "step_id": bench.free("tell_failure"),
        "action": "notification",
        "config": {"title": _TITLE, "message_template": _DETAIL, "level": "error"},
    }
