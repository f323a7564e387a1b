"""Headers cannot split a request, cannot be endless, and some are not the caller's."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid, Upstream
from mainspring.gate.egress.headers import (
    CARRIED,
    MAX_REQUEST_HEADERS,
    MAX_RESPONSE_HEADERS,
    check_names,
    check_size,
    checked_value,
    read_headers,
)


@pytest.mark.parametrize("name", sorted(CARRIED))
def test_a_header_of_the_carrier_is_refused_in_any_case(name: str) -> None:
    for spelling in (name, name.title(), name.upper()):
        with pytest.raises(Invalid, match="set by Mainspring"):
            check_names([spelling])


@pytest.mark.parametrize(
    "name", ["", "a b", "a:b", "a\r\nb", "ä", "a\0", "a\t", "(a)", "a/b", "x" * 129, " host"]
)
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        check_names([name])


def test_one_header_in_two_spellings_is_refused() -> None:
    with pytest.raises(Invalid, match="twice"):
        check_names(["X-One", "x-one"])


def test_headers_are_counted() -> None:
    names = [f"x-{number}" for number in range(MAX_REQUEST_HEADERS)]
    check_names(names)

    with pytest.raises(Invalid):
        check_names([*names, "x-more"])


def test_headers_are_measured() -> None:
    check_size([("a", "b" * 60_000)])

    with pytest.raises(Invalid):
        check_size([("a", "b" * 40_000), ("c", "d" * 40_000)])


@pytest.mark.parametrize(
    "value", ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\x0bb", "a\x7f", "ä", "\u2028", "a\x85b"]
)
def test_a_value_of_more_than_one_line_of_ascii_is_refused(value: str) -> None:
    with pytest.raises(Invalid):
        checked_value("X", value)


@pytest.mark.parametrize(("value", "sent"), [("", ""), (" a b\t", "a b"), ("a\tb", "a\tb")])
def test_a_value_is_sent_without_the_space_around_it(value: str, sent: str) -> None:
    assert checked_value("X", value) == sent


def test_answers_are_read_by_lower_case_name_and_repeated_ones_joined() -> None:
    raw = [(b"Set-Cookie", b"a=1"), (b"X-Y", b"\xe4"), (b"set-cookie", b"b=2")]

    assert read_headers(raw) == {"set-cookie": "a=1, b=2", "x-y": "ä"}


@pytest.mark.parametrize(
    "raw",
    [[(b"a", b"b")] * (MAX_RESPONSE_HEADERS + 1), [(b"a", b"b" * 70_000)], [(b"a" * 70_000, b"")]],
)
def test_an_answer_with_endless_headers_is_refused(raw: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(Upstream) as caught:
        read_headers(raw)

    assert caught.value.code == "response_too_large"
