"""The report: everything at once, in order, with a way out."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.grant import Grant
from mainspring.definition.validate import validate
from mainspring.definition.validate.outline import MOST_FINDINGS
from tests.kit.definitions import LIMITS, WORDS, document, judged, loop, shape, step, told


def test_a_sound_document_becomes_a_definition_with_its_grants() -> None:
    report = judged(step("read", "http_fetch", config={"url": "https://a.example/"}))
    assert report.ok
    assert report.accepted() is report.definition
    assert report.grants == (Grant("http_fetch", {"hosts": ["a.example"]}),)


def test_one_mistake_hides_no_other() -> None:
    report = validate(
        {
            "schema_version": "1.2",
            "nam": "x",
            "goal": 5,
            "inputs": {"schema": {"type": "obj"}},
            "triggers": [
                {"type": "schedule", "config": {"cron": "61 * * * *", "timezone": "Nowhere"}},
                {"type": "schedul"},
            ],
            "plan": [
                step("A", "http_fetsch"),
                step("run", when="false"),
                shape("one", "{{ colour }}", max_retries="3"),
                loop("all", shape("inner", "{{ two"), shape("inner", 1, oops=1)),
                shape("one", "{{ steps.late }}"),
                shape("late", "{{ run.error.code }}"),
            ],
            "execution": {"timeout_seconds": "5", "on_failure": [shape("alarm", "{{ later }}")]},
            "grants": [{"capability": "admin_x"}],
        },
        WORDS,
        LIMITS,
    )
    assert told(report.findings) == [
        ("/execution/on_failure/0/config/output", "unknown_variable"),
        ("/execution/timeout_seconds", "type"),
        ("/goal", "type"),
        ("/grants/0/capability", "never_granted"),
        ("/inputs/schema/type", "enum"),
        ("/nam", "additional_properties"),
        ("/name", "required"),
        ("/plan/0/action", "unknown_action"),
        ("/plan/0/step_id", "pattern"),
        ("/plan/1/step_id", "reserved_name"),
        ("/plan/1/when", "unreachable_step"),
        ("/plan/2/config/output", "unknown_variable"),
        ("/plan/2/max_retries", "type"),
        ("/plan/3/config/steps/0/config/output", "template_syntax"),
        ("/plan/3/config/steps/1/oops", "additional_properties"),
        ("/plan/3/config/steps/1/step_id", "duplicate_step_id"),
        ("/plan/4/config/output", "forward_reference"),
        ("/plan/4/step_id", "duplicate_step_id"),
        ("/plan/5/config/output", "only_on_failure"),
        ("/triggers/0/config/cron", "cron_field"),
        ("/triggers/0/config/timezone", "format"),
        ("/triggers/1/type", "enum"),
    ]
    assert report.definition is None
    assert report.grants == ()


def test_the_problem_of_a_refused_document_carries_every_finding() -> None:
    report = judged(step("read", "nothing"), step("read"))
    with pytest.raises(Invalid) as caught:
        report.accepted()
    assert caught.value.findings == report.findings
    assert caught.value.detail == "The definition has 2 problems."
    assert caught.value.code == "invalid_definition"


def test_findings_are_in_the_order_of_the_document() -> None:
    plan = [shape(f"s{number}", "{{ x }}") for number in range(12)]
    pointers = [finding.pointer for finding in judged(*plan).findings]
    assert pointers == [f"/plan/{number}/config/output" for number in range(12)]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("text", "type"),
        (None, "type"),
        ([], "type"),
        ({"name": float("nan")}, "json_constant"),
        ({"name": "a\x00"}, "json_nul"),
        ({"name": "\ud800"}, "json_surrogate"),
        ({"name": {1: 2}}, "json_key"),
        ({"name": {1, 2}}, "json_type"),
    ],
)
def test_what_is_not_a_json_object_is_refused_and_no_closer_looked_at(
    value: Any, code: str
) -> None:
    report = validate(value, WORDS, LIMITS)
    assert [finding.code for finding in report.findings] == [code]


def test_deep_documents_are_refused_without_being_walked() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"steps": [deep]}
    report = validate(document(step("a", "for_each", config=deep)), WORDS, LIMITS)
    assert [finding.code for finding in report.findings] == ["json_depth"]


def test_judging_changes_nothing_in_the_document() -> None:
    made = document(loop("all", shape("inner", "{{ item }}")), triggers=[{"type": "webhook"}])
    before = deepcopy(made)
    assert validate(made, WORDS, LIMITS).ok
    assert made == before


def test_the_canonical_form_of_what_was_accepted_is_accepted() -> None:
    report = judged(loop("all", shape("inner", "{{ item }}")), triggers=[{"type": "webhook"}])
    again = validate(report.accepted().as_dict(), WORDS, LIMITS)
    assert again.definition == report.definition


def test_a_flood_of_mistakes_is_cut_off_and_says_so() -> None:
    flood = {f"execuion{number}": 1 for number in range(10_000)}
    report = validate({**document(), **flood}, WORDS, LIMITS)
    assert len(report.findings) == MOST_FINDINGS
    assert told(report.warnings) == [("", "more_findings")]
    assert not report.ok
