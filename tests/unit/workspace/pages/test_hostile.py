"""Texts that were made to take long: the time they take is that of their length."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from string import ascii_lowercase

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.workspace.pages.content import read_writing
from mainspring.workspace.pages.front_matter import split
from mainspring.workspace.pages.search import (
    SNIPPET,
    build_snippet,
    clean_query,
    split_last_word,
    split_query_words,
)
from tests.kit.runaway import RUNAWAY


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < RUNAWAY


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# " + "#" * 200_000 + "x", "#" * 500),
        ("# " + " " * 200_000 + "x", "x"),
        ("# " + "# " * 100_000 + "x", ("# " * 250).strip()),
        ("# \n" * 100_000 + "# x", "x"),
        ("text\n# C# ##\r\nmore", "C#"),
        ("#no\n## no\n#\tyes", "yes"),
        ("# ##\n# b", "b"),
    ],
)
def test_a_title_is_read_from_any_heading(text: str, title: str) -> None:
    assert read_writing({"markdown": text, "type": "note"}, Limits()).title == title


def test_many_words_are_looked_for_in_a_long_text_at_once() -> None:
    asked = split_query_words(" ".join(map("".join, product(ascii_lowercase, repeat=3))))
    text, places = build_snippet("x " * 200_000, asked)
    found, marks = build_snippet("x " * 200_000 + "abcdef", asked)

    assert places == []
    assert len(text) <= SNIPPET + 4
    assert [found[start:end] for start, end in marks] == ["abcdef"]


@pytest.mark.parametrize(
    "inner",
    [
        "a" + " " * 120_000 + "b",
        "a" * 120_000,
        "a: " + "[" * 120_000,
        "a: " + "'" * 120_001,
        "a: " + '{"a":' * 20_000,
        "a: [" + "[a]," * 30_000,
        "-" * 120_000,
        "a: b\n" * 20_000,
        "a: " + "x" * 1_000_000,
    ],
)
def test_front_matter_that_cannot_be_read_is_refused_soon(inner: str) -> None:
    with pytest.raises(Invalid):
        split(f"---\n{inner}\n---\n")


@pytest.mark.parametrize("part", ["-", '"', "a ", "a-", "- ", "-a", "é'", '-"'])
def test_a_question_of_any_signs_is_tidied(part: str) -> None:
    text = part * 1_000
    assert split_last_word(clean_query(text))[1] in {"", "'a':*", "'é':*"}


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"source_ref": "install:0-0:send_email"}, "/source_ref"),
        ({"slug": "integration-action.0-0.send_email"}, "/slug"),
        ({"markdown": "---\nsource_ref: install:0-0:send\n---\n# x"}, "/source_ref"),
    ],
)
def test_reserved_names_cannot_be_taken(given: dict[str, str], pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_writing({"title": "x", "type": "note", **given}, Limits())
    assert [one.pointer for one in refused.value.findings] == [pointer]
    assert refused.value.code == "reserved_page_name"
