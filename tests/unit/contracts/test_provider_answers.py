"""What an outside API answered is reported in the same way for every provider."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.partial_results import read_each, read_one
from mainspring.contracts.provider_responses import (
    LONGEST_PAUSE,
    ProviderErrorReasons,
    format_one_line,
    parse_error_detail,
    parse_refusal,
    read_json,
    read_object,
    retry_after,
)
from tests.kit.runaway import RUNAWAY


def _answered(status: int, body: Any = None, **headers: str) -> HttpResponse:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, named, text, "https://example.com/")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "999999999"}, LONGEST_PAUSE),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
        (
            {
                "retry-after": "Mon, 01 Jun 2026 12:00:30 GMT",
                "date": "Mon, 01 Jun 2026 12:00:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, 20.0),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 -0000", "date": "today"}, 20.0),
        ({"retry-after": "Mon, 01 Jun 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "99999999999"}, LONGEST_PAUSE),
        ({"retry-after": "9" * 300}, LONGEST_PAUSE),
    ],
)
def test_a_pause_is_read_from_seconds_or_from_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, datetime(2026, 6, 1, 12, 0, 10, tzinfo=UTC)) == seconds


def test_a_pause_until_a_date_counts_from_our_own_clock_where_nobody_says_another() -> None:
    assert retry_after({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}) == LONGEST_PAUSE


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "unsent"),
    [
        (400, Invalid, False, True),
        (403, PermissionDenied, False, True),
        (404, NotFound, False, True),
        (409, Conflict, False, True),
        (410, Expired, False, True),
        (418, UpstreamError, False, True),
        (302, UpstreamError, False, True),
        (408, UpstreamError, True, None),
        (429, UpstreamError, True, True),
        (500, UpstreamError, True, None),
        (503, UpstreamError, True, None),
    ],
)
def test_every_refusal_is_a_problem_that_says_whether_something_has_left(
    status: int, kind: type[Problem], retryable: bool, unsent: bool | None
) -> None:
    problem = parse_refusal(_answered(status, b"<html>"), "Shop")
    assert type(problem) is kind
    assert (problem.retryable, problem.unsent) == (retryable, unsent)
    assert "Shop" in problem.detail


def test_what_a_provider_says_of_itself_is_found_and_kept_on_one_line() -> None:
    inner = {"message": "a\nb", "errors": [{"reason": "rateLimitExceeded"}], "details": "x"}
    assert parse_error_detail(_answered(403, {"error": inner})).reasons == {"rateLimitExceeded"}
    assert parse_error_detail(_answered(403, {"error": inner})).message == "a b"
    assert (
        parse_error_detail(_answered(400, {"error": "bad_verb", "error_description": "No"})).message
        == "No"
    )
    assert parse_error_detail(
        _answered(400, {"errors": [{"code": "missing"}], "message": "M"})
    ).reasons == {"missing"}
    assert (
        parse_error_detail(_answered(400, [1])).reasons
        == parse_error_detail(_answered(400, b"\xff")).reasons
        == frozenset()
    )
    words = ProviderErrorReasons(
        busy=frozenset({"rateLimitExceeded"}), reconnect=frozenset({"revoked"})
    )
    busy = parse_refusal(_answered(403, {"error": inner}, retry_after="4"), "Shop", words)
    assert busy is not None
    assert (busy.code, busy.retry_after, busy.retryable) == ("provider_busy", 4.0, True)
    assert isinstance(
        parse_refusal(_answered(400, {"error": "revoked"}), "Shop", words), ReconnectRequired
    )
    assert parse_refusal(_answered(204), "Shop") is None
    assert format_one_line("a\u202eb\x00c\u2028d", 5) == "a b c…"


def test_what_is_no_json_did_not_come_from_the_api() -> None:
    assert read_json(_answered(200, [1]), "Shop") == [1]
    for body in (b"<html>", b"", b"\xff"):
        with pytest.raises(UpstreamError, match="does not match the API of Shop"):
            read_json(_answered(200, body), "Shop")
    with pytest.raises(UpstreamError, match="does not match the API"):
        read_object(_answered(200, [1]), "Shop")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two<br>Three", "One\n\nTwo\nThree"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("a &amp; b &lt;tag&gt; &#x41;", "a & b <tag> A"),
        ("<script>if (a < b) '</p>'</script>x<style>p{}</style>", "x"),
        ("<div style='DISPLAY : none'>hidden<p>too</p></div>seen", "seen"),
        ("<p hidden>hidden</p><!-- <p>no --> seen", "seen"),
        ("<a href='https://e.com/x'>here</a>", "here (https://e.com/x)"),
        ("<a href='javascript:alert(1)'>here</a>", "here"),
        ("<a href='https://e.com/'>https://e.com/</a>", "https://e.com/"),
        ("1 < 2 and <b>bold</b", "1 < 2 and bold</b"),
        ("<img alt='A cat'><pre>a\n  b</pre>", "A cat\na\nb"),
        ("</div></p>x<!-- never ends", "x"),
    ],
)
def test_html_is_what_a_person_would_read(html: str, text: str) -> None:
    assert extract_html_text(html) == text


@pytest.mark.parametrize(
    "style",
    [
        "display:/**/none",
        "dis/* ; */play : NONE !important",
        "d\\69splay:none",
        "font-size:0",
        "FONT-SIZE: 0.0px",
        "font:0/0 a",
        "opacity:0",
        "opacity: .0",
        "position:absolute;left:-9999px",
        "position:fixed; top:-100em",
        "text-indent:-9999px",
        "max-height:0;overflow:hidden",
        "color:red;" * 300 + "display:none",
    ],
)
def test_what_a_sender_hides_is_not_read(style: str) -> None:
    assert extract_html_text(f"<b>a</b><span style='{style}'>hidden <i>too</i></span>b") == "ab"


@pytest.mark.parametrize(
    "style",
    [
        "font-size:0.8em",
        "font:700 13px Arial",
        "opacity:0.5",
        "left:-9999px",
        "color:red",
        "position:relative;left:-5px",
        "overflow:hidden;height:10px",
        "background:url(none)",
    ],
)
def test_what_only_looks_like_hiding_is_read(style: str) -> None:
    assert extract_html_text(f"<span style='{style}'>seen</span>") == "seen"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<div title='a>b' style='display:none'>hidden</div>seen", "seen"),
        ('<div title = "it\'s > b" hidden>hidden</div>seen', "seen"),
        ('<a title=a="b href=https://e.com/>x</a>', "x (https://e.com/)"),
        ("<div>" * 401 + "<div style='display:none'>hidden</div>seen", "seen"),
        ("<b " + f"x='{'y' * 5_000}'" + " style='display:none'>hidden</b>seen", "seen"),
        ("<div style='display:none'/>hidden</div>seen", "seen"),
        ("seen<div title='never ends>hidden</div>", "seen"),
        # Mails are laid out so: no size around it, and a size where there is text.
        ("<td style='font-size:0px'>no<p style='font-size:13px'>seen</p></td>", "seen"),
        ("<td style='font-size:0px'><p style='font-size:1em'>no</p></td>", ""),
    ],
)
def test_a_tag_ends_where_it_ends_in_a_browser(html: str, text: str) -> None:
    assert extract_html_text(html) == text


@pytest.mark.parametrize(
    "piece",
    ["<a ", '<a b="', "<a b='\"", "<a =", "<", "<b>", "</b", "<i style='/*/*'>", "a:", "x=y "],
)
def test_html_of_any_kind_takes_as_long_as_it_is(piece: str) -> None:
    begun = time.process_time()
    extract_html_text(piece * (100_000 // len(piece)))
    extract_html_text("<p style='" + piece.replace("'", "") * (100_000 // len(piece)) + "'>x")
    assert time.process_time() - begun < RUNAWAY


async def test_what_stumbles_over_one_thing_does_not_stop_the_others() -> None:
    async def read(name: str) -> Item:
        if name == "odd":
            raise TypeError("unhashable")
        return Item(name, "note", name)

    found = await read_each({"odd": "x:odd", "b": "x:b"}, read)
    assert [type(one) for one in found] == [UnreadableItem, Item]
    for error in (TypeError("x"), OverflowError(), OSError(75, "x"), KeyError("x")):

        def stumble(problem: Exception = error) -> Item:
            raise problem

        broken = read_one("x:1", stumble)
        assert isinstance(broken, UnreadableItem)
        assert (broken.source_ref, broken.problem.code) == ("x:1", "item_unreadable")
        assert isinstance(broken.problem, UpstreamError)
        assert not broken.problem.retryable


async def test_one_thing_that_fails_is_asked_for_again_and_does_not_stop_the_others() -> None:
    asked: list[str] = []

    async def read(name: str) -> Item | None:
        asked.append(name)
        if name == "gone":
            return None
        if name == "odd":
            raise NotFound("Not there.")
        if name == "weak" and asked.count("weak") == 1:
            raise UpstreamError("Failed.")
        if name == "dead":
            raise UpstreamError("Failed again.")
        return Item(name, "note", name)

    names = ["a", "gone", "odd", "weak", "dead"]
    found = await read_each({name: name for name in names}, read)
    assert [one.source_ref for one in found] == ["a", "odd", "weak", "dead"]
    assert [type(one) for one in found] == [Item, UnreadableItem, Item, UnreadableItem]
    with pytest.raises(UpstreamError, match="Failed again"):
        await read_each({"dead": "dead"}, read)

    async def stopped(name: str) -> Item | None:
        raise UpstreamError("Pause.", code="provider_busy", retry_after=3.0)

    with pytest.raises(UpstreamError, match="Pause"):
        await read_each({"a": "a"}, stopped)
