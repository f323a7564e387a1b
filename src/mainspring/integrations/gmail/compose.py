"""A mail on its way out, as the text that travels: built from values, never from lines.

No address, subject or name of a file can begin a header of its own. Gmail gives each mail a new
Message-ID, so a header of our own names the call: a mail that is sent twice carries the same one.
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
# Gmail takes no larger mail than this, files included.
MAIL_BYTES: Final = 25_000_000
MOST_RECIPIENTS: Final = 100
_MOST_REFERENCES: Final = 20
CALL_HEADER: Final = "X-Mainspring-Call"
# An address without signs that mean something in a search of Gmail's.
_SEARCHABLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*@[A-Za-z0-9.-]+")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# How far the clocks of this machine and of Google may be apart.
_CLOCKS_DIFFER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ReplyTarget:
    """The message that a mail answers: its own Message-ID, and those before it."""

    header_id: str
    references: tuple[str, ...] = ()


def build_call_id(key: str) -> str:
    """What the header says of one call; nobody can tell the call from it."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def build_sent_search(key: str, arguments: Mapping[str, Any]) -> str:
    """A search that finds the mail of a call among the sent ones, with few others.

    Gmail searches by no header of our own, so it is narrowed by a recipient and by time: the key
    has the id of its run, draft or call, and no mail of that is older than it.
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
    """What the next mail of a thread answers: its last message that was sent."""
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
    """The whole mail as bytes."""
    mail = EmailMessage(policy=SMTP)
    if sender:
        mail["From"] = sender
    for name in ("to", "cc", "bcc"):
        if arguments.get(name):
            mail[name.capitalize()] = ", ".join(map(_wire_address, arguments[name]))
    mail["Subject"] = arguments["subject"]
    mail[CALL_HEADER] = call
    if before is not None:
        # Folded by hand: a long list of ids may not be broken inside one of them.
        known = dict.fromkeys([*before.references, before.header_id])
        mail["In-Reply-To"] = before.header_id
        mail["References"] = " ".join(list(known)[-_MOST_REFERENCES:])
    mail.set_content(arguments["body"])
    for file in arguments.get("attachments", ()):
        _attach(mail, file)
    return mail.as_bytes()


def find_mail_problems(arguments: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with a mail that fits its schema, each with its place."""
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
    """Raises ``Invalid`` where a mail cannot be sent."""
    found = find_mail_problems(arguments)
    if found:
        raise Invalid(found[0].detail, code=found[0].code, findings=found, unsent=True)


def _attach(mail: EmailMessage, file: Mapping[str, Any]) -> None:
    main, _, sub = str(file.get("mime_type") or "application/octet-stream").partition("/")
    if main in {"message", "multipart"}:
        # A file goes as a file, whatever it says of itself.
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
    """A domain of any alphabet as the wire spells it."""
    try:
        return address.rpartition("@")[2].encode("idna").decode("ascii")
    except UnicodeError:
        return None


def _ids(header: str) -> list[str]:
    """The Message-IDs in a header of a stranger; what is none is left out."""
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
