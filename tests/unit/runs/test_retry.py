"""Whether and when a step is tried again."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InternalError,
    Invalid,
    LimitExceeded,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.runs.execute import SPREAD, Backoff, may_retry, pause_before


@pytest.mark.parametrize(
    ("problem", "again"),
    [
        (UpstreamError("x"), True),
        (UpstreamError("x", retryable=False), False),
        (DeadlineExceeded("x"), True),
        (InternalError("x"), True),
        (LimitExceeded("x"), True),
        (BudgetExceeded("x"), False),
        (Invalid("x"), False),
        (PermissionDenied("x"), False),
    ],
)
def test_the_class_of_the_problem_says_whether_another_try_can_help(
    problem: Problem, again: bool
) -> None:
    assert may_retry(problem, 1, 3) is again


def test_attempts_are_counted_from_the_first() -> None:
    assert [may_retry(UpstreamError("x"), attempt, 2) for attempt in (1, 2, 3)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("backoff", "pauses"),
    [("none", [0, 0, 0]), ("linear", [1, 2, 3]), ("exponential", [1, 2, 4])],
)
def test_pauses_grow_by_the_formula_within_a_fifth(backoff: Backoff, pauses: list[float]) -> None:
    for attempt, middle in enumerate(pauses, start=1):
        for chance in (0.0, 0.5, 0.999):
            pause = pause_before(attempt, backoff, retry_after=None, chance=chance, most=3600)
            assert middle * (1 - SPREAD) <= pause <= middle * (1 + SPREAD)


def test_a_pause_never_undercuts_what_the_other_side_asked_for_nor_exceeds_the_limit() -> None:
    asked = pause_before(1, "exponential", retry_after=30, chance=0.5, most=3600)
    assert asked == 30
    assert pause_before(20, "exponential", retry_after=None, chance=0.5, most=3600) == 3600
    assert pause_before(1, "none", retry_after=9_999, chance=0.5, most=3600) == 3600
