"""What a feed says: RSS 2.0, RSS 1.0 and Atom become the same entries.

The library reads what feeds are in practice, from the first RSS on. It is given bytes and never
an address. A feed that declares entities is refused before the library sees it, in whatever
encoding it was written: no entry needs one, and a few of them can grow into gigabytes.
Everything in a feed is a stranger's text: it is shortened, and its markup is taken away.
"""

from __future__ import annotations

import asyncio
import calendar
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import Upstream
from mainspring.contracts.html_text import text_of_html

MOST_ENTRIES: Final = 1_000
_MOST_TEXT: Final = 20_000
_MOST_LINE: Final = 500
_ENTITY: Final = re.compile(
    rb"<!\s*(?:ENTITY|ELEMENT|ATTLIST|NOTATION)|<!DOCTYPE[^>]*\[", re.IGNORECASE
)
# Encodings in which a declaration could hide from whoever looks at the bytes.
_HIDING: Final = re.compile(
    rb"encoding\s*=\s*[\"']\s*(?:utf-?7|ebcdic|cp037|cp1047|ibm)", re.IGNORECASE
)


async def entries_of(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """The entries of a feed in its own order; read on a thread."""
    return await asyncio.to_thread(_entries, body, content_type)


def _entries(body: bytes, content_type: str) -> list[dict[str, Any]]:
    # Loaded with the first feed: most processes read none.
    import feedparser

    # Two bytes a sign, in either order, leave the signs themselves readable without the zeros.
    plain = body.replace(b"\x00", b"")
    if _ENTITY.search(plain) or _HIDING.search(plain[:1_000]):
        raise _unreadable("declares entities of its own, which no feed needs.", "feed_entities")
    headers = {"content-type": content_type} if content_type else {}
    found = feedparser.parse(body, response_headers=headers, resolve_relative_uris=False)
    if not found.get("version"):
        raise _unreadable("is not an RSS or Atom feed.", "unreadable_answer")
    return [_entry(one) for one in found.entries[:MOST_ENTRIES]]


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    link, title = _line(entry.get("link")), _line(plain_text(str(entry.get("title") or "")))
    body = plain_text(_content(entry))
    # A feed may give an entry no id; then it is known by where it leads, or by what it says.
    known = _line(entry.get("id")) or link or _digest(title, body)
    return {
        "id": known,
        "title": title or _line(body) or known,
        "url": link,
        "published": _moment(entry, "published_parsed") or _moment(entry, "updated_parsed"),
        "updated": _moment(entry, "updated_parsed") or _moment(entry, "published_parsed"),
        "author": _line(entry.get("author")),
        "summary": body,
        "tags": [_line(tag.get("term")) for tag in entry.get("tags", ())[:50] if tag.get("term")],
    }


def _content(entry: Mapping[str, Any]) -> str:
    """The whole text where the feed has it, else its summary."""
    parts = [str(part.get("value") or "") for part in entry.get("content", ())]
    return max([*parts, str(entry.get("summary") or "")], key=len)


def _moment(entry: Mapping[str, Any], name: str) -> str | None:
    # The library's own reading of the name would answer with another date, and warn.
    parsed = dict(entry).get(name)
    if not parsed:
        return None
    try:
        moment = datetime.fromtimestamp(calendar.timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def plain_text(markup: str) -> str:
    """What a person would read of HTML."""
    return text_of_html(markup.replace("\x00", "\ufffd"))[:_MOST_TEXT]


def _line(value: Any) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.replace("\x00", "\ufffd").split())[:_MOST_LINE]


def _digest(title: str, body: str) -> str:
    return hashlib.sha256(f"{title}\n{body}".encode("utf-8", "replace")).hexdigest()[:32]


def _unreadable(what: str, code: str) -> Upstream:
    return Upstream(f"What stands at the address {what}", code=code, retryable=False)
