"""The talk with the mail server: connect, secure, sign in, hand over, take leave.

One connection per mail. A mail is rare beside everything else that leaves the house, and a
connection that is not kept cannot have gone stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import ssl
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email import policy
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, unquote, urlsplit

import idna

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import (
    MAIL_FILE_BYTES,
    MAIL_FILES,
    MAIL_RECIPIENTS,
    MAIL_SUBJECT,
    Mail,
    MailAttachment,
    MailReceipt,
)
from mainspring.contracts.errors import (
    Conflict,
    DeadlineExceeded,
    Finding,
    Invalid,
    Problem,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.workspace.redaction import Redactor

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPRecipientRefused


# The mail server, read from its URL; the URL holds a password and is never quoted.

# offered: encrypted when the server can. As anybody between could hide that it can,
# a certificate proves nothing here and none is asked for.
# required: encrypted, with a proven name, before anything is said.
# from_start: the same, and there was never a plain connection.
Tls = Literal["offered", "required", "from_start"]

_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail is handed over, and as whom."""

    host: str
    port: int
    tls: Tls = "offered"
    user: str | None = None
    password: str = field(default="", repr=False)


def read_smtp_url(url: str | None) -> SmtpServer | None:
    """The server of ``smtp://user:password@host:587`` or ``smtps://host``; None without one."""
    if url is None:
        return None
    try:
        split = urlsplit(url)
        found = _read(split, split.port)
    except ValueError:
        found = None
    if found is None:
        # The text may hold a password, so what is wrong with it is not shown.
        raise Invalid(
            "MAINSPRING_SMTP_URL is not the URL of a mail server.",
            code="bad_smtp_url",
            suggestion="Write it like smtp://user:password@host:587 or smtps://host, with "
            "signs such as / # @ % in the password percent-encoded.",
        ) from None
    return found


def _read(split: SplitResult, port: int | None) -> SmtpServer | None:
    host = split.hostname or ""
    rest = split.path.strip("/") + split.query + split.fragment
    if split.scheme not in {"smtp", "smtps"} or rest or not _HOST.fullmatch(host) or port == 0:
        return None
    if (split.username is None) != (split.password is None):
        return None
    user = None if split.username is None else unquote(split.username, errors="strict")
    password = unquote(split.password or "", errors="strict")
    if user == "" or not (user or "").isprintable() or not password.isprintable():
        return None
    if split.scheme == "smtps":
        return SmtpServer(host, port or 465, "from_start", user, password)
    if user is None:
        return SmtpServer(host, port or 25)
    return SmtpServer(host, port or 587, _tls_for_credentials(host), user, password)


def _tls_for_credentials(host: str) -> Tls:
    """A password leaves this machine encrypted or not at all."""
    if host == "localhost" or host.endswith(".localhost"):
        return "offered"
    try:
        return "offered" if ip_address(host).is_loopback else "required"
    except ValueError:
        return "required"


# A letter: one mail checked, and written down as it will go over the wire.

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
        yield Finding("/to", "A mail needs a recipient.", "mail_recipients")
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


# The mail is with the server by then; only politeness is left.
_FAREWELL_SECONDS = 1.0


