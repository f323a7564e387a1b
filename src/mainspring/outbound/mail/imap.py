"""A member's mailbox over IMAP: dialled like everything outside, encrypted, and only read.

The server is named by a member, so its address is judged as any address is: a private one needs
the operator's word. The certificate is always checked, and the password is said only then. A
folder is opened so that nothing in it changes, not even what counts as read.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import httpcore2

from mainspring.contracts.context import RawMail
from mainspring.contracts.errors import (
    DeadlineExceeded,
    Finding,
    InternalError,
    Invalid,
    NotFound,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.secret import build_connection_secret
from mainspring.outbound.egress import canonical_host
from mainspring.outbound.egress.failures import map_exchange_error

if TYPE_CHECKING:
    from mainspring.outbound.egress import Egress, Reveal


# The words of IMAP: commands out, replies in, each within its size.

# The answer to a search in a large mailbox is one line.
LONGEST_LINE: Final = 1_048_576
MOST_REPLIES: Final = 10_000
MOST_LITERALS: Final = 100
_READ_BYTES: Final = 65_536
_SMALL_LITERAL: Final = 65_536
_LITERAL: Final = re.compile(rb"\{([0-9]{1,12})\+?\}\Z")
_QUOTABLE: Final = re.compile(rb"[\x20-\x7e]{0,900}")
_STATUS: Final = re.compile(rb"(OK|NO|BAD)(?: \[([A-Za-z-]{1,40})[^\]]*\])?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImapReply:
    """What a server says in one go; each literal stands in the text as {}."""

    text: bytes
    literals: tuple[bytes, ...] = ()


class ImapCommandError(Exception):
    """The server does not do what it was asked; ``code`` is its own word for why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ImapConnection:
    """One talk over one connection."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self.stream = stream
        self._buffer = bytearray()
        self._said = 0

    @property
    def has_unread(self) -> bool:
        """Whether the server has said more than it was asked for."""
        return bool(self._buffer)

    async def reply(self, most: int = _SMALL_LITERAL) -> ImapReply:
        """The next reply, with no more than ``most`` bytes of literals in it."""
        text, left = bytearray(), most
        literals: list[bytes] = []
        while True:
            line = await self._line()
            found = _LITERAL.search(line)
            if found is None:
                return ImapReply(bytes(text + line), tuple(literals))
            size = int(found[1])
            left -= size
            if left < 0 or len(text) > LONGEST_LINE or len(literals) >= MOST_LITERALS:
                raise too_much_error()
            text += line[: found.start()] + b"{}"
            literals.append(await self._exactly(size))

    async def command(self, *parts: str | bytes, most: int = _SMALL_LITERAL) -> list[ImapReply]:
        """Says one command and answers what was said to it; bytes are put as strings.

        Raises ``Refused`` when the server does not do it.
        """
        self._said += 1
        tag = f"m{self._said}".encode()
        await self._say(tag, parts)
        found: list[ImapReply] = []
        for _ in range(MOST_REPLIES):
            reply = await self.reply(most)
            if reply.text.startswith(tag + b" "):
                _check(reply.text[len(tag) + 1 :])
                return found
            if reply.text[:5].upper() == b"* BYE":
                raise connection_ended_error()
            if not reply.text.startswith(b"* "):
                raise not_imap_error()
            found.append(reply)
        raise too_much_error()

    async def _say(self, tag: bytes, parts: tuple[str | bytes, ...]) -> None:
        line = bytearray(tag)
        for part in parts:
            line += b" "
            if isinstance(part, str):
                line += part.encode("ascii")
            elif _QUOTABLE.fullmatch(part):
                line += b'"' + part.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
            else:
                await self.stream.write(bytes(line) + b"{%d}\r\n" % len(part))
                await self._go_on(tag)
                line = bytearray(part)
        await self.stream.write(bytes(line) + b"\r\n")

    async def _go_on(self, tag: bytes) -> None:
        """A server says that it waits for a literal before it is sent."""
        for _ in range(MOST_REPLIES):
            reply = await self.reply()
            if reply.text.startswith(b"+"):
                return
            if reply.text.startswith(tag + b" "):
                _check(reply.text[len(tag) + 1 :])
                raise not_imap_error()
            if not reply.text.startswith(b"* "):
                raise not_imap_error()
        raise too_much_error()

    async def _line(self) -> bytes:
        seen = 0
        while (end := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            if seen > LONGEST_LINE:
                raise too_much_error()
            await self._more()
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        return line

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _more(self) -> None:
        data = await self.stream.read(_READ_BYTES)
        if not data:
            raise connection_ended_error()
        self._buffer += data


def _check(status: bytes) -> None:
    found = _STATUS.match(status)
    if found is None:
        raise not_imap_error()
    if found[1].upper() != b"OK":
        raise ImapCommandError((found[2] or b"").decode().upper())


def too_much_error() -> UpstreamError:
    return UpstreamError(
        "The mail server sends more than was requested.",
        code="mailbox_too_large",
        retryable=False,
    )


def connection_ended_error() -> UpstreamError:
    return UpstreamError("The mail server ended the connection.", code="mailbox_ended")


def not_imap_error() -> UpstreamError:
    return UpstreamError(
        "The response is not one of an IMAP server.",
        code="mailbox_answer",
        retryable=False,
        suggestion="Check the host and the port; 993 is usual.",
    )


PASSWORD: Final = build_connection_secret("password").name
SECONDS: Final = 60.0
LARGEST_MAIL: Final = 1_048_576
_FAREWELL_SECONDS: Final = 1.0
_USUAL_PORT: Final = {"tls": 993, "starttls": 143}
_TERMS: Final = frozenset({"from", "to", "cc", "subject", "body", "text"})
_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_UIDVALIDITY: Final = re.compile(rb"\[UIDVALIDITY ([0-9]{1,10})\]", re.IGNORECASE)
_UIDNEXT: Final = re.compile(rb"\[UIDNEXT ([0-9]{1,10})\]", re.IGNORECASE)
_SEARCHED: Final = re.compile(rb"\* SEARCH((?: [0-9]{1,10})*) *", re.IGNORECASE)
_UID: Final = re.compile(rb"[( ]UID ([0-9]{1,10})", re.IGNORECASE)
_SIZE: Final = re.compile(rb"[( ]RFC822\.SIZE ([0-9]{1,12})", re.IGNORECASE)
_BODY: Final = re.compile(
    rb"[( ]BODY\[\](?:<[0-9]+>)? (?:(?P<literal>\{\})|\"(?P<quoted>(?:[^\"\\]|\\.)*)\")",
    re.IGNORECASE,
)
# A server may say this at signing in without a word on the password.
_NOT_NOW: Final = frozenset({"INUSE", "LIMIT", "SERVERBUG", "UNAVAILABLE"})
_UTF7: Final = re.compile(r"[^\x20-\x7e]+|&")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ImapSettings:
    """Where a mailbox is, as a connection's settings say."""

    host: str
    port: int
    user: str
    folder: str = "INBOX"
    security: Literal["tls", "starttls"] = "tls"


