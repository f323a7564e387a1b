"""The envelope: sentences a person understands, and the key that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Finding
from mainspring.definition.validate import validate
from tests.kit.definitions import LIMITS, WORDS, document, judged, loop, shape, step


def only(**more: Any) -> Finding:
    (finding,) = judged(**more).findings
    return finding


@pytest.mark.parametrize(
    ("more", "detail", "suggestion"),
    [
        (
            {"exection": {}},
            "There is no exection here.",
            "Did you mean 'execution'?",
        ),
        (
            {"execution": {"timeout_second": 5}},
            "There is no timeout_second here.",
            "Did you mean 'timeout_seconds'?",
        ),
        (
            {"execution": {"on_failure": [step("x", wehn="true")]}},
            "There is no wehn here.",
            "Did you mean 'when'?",
        ),
        (
            {"inputs": {"shema": {}}},
            "There is no shema here.",
            "Did you mean 'schema'?",
        ),
        (
            {"execution": {"concurrency": "que"}},
            "concurrency must be 'drop_if_running', 'queue' or 'allow_parallel'.",
            "Did you mean 'queue'?",
        ),
        (
            {"execution": {"max_retries": True}},
            "max_retries must be a whole number, not true or false.",
            None,
        ),
        ({"execution": {"max_retries": 11}}, "max_retries must be at most 10.", None),
        ({"execution": {"timeout_seconds": 0}}, "timeout_seconds must be at least 1.", None),
        ({"execution": {"timeout_seconds": 1.5}}, None, None),
        ({"execution": []}, "execution must be an object, not a list.", None),
        ({"triggers": {}}, "triggers must be a list, not an object.", None),
        ({"triggers": ["x"]}, "Entry 0 must be an object, not text.", None),
        ({"goal": None}, "goal must be text, not null.", None),
        ({"name": ""}, "name must not be empty.", None),
        ({"name": "x" * 201}, "name may have at most 200 characters.", None),
        ({"plan": []}, "plan needs at least one entry.", None),
        ({"plan": 5}, "plan must be a list, not a number.", None),
        (
            {"execution": {"budget_cap_usd": "1,50"}},
            'Decimal text has digits and a point, as in "1.50".',
            None,
        ),
        (
            {"triggers": [{"type": "webhook", "id": "No!"}]},
            "id does not have the form of a name.",
            "Begin with a small letter; then small letters, digits, - and _, at most 64 in all.",
        ),
        ({"metadata": {"tags": [5]}}, "Entry 0 must be text, not a number.", None),
    ],
)
def test_each_refusal_is_a_sentence_about_the_authors_own_text(
    more: dict[str, Any], detail: str | None, suggestion: str | None
) -> None:
    finding = only(**more)
    if detail is not None:
        assert (finding.detail, finding.suggestion) == (detail, suggestion)
    assert "Input should" not in finding.detail
    assert "{" not in finding.detail


def test_a_missing_version_says_which_to_write() -> None:
    made = document()
    del made["schema_version"]
    (finding,) = validate(made, WORDS, LIMITS).findings
    assert finding.suggestion == 'Add "schema_version": "1.2".'


def test_a_condition_that_is_no_text_shows_how_to_write_one() -> None:
    (finding,) = judged(step("a", when=False)).findings
    assert finding.pointer == "/plan/0/when"
    assert finding.suggestion is not None
    assert "{{ inputs.count > 0 }}" in finding.suggestion


def test_nested_steps_are_held_to_the_same_shape() -> None:
    report = judged(loop("all", {**shape("x", 1), "output_ass": "y"}, shape("y", 1, when=5)))
    assert [(one.pointer, one.suggestion is not None) for one in report.findings] == [
        ("/plan/0/config/steps/0/output_ass", True),
        ("/plan/0/config/steps/1/when", True),
    ]


def test_values_are_not_repeated_in_sentences() -> None:
    report = judged(execution={"timeout_seconds": "my-secret-value"})
    assert "my-secret-value" not in str(report.findings)
