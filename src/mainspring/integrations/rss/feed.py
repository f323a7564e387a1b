"""Parsing RSS 2.0, RSS 1.0 and Atom feeds into entries.

The library handles feeds as found in practice. It gets bytes and never a URL. A feed that declares
entities is rejected before parsing, in any encoding: entries need none, and nested entities can
expand to gigabytes. The content is untrusted: it is truncated, and markup is removed.
"""

from __future__ import annotations

import asyncio
import calendar
import codecs
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.time_limit import SECONDS, TimeLimitExceeded, run_with_time_limit

MOST_ENTRIES: Final = 1_000
_MOST_TEXT: Final = 20_000
_MOST_LINE: Final = 500
_ENTITY: Final = re.compile(
    rb"<!\s*(?:ENTITY|ELEMENT|ATTLIST|NOTATION)|<!DOCTYPE[^<>\[]*\[", re.IGNORECASE
)
_DECLARED: Final = re.compile(rb"encoding\s*=\s*[\"']\s*([^\"'\s]{1,40})", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([^\"';\s]{1,40})", re.IGNORECASE)
# Encodings in which a declaration is visible in the bytes; in others it could be hidden.
_OPEN_ENCODINGS: Final = re.compile(
    r"ascii|utf-8(?:-sig)?|utf-(?:16|32)(?:-[bl]e)?|iso8859-\d+|cp125\d|cp874|cp932|cp949|koi8-[ru]"
    r"|mac-\w+|big5|gb2312|gbk|gb18030|euc_\w+|shift_jis\w*|iso2022_\w+"
)
_EBCDIC: Final = b"\x4c\x6f\xa7\x94"
# Each makes the library compare it with all others.
_MOST_NAMESPACES: Final = 100
_NAMESPACE: Final = re.compile(rb"xmlns[^=<>\s]{0,100}\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')")
_CROWDED_TAG: Final = re.compile(
    rb"<[^\s<>\"'=/!?]+(?:\s+[^\s<>\"'=/]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')){150}"
)


async def parse_entries(
    body: bytes, content_type: str, *, seconds: float = SECONDS
) -> list[dict[str, Any]]:
    """Parse a feed's entries in order, in a thread with a time limit."""
    return await asyncio.to_thread(_entries, body, content_type, seconds)


def _entries(body: bytes, content_type: str, seconds: float) -> list[dict[str, Any]]:
    # Imported on first use: most processes read no feed.
    import feedparser

    # UTF-16 in either byte order becomes readable without its zero bytes.
    plain = body.replace(b"\x00", b"")
    _check_markup(plain, content_type)
    headers = {"content-type": content_type} if content_type else {}
    try:
        found = run_with_time_limit(
            lambda: feedparser.parse(body, response_headers=headers, resolve_relative_uris=False),
            seconds,
        )
    except TimeLimitExceeded:
        raise _unreadable("takes too long to read: its markup is broken.", "feed_markup") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        # The library recovers from broken markup, but sometimes raises.
        raise _unreadable("is not an RSS or Atom feed.", "unreadable_answer") from None
    if not found.get("version"):
        raise _unreadable("is not an RSS or Atom feed.", "unreadable_answer")
    return [_entry(one) for one in found.entries[:MOST_ENTRIES]]


def _check_markup(plain: bytes, content_type: str) -> None:
    """Reject markup that hides declarations or is slow to parse."""
    said = [one.decode("ascii", "replace") for one in _DECLARED.findall(plain[:1_000])]
    said += _CHARSET.findall(content_type)
    hides = plain.startswith(_EBCDIC) or not all(map(_is_open, said))
    if hides or _ENTITY.search(plain):
        raise _unreadable("declares entities of its own, which no feed needs.", "feed_entities")
    if len(set(_NAMESPACE.findall(plain))) > _MOST_NAMESPACES or _CROWDED_TAG.search(plain):
        raise _unreadable("has more attributes than any feed needs.", "feed_markup")


def _is_open(encoding: str) -> bool:
    """Report whether an encoding is transparent; unknown ones are rejected."""
    try:
        return _OPEN_ENCODINGS.fullmatch(codecs.lookup(encoding).name) is not None
    except (LookupError, ValueError):
        return True


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    link, title = _line(entry.get("link")), _line(extract_plain_text(str(entry.get("title") or "")))
    body = extract_plain_text(_content(entry))
    # An entry without an id is identified by its link, or by its content.
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
    """Return the full text if present, else the summary."""
    parts = [str(part.get("value") or "") for part in entry.get("content", ())]
    return max([*parts, str(entry.get("summary") or "")], key=len)


def _moment(entry: Mapping[str, Any], name: str) -> str | None:
    # The library's own attribute lookup would return another date, and warn.
    parsed = dict(entry).get(name)
    if not parsed:
        return None
    try:
        moment = datetime.fromtimestamp(calendar.timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def extract_plain_text(markup: str) -> str:
    """Convert HTML to plain text."""
    return extract_html_text(markup.replace("\x00", "\ufffd"))[:_MOST_TEXT]


def _line(value: Any) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.replace("\x00", "\ufffd").split())[:_MOST_LINE]


def _digest(title: str, body: str) -> str:
    return hashlib.sha256(f"{title}\n{body}".encode("utf-8", "replace")).hexdigest()[:32]


def _unreadable(what: str, code: str) -> UpstreamError:
    return UpstreamError(f"The content of the address {what}", code=code, retryable=False)
