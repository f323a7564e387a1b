"""Parses a raw mail into its text and the names of its files.

All of it is untrusted: headers may be broken, charsets unknown and parts nested without end.
Parsing is tolerant, bounded and yields only text. A mail may be built so that parsing takes
minutes; it is truncated to what can be parsed quickly.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import getaddresses, parsedate_to_datetime
from typing import Final

from mainspring.contracts.html_text import extract_html_text

MOST_PARTS: Final = 200
LONGEST_TEXT: Final = 200_000
MOST_LINES: Final = 30_000
# The standard library's parser checks every line for the end of every enclosing part.
_MOST_LOOKS: Final = 600_000
_LONGEST_HEADER: Final = 8_000
_LONGEST_PART_HEADER: Final = 1_000
_MOST_ADDRESSES: Final = 100
_MOST_FILES: Final = 50
_BOUNDARY: Final = re.compile(rb"boundary", re.IGNORECASE)
# These are not charsets of mail, and some of them take minutes on a large one.
_NO_CHARSETS: Final = frozenset(
    {
        "idna",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "unicode_escape",
        "raw_unicode_escape",
    }
)
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MESSAGE_ID: Final = re.compile(r"<[^<>\s]{1,250}>")


class _ShortHeaders(Compat32):
    """Truncates each header before it is parsed; a subclass, because the parser accepts nothing
    else.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        # Headers of a part are read repeatedly, and there may be many parts.
        if name.lower().startswith("content-") and len(value) > _LONGEST_PART_HEADER:
            value = value[:_LONGEST_PART_HEADER].rpartition(";")[0]
        return name, value[:_LONGEST_HEADER]


@dataclass(frozen=True, slots=True)
class MailFile:
    """A file attached to a mail; its bytes are not kept."""

    filename: str
    mime_type: str
    size: int


@dataclass(frozen=True, slots=True)
class ParsedMail:
    """The parsed contents of a mail."""

    message_id: str
    subject: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    # None when missing or unreadable.
    date: datetime | None
    text: str
    files: tuple[MailFile, ...] = ()
    in_reply_to: str = ""
    references: tuple[str, ...] = ()


def read_mail(data: bytes) -> ParsedMail:
    """Parse a mail; ``ValueError`` when its structure cannot be parsed."""
    try:
        message = message_from_bytes(_truncate_mail(data), policy=_ShortHeaders())
        parts = list(_iterate_parts(message))
        return ParsedMail(
            message_id=_find_first_id(_read_header(message, "Message-ID")),
            subject=_read_header(message, "Subject"),
            sender=next(iter(_read_addresses(message, "From")), ""),
            to=_read_addresses(message, "To"),
            cc=_read_addresses(message, "Cc"),
            date=_read_date(message),
            text=_read_text(parts),
            files=tuple(_iterate_files(parts))[:_MOST_FILES],
            in_reply_to=_find_first_id(_read_header(message, "In-Reply-To")),
            references=tuple(_MESSAGE_ID.findall(_read_header(message, "References")))[:50],
        )
    except (RecursionError, AttributeError, TypeError, IndexError, KeyError) as error:
        raise ValueError("This mail is malformed and cannot be read.") from error


def _truncate_mail(data: bytes) -> bytes:
    """As much of a mail as can be parsed quickly."""
    around = len(_BOUNDARY.findall(data)) + 1
    most = min(MOST_LINES, _MOST_LOOKS // around)
    if data.count(b"\n") <= most:
        return data
    return b"".join(data.splitlines(keepends=True)[:most])


def decode_header_text(value: str) -> str:
    """A decoded header on one line."""
    value = value[:_LONGEST_HEADER]
    try:
        readable = str(make_header(decode_header(value)))
    except (MessageError, LookupError, ValueError):
        readable = value
    plain = readable.encode("utf-8", "replace").decode()
    return " ".join(_UNSEEN.sub(" ", plain).split())


def _read_header(message: Message, name: str) -> str:
    value = message.get(name)
    return "" if value is None else decode_header_text(str(value))


def _find_first_id(text: str) -> str:
    found = _MESSAGE_ID.search(text)
    return found[0] if found else ""


def _read_addresses(message: Message, name: str) -> tuple[str, ...]:
    values = [str(one)[:_LONGEST_HEADER] for one in message.get_all(name, [])[:5]]
    found = []
    for named, address in _parse_address_pairs(values):
        called, plain = decode_header_text(named), decode_header_text(address)
        if plain:
            found.append(f"{called} <{plain}>" if called else plain)
    return tuple(found)


def _parse_address_pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    try:
        return getaddresses(list(values))[:_MOST_ADDRESSES]
    except (RecursionError, IndexError, ValueError):
        return []


def _read_date(message: Message) -> datetime | None:
    try:
        found = parsedate_to_datetime(str(message.get("Date", "")))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def _iterate_parts(message: Message) -> Iterator[Message]:
    """The leaf parts, in order; an attached mail is one part."""
    waiting, seen = [message], 0
    while waiting and seen < MOST_PARTS:
        part = waiting.pop()
        seen += 1
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting += [one for one in reversed(inner) if isinstance(one, Message)]
        else:
            yield part


def _read_filename(part: Message) -> str:
    try:
        return part.get_filename() or ""
    except (TypeError, ValueError, LookupError):
        # The standard library raises on a few malformed parameters.
        return ""


def _is_file(part: Message) -> bool:
    if part.get_content_disposition() == "attachment" or _read_filename(part):
        return True
    return part.get_content_type() not in {"text/plain", "text/html"}


def _read_text(parts: list[Message]) -> str:
    """The plain text if there is any, else the text of the HTML."""
    shown = [part for part in parts if not _is_file(part)]
    plain = [_decode_part(part) for part in shown if part.get_content_type() == "text/plain"]
    text = "\n\n".join(one.strip() for one in plain if one.strip())
    if not text:
        rich = [_decode_part(part) for part in shown if part.get_content_type() == "text/html"]
        text = "\n\n".join(extract_html_text(one) for one in rich)
    return text.replace("\r\n", "\n").replace("\x00", "\ufffd").strip()[:LONGEST_TEXT]


def _decode_part(part: Message) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset() or "utf-8"
    try:
        if codecs.lookup(charset).name in _NO_CHARSETS:
            charset = "utf-8"
        return data.decode(charset, "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _iterate_files(parts: list[Message]) -> Iterator[MailFile]:
    for part in parts:
        if _is_file(part) and part.get_content_maintype() != "multipart":
            name = decode_header_text(_read_filename(part))[:200]
            data = part.get_payload(decode=True)
            size = len(data) if isinstance(data, bytes) else 0
            yield MailFile(name or "without a name", part.get_content_type(), size)
