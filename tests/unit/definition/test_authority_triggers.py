"""A poll or webhook that starts more runs, or others, needs consent; one with fewer does not."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority

POLL = {
    "capability": "adapter_query",
    "arguments": {"kind": "sql", "op": "sql.rows"},
    "every": "1h",
    "items": "$.rows",
    "id": "$.id",
}
FEED = {"url": "https://a.example/feed"}


def _added(type_: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    was, now = (
        read_authority({"plan": [], "triggers": [{"type": type_, "config": one}]}, (), Limits())
        for one in (before, after)
    )
    return [one.says for one in find_additions(was, now)]


@pytest.mark.parametrize(
    ("type_", "before", "more", "says"),
    [
        ("poll", POLL, {"every": "10m"}, "every 10 minutes"),
        ("poll", POLL, {"changed_on": "$.at"}, "each new or changed item"),
        ("poll", {**POLL, "changed_on": "$.at.day"}, {"changed_on": "$.at"}, "or changed item"),
        ("poll", {**POLL, "changed_on": "$.at"}, {"changed_on": "$.at.day"}, "or changed item"),
        ("poll", POLL, {"first_look": "fire"}, "Items that are there already count as new"),
        ("poll", POLL, {"max_items": 21}, "up to 21 items at a time"),
        ("poll", {**POLL, "max_items": 5}, {"max_items": 20}, "one run for each new item"),
        ("poll", {**POLL, "per": "batch"}, {"per": "item"}, "one run for each new item"),
        ("poll", POLL, {"arguments": {"kind": "sql"}}, "read with adapter_query"),
        ("poll", POLL, {"capability": "http_fetch"}, "read with http_fetch"),
        ("poll", POLL, {"id": "$.key"}, "read with adapter_query"),
        ("poll", POLL, {"items": "$.all"}, "read with adapter_query"),
        ("rss_item", FEED, {"every": "9m"}, "every 9 minutes"),
        ("rss_item", FEED, {"changes": True}, "each new or changed item"),
        ("rss_item", FEED, {"url": "https://b.example/f"}, "the feed https://b.example/f"),
        ("calendar_event", {}, {"url": "https://b.example/c"}, "the calendar https://b.example/c"),
        ("calendar_event", {}, {"starts_in_minutes": 5}, "start within 5 minutes"),
        ("github", {"repository": "o/r", "event": "commit_pushed"}, {"branch": "b"}, "at GitHub"),
        ("email_received", {}, {"mailbox": "gmail"}, "your Gmail account"),
        ("url_changed", FEED, {"part": "$.json.version"}, "https://a.example/feed"),
    ],
)
def test_a_poll_that_starts_more_runs_or_reads_something_else_is_asked_about(
    type_: str, before: dict[str, Any], more: dict[str, Any], says: str
) -> None:
    found = _added(type_, before, {**before, **more})
    assert len(found) == 1
    assert says.lower() in found[0].lower()
    assert found[0].startswith("It now starts by a poll. Every ")


@pytest.mark.parametrize(
    ("type_", "before", "less"),
    [
        ("poll", POLL, {"every": "60m"}),
        ("poll", POLL, {"every": "2h"}),
        ("poll", {**POLL, "changed_on": "$.at"}, {"every": "2h"}),
        ("poll", POLL, {"first_look": "silent", "max_items": 20, "per": "item"}),
        ("poll", POLL, {"max_items": 1}),
        ("poll", POLL, {"per": "batch"}),
        ("poll", {**POLL, "first_look": "fire"}, {"first_look": "silent"}),
        ("poll", {**POLL, "changed_on": "$.at"}, {"changed_on": None}),
        ("rss_item", FEED, {"every": "10m", "changes": False}),
        ("rss_item", {**FEED, "changes": True}, {"changes": False}),
    ],
)
def test_a_rarer_poll_is_not_asked_about(
    type_: str, before: dict[str, Any], less: dict[str, Any]
) -> None:
    assert _added(type_, before, {**before, **less}) == []


def test_a_poll_without_an_identifier_is_compared_by_what_makes_it_changed() -> None:
    page = {"capability": "http_fetch", "arguments": {}, "every": "1h", "changed_on": "$.text"}
    assert _added("poll", page, {**page, "changed_on": None}) != []


def test_a_poll_that_cannot_be_read_is_compared_as_it_is_written() -> None:
    wrong = {**POLL, "every": 3}
    assert _added("poll", wrong, wrong) == []
    assert len(_added("poll", wrong, {**wrong, "max_items": 3})) == 1


HOOK: dict[str, Any] = {"auth": {"type": "secret_url"}}
FROM_A = {**HOOK, "cors": {"origins": ["https://a.example"]}}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            HOOK,
            {**HOOK, "methods": ["POST", "GET"]},
            "It now starts with GET calls of its webhook.",
        ),
        (
            HOOK,
            FROM_A,
            "Web pages of https://a.example can now call its webhook and read its answers.",
        ),
        (
            FROM_A,
            {**HOOK, "cors": {"origins": ["https://a.example", "*"]}},
            "Web pages of * can now call its webhook and read its answers.",
        ),
        (
            {**HOOK, "events": ["push"]},
            {**HOOK, "methods": ["PUT"]},
            "It now starts with more events of its webhook.",
        ),
    ],
)
def test_a_webhook_with_more_callers_is_asked_about(
    before: dict[str, Any], after: dict[str, Any], says: str
) -> None:
    assert _added("webhook", before, after) == [says]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({**HOOK, "methods": ["GET", "POST"]}, HOOK),
        ({**HOOK, "methods": ["GET", "POST"]}, {**HOOK, "methods": ["GET"]}),
        (FROM_A, HOOK),
        ({**HOOK, "cors": {"origins": ["*"]}}, FROM_A),
    ],
)
def test_a_webhook_with_fewer_callers_is_not_asked_about(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert _added("webhook", before, after) == []
