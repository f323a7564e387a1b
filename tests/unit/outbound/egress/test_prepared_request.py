"""A request made ready to leave: its shape, its secrets, its headers and its redirects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.context import HttpRequest
from mainspring.contracts.errors import Invalid, PermissionDenied, UpstreamError
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress.headers import MAX_REQUEST_HEADER_BYTES
from mainspring.outbound.egress.prepared_request import (
    REDIRECTS,
    PreparedRequest,
    build_wire_headers,
    check_request_shape,
    fill_secrets,
    find_secret_names,
    follow_redirect,
)
from mainspring.outbound.egress.url import parse_url
from mainspring.workspace.redaction import Redactor

URL = "https://one.example/a"
KEY, PIN = SecretRef("key"), SecretRef("pin")
VALUES = {"key": "s3cret/value", "pin": "p&n-of-nine"}
NONE = Redactor({})


def request(url: Any = URL, method: str = "GET", **value: Any) -> HttpRequest:
    return HttpRequest(method, url, **{"headers": {}, "query": {}, **value})


def text(*parts: str | SecretRef) -> SecretText:
    return SecretText(parts)


def test_the_secrets_of_a_request_are_found_wherever_they_are() -> None:
    found = request(
        text(URL, "/", SecretRef("a")),
        headers={"X": text(SecretRef("b")), "Y": "plain"},
        query={"q": text("x", SecretRef("c"), SecretRef("d"))},
    )
    assert find_secret_names(found) == {"a", "b", "c", "d"}
    assert find_secret_names(request()) == frozenset()


@pytest.mark.parametrize(
    "method", ["CONNECT", "TRACE", "get", "", "GE T", "X" * 17, "GET\r\nX: y", "GÉT"]
)
def test_a_method_that_cannot_be_sent_is_refused(method: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_request_shape(request(method=method), 9)
    assert refused.value.code == "bad_method"


@pytest.mark.parametrize("method", ["GET", "POST", "PURGE", "X" * 16])
def test_any_other_method_is_sent(method: str) -> None:
    assert check_request_shape(request(method=method), 9) == parse_url(URL)


def test_a_body_may_be_as_large_as_the_limit() -> None:
    assert check_request_shape(request(body=b"123"), 3) == parse_url(URL)
    with pytest.raises(Invalid) as refused:
        check_request_shape(request(body=b"1234"), 3)
    assert refused.value.code == "request_too_large"


@pytest.mark.parametrize(
    "headers", [{"Host": "x"}, {"X": "1\r\nY: 2"}, {"X": text("1\n", KEY)}, {"X Y": "1"}]
)
def test_headers_are_judged_before_any_secret_is_read(headers: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        check_request_shape(request(headers=headers), 9)
    assert refused.value.code == "bad_header"
    assert check_request_shape(request(headers={"X": text("Bearer ", KEY)}), 9) == parse_url(URL)


@pytest.mark.parametrize(
    "url",
    [
        text(KEY),
        text("https://", KEY),
        text("https://one.example", KEY),
        text("https://one.example", KEY, "/"),
        text("https://one.example/#", KEY),
        text("https://one.example/", PIN, "#", KEY),
    ],
)
def test_a_secret_may_not_choose_the_host_nor_be_where_it_is_never_sent(
    url: SecretText,
) -> None:
    with pytest.raises(Invalid) as refused:
        check_request_shape(request(url), 9)
    assert refused.value.code == "secret_place"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (text("https://one.example/", KEY), "/-"),
        (text("https://one.example/", KEY, "/", PIN), "/-/-"),
        (text("https://one.example?q=", KEY), "/?q=-"),
        (text("https://one.example/", KEY, "#after"), "/-"),
        (text("https://one.example/", KEY, "#", "after"), "/-"),
        (text("https://one.example", "/a"), "/a"),
        # Text in pieces without a secret in it is text.
        (text("https://one.ex", "ample/b"), "/b"),
    ],
)
def test_a_secret_may_be_in_the_path_or_the_query(url: SecretText, path: str) -> None:
    target = check_request_shape(request(url), 9)
    assert (target.host, target.path) == ("one.example", path)


def test_secrets_are_encoded_in_a_url_and_shown_by_name() -> None:
    made = fill_secrets(
        request(
            text(f"{URL}/", KEY),
            method="POST",
            headers={"X-Key": text("k ", KEY), "X-Plain": " p ", "Authorization": "mine"},
            query={"q": text("a&", PIN), "r s": "a&b"},
            body=b"body",
        ),
        VALUES,
    )
    assert made.target.path == "/a/s3cret%2Fvalue?q=a%26p%26n-of-nine&r%20s=a%26b"
    assert made.shown_url == ("https://one.example/a/[secret key]?q=a%26[secret pin]&r%20s=a%26b")
    assert made.headers == {
        "X-Key": "k s3cret/value",
        "X-Plain": "p",
        "Authorization": "mine",
    }
    assert made.bound == {"x-key", "authorization"}
    assert (made.method, made.body) == ("POST", b"body")


def test_text_in_pieces_without_a_secret_is_not_bound_to_its_origin() -> None:
    assert fill_secrets(request(headers={"X": text("a", "b")}), {}).bound == frozenset()


def test_a_secret_cannot_break_out_of_its_header_nor_make_all_of_them_too_large() -> None:
    with pytest.raises(Invalid):
        fill_secrets(request(headers={"X": text(KEY)}), {"key": "a\r\nY: b"})
    with pytest.raises(Invalid) as refused:
        fill_secrets(request(headers={"X": text(KEY)}), {"key": "x" * MAX_REQUEST_HEADER_BYTES})
    assert "larger than" in refused.value.detail


def errand(**value: Any) -> PreparedRequest:
    made = fill_secrets(request(), {})
    return replace(made, **value)


def test_headers_of_the_caller_come_before_ours_but_for_those_of_the_wire() -> None:
    plain = dict(build_wire_headers(errand()))
    assert plain == {
        b"Host": b"one.example",
        b"Accept": b"*/*",
        b"User-Agent": b"Mainspring",
        b"Accept-Encoding": b"gzip, deflate",
    }
    own = dict(build_wire_headers(errand(headers={"accept": "text/html", "X": "1"})))
    assert own == {
        b"Host": b"one.example",
        b"accept": b"text/html",
        b"User-Agent": b"Mainspring",
        b"Accept-Encoding": b"gzip, deflate",
        b"X": b"1",
    }


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", None, None),
        ("GET", b"12", b"2"),
        ("GET", b"", b"0"),
        ("DELETE", None, None),
        ("POST", None, b"0"),
        ("PUT", None, b"0"),
        ("PATCH", None, b"0"),
        ("POST", b"123", b"3"),
    ],
)
def test_the_length_of_a_body_is_said(
    method: str, body: bytes | None, length: bytes | None
) -> None:
    sent = dict(build_wire_headers(errand(method=method, body=body)))
    assert sent.get(b"Content-Length") == length


def test_five_answers_lead_on() -> None:
    assert {301, 302, 303, 307, 308} == REDIRECTS


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "GET", "GET"),
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        # Another method may begin like the one it becomes, and the other way round.
        (303, "GETALL", "GET"),
        (303, "G", "GET"),
    ],
)
def test_a_body_is_left_behind_with_its_method(status: int, method: str, then: str) -> None:
    headers = {
        "Content-Type": "a",
        "content-encoding": "b",
        "Content-Language": "c",
        "Content-Location": "d",
        "X-Own": "e",
    }
    next_one = follow_redirect(
        errand(method=method, body=b"x", headers=headers), status, "/next", NONE
    )
    assert (next_one.method, next_one.target.path) == (then, "/next")
    assert next_one.shown_url == "https://one.example/next"
    stored = method == then
    assert next_one.body == (b"x" if stored else None)
    assert next_one.headers == (headers if stored else {"X-Own": "e"})


@pytest.mark.parametrize(
    "location",
    [
        "https://two.example/",
        "https://one.example:8443/",
        "https://one.example.evil.example/",
        "https://one.exampl/",
    ],
)
def test_what_belongs_to_an_origin_stays_there(location: str) -> None:
    carrying = errand(headers={"X-Key": "k", "Y": "1"}, bound=frozenset({"x-key"}))
    assert follow_redirect(carrying, 302, location, NONE).headers == {"Y": "1"}
    assert follow_redirect(carrying, 302, "/next", NONE).headers == {"X-Key": "k", "Y": "1"}


def test_a_secret_is_not_led_to_another_origin() -> None:
    secrets = Redactor(VALUES)
    there = "https://two.example/?k=s3cret%2Fvalue"
    with pytest.raises(PermissionDenied) as refused:
        follow_redirect(errand(), 302, there, secrets)
    assert refused.value.code == "redirect_with_secret"
    assert follow_redirect(errand(), 302, there, NONE).target.host == "two.example"
    here = follow_redirect(errand(), 302, "/?k=s3cret%2Fvalue", secrets)
    assert here.shown_url == "https://one.example/?k=[secret key]"
    assert (
        follow_redirect(errand(), 302, "https://two.example/", secrets).target.host == "two.example"
    )


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("https", "http", True),
        ("http", "http", False),
        ("http", "https", False),
        ("https", "https", False),
    ],
)
def test_a_redirect_does_not_lead_from_https_to_http(
    before: str, after: str, refused: bool
) -> None:
    first = errand(target=parse_url(f"{before}://one.example/"))
    location = f"{after}://one.example/next"
    if refused:
        with pytest.raises(PermissionDenied) as downgrade:
            follow_redirect(first, 302, location, NONE)
        assert downgrade.value.code == "redirect_downgrade"
    else:
        assert follow_redirect(first, 302, location, NONE).target.scheme == after


def test_a_redirect_to_what_cannot_be_called_is_a_problem_of_the_other_side() -> None:
    with pytest.raises(UpstreamError) as failed:
        follow_redirect(errand(), 302, "ftp://two.example/", NONE)
    assert (failed.value.code, failed.value.retryable) == ("bad_redirect", False)
