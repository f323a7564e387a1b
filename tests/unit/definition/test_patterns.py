"""Patterns: linear, bounded in size and in the text they read."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.patterns import InvalidPattern, UnmatchableText, compile_pattern
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()


def test_a_pattern_is_found_anywhere_or_covers_the_whole() -> None:
    pattern = compile_pattern("b+", LIMITS)
    assert pattern.found_in("abba")
    assert not pattern.covers("abba")
    assert pattern.covers("bb")
    assert compile_pattern("^é.$", LIMITS).found_in("é😀")


@pytest.mark.parametrize(
    "source",
    [
        "(",
        "[",
        "a**",
        "(?=a)",
        "(?<!a)b",
        "(a)\\1",
        "(?P<x>a)(?P=x)",
        "\\pL{1000}",
        "\ud800",
        "a" * 1001,
        "((a{0,100}){0,100}){0,100}",
        "\\",
        "(?R)",
    ],
)
def test_what_cannot_run_in_linear_time_is_refused_with_a_sentence(source: str) -> None:
    with pytest.raises(InvalidPattern) as caught:
        compile_pattern(source, LIMITS)
    assert str(caught.value).endswith(".")


def test_a_pattern_that_takes_long_to_write_out_is_refused_before_it_is() -> None:
    assert compile_pattern("[a-z]{1,1000}@.{1,200}", LIMITS).found_in("ada@example.org")
    with pytest.raises(InvalidPattern, match="once its repetitions are written out"):
        compile_pattern("99{1,500}" * 60, LIMITS)


@pytest.mark.parametrize(
    "source",
    [
        "(x+x+)+y",
        "(a|a)*b",
        "(a|aa)+$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*a){25}b",
        "a[ab]{500}c",
        "(?:[ab]{1,30}){1,30}c",
        "(?:a?){400}a{400}c",
        "(?i)\\w{300}c",
    ],
)
@pytest.mark.parametrize("mails", ["a", "ab", "x"])
def test_no_text_holds_a_pattern_up(source: str, mails: str) -> None:
    pattern = compile_pattern(source, LIMITS)
    for length in (pattern.longest, 1_000_000):
        text = (mails * length)[: length - 1] + "!"
        begun = time.thread_time()
        with suppress(UnmatchableText):
            pattern.found_in(text)
        assert time.thread_time() - begun < RUNAWAY


def test_a_text_too_long_for_its_pattern_has_no_answer() -> None:
    pattern = compile_pattern("a[ab]{500}b", LIMITS)
    text = "a" + "b" * 501
    assert pattern.found_in(text)
    padded = text + "x" * pattern.longest
    for ask in (pattern.found_in, pattern.covers):
        with pytest.raises(UnmatchableText) as caught:
            ask(padded)
        assert f"at most {pattern.longest:,} bytes" in str(caught.value)
        assert "xxx" not in str(caught.value)
    assert compile_pattern("needle", LIMITS).found_in("x" * 250_000 + "needle")


def test_half_a_character_has_no_answer() -> None:
    with pytest.raises(UnmatchableText):
        compile_pattern(".", LIMITS).found_in("\ud800")
