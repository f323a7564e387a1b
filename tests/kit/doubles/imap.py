"""A mailbox on loopback that speaks as much of IMAP4rev1 as reading takes, over TLS.

It parses commands as a server must: atoms, quoted strings, and literals for which it says when to
go on. It distinguishes what it received as a command from what it received as a string.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path

from mainspring.connections.call_context import GateContext
from mainspring.contracts.context import Mailbox
from mainspring.outbound.egress import CallHttp, Egress
from mainspring.outbound.mail.imap import open_mailbox
from tests.kit.certificates import client_side, self_signed, server_side

USER, PASSWORD = "ada@example.com", 'a "word" with \\ and ü'
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|([^\s"]+)')
_LITERAL = re.compile(rb"\{([0-9]+)\}\r\n\Z")


@dataclass(slots=True)
class StoredMessage:
    """A mail in the folder."""

    uid: int
    data: bytes
    at: datetime


@dataclass(slots=True)
class MailboxDouble:
    """One folder, and what the server does instead of what it should."""

    certificate: Path
    messages: list[StoredMessage] = field(default_factory=list)
    uidvalidity: int = 3_857_529_045
    folders: tuple[str, ...] = ("INBOX",)
    starttls: bool = False
    offers_tls: bool = True
    sends_uidnext: bool = True
    greeting: bytes = b"* OK ready\r\n"
    # Said instead of an answer, by the command: None is silence, and b"" ends the talk.
    instead: dict[str, bytes | None] = field(default_factory=dict)
    # The mails that it keeps for itself, by their uids.
    refused: set[int] = field(default_factory=set)
    # Every command as it was understood, strings as bytes.
    heard: list[list[bytes]] = field(default_factory=list)
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def pair(self) -> str:
        return f"localhost:{self.port}"

    def put(self, data: bytes, *, days_ago: int = 0, now: datetime | None = None) -> int:
        uid = max((one.uid for one in self.messages), default=100) + 1
        at = (now or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
        self.messages.append(
            StoredMessage(
                uid, data, datetime.fromtimestamp(at.timestamp() - days_ago * 86_400, UTC)
            )
        )
        return uid

    def names(self) -> list[str]:
        return [b" ".join(one[:2] if one[0] == b"UID" else one[:1]).decode() for one in self.heard]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        errors = (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError)
        with contextlib.suppress(*errors):
            writer.write(self.greeting)
            while await self._one(reader, writer):
                await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        tag, *words = await self._command(reader, writer)
        self.heard.append(words)
        name = words[0].decode().upper()
        if name == "UID":
            name = f"UID {words[1].decode().upper()}"
        if name in self.instead:
            output = self.instead[name]
            if output is None:
                await asyncio.Event().wait()
            writer.write((output or b"").replace(b"TAG", tag))
            return bool(output)
        writer.write(
            self._answer(name, words).replace(b"TAG", tag, 1)
            if name != "UID FETCH"
            else self._fetched(tag, words)
        )
        if name == "STARTTLS" and self.offers_tls:
            await writer.drain()
            await writer.start_tls(server_side(self.certificate))
        return name != "LOGOUT"

    async def _command(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> list[bytes]:
        words: list[bytes] = []
        while True:
            line = await reader.readuntil(b"\n")
            literal = _LITERAL.search(line)
            text = line[: literal.start()] if literal else line.rstrip(b"\r\n")
            assert not _TOKEN.sub(b"", text).strip(), "a string that does not end is no command"
            for quoted, atom in _TOKEN.findall(text):
                words.append(atom or re.sub(rb"\\(.)", rb"\1", quoted))
            if literal is None:
                return words
            writer.write(b"+ go on\r\n")
            words.append(await reader.readexactly(int(literal[1])))

    def _answer(self, name: str, words: list[bytes]) -> bytes:
        match name:
            case "LOGIN":
                right = words[1:] == [USER.encode(), PASSWORD.encode()]
                return b"TAG OK in\r\n" if right else b"TAG NO [AUTHENTICATIONFAILED] no\r\n"
            case "STARTTLS":
                return b"TAG OK begin\r\n" if self.offers_tls else b"TAG BAD unknown\r\n"
            case "EXAMINE":
                return self._examined(words[1].decode())
            case "UID SEARCH":
                found = " ".join(str(one.uid) for one in self._searched(words[2:]))
                return f"* SEARCH {found}".rstrip().encode() + b"\r\nTAG OK done\r\n"
            case "LOGOUT":
                return b"* BYE\r\nTAG OK bye\r\n"
        return b"TAG BAD unknown\r\n"

    def _examined(self, folder: str) -> bytes:
        if folder not in self.folders:
            return b"TAG NO [NONEXISTENT] no such folder\r\n"
        following = max((one.uid for one in self.messages), default=100) + 1
        lines = [f"* {len(self.messages)} EXISTS", f"* OK [UIDVALIDITY {self.uidvalidity}] valid"]
        lines += [f"* OK [UIDNEXT {following}] next"] if self.sends_uidnext else []
        return "\r\n".join([*lines, "TAG OK [READ-ONLY] open", ""]).encode()

    def _searched(self, words: list[bytes]) -> list[StoredMessage]:
        if words[:1] == [b"CHARSET"]:
            words = words[2:]
        found = self.messages
        for key, value in zip(words[::2], words[1::2], strict=True):
            found = [one for one in found if self._fits(one, key.decode(), value)]
        return found

    def _fits(self, one: StoredMessage, key: str, value: bytes) -> bool:
        if key == "UID":
            # The last mail is always in a range that ends with a star.
            return one.uid >= int(value.split(b":")[0]) or one is self.messages[-1]
        if key == "SINCE":
            day = datetime.strptime(value.decode(), "%d-%b-%Y").replace(tzinfo=UTC)
            return one.at >= day
        mail = message_from_bytes(one.data, policy=policy.default)
        if key in {"FROM", "TO", "CC", "SUBJECT"}:
            return value.decode().casefold() in str(mail[key.title()] or "").casefold()
        assert key in {"TEXT", "BODY"}
        return value.lower() in one.data.lower()

    def _fetched(self, tag: bytes, words: list[bytes]) -> bytes:
        uid, most = int(words[2]), int(words[-1].split(b".")[-1].strip(b">)"))
        assert words[3:5] == [b"(UID", b"RFC822.SIZE"]
        assert words[5].startswith(b"BODY.PEEK[]<0.")
        if uid in self.refused:
            return tag + b" NO [SERVERBUG] not this one\r\n"
        output = b"* 9 EXISTS\r\n"
        for place, one in enumerate(self.messages):
            if one.uid == uid:
                data = one.data[:most]
                output += b"* %d FETCH (UID %d RFC822.SIZE %d BODY[]<0> {%d}\r\n%s)\r\n" % (
                    place + 1,
                    uid,
                    len(one.data),
                    len(data),
                    data,
                )
        return output + tag + b" OK done\r\n"

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def mailbox_double(folder: Path, *, starttls: bool = False) -> AsyncIterator[MailboxDouble]:
    """Serves on a free port of loopback, as localhost, until the block ends."""
    double = MailboxDouble(self_signed(folder, "localhost"), starttls=starttls)
    secured = None if starttls else server_side(double.certificate)
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0, ssl=secured)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()


class MailboxWay:
    """The way out over a connection to a mailbox: what the gate has behind ``ctx.http``."""

    def __init__(
        self, egress: Egress, ctx: GateContext, certificate: Path | None, password: str
    ) -> None:
        self._egress = egress
        self._ctx = ctx
        self._trust = None if certificate is None else client_side(certificate)
        self._password = password
        self.seconds = 20.0
        self.send = CallHttp(egress, frozenset(), None).send

    @contextlib.asynccontextmanager
    async def mailbox(self) -> AsyncIterator[Mailbox]:
        async def reveal(names: frozenset[str]) -> dict[str, str]:
            assert names == {"connection.password"}
            return {"connection.password": self._password}

        assert self._ctx.account is not None
        async with open_mailbox(
            self._egress,
            self._ctx.account.settings,
            reveal,
            trust=self._trust,
            seconds=self.seconds,
        ) as box:
            yield box
