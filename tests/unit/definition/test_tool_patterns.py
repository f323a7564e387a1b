"""A pattern of tools stands for the names it spells, and holds nobody up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.contracts.capability import Capability
from mainspring.definition.tool_patterns import matching
from tests.kit.runaway import RUNAWAY


async def _nothing(ctx: Any, given: Any) -> None:
    del ctx, given


def _found(pattern: str, *names: str) -> list[str]:
    words = {name: Capability(name, name, {}, {}, _nothing) for name in names}
    return list(matching(pattern, words))


def _spells(pattern: str, name: str) -> bool:
    """The same, said slowly: each star is nothing, or a letter and a star."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return _spells(pattern[1:], name) or bool(name and _spells(pattern, name[1:]))
    return bool(name) and name[0] == pattern[0] and _spells(pattern[1:], name[1:])


@given(st.text("ab.*", min_size=1, max_size=8), st.text("ab.", min_size=1, max_size=8))
def test_a_star_stands_for_anything_and_all_else_for_itself(pattern: str, name: str) -> None:
    assert bool(_found(pattern, name)) is _spells(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "names", "found"),
    [
        ("slack.*", ["slack.post", "slack.", "slackish"], ["slack.", "slack.post"]),
        ("*.post", ["slack.post", ".post", "slack.poster"], [".post", "slack.post"]),
        ("a*a", ["a", "aa", "aba"], ["aa", "aba"]),
        ("a+*", ["aab", "a+b"], ["a+b"]),
        ("*", ["a"], ["a"]),
    ],
)
def test_pieces_are_found_in_their_order_and_not_twice(
    pattern: str, names: list[str], found: list[str]
) -> None:
    assert _found(pattern, *names) == found


def test_stars_without_number_are_looked_at_once() -> None:
    # The first would end one day, in whatever way it is looked for.
    for pattern in ("*" * 13 + "Z", "*" * 199 + "Z", "*a" * 99 + "Z"):
        begun = time.thread_time()
        assert _found(pattern, "admin_list_model_prices") == []
        assert time.thread_time() - begun < RUNAWAY
    assert _found("*a" * 99 + "Z", "a" * 200) == []
