"""Parsing a Gmail message: headers, MIME parts and text.

Untrusted input is parsed with limits on depth, parts and text. Plain text is preferred, HTML is
converted. Text attachments are read, others are only named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Final

from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.gmail.client import decode_base64

LONGEST_TEXT: Final = 100_000
_DEEPEST: Final = 20
_MOST_PARTS: Final = 300
_LONGEST_HEADER: Final = 2_000
# These are read as text even with another declared type.
_TEXT_ENDINGS: Final = (".txt", ".csv", ".json", ".ics", ".html", ".htm", ".md", ".tsv", ".log")
_TEXT_KINDS: Final = frozenset({"application/json", "application/ics", "application/csv"})
_SHIFTED: Final = ("iso-2022", "iso2022", "utf-16", "utf16", "utf-32", "utf32", "hz")
_MANY_LINES: Final = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class GmailAttachment:
    """An attachment and where its bytes are."""

    filename: str
    mime_type: str
    size: int
    message_id: str
    part_id: str
    charset: str = ""
    # Gmail's attachment id, which changes every time; empty: the bytes are in the response.
    remote_id: str = ""
    data: bytes | None = None

    @property
    def id(self) -> str:
        """A stable id: the message and the part's position."""
        return f"{self.message_id}/{self.part_id}"

    @property
    def is_text(self) -> bool:
        kind = self.mime_type
        return (
            kind.startswith("text/")
            or kind in _TEXT_KINDS
            or self.filename.lower().endswith(_TEXT_ENDINGS)
        )

    def text(self, data: bytes) -> str:
        """Its text."""
        text = decode_text(data, self.charset)
        is_html = self.mime_type == "text/html" or self.filename.lower().endswith((".html", ".htm"))
        return extract_html_text(text) if is_html else tidy(text)


@dataclass(frozen=True, slots=True)
class GmailMessage:
    """A message for display."""

    id: str
    thread_id: str
    headers: Mapping[str, str]
    at: datetime | None
    labels: tuple[str, ...]
    snippet: str
    text: str
    attachments: tuple[GmailAttachment, ...]

    @property
    def is_received(self) -> bool:
        """Whether it was received; mail to oneself counts."""
        return "SENT" not in self.labels or "INBOX" in self.labels


def read_letter(message: Any) -> GmailMessage | None:
    """Parse a message; None for a draft or an unusable one."""
    if not isinstance(message, Mapping):
        return None
    labels = tuple(one for one in _list(message.get("labelIds")) if isinstance(one, str))
    if "DRAFT" in labels:
        return None
    payload = _mapping(message.get("payload"))
    own = str(message.get("id", ""))
    headers = read_headers(payload)
    parts = list(_parts(payload))[:_MOST_PARTS]
    text = _extract_text(payload)
    if message.get("tooLarge"):
        text = "This message is too large to be read here. It begins: " + _plain(message, "snippet")
    return GmailMessage(
        id=own,
        thread_id=str(message.get("threadId", "")),
        headers=headers,
        at=_moment(message.get("internalDate"), headers.get("date", "")),
        labels=labels,
        snippet=_plain(message, "snippet"),
        text=text[:LONGEST_TEXT] + ("\n[…]" if len(text) > LONGEST_TEXT else ""),
        attachments=tuple(_attachment(own, one) for one in parts if _is_file(one)),
    )


