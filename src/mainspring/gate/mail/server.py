"""The mail server, read from its URL; the URL holds a password and is never quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import SplitResult, unquote, urlsplit

from mainspring.contracts.errors import Invalid

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
