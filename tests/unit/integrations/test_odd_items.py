"""One odd thing among what a provider sends is read, passed over or broken, and never stops a look.

Each place of a well-formed answer holds each odd value once. Whatever comes of it, it is an item,
a broken one or a problem: anything else would end the poll at the same thing for
ever.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from mainspring.contracts.context import RawMail
from mainspring.contracts.errors import Problem
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.integrations.calendar.client import CalendarEntry
from mainspring.integrations.calendar.sources import build_event_item
from mainspring.integrations.coinmarketcap.coins import read_coin
from mainspring.integrations.discord import messages as discord_messages
from mainspring.integrations.drive.sources import build_file_item, get_text_access
from mainspring.integrations.email.messages import build_mail_item as mail_item
from mainspring.integrations.github import mapping as github
from mainspring.integrations.github import polls as github_polls
from mainspring.integrations.gmail.messages import read_letter
from mainspring.integrations.gmail.sources import build_thread_item
from mainspring.integrations.linear.sources import issue_item as linear_item
from mainspring.integrations.slack import messages as slack
from mainspring.integrations.telegram.polls import build_item_batch

NOW: Final = datetime(2026, 8, 10, 12, tzinfo=UTC)
ODD: Final[tuple[Any, ...]] = (
    None,
    1,
    -1,
    10**18,
    2**63,
    1e308,
    True,
    "",
    "\x00",
    "x" * 3_000,
    [],
    {},
    [None],
    [[]],
    {"a": []},
    "9999-99-99",
    "99999999999999999999.1",
    "0001-01-01",
    "9999-12-31",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
)
DAY: Final = "2026-01-01T00:00:00Z"
ENTRY: Final = CalendarEntry("c", "n", "Europe/Rome")
OWNER: Final = {"chat_id": 5, "user_id": 5}
SLACK: Final = {
    "type": "message",
    "subtype": "x",
    "user": "U1A",
    "text": "hi <@U1AB> <#C1|g>",
    "ts": "1700000000.000100",
    "thread_ts": "1700000000.000100",
    "reply_count": 1,
    "latest_reply": "1700000001.000000",
    "files": [{"name": "a"}],
    "bot_id": "B",
}
DISCORD: Final = {
    "id": "1100000000000000001",
    "type": 0,
    "content": "x",
    "embeds": [{"title": "a"}],
    "author": {"global_name": "a", "username": "b"},
    "attachments": [{"filename": "f"}],
    "message_reference": {"message_id": "1100000000000000001"},
}
LINEAR: Final = {
    "id": "a",
    "identifier": "E-1",
    "title": "t",
    "url": "u",
    "createdAt": DAY,
    "updatedAt": DAY,
    "description": "d",
    "team": {"key": "E"},
    "state": {"name": "s"},
    "priority": 1,
    "labels": {"nodes": [{"name": "x"}]},
    "dueDate": "d",
}
ISSUE: Final = {
    "id": 1,
    "number": 2,
    "title": "t",
    "html_url": "u",
    "created_at": DAY,
    "updated_at": DAY,
    "state": "open",
    "user": {"login": "a"},
    "labels": [{"name": "x"}],
    "body": "b",
    "assignees": [{"login": "y"}],
    "repository_url": "https://api.github.com/repos/a/b",
    "pull_request": {},
    "milestone": {"title": "m"},
    "head": {"ref": "x"},
    "draft": False,
}
RELEASE: Final = {
    "id": 1,
    "tag_name": "v",
    "name": "n",
    "draft": False,
    "author": {"login": "a"},
    "created_at": DAY,
    "published_at": DAY,
    "html_url": "u",
    "body": "b",
}
FILE: Final = {
    "id": "a",
    "name": "n",
    "mimeType": "text/plain",
    "owners": [{"emailAddress": "e"}],
    "createdTime": DAY,
    "modifiedTime": DAY,
    "sharedWithMeTime": DAY,
    "size": "12",
    "description": "d",
    "trashed": False,
}
EVENT: Final = {
    "id": "e",
    "status": "confirmed",
    "summary": "s",
    "updated": DAY,
    "start": {"dateTime": DAY, "timeZone": "Europe/Rome"},
    "end": {"date": "2026-01-02"},
    "originalStartTime": {"date": "2026-01-01"},
    "organizer": {"email": "e"},
    "attendees": [{"email": "a", "responseStatus": "c"}],
    "description": "<b>x</b>",
}
WRITTEN: Final = {
    "message_id": 1,
    "date": 1_700_000_000,
    "text": "/x",
    "chat": {"id": 5},
    "from": {"id": 5, "username": "u"},
}
PRESSED: Final = {
    "id": "1",
    "data": "d",
    "from": {"id": 5},
    "message": {"message_id": 1, "chat": {"id": 5}},
}
STARTED: Final = {**WRITTEN, "text": "/start abcdefghijklmnopqrst"}
LETTER: Final = {
    "id": "m",
    "threadId": "t",
    "labelIds": ["INBOX"],
    "snippet": "s",
    "internalDate": "1700000000000",
    "payload": {
        "mimeType": "multipart/mixed",
        "headers": [{"name": "Subject", "value": "s"}],
        "parts": [
            {"partId": "0", "mimeType": "text/plain", "body": {"size": 3, "data": "YWJj"}},
            {"partId": "1", "filename": "a.csv", "body": {"attachmentId": "at", "size": 10}},
        ],
    },
}
COIN: Final = {
    "name": "Bitcoin",
    "symbol": "BTC",
    "slug": "b",
    "cmc_rank": 1,
    "last_updated": DAY,
    "quote": [{"symbol": "USD", "price": 1.0, "market_cap": 2.0, "last_updated": DAY}],
}


def _slack(one: Any) -> Any:
    slack.is_written(one)
    slack.is_page_start(one)
    slack.get_newest_ts(one)
    replies = [one] if isinstance(one, dict) else []
    return slack.build_message_item("C1", one, [SLACK, *replies], {}, "1.1")


def _discord(one: Any) -> Any:
    discord_messages.is_written(one)
    discord_messages.is_silent(one)
    return discord_messages.build_message_item("1", one, "1")


def _issue(one: Any) -> Any:
    github_polls._latest([one], NOW, NOW)
    github.build_rows([one], github.build_pr_row)
    return github.issue_item(one, "p", NOW)


def _release(one: Any) -> Any:
    github_polls._is_skipped(one, [1])
    return github.release_item(one, "a/b", "p", NOW)


def _letter(one: Any) -> Any:
    mail = read_letter(one)
    return None if mail is None else build_thread_item("t", [mail], {}, {}, NOW)


def _file(one: Any) -> Any:
    get_text_access(one)
    return build_file_item(one, NOW)


READERS: Final[dict[str, tuple[Any, Callable[[Any], Any]]]] = {
    "slack": (SLACK, _slack),
    "discord": (DISCORD, _discord),
    "linear": (LINEAR, lambda one: linear_item(one, "p", NOW)),
    "github issue": (ISSUE, _issue),
    "github release": (RELEASE, _release),
    "drive": (FILE, _file),
    "calendar": (EVENT, lambda one: build_event_item(one, ENTRY, NOW)),
    "calendar day": (
        {**EVENT, "start": {"date": "2026-01-01"}},
        lambda one: build_event_item(one, ENTRY, NOW),
    ),
    "telegram": (
        {"update_id": 1, "message": WRITTEN},
        lambda one: build_item_batch([one], OWNER, 0),
    ),
    "telegram start": (
        {"update_id": 1, "message": STARTED},
        lambda one: build_item_batch([one], OWNER, 0),
    ),
    "telegram press": (
        {"update_id": 1, "callback_query": PRESSED},
        lambda one: build_item_batch([one], OWNER, 0),
    ),
    "gmail": (LETTER, _letter),
    "coinmarketcap": (COIN, read_coin),
}
# Their clients hand on objects alone.
OBJECTS: Final = frozenset({"drive", "calendar", "calendar day"})


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else ()
    for name, one in enumerate(value) if isinstance(value, list) else inner:
        yield from _places(one, (*at, name))


def _with(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    if not at:
        return odd
    whole = copy.deepcopy(value)
    place = whole
    for name in at[:-1]:
        place = place[name]
    place[at[-1]] = odd
    return whole


@pytest.mark.parametrize("name", READERS)
def test_no_odd_thing_stops_a_look(name: str) -> None:
    good, read = READERS[name]
    assert not isinstance(read(good), UnreadableItem)
    for at in _places(good):
        if not at and name in OBJECTS:
            continue
        for odd in ODD:
            try:
                read(_with(good, at, odd))
            except Problem:
                continue
            except Exception as error:
                raise AssertionError(f"{name} stumbles over {odd!r:.40} at {at}") from error


def test_an_odd_thing_is_reported_and_the_others_are_read() -> None:
    late = {"update_id": 2, "message": {**WRITTEN, "message_id": 2, "date": 10**15}}
    found = build_item_batch([late, {"update_id": 3, "message": WRITTEN}], OWNER, 0)
    assert [type(one) for one in found.items] == [UnreadableItem, Item]
    assert found.cursor == {"offset": 4}
    # A cursor is plain JSON, and no id of Telegram is so large.
    assert build_item_batch([{"update_id": 2**64 - 1, "message": WRITTEN}], OWNER, 7).cursor == {
        "offset": 7
    }
    day = {**EVENT, "start": {"date": "0001-01-02"}, "end": {"date": "0001-01-01"}}
    item = build_event_item(day, ENTRY, None)
    assert isinstance(item, Item)
    assert item.frontmatter["last_day"] == "0001-01-01"
    assert slack.is_written({"subtype": []})
    assert not slack.is_written({"subtype": "channel_join"})
    assert discord_messages.is_written({"type": []})
    assert not discord_messages.is_written({"type": 7})


def test_one_entry_of_the_future_moves_no_place_there() -> None:
    since = NOW - timedelta(days=1)
    entries = [
        {"updated_at": (NOW - timedelta(hours=1)).isoformat()},
        {"updated_at": "2999-01-01T00:00:00Z"},
        {"updated_at": "9999-12-31T23:59:59-14:00"},
        {"updated_at": 7},
    ]
    assert github_polls._latest(entries, since, NOW) == "2026-08-10T11:00:00Z"
    assert github_polls._latest(entries[1:], since, NOW) == "2026-08-09T12:00:00Z"


def test_pieces_of_mails_in_any_order_are_read() -> None:
    pieces = (
        b"Subject: =?x-unknown?q?a?=",
        b'From: "<@(,',
        b"To: a:;",
        b"Date: Mon, 99 Foo 99999",
        b"Content-Type: multipart/mixed; boundary=a",
        b"--a",
        b"Content-Type: text/plain; charset=",
        b"undefined",
        b"Content-Transfer-Encoding: base64",
        b"\x00\xff",
        b"",
        b"Message-ID: <\x00>",
        b"Content-Disposition: attachment; filename*=utf-8''%ff",
        b"Content-Type: message/rfc822",
    )
    for first in range(len(pieces)):
        for step in (1, 3, 5, 9, 11, 13):
            order = [pieces[(first + n * step) % len(pieces)] for n in range(len(pieces))]
            data = b"\r\n".join(order)
            item = mail_item(1, RawMail(uid=1, data=data, size=len(data)))
            assert "\x00" not in item.source_ref
