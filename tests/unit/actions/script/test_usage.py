"""Marks of usage are gathered into few bookings, and none of them is lost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from mainspring.actions.script.conversation import UsageAccumulator
from mainspring.contracts.model import Usage


def _booked(marks: Iterable[Usage]) -> list[Usage]:
    gathered = UsageAccumulator()
    found = [gathered.add(mark) for mark in marks]
    return [usage for usage in (*found, gathered.rest()) if usage is not None]


def _mark(tokens: int = 1, cost: str = "0", model: str = "m") -> Usage:
    return Usage(model, tokens, tokens, Decimal(cost))


def test_a_mark_that_adds_nothing_is_not_booked() -> None:
    assert _booked(_mark(tokens=0) for _ in range(10_000)) == []


def test_the_first_marks_are_booked_as_they_come() -> None:
    marks = [_mark(number, "0.01", f"m{number % 3}") for number in range(1, 51)]
    gathered = UsageAccumulator()
    assert [gathered.add(mark) for mark in marks] == marks
    assert gathered.rest() is None


def test_thousands_of_marks_are_few_bookings_and_the_same_sum() -> None:
    marks = [_mark(1 + number % 7, "0.000001", f"m{number % 2}") for number in range(10_000)]
    booked = _booked(marks)
    assert len(booked) < 200
    for of in (lambda one: one.input_tokens, lambda one: one.cost_usd):
        assert sum(map(of, booked)) == sum(map(of, marks))
    assert {usage.model for usage in booked} <= {"m0", "m1", "several"}


def test_a_large_mark_is_never_held_back() -> None:
    gathered = UsageAccumulator()
    for _ in range(5_000):
        gathered.add(_mark(1, "0.001"))
    large = gathered.add(_mark(1, "10"))
    assert large is not None
    assert large.cost_usd >= 10


def test_what_is_booked_follows_from_the_marks_alone() -> None:
    marks = [_mark(number, "0.0001") for number in range(2_000)]
    assert _booked(marks) == _booked(iter(marks))
    assert _booked(marks[:1_500])[:-1] == _booked(marks)[: len(_booked(marks[:1_500])) - 1]