def parse_imap_settings(settings: Mapping[str, Any]) -> ImapSettings:
    """Reads the settings of a connection; ``Invalid`` says which of them cannot be right."""
    security = str(settings.get("security") or "tls").lower()
    if security not in _USUAL_PORT:
        raise _unfit("security", "This must be tls or starttls: a password is never sent openly.")
    port = settings.get("port") or _USUAL_PORT[security]
    if isinstance(port, str) and port.isdecimal():
        port = int(port)
    if not isinstance(port, int) or not 1 <= port <= 65_535:
        raise _unfit("port", "A port is a number from 1 to 65535, such as 993.")
    try:
        host = canonical_host(str(settings.get("host") or ""))[0]
    except Invalid:
        raise _unfit(
            "host", "This must be the name of a server, such as imap.example.com."
        ) from None
    user, folder = str(settings.get("user") or ""), str(settings.get("folder") or "INBOX")
    if not user.strip():
        raise _unfit("user", "A mailbox has a user, most often the address.")
    return ImapSettings(host, port, user, folder, "tls" if security == "tls" else "starttls")


def encode_modified_utf7(name: str) -> str:
    """A folder's name as IMAP writes it."""

    def spelt(found: re.Match[str]) -> str:
        if found[0] == "&":
            return "&-"
        packed = base64.b64encode(found[0].encode("utf-16-be", "replace")).decode()
        return "&" + packed.rstrip("=").replace("/", ",") + "-"

    return _UTF7.sub(spelt, name)