def read_headers(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return headers by lower-case name, decoded, on one line; the first of a name counts."""
    found: dict[str, str] = {}
    for one in _list(payload.get("headers"))[:500]:
        name, value = _mapping(one).get("name"), _mapping(one).get("value")
        if isinstance(name, str) and isinstance(value, str):
            found.setdefault(name.lower(), format_one_line(_decode_words(value), _LONGEST_HEADER))
    return found


def decode_text(data: bytes, charset: str) -> str:
    """Decode text: UTF-8 if valid, else as declared, else cp1252."""
    declared = charset.strip().lower()
    order = ["utf-8", declared, "cp1252"]
    if declared.startswith(_SHIFTED):
        # Their bytes may look like UTF-8.
        order = [declared, "utf-8", "cp1252"]
    for name in order:
        try:
            if name:
                return data.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return data.decode("latin-1")


def tidy(text: str) -> str:
    """Normalize line endings and collapse blank lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").split("\n")
    return _MANY_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def _parts(part: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield every leaf part and every attachment."""
    inner = _list(part.get("parts"))
    if not inner or depth >= _DEEPEST or (_is_file(part) and depth > 0):
        yield part
        return
    for one in inner:
        yield from _parts(_mapping(one), depth + 1)


def _is_file(part: Mapping[str, Any]) -> bool:
    if part.get("filename"):
        return True
    if _kind(part) == "text/calendar":
        return True
    return _parameter(part, "content-disposition", "") == "attachment"


def _extract_text(part: Mapping[str, Any], depth: int = 0) -> str:
    """Extract readable text; of alternatives the plain one, if not empty."""
    kind, inner = _kind(part), [_mapping(one) for one in _list(part.get("parts"))]
    if depth > _DEEPEST or (depth > 0 and _is_file(part)):
        return ""
    if kind == "multipart/alternative":
        plain = [one for one in inner if _kind(one) == "text/plain"]
        others = [one for one in inner if one not in plain]
        texts = (_extract_text(one, depth + 1) for one in [*plain, *reversed(others)])
        return next((one for one in texts if one), "")
    if inner:
        texts = (_extract_text(one, depth + 1) for one in inner[:_MOST_PARTS])
        return "\n\n".join(one for one in texts if one)
    if kind not in {"text/plain", "text/html"} or _is_file(part):
        return ""
    data = decode_base64(_mapping(part.get("body")).get("data")) or b""
    text = decode_text(data, _parameter(part, "content-type", "charset"))
    return extract_html_text(text) if kind == "text/html" else tidy(text)


def _attachment(message_id: str, part: Mapping[str, Any]) -> GmailAttachment:
    body = _mapping(part.get("body"))
    size, remote, name = body.get("size"), body.get("attachmentId"), part.get("filename")
    kind = _kind(part)
    usual = "invite.ics" if kind == "text/calendar" else "attachment"
    return GmailAttachment(
        filename=format_one_line(_decode_words(name) if isinstance(name, str) else "", 200)
        or usual,
        mime_type=kind,
        size=size if isinstance(size, int) and size >= 0 else 0,
        message_id=message_id,
        part_id=format_one_line(str(part.get("partId", "")), 40),
        charset=_parameter(part, "content-type", "charset"),
        remote_id=remote if isinstance(remote, str) else "",
        data=decode_base64(body.get("data")),
    )


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("mimeType")
    return (
        format_one_line(kind, 100).lower() if isinstance(kind, str) else "application/octet-stream"
    )


def _parameter(part: Mapping[str, Any], header: str, name: str) -> str:
    """Return a header parameter, such as charset; without a name, the main value."""
    value = read_headers({"headers": part.get("headers")}).get(header, "")
    if not name:
        return value.partition(";")[0].strip().lower()
    read: Message[str, str] = Message()
    read[header] = value
    try:
        found = read.get_param(name, "", header)
    except (ValueError, LookupError):
        return ""
    return found if isinstance(found, str) else str(found[2])


def _decode_words(value: str) -> str:
    """Decode RFC 2047 encoded words."""
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value[:_LONGEST_HEADER])))
    except (LookupError, MessageError, ValueError):
        return value


def _moment(internal: Any, header: str) -> datetime | None:
    """Return the time of receipt: Gmail's, else the Date header's."""
    try:
        if isinstance(internal, str) and internal.isdecimal():
            return datetime.fromtimestamp(int(internal) / 1000, UTC)
        found = parsedate_to_datetime(header)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def _plain(message: Mapping[str, Any], name: str) -> str:
    """Unescape a snippet, which is HTML."""
    value = message.get(name)
    return format_one_line(extract_html_text(value), 500) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
