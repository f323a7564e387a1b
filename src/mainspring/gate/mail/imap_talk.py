"""The words of IMAP: commands out, replies in, each within its size.

Only what reading a mailbox takes is spoken. No library that could be used fits the house: they
dial for themselves, or hold whatever a server likes to send in memory. Text of ours stands in a
command as a quoted string or as a literal and never as it is, so it cannot become a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import UpstreamError

if TYPE_CHECKING:
    import httpcore2

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
        "The mail server sends more than it was asked for.",
        code="mailbox_too_large",
        retryable=False,
    )


def connection_ended_error() -> UpstreamError:
    return UpstreamError("The mail server ended the connection.", code="mailbox_ended")


def not_imap_error() -> UpstreamError:
    return UpstreamError(
        "What answered does not speak as a mail server does that is read over IMAP.",
        code="mailbox_answer",
        retryable=False,
        suggestion="Check the host and the port; 993 is usual.",
    )