class SmtpMailer:
    """Hands mails to one server; without a server every mail is refused with the way out."""

    def __init__(
        self,
        server: SmtpServer | None,
        sender: str,
        limits: Limits,
        clock: Clock,
        *,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._sender = read_sender(sender)
        self._limits = limits
        self._clock = clock
        self._trust = trust
        self._secrets = Redactor({"smtp_password": server.password} if server else {})

    @property
    def is_set_up(self) -> bool:
        """Whether there is a server that mail is handed to."""
        return self._server is not None

    async def send(self, message: Mail, *, key: str) -> MailReceipt:
        """Sends one mail, or says why not; a recipient refused among others is told."""
        server = self._server
        if server is None:
            raise Conflict(
                "Mail is not set up here.",
                code="mail_not_set_up",
                suggestion="Set MAINSPRING_SMTP_URL to smtp://user:password@host:587, and "
                "MAINSPRING_MAIL_FROM to the sender.",
            )
        mail = build_mail(
            message,
            self._sender,
            key=key,
            at=self._clock.now(),
            most_bytes=self._limits.http_request_bytes,
        )
        return await self._deliver(server, mail)

    async def _deliver(self, server: SmtpServer, mail: OutgoingMail) -> MailReceipt:
        # Loaded with the first mail: most commands never send one.
        from mainspring.outbound.mail.smtp_errors import map_delivery_error

        client = self._client(server)
        try:
            async with asyncio.timeout(self._limits.http_seconds):
                receipt = await self._hand_over(client, server, mail)
        except TimeoutError:
            raise DeadlineExceeded(
                "The mail server did not answer in time.", code="mail_late"
            ) from None
        except Problem:
            raise
        except Exception as error:
            # What led to it may quote the talk, so only the problem is kept.
            raise map_delivery_error(error, self._secrets) from None
        else:
            with contextlib.suppress(Exception):
                await client.quit(timeout=_FAREWELL_SECONDS)
            return receipt
        finally:
            client.close()

    def _client(self, server: SmtpServer) -> SMTP:
        from aiosmtplib import SMTP

        return SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.tls == "from_start",
            start_tls=False,
            tls_context=self._context(server),
            local_hostname=self._sender.domain,
            timeout=None,
        )

    def _context(self, server: SmtpServer) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = _unproven() if server.tls == "offered" else ssl.create_default_context()
        return self._trust

    async def _hand_over(self, client: SMTP, server: SmtpServer, mail: OutgoingMail) -> MailReceipt:
        from mainspring.outbound.mail.smtp_errors import format_smtp_reply

        await client.connect()
        await _secure(client, server)
        await _sign_in(client, server)
        await client.mail(self._sender.address, options=_size(client, mail))
        answers = await _send_recipients(client, set(mail.recipients.values()))
        await client.data(mail.data)
        refused = {
            written: format_smtp_reply(answers[sent].code, answers[sent].message, self._secrets)
            for written, sent in mail.recipients.items()
            if sent in answers
        }
        accepted = tuple(written for written in mail.recipients if written not in refused)
        return MailReceipt(mail.message_id, accepted, refused)


def _unproven() -> ssl.SSLContext:
    """Encryption against listeners alone, for servers that could also offer none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _secure(client: SMTP, server: SmtpServer) -> None:
    """Encrypts a plain connection where that is offered, and goes no further where it must be."""
    if server.tls == "from_start":
        return
    await _greet(client)
    if client.supports_extension("starttls"):
        await client.starttls()
        await _greet(client)
    elif server.tls == "required":
        raise UpstreamError(
            "The mail server offers no encryption, and a password is not sent without it.",
            code="mail_tls_missing",
            retryable=False,
            suggestion="Use the server's port for STARTTLS (587) or smtps:// (465).",
        )


def _size(client: SMTP, mail: OutgoingMail) -> tuple[str, ...]:
    """A server that can tells early that a mail is too large."""
    return (f"SIZE={len(mail.data)}",) if client.supports_extension("size") else ()


async def _send_recipients(client: SMTP, addresses: set[str]) -> dict[str, SMTPRecipientRefused]:
    """Names everybody; answers with those who were refused, and fails when all were."""
    from aiosmtplib import SMTPRecipientRefused, SMTPRecipientsRefused

    refused: dict[str, SMTPRecipientRefused] = {}
    for address in sorted(addresses):
        try:
            await client.rcpt(address)
        except SMTPRecipientRefused as refusal:
            refused[address] = refusal
    if len(refused) == len(addresses):
        raise SMTPRecipientsRefused(list(refused.values()))
    return refused


async def _greet(client: SMTP) -> None:
    """Says hello; a server that knows no EHLO offers nothing and is greeted when mail is sent."""
    from aiosmtplib import SMTPHeloError

    with contextlib.suppress(SMTPHeloError):
        await client.ehlo()


async def _sign_in(client: SMTP, server: SmtpServer) -> None:
    if server.user is None:
        return
    if server.tls == "from_start":
        await _greet(client)
    if not client.supported_auth_methods:
        raise UpstreamError(
            "The mail server takes no user and password in a way that is known here.",
            code="mail_sign_in_missing",
            retryable=False,
        )
    await client.login(server.user, server.password)
