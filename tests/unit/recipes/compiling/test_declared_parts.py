"""The parts of a declarative integration: templates as data, answers as written, pages in order."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.connections.ingestion.declared import (
    EndpointCursor,
    build_page_request,
    load_endpoint_cursor,
    max_marker,
    next_page_position,
)
from mainspring.connections.ingestion.declared_mapping import (
    parse_item_template,
    split_placeholders,
)
from mainspring.connections.ingestion.declared_responses import (
    items_of,
    next_link,
    parse_response,
    value_at,
)
from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.limits import Limits

LIMITS = Limits()
HERE = "https://a.example/items?x=1"


def rendered(template: str, item: str) -> str:
    answer = parse_response(item.encode(), LIMITS)
    made, findings = parse_item_template(template, "")
    assert findings == []
    return made.render(answer.value, answer.spelt)


@pytest.mark.parametrize(
    ("template", "item", "text"),
    [
        ("${{price}}", '{"price": 0.10}', "$0.10"),
        ("$${{p}}$", '{"p": 12345678901234567890.5}', "$$12345678901234567890.5$"),
        ("{{n}}", '{"n": 1e400}', "1e400"),
        ("{{n}}", '{"n": 123456789012345678901234567890}', "123456789012345678901234567890"),
        ("{{ a.b }}", '{"a": {"b": -1.50E+3}}', "-1.50E+3"),
        ("{{a}}|{{b}}|{{c}}|{{d}}", '{"a": true, "b": false, "c": null}', "true|false|null|"),
        ("{{list.1.x}}", '{"list": [{}, {"x": "second"}]}', "second"),
        ("{{list.9}}{{list.x}}", '{"list": [1]}', ""),
        ("{{all}}", '{"all": {"a": [1.10, "\\u00e9", null]}}', '{"a":[1.10,"é",null]}'),
        ("{{a}}", '{"a": "{{b}} {% x %} ${b}", "b": "never"}', "{{b}} {% x %} ${b}"),
        ("{{@id}}/{{#text}}/{{x-y}}", '{"@id": "1", "#text": "2", "x-y": "3"}', "1/2/3"),
        ("{one} }", "{}", "{one} }"),
    ],
)
def test_values_come_out_as_they_were_written(template: str, item: str, text: str) -> None:
    assert rendered(template, item) == text


def test_braces_cost_no_more_than_their_length() -> None:
    """With a search that begins anew at each brace this would not end in an hour."""
    assert split_placeholders("{{" * 1_000_000) == [("{{" * 1_000_000, False)]
    assert split_placeholders("a{{b}}{{ c }}d}}{{") == [
        ("a", False),
        ("b", True),
        (" c ", True),
        ("d}}{{", False),
    ]
    for text in ("{{" * 10_000, "x" * 10_001, "{{a}}" * 201):
        template, findings = parse_item_template(text, "/body")
        assert [(one.pointer, one.code) for one in findings] == [("/body", "template_long")]
        assert template.pieces == ()


@pytest.mark.parametrize(
    ("item", "lacks"),
    [
        ({"a": {"b": 1}}, None),
        ({"a": {"b": 0}}, None),
        ({"a": {"b": False}}, None),
        ({"a": {"b": ""}}, "a.b"),
        ({"a": {"b": None}}, "a.b"),
        ({"a": {"b": []}}, "a.b"),
        ({"a": 1}, "a.b"),
        ("text", "a.b"),
        (None, "a.b"),
    ],
)
def test_an_item_is_known_by_something(item: Any, lacks: str | None) -> None:
    template, _ = parse_item_template("{{a.b}}", "")
    found = template.lacks(item)
    assert (None if found is None else str(found)) == lacks


@pytest.mark.parametrize(
    ("header", "there"),
    [
        (None, None),
        ("", None),
        ('<https://a.example/2>; rel="next"', "https://a.example/2"),
        ('</2?a=b>;REL=next;title="x, y; z"', "https://a.example/2?a=b"),
        ('<?page=1>; rel="prev", <?page=3>; rel="last next"', "https://a.example/items?page=3"),
        ('<?page=1>; title="rel=next"', None),
        ("<<>>;;;,,, rel=next", None),
        ("<a>" + "; x" * 5_000, None),
    ],
)
def test_links_are_read(header: str | None, there: str | None) -> None:
    assert next_link(header, HERE) == there


@pytest.mark.parametrize(
    "link",
    [
        "https://b.example/",
        "http://a.example/",
        "//b.example/",
        "https://a.example:444/",
        "https://me@a.example/",
        "javascript:x",
    ],
)
def test_a_link_leads_nowhere_else(link: str) -> None:
    with pytest.raises(UpstreamError) as refused:
        next_link(f"<{link}>; rel=next", HERE)
    assert refused.value.code == "link_elsewhere"


def after(paging: dict[str, Any], body: str, found: int, place: Any = None, **headers: str) -> Any:
    response = HttpResponse(200, headers, b"", HERE)
    return next_page_position(
        paging, place, response, parse_response(body.encode(), LIMITS), found, LIMITS
    )


def test_what_the_next_page_is() -> None:
    cursor = {"kind": "cursor", "next": "$.meta.next", "param": "c"}
    for body in ('{"meta": {"next": null}}', "{}", "[]", '{"meta": {"next": ""}}', "3"):
        assert after(cursor, body, 5) is None, body
    assert after(cursor, '{"meta": {"next": 12345678901234567890.10}}', 0) == {
        "cursor": "12345678901234567890.10"
    }
    for body in ('{"meta": {"next": [1]}}', '{"meta": {"next": true}}'):
        with pytest.raises(UpstreamError):
            after(cursor, body, 5)
    by_page = {"kind": "page", "param": "p", "start": 0}
    assert after(by_page, "{}", 3) == {"page": 1}
    assert after(by_page, "{}", 3, {"page": 7}) == {"page": 8}
    assert after(by_page, "{}", 0) is None
    sized = {**by_page, "size_param": "n", "size": 5}
    assert after(sized, "{}", 5) == {"page": 1}
    assert after(sized, "{}", 4) is None
    assert after({"kind": "link"}, "{}", 1, link="<?b=2>; rel=next") == {
        "url": "https://a.example/items?b=2"
    }


def test_what_a_request_asks_for() -> None:
    given = {
        "paging": {"kind": "page", "param": "p", "size_param": "n", "size": 5},
        "cursor": {"field": "$.t", "param": "since"},
    }
    assert build_page_request(given, None, None).params == {"p": 1, "n": 5}
    assert build_page_request(given, {"page": 4}, "9").params == {"p": 4, "n": 5, "since": "9"}
    linked = {"paging": {"kind": "link"}, "query": {"key": "x"}}
    asked = build_page_request(
        linked, {"url": "https://a.example/i?b=2&key=%5Bsecret%5D&c=#f"}, "9"
    )
    assert (asked.url, asked.params) == ("https://a.example/i?b=2&c=", {})


def test_the_highest_counts_as_a_number_or_as_text() -> None:
    answer = parse_response(b'[{"t": 9}, {"t": 10.50}, {"t": true}, {"t": {}}, {}]', LIMITS)
    assert max_marker(None, answer.value, answer, "$.t", LIMITS) == "10.50"
    assert max_marker("11", answer.value, answer, "$.t", LIMITS) == "11"
    dates = parse_response(b'[{"t": "2026-01-02"}, {"t": "2026-01-01"}]', LIMITS)
    assert max_marker("2026", dates.value, dates, "$.t", LIMITS) == "2026-01-02"
    assert max_marker("1e999999999", answer.value, answer, "$.t", LIMITS) == "1e999999999"


def test_answers_are_bounded() -> None:
    wild = parse_response(b'{"a": {"b": {"c": [1, 2]}}}', LIMITS)
    assert items_of(wild, "$.a.b.c[*]", LIMITS) == [1, 2]
    assert value_at(wild, "$.nowhere", LIMITS) is None
    with pytest.raises(UpstreamError):
        items_of(parse_response(f"[{'[1],' * 60_000}[1]]".encode(), LIMITS), "$..*", LIMITS)
    twice = parse_response(b'\xef\xbb\xbf{"a": 1, "a": 2, "n": "\\u0000"}', LIMITS)
    assert twice.value == {"a": 2, "n": "\0"}
    for bad in (b"", b"{", b'{"a": 1, "a": NaN}', b"\xff", b"[" * 70 + b"]" * 70, b"9" * 500):
        with pytest.raises(UpstreamError):
            parse_response(bad, LIMITS)


def test_the_cursor_of_a_source_is_stored_and_found_again() -> None:
    middle = EndpointCursor({"page": 3}, "5", "9", {"If-None-Match": "x"}, None)
    stored = middle.as_cursor("s")
    assert load_endpoint_cursor(stored, "s", "1") == middle
    # The place is one of another address by now; what was read so far is not asked for again.
    assert load_endpoint_cursor(stored, "another", "1") == EndpointCursor(since="5")
    ended = middle.ended()
    assert ended == EndpointCursor(since="9", tags={"If-None-Match": "x"})
    assert load_endpoint_cursor(ended.as_cursor("s"), "s", None) == ended
    assert load_endpoint_cursor(ended.as_cursor("s"), "another", None) == EndpointCursor(since="9")
    assert load_endpoint_cursor(None, "s", "1") == EndpointCursor(since="1")
    assert middle.again() == EndpointCursor(since="5")
