"""Mail servers on loopback: a real one with a script of replies, and ones that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "ada", "s3cr3t-m@il-word"


# Without slots: on Python 3.11.2 aiosmtpd finds an attribute in such a class that cannot be read.
@dataclass
class MailServerDouble:
    """What a server received, and what it says instead of yes."""

    # Every mail that was sent, and those among them that were taken.
    offered: list[bytes] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    users: list[str | None] = field(default_factory=list)
    # How often somebody tried to sign in, with whatever password.
    sign_ins: int = 0
    refusals: Mapping[str, str] = field(default_factory=dict)
    at_data: list[str] = field(default_factory=list)
    at_mail: list[str] = field(default_factory=list)

    async def handle_MAIL(  # noqa: N802  (the names that the server looks for)
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.at_mail:
            return self.at_mail.pop(0)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope
    ) -> str:
        self.offered.append(envelope.original_content or b"")
        if self.at_data:
            return self.at_data.pop(0)
        self.envelopes.append(envelope)
        self.encrypted.append(session.ssl is not None)
        login = getattr(session.auth_data, "login", None)
        self.users.append(None if login is None else login.decode())
        return "250 Taken"

    def authenticate(
        self, server: Any, session: Session, envelope: Envelope, mechanism: str, login: Any
    ) -> AuthResult:
        self.sign_ins += 1
        right = login == LoginPassword(USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False, auth_data=login)

    @property
    def messages(self) -> list[EmailMessage]:
        """The mails as their readers see them."""
        return [read_letter(envelope.original_content or b"") for envelope in self.envelopes]


def read_letter(data: bytes) -> EmailMessage:
    found = message_from_bytes(data, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


@contextlib.asynccontextmanager
async def mail_server(
    post: MailServerDouble,
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    sign_in: bool = False,
) -> AsyncIterator[int]:
    """A whole SMTP server on a free port of loopback until the block ends."""

    speakers: list[SMTP] = []

    def speaker() -> SMTP:
        made = SMTP(
            post,
            hostname="mail.example",
            tls_context=starttls,
            ident="double",
            authenticator=post.authenticate if sign_in else None,
            auth_require_tls=not sign_in,
            loop=asyncio.get_running_loop(),
        )
        speakers.append(made)
        return made

    server = await asyncio.get_running_loop().create_server(speaker, "127.0.0.1", 0, ssl=tls)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()
        await _ended(speakers)


async def _ended(speakers: list[SMTP]) -> None:
    """Every connection is closed, and the loop has noticed it."""
    for speaker in speakers:
        if speaker.transport is not None:
            speaker.transport.close()
        if speaker._handler_coroutine is not None:
            speaker._handler_coroutine.cancel()
            await asyncio.gather(speaker._handler_coroutine, return_exceptions=True)
    await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def scripted_server(*replies: bytes) -> AsyncIterator[int]:
    """Greets with the first reply, answers one line with each further one, then says nothing.

    An empty reply ends the connection.
    """
    silent = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            for place, reply in enumerate(replies):
                if place:
                    await _heard(reader, after_data=replies[place - 1].startswith(b"354"))
                if not reply:
                    break
                writer.write(reply + b"\r\n")
                await writer.drain()
            else:
                await silent.wait()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _heard(reader: asyncio.StreamReader, *, after_data: bool) -> None:
    while True:
        line = await reader.readline()
        if not after_data or line in {b".\r\n", b""}:
            return
