"""The talk with the mail server: connect, secure, sign in, hand over, take leave.

One connection per mail. A mail is rare beside everything else that leaves the house, and a
connection that is not kept cannot have gone stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Mail, MailReceipt
from mainspring.contracts.errors import Conflict, DeadlineExceeded, Problem, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.gate.mail.letter import OutgoingMail, build_mail, read_sender
from mainspring.gate.mail.server import SmtpServer
from mainspring.gate.redact import Redactor

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPRecipientRefused

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
        letter = build_mail(
            message,
            self._sender,
            key=key,
            at=self._clock.now(),
            most_bytes=self._limits.http_request_bytes,
        )
        return await self._deliver(server, letter)

    async def _deliver(self, server: SmtpServer, letter: OutgoingMail) -> MailReceipt:
        # Loaded with the first mail: most commands never send one.
        from mainspring.gate.mail.replies import map_delivery_error

        client = self._client(server)
        try:
            async with asyncio.timeout(self._limits.http_seconds):
                receipt = await self._hand_over(client, server, letter)
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

    async def _hand_over(
        self, client: SMTP, server: SmtpServer, letter: OutgoingMail
    ) -> MailReceipt:
        from mainspring.gate.mail.replies import format_smtp_reply

        await client.connect()
        await _secure(client, server)
        await _sign_in(client, server)
        await client.mail(self._sender.address, options=_size(client, letter))
        answers = await _send_recipients(client, set(letter.recipients.values()))
        await client.data(letter.data)
        refused = {
            written: format_smtp_reply(answers[sent].code, answers[sent].message, self._secrets)
            for written, sent in letter.recipients.items()
            if sent in answers
        }
        accepted = tuple(written for written in letter.recipients if written not in refused)
        return MailReceipt(letter.message_id, accepted, refused)


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


def _size(client: SMTP, letter: OutgoingMail) -> tuple[str, ...]:
    """A server that can tells early that a mail is too large."""
    return (f"SIZE={len(letter.data)}",) if client.supports_extension("size") else ()


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
