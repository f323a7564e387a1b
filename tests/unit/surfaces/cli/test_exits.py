"""The exit code of a run says what became of it."""

from __future__ import annotations

from typing import get_args

import pytest

from mainspring.contracts.errors import (
    Conflict,
    InternalError,
    Invalid,
    NotFound,
    Problem,
    UpstreamError,
)
from mainspring.runs.rows import OutcomeWord, RunStatus
from mainspring.surfaces.cli import exits


@pytest.mark.parametrize(
    ("status", "outcome", "code"),
    [
        ("succeeded", "effects", 0),
        ("succeeded", "drafts_waiting", 0),
        ("succeeded", "answer_only", 0),
        ("succeeded", "nothing_to_do", 3),
        ("failed", "failed", 1),
        ("failed", "blocked", 4),
        ("failed", "over_budget", 5),
        ("timed_out", "failed", 6),
        ("cancelled", "failed", 7),
        ("skipped", "nothing_to_do", 8),
        ("skipped", "over_budget", 5),
        ("skipped", "blocked", 4),
        ("dead", "failed", 9),
        ("waiting", None, 10),
        ("running", None, 10),
        ("pending", None, 10),
    ],
)
def test_each_end_of_a_run_has_its_code(status: str, outcome: str | None, code: int) -> None:
    assert exits.of_run(status, outcome) == code


@pytest.mark.parametrize("status", get_args(RunStatus))
@pytest.mark.parametrize("outcome", [*get_args(OutcomeWord), None])
def test_every_end_there_can_be_has_a_code_that_is_documented(
    status: str, outcome: str | None
) -> None:
    assert exits.of_run(status, outcome) in dict(exits.EXITS)


@pytest.mark.parametrize("status", sorted(set(get_args(RunStatus)) - {"succeeded"}))
def test_a_run_that_did_not_succeed_is_never_zero(status: str) -> None:
    assert all(exits.of_run(status, outcome) != 0 for outcome in (*get_args(OutcomeWord), None))


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (Invalid("x"), 2),
        (NotFound("x"), 1),
        (Conflict("x"), 1),
        (UpstreamError("x"), 1),
        (InternalError("x"), 1),
    ],
)
def test_bad_input_is_distinguished_from_every_other_problem(problem: Problem, code: int) -> None:
    assert exits.of_problem(problem) == code


def test_the_table_lists_each_code_once_in_order() -> None:
    codes = [code for code, _ in exits.EXITS]

    assert codes == sorted(set(codes))
    assert all(sentence.endswith(".") for _, sentence in exits.EXITS)
