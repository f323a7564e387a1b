"""Suggestions and pointers."""

from __future__ import annotations

import time

from mainspring.definition.pointers import parts_of, under
from mainspring.definition.words import did_you_mean, nearest, way_to
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


def test_whoever_names_a_tool_that_is_not_there_is_told_how_it_comes_here() -> None:
    there = ["search", "notes.echo", "notes.find"]
    assert way_to("serch", there) == "Did you mean 'search'?"
    assert way_to("notes.zzzzzzzzzz", there) == "There is notes.echo, notes.find."
    assert "connections add URL --alias jira" in str(way_to("jira.*", there))
    assert "mainspring capabilities" in str(way_to("zz*qq", there))
    assert way_to("zzqq", there) is None
