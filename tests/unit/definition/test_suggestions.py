"""Suggestions and pointers."""

from __future__ import annotations

import time

from mainspring.definition.strict_json import join_pointer, split_pointer
from mainspring.definition.suggestions import find_nearest, suggest_capability, suggest_nearest
from tests.kit.runaway import RUNAWAY


def test_the_nearest_word_is_found_whatever_its_case() -> None:
    assert find_nearest("agent_tsk", ["http_fetch", "agent_task", "notification"]) == "agent_task"
    assert find_nearest("europe/berlin", ["Europe/Bern", "Europe/Berlin"]) == "Europe/Berlin"


def test_a_word_that_is_like_nothing_gets_no_suggestion() -> None:
    assert find_nearest("xyz", ["agent_task", "notification"]) is None
    assert find_nearest("", ["a"]) is None
    assert find_nearest("a", []) is None
    assert suggest_nearest("xyz", ["agent_task"]) is None


def test_a_suggestion_is_a_question() -> None:
    assert suggest_nearest("dayly", ["daily", "hourly"]) == "Did you mean 'daily'?"


def test_long_words_cost_nothing() -> None:
    begun = time.thread_time()
    assert find_nearest("a" * 1_000_000, ["a" * 1_000_000] * 100) is None
    assert find_nearest("abc", ["a" * 1_000_000] * 100) is None
    assert time.thread_time() - begun < RUNAWAY


def test_pointers_escape_what_would_be_mistaken_for_structure() -> None:
    assert join_pointer("/a", "b/c", 0, "d~e") == "/a/b~1c/0/d~0e"
    assert split_pointer("/a/b~1c/0/d~0e") == ["a", "b/c", "0", "d~e"]
    assert join_pointer("") == ""
    assert split_pointer("") == []
    assert split_pointer("/~01") == ["~1"]


def test_a_missing_tool_is_reported_with_how_to_connect_it() -> None:
    there = ["search", "notes.echo", "notes.find"]
    assert suggest_capability("serch", there) == "Did you mean 'search'?"
    assert suggest_capability("notes.zzzzzzzzzz", there) == "There is notes.echo, notes.find."
    assert "connections add URL --alias jira" in str(suggest_capability("jira.*", there))
    assert "mainspring capabilities" in str(suggest_capability("zz*qq", there))
    assert suggest_capability("zzqq", there) is None