class ImapMailbox:
    """One folder that is open."""

    def __init__(
        self, talk: ImapConnection, uidvalidity: int, last_uid: int, seconds: float
    ) -> None:
        self._talk = talk
        self._seconds = seconds
        self.uidvalidity = uidvalidity
        self.last_uid = last_uid

    async def search(
        self,
        *,
        after: int = 0,
        since: date | None = None,
        terms: Sequence[tuple[str, str]] = (),
    ) -> Sequence[int]:
        """The uids above one that fit, in order."""
        plain = all(value.isascii() for _, value in terms)
        asked: list[str | bytes] = ["UID", "SEARCH"]
        asked += [] if plain else ["CHARSET", "UTF-8"]
        asked += ["UID", f"{after + 1}:*"]
        if since is not None:
            asked += ["SINCE", f"{since.day}-{_MONTHS[since.month - 1]}-{since.year:04}"]
        for key, value in terms:
            if key not in _TERMS:
                raise InternalError(f"A mailbox is not searched by {key}.", retryable=False)
            asked += [key.upper(), value.encode("utf-8", "replace").replace(b"\x00", b"")]
        try:
            replies = await _in_time(self._talk.command(*asked), self._seconds)
        except ImapCommandError:
            raise UpstreamError(
                "The mail server does not take this search.",
                code="mailbox_search",
                retryable=False,
                suggestion="Search for fewer or plainer words.",
            ) from None
        # The last mail is always among those from a number upwards, also if it is below it.
        return sorted({uid for one in replies for uid in _parse_search_reply(one) if uid > after})

    async def fetch(self, uid: int, most_bytes: int) -> RawMail | None:
        """One mail, or its beginning."""
        most = min(most_bytes, LARGEST_MAIL)
        try:
            asked = ("UID", "FETCH", str(uid), f"(UID RFC822.SIZE BODY.PEEK[]<0.{most}>)")
            replies = await _in_time(self._talk.command(*asked, most=most), self._seconds)
        except ImapCommandError:
            raise UpstreamError(
                "The mail server does not give this mail.", code="mailbox_mail"
            ) from None
        for one in replies:
            found = _mail(one, uid)
            if found is not None:
                return found
        return None


@contextlib.asynccontextmanager
async def open_mailbox(
    egress: Egress,
    settings: Mapping[str, Any],
    reveal: Reveal,
    *,
    trust: ssl.SSLContext | None = None,
    seconds: float = SECONDS,
) -> AsyncIterator[ImapMailbox]:
    """Dials, secures, signs in and opens the folder; takes leave at the end."""
    place = parse_imap_settings(settings)
    talk: ImapConnection | None = None
    try:
        async with _map_connection_errors(place):
            talk = await _in_time(
                _open_secure_connection(egress, place, trust or _authorities()), seconds
            )
            await _in_time(_sign_in(talk, place, reveal), seconds)
            counted, last = await _in_time(_examine_folder(talk, place), seconds)
            box = ImapMailbox(talk, counted, last, seconds)
        async with _map_connection_errors(place):
            yield box
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await talk.command("LOGOUT")
    finally:
        if talk is not None:
            with contextlib.suppress(Exception):
                await talk.stream.aclose()


@cache
def _authorities() -> ssl.SSLContext:
    """Not the one that HTTP uses, which says so in its greeting."""
    return httpcore2.default_ssl_context()


async def _in_time(work: Awaitable[Answer], seconds: float) -> Answer:
    async with asyncio.timeout(seconds):
        return await work


