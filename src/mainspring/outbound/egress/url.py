"""One strict reading of a URL: what is judged here is what is dialled.

Libraries disagree about odd URLs, and every disagreement between the one that checks
and the one that connects is a hole. So a URL is read once, by this module, into a
``Target``; whatever has two readings is refused, and nothing behind it reads text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote

import idna

from mainspring.contracts.errors import Invalid

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL = 8_192
# Secrets and queries make a URL longer; this is the most that goes on the wire.
MAX_TARGET = 65_536
MAX_HOST = 253

_PLAIN_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\\\s]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_QUAD = re.compile(rf"(?:{_BYTE}\.){{3}}{_BYTE}")
# What other readers take for a piece of an IPv4 address: decimal, octal or hexadecimal.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_KEPT = "!$%&'()*+,/:;=?@[]~-._"


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """A URL after its one reading: where to connect and what to ask for."""

    scheme: str
    # Canonical ASCII: lower case, A-labels, addresses in their shortest form.
    host: str
    port: int
    # Path and query, as they go on the wire.
    path: str
    # Set when the host is an address and not a name.
    address: IPv4Address | IPv6Address | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def pair(self) -> str:
        """The exact ``host:port`` an operator would list."""
        return f"{self.bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """What the Host header says."""
        return self.bracketed if self.port == DEFAULT_PORTS[self.scheme] else self.pair

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str, most: int = MAX_URL) -> UrlTarget:
    """Reads an absolute http or https URL, or says what is wrong with it."""
    if len(text) > most:
        raise _bad(f"The URL is longer than {most} characters.")
    if _UNSAFE.search(text):
        raise _bad("The URL contains a space, a backslash or a control character.")
    scheme, rest = _split_scheme(text)
    authority, path = _split_authority(rest)
    host, port = _split_port(authority, DEFAULT_PORTS[scheme])
    name, address = canonical_host(host)
    return UrlTarget(scheme, name, port, _clean_path(path), address)


def resolve_location(base: UrlTarget, location: str) -> UrlTarget:
    """Where a redirect leads: an absolute URL, or a path seen from the one before."""
    if _UNSAFE.search(location):
        raise _bad("The redirect's address contains a space, a backslash or a control character.")
    if _PLAIN_SCHEME.match(location):
        return parse_url(location)
    if location.startswith("//"):
        return parse_url(f"{base.scheme}:{location}")
    if len(location) > MAX_URL:
        raise _bad(f"The redirect's address is longer than {MAX_URL} characters.")
    before = base.path.partition("?")[0]
    if location.startswith("/"):
        path = location
    elif not location or location[0] in "?#":
        path = (before if location[:1] == "?" else base.path) + location
    else:
        path = before.rpartition("/")[0] + "/" + location
    return replace(base, path=_clean_path(path))


def with_query(target: UrlTarget, encoded: Iterable[tuple[str, str]]) -> UrlTarget:
    """Adds name=value pairs, already percent-encoded, to what the URL carries."""
    added = "&".join(f"{name}={value}" for name, value in encoded)
    if not added:
        return target
    joint = "&" if "?" in target.path else "?"
    if target.path.endswith(("?", "&")):
        joint = ""
    path = target.path + joint + added
    if len(path) > MAX_TARGET:
        raise _bad(f"The URL with its query is longer than {MAX_TARGET} characters.")
    return replace(target, path=path)


def percent_encode(text: str) -> str:
    """One value as it may stand anywhere in a path or a query."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise _bad("A value for the URL is not valid Unicode text.") from error


def parse_host_port(entry: str) -> tuple[str, int | None]:
    """A host or a host:port as people list them; the host in its one spelling, bracketed."""
    if _UNSAFE.search(entry) or not set(entry).isdisjoint("/?#@%"):
        raise _bad("An entry of a list of hosts must be a host or host:port, nothing more.")
    host, port = _split_port(entry, 0)
    name, _ = canonical_host(host)
    return f"[{name}]" if ":" in name else name, port or None


def canonical_host(written: str) -> tuple[str, IPv4Address | IPv6Address | None]:
    """The one spelling of a host, and its address if it is one."""
    if written.startswith("["):
        return _address6(written)
    # Only A to Z: lower() would turn the Kelvin sign into a k.
    host = "".join(sign.lower() if sign.isascii() else sign for sign in written)
    if not host:
        raise _bad("The URL names no host.")
    if _QUAD.fullmatch(host):
        return host, IPv4Address(host)
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        raise _bad("The URL's host is a number that is not a plain IPv4 address.")
    if host.endswith("."):
        raise _bad("The URL's host ends in a dot; write it without.")
    name = ".".join(_label(label) for label in host.split("."))
    if len(name) > MAX_HOST:
        raise _bad("The URL's host is too long.")
    return name, None


def _bad(sentence: str) -> Invalid:
    return Invalid(sentence, code="bad_url")


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, found, rest = text.partition("://")
    if not found:
        raise _bad("The URL must begin with http:// or https://.")
    if scheme.lower() not in DEFAULT_PORTS:
        raise _bad("Only http and https URLs can be called.")
    return scheme.lower(), rest


def _split_authority(rest: str) -> tuple[str, str]:
    end = next((at for at, sign in enumerate(rest) if sign in "/?#"), len(rest))
    authority = rest[:end]
    if "@" in authority:
        raise _bad("A URL may not carry a user name or password; use a header with a secret.")
    if "%" in authority:
        raise _bad("The URL's host may not be percent-encoded and may not name a zone.")
    return authority, rest[end:]


def _split_port(authority: str, default: int) -> tuple[str, int]:
    closing = authority.rfind("]")
    if authority.startswith("[") and closing < 0:
        raise _bad("The URL's host opens a bracket and does not close it.")
    colon = authority.find(":", closing + 1)
    if colon < 0:
        return authority, default
    port = authority[colon + 1 :]
    if not _PORT.fullmatch(port) or int(port) > 65_535:
        raise _bad("The URL's port must be a number from 1 to 65535.")
    return authority[:colon], int(port)


def _address6(written: str) -> tuple[str, IPv6Address]:
    try:
        address = IPv6Address(written[1:-1])
    except AddressValueError as error:
        raise _bad("The URL's host is not a valid IPv6 address.") from error
    if not written.endswith("]") or address.scope_id is not None:
        raise _bad("The URL's host is not a valid IPv6 address.")
    return address.compressed, address


def _label(label: str) -> str:
    """One label in ASCII. Look-alike characters are refused, not mapped to what they mimic."""
    if label.isascii() and not label.startswith("xn--"):
        if not _LABEL.fullmatch(label):
            raise _bad("The URL's host contains a sign that no host name has.")
        return label
    try:
        return idna.alabel(label).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise _bad("The URL's host is not a valid international name.") from error


def _clean_path(text: str) -> str:
    """Path and query without the fragment, dot segments and raw non-ASCII characters."""
    whole = text.partition("#")[0]
    path, mark, query = whole.partition("?")
    try:
        cleaned = quote(_without_dots(path), safe=_KEPT) + mark + quote(query, safe=_KEPT)
    except UnicodeEncodeError as error:
        raise _bad("The URL is not valid Unicode text.") from error
    return cleaned if cleaned.startswith("/") else "/" + cleaned


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            if len(kept) > 1:
                kept.pop()
        elif plain != ".":
            kept.append(segment)
    if segments[-1].lower().replace("%2e", ".") in {".", ".."}:
        kept.append("")
    return "/".join(kept)
