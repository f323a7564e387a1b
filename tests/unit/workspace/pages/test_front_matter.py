"""Front matter: what is written is read again, and what cannot be read is said with its line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mainspring.contracts.errors import Invalid
from mainspring.workspace.pages.front_matter import is_name, join, split

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True)


# A machine under load makes up values slowly, and that is no fault of theirs.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=4)), max_size=6), TEXT)
def test_what_is_written_is_read_again(values: dict[str, Any], body: str) -> None:
    text = join(values, body)
    if not values and body.startswith("---"):
        return
    head, rest, found = split(text)

    assert head + rest == text
    assert rest == body
    assert found == values


@given(TEXT)
def test_a_text_is_never_changed_by_being_split(text: str) -> None:
    try:
        head, body, _ = split(text)
    except Invalid:
        return
    assert head + body == text


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("k: plain text", "plain text"),
        ("k: 2026-01-31", "2026-01-31"),
        ("k: 09:30", "09:30"),
        ("k: 42", 42),
        ("k: -1.5e3", -1500.0),
        ("k: 007", "007"),
        # Numbers that JSON readers would round stay text.
        ("k: [1234567890123456789]", ["1234567890123456789"]),
        ("k: true", True),
        ("k: yes", "yes"),
        ("k: null", None),
        ("k: ~", None),
        ("k:", None),
        ('k: "a: b # c"', "a: b # c"),
        ("k: 'it''s'", "it's"),
        ("k: [a, 2, true]", ["a", 2, True]),
        ('k: ["a", {"b": 1}]', ["a", {"b": 1}]),
        ("k: []", []),
        ("k:\n- a\n- 2", ["a", 2]),
        ("k:\n  - a\n  # note\n\n  - 'b'", ["a", "b"]),
        ("k: text # a comment", "text"),
        ("# a comment\nk: x", "x"),
        ("k: https://example.com/a?b=1#c", "https://example.com/a?b=1#c"),
        ("k: {a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ("k:\n  a: 1\n  b:\n    - x", {"a": 1, "b": ["x"]}),
        ("k: |\n  two\n  lines", "two\nlines\n"),
        ("k: >\n  one\n  line", "one line\n"),
        ("k: &anchor x", "x"),
        ("k: '42'", "42"),
    ],
)
def test_a_value_is_read_as_people_mean_it(line: str, value: Any) -> None:
    head, body, values = split(f"---\n{line}\n---\nbody")

    assert values == {"k": value}
    assert body == "body"
    assert head.startswith("---\n")


@pytest.mark.parametrize(
    "inner",
    [
        "no colon",
        "k: 'open",
        'k: "open',
        "k: [open",
        "k: *alias",
        "k: &a [x]\nl: *a",
        "k:\n  a: 1\n  a: 2",
        "k: {[a]: 1}",
        "k: \x07",
        "k: " + "[" * 5_000,
        "k: !!python/object x",
        "k: a: b",
        "k: 1\nk: 2",
        "- item",
        "k: x\n- item",
        "1k: x",
        ": x",
        "k: @x",
    ],
)
def test_what_is_beyond_it_is_refused_with_its_line(inner: str) -> None:
    with pytest.raises(Invalid) as caught:
        split(f"---\n{inner}\n---\n")

    assert "Line " in caught.value.detail
    assert caught.value.findings[0].pointer == "/markdown"


@pytest.mark.parametrize(
    "text", ["", "---", "---\n", "a\n---\nk: 1\n---\n", "---\nk: 1\n", "----\n"]
)
def test_a_text_without_both_marks_has_no_front_matter(text: str) -> None:
    assert split(text) == ("", text, {})


def test_front_matter_from_another_system_is_read() -> None:
    head, body, values = split("---\r\ntitle: T\r\ntags: [a]\r\n---\r\n\r\nbody\r\n")

    assert values == {"title": "T", "tags": ["a"]}
    assert body == "body\r\n"
    assert head.endswith("---\r\n\r\n")


@pytest.mark.parametrize("name", ["", " a", "a ", "1a", "a\n", "a:b", "ü", "a" * 101])
def test_a_name_is_one_that_can_be_written(name: str) -> None:
    assert not is_name(name)
