"""Where a client may be answered: addresses that it registered, and nothing that resembles them.

An address is compared sign by sign. Only the port of a loopback address is free, because a
program on somebody's own machine listens where there is room (RFC 8252). An address in a scheme
of the client's own leads to an app; those that a browser acts on by itself are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import SplitResult, urlencode, urlsplit

LONGEST: Final = 2_000
MOST: Final = 10

_SIGNS: Final = re.compile(r"[!-~]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,62}")
_HOST: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\]")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
# What a browser, or the machine under it, would run, open or send by itself.
_OWN_OF_BROWSERS: Final = frozenset(
    {
        "about", "blob", "chrome", "chrome-extension", "content", "data", "edge", "feed", "file",
        "filesystem", "ftp", "ftps", "intent", "jar", "javascript", "mailto", "mhtml",
        "moz-extension", "ms-its", "opera", "resource", "sms", "ssh", "tel", "vbscript",
        "view-source", "wss", "ws", "wyciwyg",
    }
)  # fmt: skip

Kind = Literal["web", "loopback", "app"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads, as a person may judge it."""

    kind: Kind
    # The host of a page, this machine, or the scheme of an app.
    name: str


def fault_of(uri: object) -> str | None:
    """Why nobody is sent to this address; None when it is good."""
    if not isinstance(uri, str) or not 0 < len(uri) <= LONGEST or not _SIGNS.fullmatch(uri):
        return f"A redirect URI is a text of 1 to {LONGEST} printable signs without spaces."
    parts = _split(uri)
    if parts is None or "#" in uri or "\\" in uri or "@" in parts.netloc:
        return "A redirect URI is absolute, without a fragment and without a user."
    if parts.scheme == "https":
        return None if _has_host(parts) else "A redirect URI with https names a host."
    if parts.scheme == "http":
        return None if _host(parts) in _LOOPBACK else "Plain http is for this machine alone."
    return _fault_of_app(uri, parts.scheme)


def _fault_of_app(uri: str, scheme: str) -> str | None:
    if scheme in _OWN_OF_BROWSERS or not _SCHEME.fullmatch(scheme):
        return "A redirect URI uses https, http on this machine, or the scheme of an app."
    if not uri[len(scheme) :].startswith(":/"):
        return "A redirect URI of an app goes on with a slash after its scheme."
    return None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Whether a client may be answered here."""
    return fault_of(uri) is None and any(_same(uri, known) for known in registered)


def place_of(uri: str) -> Place:
    """Where an address that was found good leads."""
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return Place("web", _host(parts))
    if parts.scheme == "http":
        return Place("loopback", _host(parts))
    return Place("app", parts.scheme)


def with_answer(uri: str, answer: Mapping[str, str | None]) -> str:
    """The address with an answer in its query; what stood there stays."""
    query = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def _same(given: str, known: str) -> bool:
    if given == known:
        return True
    one, other = urlsplit(given), urlsplit(known)
    return (
        one.scheme == other.scheme == "http"
        and _host(one) in _LOOPBACK
        and _host(one) == _host(other)
        and (one.path, one.query) == (other.path, other.query)
    )


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # a port that is none is found only by asking
    except ValueError:
        return None
    # What Python reads in small letters was perhaps written otherwise, and is compared as it is.
    return parts if parts.scheme and uri.startswith(parts.scheme + ":") else None


def _has_host(parts: SplitResult) -> bool:
    return _HOST.fullmatch(_host(parts)) is not None


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host
