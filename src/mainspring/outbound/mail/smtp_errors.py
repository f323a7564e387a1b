"""What an SMTP failure means to a person, and whether another try can help.

A server says 4xx for "not now" and 5xx for "never". Its own words are quoted, short and
with the password masked; what it says about signing in is not quoted at all.
"""

from __future__ import annotations

import ssl

import aiosmtplib

from mainspring.contracts.errors import Problem, UpstreamError
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.redaction import Redactor

_QUOTED_CHARACTERS = 200


def format_smtp_reply(code: int, message: str, secrets: Redactor) -> str:
    """The server's reply as it may be shown: one short line."""
    readable = message[: _QUOTED_CHARACTERS * 4].encode("utf-8", "replace").decode()
    line = " ".join("".join(s if s.isprintable() else " " for s in readable).split())
    return secrets.text(f"{code} {line}".rstrip())[:_QUOTED_CHARACTERS]


def map_delivery_error(error: Exception, secrets: Redactor) -> Problem:
    """The problem behind whatever went wrong while a mail was handed over."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return _nobody(error, secrets)
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return UpstreamError(
            "The mail server did not accept the user and password of MAINSPRING_SMTP_URL.",
            code="mail_sign_in",
            retryable=_for_now(error.code),
        )
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return _refused_error(error, secrets)
    if _is_tls(error):
        return UpstreamError(
            "The mail server could not prove who it is: the secure connection failed.",
            code="mail_tls",
            retryable=False,
        )
    if isinstance(error, OSError | aiosmtplib.SMTPServerDisconnected):
        return UpstreamError(
            "The mail server could not be reached, or the connection was lost.",
            code="mail_unreachable",
        )
    if isinstance(error, aiosmtplib.SMTPException):
        return UpstreamError("The mail server sent an unexpected response.", code="mail_reply")
    return log_and_convert_error(error)


def _nobody(error: aiosmtplib.SMTPRecipientsRefused, secrets: Redactor) -> UpstreamError:
    first = error.recipients[0]
    return UpstreamError(
        f"The mail server refused every recipient: {format_smtp_reply(first.code, first.message, secrets)}",  # noqa: E501
        code="mail_recipients_refused",
        retryable=any(_for_now(entry.code) for entry in error.recipients),
    )


def _refused_error(error: aiosmtplib.SMTPResponseException, secrets: Redactor) -> UpstreamError:
    if not 400 <= error.code <= 599:
        return UpstreamError("The mail server sent an unexpected response.", code="mail_reply")
    reply = format_smtp_reply(error.code, error.message, secrets)
    if _for_now(error.code):
        return UpstreamError(f"The mail server asks to try later: {reply}", code="mail_not_now")
    return UpstreamError(f"The mail server refused: {reply}", code="mail_refused", retryable=False)


def _for_now(code: int) -> bool:
    return 400 <= code <= 499


def _is_tls(error: BaseException | None) -> bool:
    """A failed handshake may be wrapped in an error of the connection."""
    for _ in range(5):
        if error is None or isinstance(error, ssl.SSLError):
            return error is not None
        error = error.__cause__
    return False
