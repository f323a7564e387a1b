"""Suggestions and pointers."""

from __future__ import annotations

import time

from mainspring.definition.pointers import parts_of, under
from mainspring.definition.words import did_you_mean, nearest
from tests.kit.runaway import RUNAWAY


def test_the_nearest_word_is_found_whatever_its_case() -> None:
    assert nearest("agent_tsk", ["http_fetch", "agent_task", "notification"]) == "agent_task"
    assert nearest("europe/berlin", ["Europe/Bern", "Europe/Berlin"]) == "Europe/Berlin"


def test_a_word_that_is_like_nothing_gets_no_suggestion() -> None:
    assert nearest("xyz", ["agent_task", "notification"]) is None
    assert nearest("", ["a"]) is None
    assert nearest("a", []) is None
    assert did_you_mean("xyz", ["agent_task"]) is None


def test_a_suggestion_is_a_question() -> None:
    assert did_you_mean("dayly", ["daily", "hourly"]) == "Did you mean 'daily'?"


def test_long_words_cost_nothing() -> None:
    begun = time.thread_time()
    assert nearest("a" * 1_000_000, ["a" * 1_000_000] * 100) is None
    assert nearest("abc", ["a" * 1_000_000] * 100) is None
    assert time.thread_time() - begun < RUNAWAY


def test_pointers_escape_what_would_be_mistaken_for_structure() -> None:
    assert under("/a", "b/c", 0, "d~e") == "/a/b~1c/0/d~0e"
    assert parts_of("/a/b~1c/0/d~0e") == ["a", "b/c", "0", "d~e"]
    assert under("") == ""
    assert parts_of("") == []
    assert parts_of("/~01") == ["~1"]
