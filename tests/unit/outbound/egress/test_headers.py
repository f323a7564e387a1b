"""Headers cannot split a request, cannot be endless, and some are not the caller's."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.outbound.egress.headers import (
    CARRIED,
    MAX_REQUEST_HEADERS,
    MAX_RESPONSE_HEADERS,
    check_names,
    check_size,
    drop_headers,
    read_headers,
    validate_header_value,
)

# What decides how a message is carried; written out, so that none of them gets lost.
OF_THE_CARRIER = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
]


@pytest.mark.parametrize("name", sorted({*OF_THE_CARRIER, *CARRIED}))
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
        validate_header_value("X", value)


@pytest.mark.parametrize(("value", "sent"), [("", ""), (" a b\t", "a b"), ("a\tb", "a\tb")])
def test_a_value_is_sent_without_the_space_around_it(value: str, sent: str) -> None:
    assert validate_header_value("X", value) == sent


def test_answers_are_read_by_lower_case_name_and_repeated_ones_joined() -> None:
    raw = [(b"Set-Cookie", b"a=1"), (b"X-Y", b"\xe4"), (b"set-cookie", b"b=2")]

    assert read_headers(raw) == {"set-cookie": "a=1, b=2", "x-y": "ä"}


@pytest.mark.parametrize(
    "raw",
    [[(b"a", b"b")] * (MAX_RESPONSE_HEADERS + 1), [(b"a", b"b" * 70_000)], [(b"a" * 70_000, b"")]],
)
def test_an_answer_with_endless_headers_is_refused(raw: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(UpstreamError) as caught:
        read_headers(raw)

    assert caught.value.code == "response_too_large"


def test_the_most_headers_of_an_answer_are_read_and_one_more_is_refused() -> None:
    most = [(b"a%d" % number, b"") for number in range(256)]
    assert len(read_headers(most)) == 256
    with pytest.raises(UpstreamError) as caught:
        read_headers([*most, (b"more", b"")])
    # Asking again would bring the same answer.
    assert not caught.value.retryable


def test_headers_of_an_answer_are_measured_with_what_separates_them() -> None:
    # Two of them, each with a colon, a space and the end of its line.
    read_headers([(b"a", b"b" * 30_000), (b"c", b"d" * (65_536 - 30_000 - 10))])
    with pytest.raises(UpstreamError):
        read_headers([(b"a", b"b" * 30_000), (b"c", b"d" * (65_536 - 30_000 - 9))])


def test_headers_of_a_request_are_measured_with_what_separates_them() -> None:
    check_size([("a", "b" * 30_000), ("c", "d" * (65_536 - 30_000 - 10))])
    with pytest.raises(Invalid) as caught:
        check_size([("a", "b" * 30_000), ("c", "d" * (65_536 - 30_000 - 9))])
    assert caught.value.code == "bad_header"


def test_a_hundred_headers_are_sent_and_no_more() -> None:
    check_names(f"x-{number}" for number in range(100))
    with pytest.raises(Invalid):
        check_names(f"x-{number}" for number in range(101))


def test_headers_are_dropped_by_name_in_any_case() -> None:
    given = {"Authorization": "a", "Accept": "b"}
    assert drop_headers(given, frozenset({"authorization"})) == {"Accept": "b"}
