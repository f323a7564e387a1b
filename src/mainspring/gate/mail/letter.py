"""A letter: one mail checked, and written down as it will go over the wire.

Everything is judged before a server is dialled, and everything that is wrong is told at
once. A header is one line: text that could begin another one is refused.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage

import idna

from mainspring.contracts.context import (
    MAIL_FILE_BYTES,
    MAIL_FILES,
    MAIL_RECIPIENTS,
    MAIL_SUBJECT,
    Mail,
    MailAttachment,
)
from mainspring.contracts.errors import Finding, Invalid

MOST_HEADERS = 20
LONGEST_ADDRESS = 254
# Seven bits reach every server, also one that offers nothing newer.
_WIRE = policy.SMTP.clone(cte_type="7bit")
_EOL = "\r\n"
# A longer word cannot be folded as it is.
_WORD = 60
# Above this the slower, more readable encoding would hold up the loop.
_READABLE = 65_536
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_LABELS = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_NAMED = re.compile(r"([^<>]*)<([^<>]*)>\s*")
_TOKEN = re.compile(r"[A-Za-z0-9-]{1,76}")
_MIME = re.compile(r"([A-Za-z0-9!#$&^_.+-]{1,80})/([A-Za-z0-9!#$&^_.+-]{1,80})")
LONGEST_FILENAME = 200
# Control signs, the separators of lines and paragraphs, and halves of characters.
_UNFIT = frozenset({"Cc", "Cs", "Zl", "Zp"})
_OF_THE_MAIL = frozenset(
    {
        "bcc",
        "cc",
        "date",
        "from",
        "message-id",
        "mime-version",
        "received",
        "reply-to",
        "return-path",
        "sender",
        "subject",
        "to",
    }
)


@dataclass(frozen=True, slots=True)
class MailSender:
    """Who every mail is from."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """A mail ready to be handed over."""

    message_id: str
    # Each recipient once, as it was written and as it goes over the wire.
    recipients: Mapping[str, str]
    data: bytes


def read_sender(text: str) -> MailSender:
    """The sender from the operator's setting: an address, or a name with one."""
    named = _NAMED.fullmatch(text)
    name, written = named.groups() if named else ("", text)
    address = wire_address(written)
    if address is None or _unfit(text):
        raise Invalid(
            "MAINSPRING_MAIL_FROM is not an address that mail can come from.",
            code="bad_mail_from",
            suggestion="Write it like mainspring@example.com or Mainspring <mail@example.com>.",
        )
    return MailSender(name.strip().strip('"'), address)


def wire_address(text: str) -> str | None:
    """A bare address as a mail server reads it; None when it is none."""
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64 or not _LOCAL.fullmatch(local):
        return None
    try:
        name = domain.lower() if domain.isascii() else idna.encode(domain, uts46=True).decode()
    except idna.IDNAError:
        return None
    whole = f"{local}@{name}"
    return whole if _LABELS.fullmatch(name) and len(whole) <= LONGEST_ADDRESS else None


def build_mail(
    mail: Mail, sender: MailSender, *, key: str, at: datetime, most_bytes: int
) -> OutgoingMail:
    """Checks a mail and writes it; the same key makes the same Message-ID."""
    findings = list(_findings(mail, most_bytes))
    if findings:
        raise Invalid(
            f"This mail cannot be sent: {findings[0].detail}",
            code="mail_invalid",
            findings=findings,
        )
    digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    message_id = f"<{digest}@{sender.domain}>"
    everybody = (*mail.to, *mail.cc, *mail.bcc)
    recipients = {text: wire_address(text) or text for text in everybody}
    return OutgoingMail(message_id, recipients, _render_mail(mail, sender, message_id, at))


def _render_mail(mail: Mail, sender: MailSender, message_id: str, at: datetime) -> bytes:
    message = EmailMessage(_WIRE)
    message["From"] = Address(sender.name, addr_spec=sender.address)
    message["To"] = [_as_header(text) for text in mail.to]
    if mail.cc:
        message["Cc"] = [_as_header(text) for text in mail.cc]
    if mail.reply_to is not None:
        message["Reply-To"] = _as_header(mail.reply_to)
    message["Date"] = at
    message["Message-ID"] = message_id
    message.set_content(mail.text, cte=_encoding(mail.text))
    if mail.html is not None:
        message.add_alternative(mail.html, subtype="html", cte=_encoding(mail.html))
    for file in mail.attachments:
        _attach(message, file)
    lines = {"Subject": mail.subject, **mail.headers}
    return b"".join(_line(name, value) for name, value in lines.items()) + message.as_bytes()


def _attach(message: EmailMessage, file: MailAttachment) -> None:
    """Adds a file as bytes: a part that claims to be text or a mail is not taken apart."""
    kind = _MIME.fullmatch(file.mime_type)
    assert kind is not None
    major, minor = kind[1].lower(), kind[2].lower()
    if major in {"multipart", "message"}:
        major, minor = "application", "octet-stream"
    message.add_attachment(file.content, maintype=major, subtype=minor, filename=file.filename)


