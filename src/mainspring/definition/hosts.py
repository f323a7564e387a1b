"""Parses and normalises the hosts of URLs.

A host grant is only as strict as the URL parser behind it. A URL that another parser could read as
a different host (user information, a backslash, percent signs, white space, a missing slash) has no
host here and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Final

import idna

from mainspring.contracts.secret import SecretText

_AUTHORITY: Final = re.compile(r"(https?)://([^/?#]*)([/?#]?)", re.IGNORECASE)
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_PORT: Final = re.compile(r":([0-9]{1,5})?")
_TEMPLATE: Final = re.compile(r"\{[{%#]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HostPort:
    """A normalised host and a port; an entry of a host list may omit the port."""

    host: str
    port: int | None

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"


def parse_url_host(url: object) -> HostPort | None:
    """The host of a URL; None when parsers could disagree about it."""
    if isinstance(url, SecretText):
        return _fixed_site(_before_secret(url), whole=all(isinstance(p, str) for p in url.parts))
    return _fixed_site(url, whole=True) if isinstance(url, str) else None


def parse_template_host(template: object) -> HostPort | None:
    """The host of a URL template, when no expression can change it."""
    if not isinstance(template, str):
        return None
    found = _TEMPLATE.search(template)
    return _fixed_site(template[: found.start()] if found else template, whole=found is None)


def parse_host_entry(entry: object) -> HostPort | None:
    """An entry of a list of hosts: ``host`` (every port) or ``host:port``."""
    if not isinstance(entry, str):
        return None
    split = _split(entry)
    if split is None:
        return None
    host, port = split
    return HostPort(host, port)


def grant_entry(template: object) -> str | None:
    """The entry of a host list for a URL; the default port is omitted."""
    site = parse_template_host(template)
    if site is None:
        return None
    scheme = str(template).partition(":")[0].lower()
    return site.host if site.port == _DEFAULT_PORTS[scheme] else str(site)


def is_host_listed(hosts: Iterable[object], site: HostPort) -> bool:
    """Whether an entry matches the host; an invalid entry matches none."""
    entries = (parse_host_entry(entry) for entry in hosts)
    return any(
        entry is not None and entry.host == site.host and entry.port in (None, site.port)
        for entry in entries
    )


def _before_secret(text: SecretText) -> str:
    kept = []
    for part in text.parts:
        if not isinstance(part, str):
            break
        kept.append(part)
    return "".join(kept)


def _fixed_site(text: str, *, whole: bool) -> HostPort | None:
    found = _AUTHORITY.match(text)
    # An expression after an incomplete host could extend it or turn it into a user name.
    if found is None or not (whole or found[3]):
        return None
    split = _split(found[2])
    if split is None:
        return None
    host, port = split
    return HostPort(host, _DEFAULT_PORTS[found[1].lower()] if port is None else port)


def _split(authority: str) -> tuple[str, int | None] | None:
    if authority.startswith("["):
        inside, bracket, rest = authority[1:].partition("]")
        host = _ipv6(inside) if bracket else None
    else:
        name, colon, port = authority.partition(":")
        host, rest = _name(name), colon + port
    if host is None:
        return None
    if not rest:
        return host, None
    found = _PORT.fullmatch(rest)
    if found is None:
        return None
    number = int(found[1]) if found[1] else None
    return None if number is not None and number > 65_535 else (host, number)


def _ipv6(text: str) -> str | None:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    return None if address.scope_id else f"[{address.compressed}]"


def _name(text: str) -> str | None:
    if not text.isascii():
        try:
            text = idna.encode(text, uts46=True).decode("ascii")
        except idna.IDNAError:
            return None
    text = text.lower().removesuffix(".")
    return text if _NAME.fullmatch(text) else None
