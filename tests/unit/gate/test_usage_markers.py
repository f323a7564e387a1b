"""Marks of usage in a script's output: found however it is cut, and never worth less than 0."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.model import Usage
from mainspring.gate.usage_markers import (
    CLOSE,
    LONGEST,
    OPEN,
    IgnoredMarker,
    UsageMarkerParser,
    usage_markers,
)

GOOD = {"model": "mine", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}
READ = Usage("mine", 10, 5, Decimal("0.25"), reported=True)


def _mark(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{OPEN}{text}{CLOSE}"


def test_a_mark_in_a_line_is_read_and_text_around_it_is_not() -> None:
    text = f"before {_mark(GOOD)} between {_mark({**GOOD, 'input_tokens': 11})} after"
    first, second = usage_markers([text])
    assert first == READ
    assert isinstance(second, Usage)
    assert second.tokens == 16


@given(st.lists(st.integers(0, 400), max_size=12))
def test_where_the_output_is_cut_does_not_matter(cuts: list[int]) -> None:
    text = f"[[llm_[[llm_usage]{_mark(GOOD)}]]{_mark('nothing')}[{_mark(GOOD)}[[llm_usage"
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    whole = list(usage_markers([text]))
    assert list(usage_markers(pieces)) == whole
    assert list(usage_markers(text)) == whole
    assert [type(one) for one in whole] == [Usage, IgnoredMarker, Usage]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "1",
        '"text"',
        "null",
        "{}",
        "{'model': 'x'}",
        {**GOOD, "cost_usd": -1},
        {**GOOD, "cost_usd": "1"},
        {**GOOD, "cost_usd": None},
        {**GOOD, "cost_usd": True},
        {**GOOD, "input_tokens": -1},
        {**GOOD, "input_tokens": 1.5},
        {**GOOD, "output_tokens": "5"},
        {**GOOD, "output_tokens": False},
        {"model": "mine"},
        {"input_tokens": 1, "output_tokens": 1},
        [GOOD],
        '{"input_tokens": 1, "output_tokens": 1, "cost_usd": NaN}',
        '{"input_tokens": 1, "output_tokens": 1, "cost_usd": Infinity}',
        '{"input_tokens": 1, "output_tokens": 1, "cost_usd": -1e308}',
        '{"input_tokens": 1, "output_tokens": 1, "cost_usd": 1e999}',
        "[" * 2_000,
        {**GOOD, "model": "x\x00y"},
        {**GOOD, "input_tokens": 10**40},
    ],
)
def test_a_mark_that_cannot_be_right_counts_for_nothing_and_says_why(body: object) -> None:
    (mark,) = usage_markers([_mark(body)])
    assert isinstance(mark, IgnoredMarker)
    assert mark.reason.endswith(".")


def test_a_name_is_no_reason_to_count_nothing() -> None:
    for name in (None, 7, "", "n" * 500):
        (mark,) = usage_markers([_mark({**GOOD, "model": name})])
        assert isinstance(mark, Usage)
        assert 0 < len(mark.model) <= 200


def test_numbers_beyond_anything_real_are_cut() -> None:
    huge = {"input_tokens": 10**15, "output_tokens": 10**15, "cost_usd": 1e300}
    (mark,) = usage_markers([_mark(huge)])
    assert isinstance(mark, Usage)
    assert (mark.tokens, mark.cost_usd) == (2 * 10**12, Decimal(10**6))


def test_a_mark_that_is_begun_anew_counts_once() -> None:
    assert list(usage_markers([f"{OPEN}{OPEN} lost {_mark(GOOD)}{CLOSE}"])) == [READ]


def _endless(pieces: int) -> Iterator[str]:
    yield OPEN
    for _ in range(pieces):
        yield "x" * 1_000
    yield _mark(GOOD)


def test_a_mark_without_an_end_keeps_little_and_hides_nothing_after_it() -> None:
    marks, found = UsageMarkerParser(), []
    for piece in _endless(2_000):
        found += list(marks.feed(piece))
        assert marks.held <= LONGEST + len(OPEN)
    assert [type(one) for one in found] == [IgnoredMarker, Usage]


def test_output_without_marks_keeps_nothing() -> None:
    marks = UsageMarkerParser()
    assert list(marks.feed("[" * 1_000_000)) == []
    assert marks.held < len(OPEN)


def test_one_that_is_never_ended_is_reported_at_the_end() -> None:
    (mark,) = usage_markers(["text ", OPEN, '{"input_tokens": 1'])
    assert isinstance(mark, IgnoredMarker)


def test_more_marks_than_are_read_are_reported_once_and_then_passed_over() -> None:
    found = list(usage_markers([_mark(GOOD)] * 50, most=3))
    assert [type(one) for one in found] == [Usage, Usage, Usage, IgnoredMarker]


@given(
    st.lists(st.text(alphabet='[]/{}:,"0123456789-.eENa_lmusgitkpo \n', max_size=80), max_size=8)
)
def test_no_text_ever_takes_anything_back(texts: list[str]) -> None:
    pieces = [piece for text in texts for piece in (OPEN, text, CLOSE)]
    for mark in usage_markers(pieces):
        if isinstance(mark, Usage):
            assert mark.reported
            assert min(mark.input_tokens, mark.output_tokens) >= 0
            assert mark.cost_usd.is_finite()
            assert mark.cost_usd >= 0


_NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.integers(10**17, 10**40),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD, _NUMBERS)))
def test_no_numbers_ever_take_anything_back(forged: dict[str, object]) -> None:
    for mark in usage_markers([_mark(forged)]):
        if isinstance(mark, Usage):
            assert 0 <= mark.tokens <= 2 * 10**12
            assert 0 <= mark.cost_usd <= 10**6
