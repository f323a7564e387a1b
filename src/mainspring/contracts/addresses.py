"""URLs that a person provides, instead of ones that an integration knows.

Adapters that read any URL share its format and host. Whether the host may be called is decided by
the egress guard, which checks the resolved IP address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import Finding, Invalid, UpstreamError
from mainspring.contracts.provider_responses import parse_refusal
from mainspring.contracts.secret import SecretText

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# The base URL of an external API that an operator may set, normalised.

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def read_base_address(url: str) -> tuple[str, str] | None:
    """The URL without a trailing slash, and its host with the effective port.

    None when it is not a single web URL.
    """
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port or _DEFAULT_PORTS.get(split.scheme)
    except ValueError:
        return None
    if not host or port is None or not set(url).isdisjoint("?#@\\ "):
        return None
    return url.rstrip("/"), f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


MOST_BYTES: Final = 8_388_608
LONGEST: Final = 2_000
SECONDS: Final = 45.0
_PORTS: Final = {"http": 80, "https": 443}
_ODD: Final = re.compile(r"[\x00-\x20\x7f\\]")
URL_SCHEMA: Final[dict[str, Any]] = {
    "description": (
        "A public web address. It is stored and shown unchanged, so do not put a key or password "
        "in it."
    ),
    "type": "string",
    "minLength": 8,
    "maxLength": LONGEST,
    "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s]+$",
    "x-mainspring-says": "This must be a web address that begins with http:// or https://.",
}


def normalize_address(url: str, at: str = "/url") -> str:
    """The normalised URL: host in lower case, no default port, no fragment."""
    split, host, port = _read(url, at)
    shown = f"[{host}]" if ":" in host else host
    if port != _PORTS[split.scheme]:
        shown = f"{shown}:{port}"
    return urlunsplit((split.scheme, shown, split.path or "/", split.query, ""))


def get_host(url: str) -> str:
    """The host and port of a URL, as the egress guard compares them."""
    _, host, port = _read(url, "/url")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def get_hosts(ref: Mapping[str, Any]) -> frozenset[str]:
    """The host of a reference by its url."""
    return frozenset({get_host(str(ref["url"]))})


def normalize_address_ref(ref: Mapping[str, Any]) -> dict[str, Any]:
    """A reference that is only a URL, normalised."""
    return {**ref, "url": normalize_address(str(ref["url"]))}


async def read_address(
    ctx: CallContext, url: str, accept: str, headers: Mapping[str, str | SecretText] | None = None
) -> HttpResponse:
    """The response at a URL, or a problem that names its host."""
    request = HttpRequest(
        method="GET",
        url=url,
        headers={"Accept": accept, **(headers or {})},
        query={},
        timeout_seconds=SECONDS,
        max_bytes=MOST_BYTES,
    )
    response = await ctx.http.send(request)
    problem = parse_refusal(response, urlsplit(url).hostname or "It")
    if problem is not None:
        raise problem
    return response


def unreadable_response_error(who: str, what: str) -> UpstreamError:
    """A response that is not what it should be; not retryable."""
    return UpstreamError(f"{who} {what}", code="unreadable_answer", retryable=False)


def _read(url: str, at: str) -> tuple[SplitResult, str, int]:
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port
    except ValueError:
        raise _invalid_address_error(at, "This is not a web address.") from None
    if split.scheme not in _PORTS or not host or _ODD.search(url):
        raise _invalid_address_error(
            at, "This must be a web address that begins with http:// or https://."
        )
    if "@" in split.netloc or "%" in split.netloc:
        raise _invalid_address_error(at, "A web address cannot contain a user name or a password.")
    return split, host, port or _PORTS[split.scheme]


def _invalid_address_error(at: str, detail: str) -> Invalid:
    finding = Finding(at, detail, "bad_url", "Write it like https://example.com/data.json.")
    return Invalid(detail, code="bad_url", findings=[finding])
