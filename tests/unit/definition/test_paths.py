"""JSONPath: the standard's rules, and bounds the standard does not have."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.jsonpath import parse_path
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()
STORE = {
    "books": [
        {"title": "Sayings", "price": 8.95, "tags": ["a", "b"]},
        {"title": "Sword", "price": 12.99, "isbn": "0-553", "tags": []},
        {"title": "Moby", "price": 8, "isbn": None},
    ],
    "bike": {"price": 399, "colour": "red"},
    "limit": 10,
    "pattern": "S.*d",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [STORE]),
        ("$.limit", [10]),
        ("$['bike'][\"colour\"]", ["red"]),
        ("$.books[0].title", ["Sayings"]),
        ("$.books[-1].title", ["Moby"]),
        ("$.books[9]", []),
        ("$.books[1:].title", ["Sword", "Moby"]),
        ("$.books[::-1].title", ["Moby", "Sword", "Sayings"]),
        ("$.books[*].title", ["Sayings", "Sword", "Moby"]),
        ("$.books[0,2].price", [8.95, 8]),
        ("$..price", [8.95, 12.99, 8, 399]),
        ("$.books[?@.isbn].title", ["Sword", "Moby"]),
        ("$.books[?@.isbn==null].title", ["Moby"]),
        ("$.books[?!@.isbn].title", ["Sayings"]),
        ("$.books[?@.price < $.limit].title", ["Sayings", "Moby"]),
        ("$.books[?@.price==8.0].title", ["Moby"]),
        ("$.books[?@.none==@.other].title", ["Sayings", "Sword", "Moby"]),
        ("$.books[?@.price>8 && @.price<10 || @.title=='Moby'].title", ["Sayings", "Moby"]),
        ("$.books[?length(@.title)==5].title", ["Sword"]),
        ("$.books[?count(@.tags[*])==2].title", ["Sayings"]),
        ("$.books[?value(@.tags[0:1])=='a'].title", ["Sayings"]),
        ("$.books[?match(@.title, 'S.*d')].title", ["Sword"]),
        ("$.books[?search(@.title, '^S')].title", ["Sayings", "Sword"]),
        ("$.books[?match(@.title, $.pattern)].title", ["Sword"]),
        ("$.books[?match(@.price, '8')].title", []),
        ("$.books[?@.tags==['a','b']]", None),
    ],
)
def test_paths_lead_where_the_standard_says(path: str, found: list[Any] | None) -> None:
    if found is None:
        with pytest.raises(Invalid):
            parse_path(path, LIMITS)
    else:
        assert parse_path(path, LIMITS).find(STORE) == found


def test_true_is_not_one_and_equality_is_deep() -> None:
    value = {"a": [1, True, [1], [True], {"k": 1.0}], "one": 1, "list": [True], "map": {"k": 1}}
    assert parse_path("$.a[?@==$.one]", LIMITS).find(value) == [1]
    assert parse_path("$.a[?@==$.list]", LIMITS).find(value) == [[True]]
    assert parse_path("$.a[?@==$.map]", LIMITS).find(value) == [{"k": 1.0}]


def test_a_test_for_existence_holds_for_false_and_null() -> None:
    assert parse_path("$[?@]", LIMITS).find([0, False, None, ""]) == [0, False, None, ""]


def test_a_dot_in_a_pattern_matches_no_line_end() -> None:
    values = ["a\nb", "a\rb", "a\u2028b", "a.b"]
    assert parse_path("$[?match(@, 'a.b')]", LIMITS).find(values) == ["a\u2028b", "a.b"]
    assert parse_path("$[?match(@, 'a[.]b')]", LIMITS).find(values) == ["a.b"]
    assert parse_path("$[?match(@, 'a\\\\.b')]", LIMITS).find(values) == ["a.b"]


def test_first_tells_null_from_nothing() -> None:
    path = parse_path("$.a", LIMITS)
    assert path.first({"a": None}, "default") is None
    assert path.first({}, "default") == "default"
    assert path.first([]) is None


def test_singular_paths_are_known() -> None:
    assert parse_path("$.a[0]['b']", LIMITS).singular
    assert not parse_path("$.a[*]", LIMITS).singular
    assert not parse_path("$..a", LIMITS).singular


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "path_syntax"),
        ("a.b", "path_syntax"),
        (" $.a", "path_syntax"),
        ("$.", "path_syntax"),
        ("$.a ", "path_syntax"),
        ("$[0", "path_syntax"),
        ("$['a]", "path_syntax"),
        ("$[?@.a>]", "path_syntax"),
        ("$[?@.a=1]", "path_syntax"),
        ("$[?unknown(@)]", "path_syntax"),
        ("$[?length(@)]", "path_syntax"),
        ("$[01]", "path_syntax"),
        ("$[9007199254740992]", "path_syntax"),
        ("$[" + "9" * 900 + "]", "path_syntax"),
        ("$[?@==1e99999]", "path_syntax"),
        ("$" + "[?@" * 200 + "]" * 200, "path_syntax"),
        ("$[?" + "!" * 400 + "@]", "path_unusable"),
        ("$[?match(@, '(?=a)b')]", "path_unusable"),
        ("$[?search(@, '(a)\\\\1')]", "path_unusable"),
        ("$[?search(@, '[')]", "path_unusable"),
        ("$" + ".a" * 600, "path_long"),
    ],
)
def test_what_is_no_path_is_refused_with_a_sentence(text: str, code: str) -> None:
    begun = time.thread_time()
    with pytest.raises(Invalid) as caught:
        parse_path(text, LIMITS)
    assert time.thread_time() - begun < RUNAWAY
    assert caught.value.code == code
    assert caught.value.findings[0].detail.endswith(".")


def test_the_sentence_says_where_and_what_to_write() -> None:
    with pytest.raises(Invalid, match=r"at character 5"):
        parse_path("$.a[", LIMITS)
    with pytest.raises(Invalid) as caught:
        parse_path("data.items", LIMITS)
    assert caught.value.suggestion == "Write $.data.items"


WIDE = {"items": [{"a": {"b": [{"c": number, "n": "ab" * 50}]}} for number in range(2000)]}
COSTLY = [
    "$..*..*..*",
    "$..*..*..*..none",
    "$..[?@..*..*]",
    "$..[?count($..*)>1]",
    "$..[" + ",".join(["*"] * 300) + "]",
    "$.items[?search(@.a.b[0].n,'(?:[ab]{1,30}){1,30}c')]",
    "$..[?match(@.n,@.n)]",
    "$..[?$..*==$..*]",
    "$.items[?@ != $.items[?@ == $.items]]",
    "$.items[?$.items == $.items]",
]


@pytest.mark.parametrize("path", COSTLY)
def test_a_path_that_multiplies_ends_with_a_problem(path: str) -> None:
    begun = time.thread_time()
    with pytest.raises(Invalid) as caught:
        parse_path(path, LIMITS).find(WIDE)
    assert time.thread_time() - begun < RUNAWAY
    assert caught.value.code in {"path_too_costly", "path_syntax"}


def test_an_ordinary_path_accepts_a_large_payload() -> None:
    assert len(parse_path("$..*", LIMITS).find(WIDE)) == 12_001
    assert len(parse_path("$.items[?@.a.b[0].c >= 1000]", LIMITS).find(WIDE)) == 1000


@pytest.mark.parametrize("function", ["search", "match"])
def test_a_text_that_is_too_long_for_a_pattern_has_no_answer(function: str) -> None:
    path = parse_path(f"$[?!{function}(@, '[\\\\p{{L}}]+ [\\\\p{{L}}]+')]", LIMITS)
    assert path.find(["Ada Lovelace", "!"]) == ["!"]
    with pytest.raises(Invalid) as caught:
        path.find(["Ada Lovelace" + "!" * 2_000])
    assert caught.value.code == "path_text_unread"
