"""An address that a person gives, instead of one that an integration knows.

Adapters that read any web address share how such an address is written and which host it leads
to. Whether the host may be dialled at all is judged by
the guard of the gate, which sees the address behind the name.
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


# The address of an outside API that an operator may set: read once, spelt one way.

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def read_base_address(url: str) -> tuple[str, str] | None:
    """The address without a trailing slash, and its host with the port that will be dialled.

    None when it is no web address, or more than one.
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
    "description": "A public web address. It is kept and shown as it is written, so no key or "
    "password belongs in it.",
    "type": "string",
    "minLength": 8,
    "maxLength": LONGEST,
    "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s]+$",
    "x-mainspring-says": "This must be a web address that begins with http:// or https://.",
}


def normalize_address(url: str, at: str = "/url") -> str:
    """The one spelling of an address: host in lower case, no usual port, no fragment."""
    split, host, port = _read(url, at)
    shown = f"[{host}]" if ":" in host else host
    if port != _PORTS[split.scheme]:
        shown = f"{shown}:{port}"
    return urlunsplit((split.scheme, shown, split.path or "/", split.query, ""))


def get_host(url: str) -> str:
    """The host and port that an address leads to, as the guard compares them."""
    _, host, port = _read(url, "/url")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def get_hosts(ref: Mapping[str, Any]) -> frozenset[str]:
    """The one host of a reference by its url."""
    return frozenset({get_host(str(ref["url"]))})


def normalize_address_ref(ref: Mapping[str, Any]) -> dict[str, Any]:
    """A reference that is an address and nothing more, in its one spelling."""
    return {**ref, "url": normalize_address(str(ref["url"]))}


async def read_address(
    ctx: CallContext, url: str, accept: str, headers: Mapping[str, str | SecretText] | None = None
) -> HttpResponse:
    """What stands at an address, or the problem with it, said by its host."""
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
    """An answer that came and is not what it should be; another try would meet the same."""
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
        raise _invalid_address_error(
            at, "A web address here has no user name and no password in it."
        )
    return split, host, port or _PORTS[split.scheme]


def _invalid_address_error(at: str, detail: str) -> Invalid:
    finding = Finding(at, detail, "bad_url", "Write it like https://example.com/data.json.")
    return Invalid(detail, code="bad_url", findings=[finding])
