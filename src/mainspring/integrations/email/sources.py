"""Mailbox source and poll.

A mail has an increasing UID in its folder, and the folder a UIDVALIDITY. The poll stores both. When
UIDVALIDITY changes, the last days are read again; existing pages are not rewritten.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext, Mailbox
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.mail_parser import ParsedMail
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.email.messages import build_mail_item

# The limit read of one mail: its text comes before its attachments.
MOST_BYTES: Final = 1_048_576
PORTION: Final = 25
_USUAL: Final = 50
_FIRST_LOOK: Final = timedelta(days=7)
# On demand, only recent mails are published as events.
_FRESH: Final = timedelta(hours=1)
# The server is reachable but rejects one mail.
_NOT_GIVEN: Final = "mailbox_mail"
_PLACES: Final = "from|to|cc|subject|body"
_TERM: Final = re.compile(rf"(?:\b({_PLACES}):)?(?:\"([^\"]*)\"|(\S+))", re.IGNORECASE)
_MOST_TERMS: Final = 10

INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "query": {
            "type": "string",
            "description": 'Words in the mail, or where to search: from:ada subject:"next week".',
            "minLength": 1,
            "maxLength": 1_000,
        },
        "since": {
            "type": "string",
            "format": "date",
            "description": "Only mails received on this day or later, such as 2026-08-01.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FETCHED, "default": _USUAL},
    },
    "examples": [{"query": "from:ada@example.com invoice", "limit": 20}, {"since": "2026-08-01"}],
    "x-mainspring-anti-examples": [
        {"value": {"query": ""}, "reason": "leave it out to read the newest"},
        {"value": {"limit": 1000}, "reason": "more than one call brings"},
        {"value": {"since": "yesterday"}, "reason": "a day, not a word"},
        {"value": {"folder": "Sent"}, "reason": "the connection says which folder"},
    ],
}


@dataclass(frozen=True, slots=True)
class NewMailFilter:
    """Which mails are published: those after a UID, or since a time."""

    old: int = sys.maxsize
    # None: no older mail is published.
    since: datetime | None = None

    def has(self, uid: int, mail: ParsedMail) -> bool:
        """Report whether a mail is new; one without a date is."""
        late = self.since is not None and (mail.date is None or mail.date >= self.since)
        return uid > self.old or late

    def as_cursor(self) -> dict[str, Any]:
        """The filter as cursor fields, for the rest of this poll."""
        return {"old": self.old, "news_since": self.since and self.since.isoformat()}


def build_source() -> Source:
    """Build the source over a connection's mailbox."""
    return Source("email", INPUT, _read, parse_request)


def build_poll() -> Poll:
    """Build the poll over a connection's mailbox."""
    return Poll("email", "New mails in the folder of a mailbox.", _poll)


def parse_request(request: str, at: datetime) -> Mapping[str, Any]:
    """The sentence itself is the search."""
    del at
    return {"query": request}


def parse_search_terms(query: str | None) -> list[tuple[str, str]]:
    """Parse search terms: words anywhere, or from:, to:, cc:, subject: and body:."""
    found = []
    for place, quoted, plain in _TERM.findall(query or ""):
        words = " ".join((quoted or plain).split())
        if words:
            found.append((place.lower() or "text", words))
    return found[:_MOST_TERMS]


async def _read(
    ctx: CallContext, arguments: Mapping[str, Any], cursor: Mapping[str, Any] | None
) -> ItemBatch:
    limit = int(arguments.get("limit", _USUAL))
    async with ctx.mailbox() as box:
        left = list((cursor or {}).get("left", ()))
        if cursor is None or cursor.get("uidvalidity") != box.uidvalidity:
            since = arguments.get("since")
            uids = await box.search(
                since=date.fromisoformat(since) if since else None,
                terms=parse_search_terms(arguments.get("query")),
            )
            left = list(reversed(uids))[:limit]
        now, left = left[:PORTION], left[PORTION:]
        fresh = NewMailFilter(since=ctx.clock.now() - _FRESH)
        items = await _mails(box, now, fresh)
        going_on = {"uidvalidity": box.uidvalidity, "left": left}
    return ItemBatch(items, going_on if left else None, bool(left))


async def _poll(
    ctx: CallContext, settings: Mapping[str, Any], cursor: Mapping[str, Any] | None
) -> ItemBatch:
    del settings
    async with ctx.mailbox() as box:
        counted = cursor is not None and cursor.get("uidvalidity") == box.uidvalidity
        if cursor is not None and counted:
            after = int(cursor.get("uid", 0))
            uids = await box.search(after=after)
            news = NewMailFilter(int(cursor.get("old", 0)), _moment(cursor.get("news_since")))
        else:
            after = 0
            uids = await box.search(since=(ctx.clock.now() - _FIRST_LOOK).date())
            if not uids:
                after = await _last(box)
            # The first poll finds old mail; later, what came since the last one is published.
            seen = _moment((cursor or {}).get("seen_at"))
            news = NewMailFilter(max(uids, default=0), None if seen is None else seen - _FRESH)
        now, left = uids[:PORTION], uids[PORTION:]
        items = await _mails(box, now, news)
        going_on: dict[str, Any] = {
            "uidvalidity": box.uidvalidity,
            "uid": max([after, *now]),
        }
    going_on["seen_at"] = ctx.clock.now().isoformat()
    if going_on["uid"] < news.old:
        going_on |= news.as_cursor()
    anew = cursor is not None and not counted
    note = "The mailbox renumbered its mails, so the last days were read again." if anew else None
    return ItemBatch(items, going_on, bool(left), note)


async def _last(box: Mailbox) -> int:
    """Return the last UID; without UIDNEXT, all UIDs are listed."""
    return box.last_uid or max(await box.search(), default=0)


async def _mails(
    box: Mailbox, uids: Sequence[int], news: NewMailFilter
) -> list[Item | UnreadableItem]:
    """Fetch mails; one that the server rejects does not block the others."""
    found: list[Item | UnreadableItem] = []
    for uid in uids:
        ref = f"email:{box.uidvalidity}:{uid}"
        try:
            raw = await box.fetch(uid, MOST_BYTES)
        except UpstreamError as problem:
            if problem.code != _NOT_GIVEN:
                raise
            found.append(UnreadableItem(ref, problem))
            continue
        if raw is not None:
            # In a thread: parsing a large mail would block the event loop.
            read = partial(build_mail_item, box.uidvalidity, raw, partial(news.has, uid))
            found.append(await asyncio.to_thread(read_one, ref, read))
    return found


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
