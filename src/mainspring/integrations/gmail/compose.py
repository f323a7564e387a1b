"""Composing a MIME message from values.

No address, subject or file name can inject a header. Gmail replaces the Message-ID, so a custom
header identifies the call: a repeated send carries the same one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.ids import get_id_time
from mainspring.integrations.gmail.messages import read_headers

ATTACHMENT_BYTES: Final = 10_485_760
# Gmail's limit for a mail with attachments.
MAIL_BYTES: Final = 25_000_000
MOST_RECIPIENTS: Final = 100
_MOST_REFERENCES: Final = 20
CALL_HEADER: Final = "X-Mainspring-Call"
# An address without characters that are operators in a Gmail search.
_SEARCHABLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*@[A-Za-z0-9.-]+")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# Tolerance for clock differences between this machine and Google.
_CLOCKS_DIFFER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ReplyTarget:
    """The message that a mail replies to: its Message-ID and references."""

    header_id: str
    references: tuple[str, ...] = ()


def build_call_id(key: str) -> str:
    """The header value of a call; the call cannot be derived from it."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def build_sent_search(key: str, arguments: Mapping[str, Any]) -> str:
    """Build a search that finds a call's mail among the sent ones.

    Gmail cannot search custom headers, so the search is narrowed by a recipient and by time: the
    key has the id of its run, draft or call, and the mail cannot be older.
    """
    words = ["in:sent"]
    plain = [one for one in arguments["to"] if _SEARCHABLE.fullmatch(one)]
    if plain:
        words.append(f"to:{plain[0]}")
    made = _ID.search(key)
    if made is not None:
        since = get_id_time(UUID(made[0])) - _CLOCKS_DIFFER
        words.append(f"after:{int(since.timestamp())}")
    return " ".join(words)


def find_reply_target(messages: Sequence[Mapping[str, Any]]) -> ReplyTarget | None:
    """Find what the next mail of a thread replies to: its last sent message."""
    for one in reversed(messages):
        if "DRAFT" in (one.get("labelIds") or ()):
            continue
        payload = one.get("payload")
        headers = read_headers(payload if isinstance(payload, Mapping) else {})
        own = _ids(headers.get("message-id", ""))
        if own:
            return ReplyTarget(own[0], tuple(_ids(headers.get("references", ""))))
    return None


def compose_mail(
    arguments: Mapping[str, Any], call: str, sender: str, before: ReplyTarget | None
) -> bytes:
    """Compose the mail as bytes."""
    mail = EmailMessage(policy=SMTP)
    if sender:
        mail["From"] = sender
    for name in ("to", "cc", "bcc"):
        if arguments.get(name):
            mail[name.capitalize()] = ", ".join(map(_wire_address, arguments[name]))
    mail["Subject"] = arguments["subject"]
    mail[CALL_HEADER] = call
    if before is not None:
        # Folded explicitly: a long list must not be broken inside an id.
        known = dict.fromkeys([*before.references, before.header_id])
        mail["In-Reply-To"] = before.header_id
        mail["References"] = " ".join(list(known)[-_MOST_REFERENCES:])
    mail.set_content(arguments["body"])
    for file in arguments.get("attachments", ()):
        _attach(mail, file)
    return mail.as_bytes()


def find_mail_problems(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find problems of a mail that the schema cannot express, with pointers."""
    found = [
        Finding(f"/{name}/{at}", "Gmail takes no such sign before the @.", "mail_address")
        for name in ("to", "cc", "bcc")
        for at, one in enumerate(arguments.get(name, ()))
        if not one.rpartition("@")[0].isascii() or _wire_domain(one) is None
    ]
    people = sum(len(arguments.get(name, ())) for name in ("to", "cc", "bcc"))
    if people > MOST_RECIPIENTS:
        detail = f"A mail goes to at most {MOST_RECIPIENTS} people; these are {people}."
        found.append(Finding("/to", detail, "mail_recipients"))
    sizes = [_size(file) for file in arguments.get("attachments", ())]
    for at, size in enumerate(sizes):
        place = f"/attachments/{at}/content_base64"
        if size is None:
            found.append(Finding(place, "This is not base64.", "attachment_base64"))
        elif size > ATTACHMENT_BYTES:
            detail = f"An attachment has at most {ATTACHMENT_BYTES:,} bytes; this has {size:,}."
            found.append(Finding(place, detail, "attachment_too_large"))
    if sum(size or 0 for size in sizes) > MAIL_BYTES:
        detail = f"Together the attachments have more than {MAIL_BYTES:,} bytes."
        found.append(Finding("/attachments", detail, "attachment_too_large", "Send a link."))
    return found


def check_mail(arguments: Mapping[str, Any]) -> None:
    """Raise ``Invalid`` when a mail cannot be sent."""
    found = find_mail_problems(arguments)
    if found:
        raise Invalid(found[0].detail, code=found[0].code, findings=found, unsent=True)


def _attach(mail: EmailMessage, file: Mapping[str, Any]) -> None:
    main, _, sub = str(file.get("mime_type") or "application/octet-stream").partition("/")
    if main in {"message", "multipart"}:
        # An attachment is always sent as a file, whatever its type claims.
        main, sub = "application", "octet-stream"
    data = base64.b64decode(file["content_base64"], validate=True)
    mail.add_attachment(data, maintype=main, subtype=sub, filename=str(file["filename"]))


def _size(file: Mapping[str, Any]) -> int | None:
    try:
        return len(base64.b64decode(file["content_base64"], validate=True))
    except (binascii.Error, ValueError):
        return None


def _wire_address(address: str) -> str:
    local, _, _ = address.rpartition("@")
    return f"{local}@{_wire_domain(address)}"


def _wire_domain(address: str) -> str | None:
    """Encode an international domain name."""
    try:
        return address.rpartition("@")[2].encode("idna").decode("ascii")
    except UnicodeError:
        return None


def _ids(header: str) -> list[str]:
    """Parse the Message-IDs of an untrusted header; invalid ones are skipped."""
    words = header.replace("><", "> <").split()
    return [
        one
        for one in words
        if one.startswith("<")
        and one.endswith(">")
        and "@" in one
        and len(one) <= 250
        and one.isascii()
        and one.isprintable()
    ]
