"""Strict JSON: what is refused, where it says so, and how long it takes."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import check_value, encode_canonical, hash_content, read_json
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()


def refused(text: bytes | str, limits: Limits = LIMITS) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read_json(text, limits)
    assert len(caught.value.findings) == 1
    assert caught.value.findings[0].code == caught.value.code
    return caught.value


def seconds(text: bytes | str, limits: Limits = LIMITS) -> float:
    """Processor time, so that a busy machine does not decide."""
    begun = time.thread_time()
    refused(text, limits)
    return time.thread_time() - begun


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"a": [1, -0.5, 1e3, "x", true, false, null, {}]}',
            {"a": [1, -0.5, 1000.0, "x", True, False, None, {}]},
        ),
        (b' \r\n\t"\xc3\xa9" ', "é"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud800"', "\\ud800"),
        ('["[[[", "{\\"{{"]', ["[[[", '{"{{']),
        ("[18446744073709551615, -9223372036854775808]", [2**64 - 1, -(2**63)]),
        ('{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        ("1e-999", 0.0),
        ("0", 0),
    ],
)
def test_good_documents_are_read_exactly(text: bytes | str, value: Any) -> None:
    read = read_json(text, LIMITS)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "pointer", "place"),
    [
        ("", "json_empty", "", ""),
        (" \n", "json_empty", "", ""),
        (b"\xef\xbb\xbf{}", "json_byte_order_mark", "", ""),
        (b"\xff\xfe{\x00}\x00", "json_encoding", "", ""),
        (b'{"a": "\xe9"}', "json_encoding", "", ""),
        ('{"a":{"b":1,"b":2}}', "json_duplicate_key", "/a/b", "line 1, column 13"),
        ('{"a":1,"\\u0061":2}', "json_duplicate_key", "/a", "line 1, column 8"),
        ('[0,\n {"x/y": NaN}]', "json_constant", "/1/x~1y", "line 2, column 10"),
        ("[-Infinity]", "json_constant", "/0", "line 1, column 2"),
        ('{"x":1e999}', "json_overflow", "/x", "line 1, column 6"),
        ('{"x":-1.5E400}', "json_overflow", "/x", "line 1, column 6"),
        ('{"x":"\\ud800"}', "json_surrogate", "/x", "line 1, column 6"),
        ('{"x":["\\udc00\\ud800"]}', "json_surrogate", "/x/0", "line 1, column 7"),
        ('{"\\ud800":1}', "json_surrogate", "", "line 1, column 2"),
        ('"\ud800"', "json_surrogate", "", "line 1, column 2"),
        ('{"x":"a\\u0000b"}', "json_nul", "/x", "line 1, column 6"),
        ('"a\0b"', "json_nul", "", "line 1, column 1"),
        ("[1] [2]", "json_trailing", "", "line 1, column 5"),
        ("{} x", "json_trailing", "", "line 1, column 4"),
        ("01", "json_trailing", "", "line 1, column 2"),
        ('{"a": 1,}', "json_syntax", "/a", "line 1, column 9"),
        ("{a: 1}", "json_syntax", "", "line 1, column 2"),
        ("[1,\n2,]", "json_syntax", "/2", "line 2, column 3"),
        ('{"a":{"b":[1,2,{"c":tru}]}}', "json_syntax", "/a/b/2/c", "line 1, column 21"),
        ('["abc', "json_syntax", "/0", "line 1, column 2"),
        ('{"a":"\\x"}', "json_syntax", "/a", "line 1, column 7"),
        ("'a'", "json_syntax", "", "line 1, column 1"),
        ("[1 2]", "json_syntax", "/0", "line 1, column 4"),
        ('{"a" 1}', "json_syntax", "/a", "line 1, column 6"),
        ("+1", "json_syntax", "", "line 1, column 1"),
        ("[", "json_syntax", "/0", "line 1, column 2"),
    ],
)
def test_a_bad_document_is_refused_at_its_place(
    text: bytes | str, code: str, pointer: str, place: str
) -> None:
    problem = refused(text)
    assert problem.code == code
    assert problem.findings[0].pointer == pointer
    assert place in problem.detail


def test_a_duplicate_key_is_named() -> None:
    assert "'b'" in refused('{"a":[{"b":1,"c":2,"b":3}]}').detail


def test_the_hint_for_a_byte_order_mark_says_what_to_do() -> None:
    assert refused("\ufeff{}").suggestion is not None


@pytest.mark.parametrize("number", ["9" * 401, "0." + "1" * 400, "-" + "1" * 500, "1e" + "0" * 400])
def test_a_number_has_at_most_so_many_digits(number: str) -> None:
    problem = refused(f'{{"a":[1,{number}]}}')
    assert problem.code == "json_digits"
    assert problem.findings[0].pointer == "/a/1"
    assert read_json("0." + "1" * 399, LIMITS) == float("0." + "1" * 399)
    assert read_json(f'"{number}"', LIMITS) == number


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "9" * 300])
def test_a_whole_number_must_come_back_from_the_store_as_it_went_in(number: str) -> None:
    problem = refused(f'{{"a":[1,{number}]}}')
    assert problem.code == "json_integer"
    assert problem.findings[0].pointer == "/a/1"


def test_nesting_is_counted_outside_of_text_only() -> None:
    most = LIMITS.json_depth
    assert read_json("[" * most + "]" * most, LIMITS)
    assert read_json('"' + "[" * 1000 + '"', LIMITS) == "[" * 1000
    problem = refused("[" * most + "[]" + "]" * most)
    assert problem.code == "json_depth"
    assert problem.findings[0].pointer == "/0" * most


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"[" + b"1," * 5_000_000 + b"1]", "json_too_large"),
        (b"[" * 100_000 + b"]" * 100_000, "json_depth"),
        (b'{"a":' * 100_000, "json_depth"),
        (("[" + "9" * 100_000 + "]").encode(), "json_digits"),
        (b'"' + b'\\"' * 500_000, "json_syntax"),
        (b"[" + b"[]," * 349_000 + b"x]", "json_syntax"),
        (b'[{"a":[' + b"[]," * 340_000 + b'1],"a":1}]', "json_duplicate_key"),
        (b'["' + b"\\ud83d\\ude00" * 80_000 + b'\\ud800"]', "json_surrogate"),
    ],
)
def test_hostile_documents_are_refused_quickly(text: bytes, code: str) -> None:
    assert refused(text).code == code
    assert seconds(text) < RUNAWAY


def test_a_million_keys_are_refused_by_their_size_alone() -> None:
    text = "{" + ",".join(f'"k{number}":0' for number in range(1_000_000)) + "}"
    assert refused(text).code == "json_too_large"
    assert seconds(text) < RUNAWAY


def test_a_problem_far_into_a_large_document_is_still_reported() -> None:
    text = "[" + "[]," * 300_000 + '{"twice":1,"twice":2}]'
    problem = refused(text)
    assert problem.code == "json_duplicate_key"
    assert "'twice'" in problem.detail


def test_an_operator_may_allow_deeper_documents_than_python_can_read() -> None:
    deep = Limits(json_depth=1_000_000)
    assert refused("[" * 200_000 + "]" * 200_000, deep).code == "json_depth"


@pytest.mark.parametrize(
    ("value", "code", "pointer"),
    [
        ({"a": [1, float("nan")]}, "json_constant", "/a/1"),
        ({"a": float("-inf")}, "json_constant", "/a"),
        ({"a": {1: 2}}, "json_key", "/a"),
        ({"a": (1, 2)}, "json_type", "/a"),
        ([{"when": datetime(2026, 1, 1, tzinfo=UTC)}], "json_type", "/0/when"),
        (b"bytes", "json_type", ""),
        ({"a/b": "\ud800"}, "json_surrogate", "/a~1b"),
        ({"a": ["x\0"]}, "json_nul", "/a/0"),
        ({"\0": 1}, "json_nul", ""),
        (10**500, "json_integer", ""),
        ({"a": [2**64]}, "json_integer", "/a/0"),
        ({"s": {"set"}}, "json_type", "/s"),
    ],
)
def test_a_decoded_value_obeys_the_same_rules(value: Any, code: str, pointer: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_value(value, LIMITS)
    assert caught.value.code == code
    assert caught.value.findings[0].pointer == pointer


def test_a_good_value_passes_and_pointers_start_where_asked() -> None:
    check_value({"a": [1, 1.5, "é", None, True, {"b": 2**64 - 1}]}, LIMITS)
    with pytest.raises(Invalid) as caught:
        check_value([float("inf")], LIMITS, "/steps/0")
    assert caught.value.findings[0].pointer == "/steps/0/0"


def test_values_that_contain_themselves_or_share_their_parts_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    shared: list[Any] = [1]
    for _ in range(40):
        shared = [shared, shared]
    for value, code in ((loop, "json_depth"), (shared, "json_too_large")):
        with pytest.raises(Invalid) as caught:
            check_value(value, Limits(json_bytes=10_000))
        assert caught.value.code == code


def test_an_enum_member_is_not_json_because_it_would_come_back_as_text() -> None:
    class Colour(StrEnum):
        RED = "red"

    with pytest.raises(Invalid, match="Colour"):
        check_value({"a": Colour.RED}, LIMITS)


def test_the_canonical_spelling_sorts_keys_and_keeps_every_digit() -> None:
    value = {"b": 2**70, "a": [-(2**63), 2**64, 1e16, 0.1, "é\n", {"d": None, "c": True}]}
    assert encode_canonical(value) == (
        b'{"a":[-9223372036854775808,18446744073709551616,1e+16,0.1,"\xc3\xa9\\n",'
        b'{"c":true,"d":null}],"b":1180591620717411303424}'
    )
    assert json.loads(encode_canonical(value)) == value


def test_equal_content_has_an_equal_hash_whatever_its_order() -> None:
    assert hash_content({"a": 1, "b": [2]}) == hash_content({"b": [2], "a": 1})
    assert hash_content({"a": 1}) != hash_content({"a": "1"})
    assert hash_content([1, 2]) != hash_content([2, 1])
    assert len(hash_content({})) == 32


@pytest.mark.parametrize("value", [{"a": b"x"}, {1: 2}, {"a": {1, 2}}, {"a": datetime.now(UTC)}])
def test_what_is_not_json_has_no_canonical_spelling(value: Any) -> None:
    with pytest.raises(Invalid):
        encode_canonical(value)