@contextlib.asynccontextmanager
async def _map_connection_errors(place: ImapSettings) -> AsyncIterator[None]:
    """What goes wrong with a connection, as a problem without a word of a library's own."""
    try:
        yield
    except TimeoutError:
        raise DeadlineExceeded(
            "The mail server did not answer in time.", code="mailbox_late"
        ) from None
    except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as error:
        raise map_exchange_error(error, place.host) from None


async def _open_secure_connection(
    egress: Egress, place: ImapSettings, trust: ssl.SSLContext
) -> ImapConnection:
    stream = await egress.dial(place.host, place.port)
    try:
        if place.security == "starttls":
            talk = ImapConnection(stream)
            await _read_greeting(talk)
            with _tls_refused_error():
                await talk.command("STARTTLS")
            if talk.has_unread:
                # Somebody in between has put words into the talk before it was secret.
                raise not_imap_error()
        stream = await stream.start_tls(trust, place.host)
        talk = ImapConnection(stream)
        if place.security == "tls":
            await _read_greeting(talk)
    except BaseException:
        with contextlib.suppress(Exception):
            await stream.aclose()
        raise
    return talk


@contextlib.contextmanager
def _tls_refused_error() -> Any:
    try:
        yield
    except ImapCommandError:
        raise UpstreamError(
            "The mail server offers no encryption, and a password is not sent without it.",
            code="mailbox_tls_missing",
            retryable=False,
            suggestion="Use security tls, most often with port 993.",
        ) from None


async def _read_greeting(talk: ImapConnection) -> None:
    greeting = (await talk.reply()).text.upper()
    if greeting.startswith(b"* BYE"):
        raise UpstreamError("The mail server does not accept sign-ins now.", code="mailbox_not_now")
    if not greeting.startswith(b"* OK"):
        raise not_imap_error()


async def _sign_in(talk: ImapConnection, place: ImapSettings, reveal: Reveal) -> None:
    password = (await reveal(frozenset({PASSWORD})))[PASSWORD]
    try:
        await talk.command("LOGIN", place.user.encode(), password.encode())
    except ImapCommandError as refused:
        if refused.code in _NOT_NOW:
            raise UpstreamError(
                "The mail server does not accept sign-ins now.", code="mailbox_not_now"
            ) from None
        raise ReconnectRequired(
            "The mail server does not accept the user and password.",
            code="mailbox_sign_in",
            suggestion="Connect the mailbox again. Many providers require an app password.",
        ) from None


async def _examine_folder(talk: ImapConnection, place: ImapSettings) -> tuple[int, int]:
    """Opens the folder to be read; answers how it counts and the last number that it gave."""
    try:
        replies = await talk.command("EXAMINE", encode_modified_utf7(place.folder).encode())
    except ImapCommandError:
        raise NotFound(
            "The mailbox has no such folder.",
            code="mailbox_folder",
            suggestion="Connect the mailbox again with a folder that is there, such as INBOX.",
        ) from None
    said = b"\n".join(one.text for one in replies)
    numbering, following = _UIDVALIDITY.search(said), _UIDNEXT.search(said)
    if numbering is None:
        raise not_imap_error()
    return int(numbering[1]), int(following[1]) - 1 if following else 0


def _parse_search_reply(reply: ImapReply) -> list[int]:
    found = _SEARCHED.fullmatch(reply.text)
    return [int(one) for one in found[1].split()] if found else []


def _mail(reply: ImapReply, uid: int) -> RawMail | None:
    """The mail of a reply; a server may tell of other things in between."""
    told, body = _UID.search(reply.text), _BODY.search(reply.text)
    if told is None or int(told[1]) != uid or body is None:
        return None
    if body["literal"] is not None:
        data = reply.literals[reply.text[: body.start()].count(b"{}")]
    else:
        data = re.sub(rb"\\(.)", rb"\1", body["quoted"])
    size = _SIZE.search(reply.text)
    return RawMail(uid, data, int(size[1]) if size else len(data))


def _unfit(name: str, detail: str) -> Invalid:
    return Invalid(
        f"The mailbox cannot be opened as it is set: {detail}",
        code="mailbox_settings",
        findings=[Finding(f"/{name}", detail, "mailbox_settings")],
    )
