"""What a run is said to have come to."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InternalError,
    PermissionDenied,
    Problem,
)
from mainspring.runs.rows import (
    SENTENCES,
    EffectTally,
    classify_failure,
    outcome_of_finished_run,
    sentence,
)


@pytest.mark.parametrize(
    ("calls", "answers", "word"),
    [
        ([], 0, "nothing_to_do"),
        ([], 2, "answer_only"),
        (["read", "read"], 2, "answer_only"),
        (["read", "kept"], 1, "effects"),
        (["sent"], 0, "effects"),
        (["held", "sent"], 1, "drafts_waiting"),
        (["held", "held", "confirmed"], 1, "drafts_waiting"),
        (["held", "confirmed"], 0, "effects"),
        (["failed", "denied", "pretended"], 0, "nothing_to_do"),
    ],
)
def test_the_end_of_a_plan_is_named_for_what_happened(
    calls: list[str], answers: int, word: str
) -> None:
    tally = EffectTally(answers=answers)
    for outcome in calls:
        tally.count(outcome)
    assert outcome_of_finished_run(tally) == word


@pytest.mark.parametrize(
    ("problem", "status", "word"),
    [
        (InternalError("x"), "failed", "failed"),
        (PermissionDenied("x", code="not_granted"), "failed", "blocked"),
        (BudgetExceeded("x"), "failed", "over_budget"),
        (DeadlineExceeded("x", code="run_timeout"), "timed_out", "failed"),
    ],
)
def test_a_plan_that_broke_off_keeps_the_problem_s_code_as_its_reason(
    problem: Problem, status: str, word: str
) -> None:
    assert classify_failure(problem) == (status, problem.code, word)
    assert word in SENTENCES


def test_a_run_without_an_answer_is_not_said_to_have_one() -> None:
    assert sentence("answer_only", 0) == SENTENCES["answer_only"]
    assert "without a result" in sentence("answer_only", None)
    assert sentence("nothing_to_do", None) == SENTENCES["nothing_to_do"]
    assert sentence(None, 1) == ""


def test_a_limit_of_turns_or_time_is_not_reported_as_money() -> None:
    _, reason, word = classify_failure(BudgetExceeded("x", code="agent_turns"))
    assert (reason, word) == ("agent_turns", "over_budget")
    assert sentence(word, None) == "It reached one of its limits."
