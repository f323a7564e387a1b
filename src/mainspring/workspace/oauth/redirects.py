"""Where a client may be answered: addresses that it registered, and nothing that resembles them.

An address is compared sign by sign. Only the port of a loopback address is free, because a
program on somebody's own machine listens where there is room (RFC 8252). An address in a scheme
of the client's own leads to an app: such a scheme has a dot in it (RFC 8252), as nothing has that
a browser acts on by itself, or belongs to an app that is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Literal
from urllib.parse import SplitResult, urlencode, urlsplit

LONGEST: Final = 2_000
MOST: Final = 10

_SIGNS: Final = re.compile(r"[!-~]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,62}")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# A browser takes a host that ends so for an address in numbers, in many spellings.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Apps that have a scheme without a dot. Any other could be one on which a browser, or the machine
# under it, acts by itself.
_APPS: Final = frozenset(
    {
        "chatgpt",
        "cherrystudio",
        "claude",
        "code-oss",
        "codex",
        "cursor",
        "goose",
        "jetbrains",
        "kiro",
        "lmstudio",
        "obsidian",
        "positron",
        "raycast",
        "trae",
        "vscode",
        "vscode-insiders",
        "vscodium",
        "warp",
        "windsurf",
        "windsurf-next",
        "zed",
    }
)

RedirectKind = Literal["web", "loopback", "app"]


@dataclass(frozen=True, slots=True)
class RedirectTarget:
    """Where an address leads, as a person may judge it."""

    kind: RedirectKind
    # The host of a page, this machine, or the scheme of an app.
    name: str


def find_redirect_fault(uri: object) -> str | None:
    """Why nobody is sent to this address; None when it is good."""
    if not isinstance(uri, str) or not 0 < len(uri) <= LONGEST or not _SIGNS.fullmatch(uri):
        return f"A redirect URI is a text of 1 to {LONGEST} printable signs without spaces."
    parts = _split(uri)
    if (
        parts is None
        or parts.netloc.endswith(":")
        or "#" in uri
        or "\\" in uri
        or "@" in parts.netloc
    ):
        return "A redirect URI is absolute, without a fragment and without a user."
    if parts.scheme == "https":
        return None if _has_host(parts) else "A redirect URI with https names a host."
    if parts.scheme == "http":
        return None if _get_host(parts) in _LOOPBACK else "Plain http is for this machine alone."
    return _find_app_redirect_fault(uri, parts.scheme)


def _find_app_redirect_fault(uri: str, scheme: str) -> str | None:
    if not _SCHEME.fullmatch(scheme) or ("." not in scheme and scheme not in _APPS):
        return (
            "A redirect URI uses https, http on this machine, or the scheme of an app, "
            "such as com.example.app."
        )
    if not uri[len(scheme) :].startswith(":/"):
        return "A redirect URI of an app goes on with a slash after its scheme."
    return None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Whether a client may be answered here."""
    return find_redirect_fault(uri) is None and any(
        _is_same_redirect(uri, known) for known in registered
    )


def share_one_host(uris: Iterable[str]) -> bool:
    """Whether all addresses on the web have one host, or lie below one of theirs."""
    hosts = {_get_host(parts) for parts in map(urlsplit, uris) if parts.scheme == "https"}
    if len(hosts) < 2:
        return True
    first = min(hosts, key=len)
    return "." in first and all(host == first or host.endswith(f".{first}") for host in hosts)


def describe_redirect(uri: str) -> RedirectTarget:
    """Where an address that was found good leads."""
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return RedirectTarget("loopback" if _is_here(_get_host(parts)) else "web", _get_host(parts))
    if parts.scheme == "http":
        return RedirectTarget("loopback", _get_host(parts))
    return RedirectTarget("app", parts.scheme)


def add_query(uri: str, answer: Mapping[str, str | None]) -> str:
    """The address with an answer in its query; what stood there stays."""
    query = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def _is_same_redirect(given: str, known: str) -> bool:
    if given == known:
        return True
    one, other = urlsplit(given), urlsplit(known)
    return (
        one.scheme == other.scheme == "http"
        and _get_host(one) in _LOOPBACK
        and _get_host(one) == _get_host(other)
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
    host = parts.hostname or ""
    labels = host.split(".")
    if ":" in host or _NUMBER.fullmatch(labels[-1]):
        return _parse_ip(host) is not None
    return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in labels)


def _is_here(host: str) -> bool:
    """Whether a host is the machine of whoever goes there."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    found = _parse_ip(host.strip("[]"))
    return found is not None and (found.is_loopback or found.is_unspecified)


def _parse_ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(host)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _get_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host