def _line(name: str, value: str) -> bytes:
    """A header of free text, folded by the older of Python's two ways.

    The newer one loses a space between two pieces when it breaks a long line.
    """
    words = value.split(" ")
    plain = value.isascii() and "=?" not in value and all(0 < len(w) < _WORD for w in words)
    folded = Header(value, "us-ascii" if plain else "utf-8", header_name=name)
    return f"{name}: {folded.encode(linesep=_EOL)}{_EOL}".encode("ascii")


def _as_header(text: str) -> Address:
    return Address(addr_spec=wire_address(text) or text)


def _encoding(text: str) -> str | None:
    return "base64" if len(text) > _READABLE else None


def _findings(mail: Mail, most_bytes: int) -> Iterator[Finding]:
    yield from _address_findings(mail)
    yield from _line_findings("/subject", mail.subject)
    yield from _header_findings(mail.headers)
    yield from _file_findings(mail.attachments)
    size = 0
    for pointer, text in (("/text", mail.text), ("/html", mail.html or "")):
        try:
            size += len(text.encode())
        except UnicodeEncodeError:
            yield Finding(
                pointer, "This holds half of a character, which cannot be sent.", "mail_text"
            )
    if size > most_bytes:
        yield Finding(
            "/text",
            f"Text and HTML are {size} bytes together; at most {most_bytes} are sent.",
            "mail_too_large",
            "Send a link instead.",
        )


def _address_findings(mail: Mail) -> Iterator[Finding]:
    if not mail.to:
        yield Finding("/to", "A mail needs somebody to go to.", "mail_recipients")
    count = len({*mail.to, *mail.cc, *mail.bcc})
    if count > MAIL_RECIPIENTS:
        yield Finding(
            "/to",
            f"There are {count} recipients; at most {MAIL_RECIPIENTS} are taken.",
            "mail_recipients",
            "Use a list of the mail server instead.",
        )
    lines = [(f"/to/{place}", text) for place, text in enumerate(mail.to)]
    lines += [(f"/cc/{place}", text) for place, text in enumerate(mail.cc)]
    lines += [(f"/bcc/{place}", text) for place, text in enumerate(mail.bcc)]
    lines += [] if mail.reply_to is None else [("/reply_to", mail.reply_to)]
    for pointer, text in lines:
        if wire_address(text) is None:
            yield Finding(
                pointer,
                "This is not an address that mail can be sent to.",
                "mail_address",
                "Write it like ada@example.com.",
            )


def _line_findings(pointer: str, text: str) -> Iterator[Finding]:
    if _unfit(text):
        yield Finding(
            pointer,
            "This must be one line, without line breaks or control characters.",
            "mail_header",
        )
    if len(text) > MAIL_SUBJECT:
        yield Finding(pointer, f"This is longer than {MAIL_SUBJECT} characters.", "mail_header")


def _header_findings(headers: Mapping[str, str]) -> Iterator[Finding]:
    if len(headers) > MOST_HEADERS:
        yield Finding(
            "/headers", f"There are more than {MOST_HEADERS} further headers.", "mail_header"
        )
    seen: set[str] = set()
    for name, value in headers.items():
        lowered = name.lower()
        # The name itself may be the attack, so it is shown only when it is harmless.
        pointer = f"/headers/{name}" if _TOKEN.fullmatch(name) else "/headers"
        ours = lowered in _OF_THE_MAIL or lowered.startswith(("content-", "resent-"))
        if pointer == "/headers" or ours or lowered in seen:
            yield Finding(
                pointer,
                "A further header is named by letters, digits and hyphens, once, and is none "
                "that the mail has of itself.",
                "mail_header",
            )
        seen.add(lowered)
        yield from _line_findings(pointer, value)


def _file_findings(files: tuple[MailAttachment, ...]) -> Iterator[Finding]:
    if len(files) > MAIL_FILES:
        yield Finding(
            "/attachments",
            f"There are {len(files)} files; at most {MAIL_FILES} leave together.",
            "mail_files",
        )
    for place, one in enumerate(files):
        name = one.filename
        if not name.strip() or len(name) > LONGEST_FILENAME or _unfit(name) or "/" in name:
            yield Finding(
                f"/attachments/{place}/filename",
                f"A file has a name of one line, without a slash, of up to {LONGEST_FILENAME} "
                "characters.",
                "mail_files",
            )
        if len(one.content) > MAIL_FILE_BYTES:
            yield Finding(
                f"/attachments/{place}",
                f"This file has {len(one.content)} bytes; at most {MAIL_FILE_BYTES} are sent.",
                "mail_too_large",
                "Send a link instead.",
            )
        if _MIME.fullmatch(one.mime_type) is None:
            yield Finding(
                f"/attachments/{place}/mime_type",
                "This is not the kind of a file, such as application/pdf.",
                "mail_files",
            )


def _unfit(text: str) -> bool:
    return any(unicodedata.category(sign) in _UNFIT for sign in text)
