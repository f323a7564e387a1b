"""Headers, going out and coming in: bounded, and free of anything that splits a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mainspring.contracts.errors import Invalid, UpstreamError

MAX_REQUEST_HEADERS = 100
MAX_REQUEST_HEADER_BYTES = 65_536
MAX_RESPONSE_HEADERS = 256
MAX_RESPONSE_HEADER_BYTES = 65_536

# These say how a message is carried, and the carrier sets them; a caller who could set
# them could make two parties see two different requests.
CARRIED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def check_names(names: Iterable[str]) -> None:
    """Refuses headers that are malformed, given twice, or not the caller's to set."""
    seen: set[str] = set()
    for name in names:
        lowered = name.lower()
        if not _TOKEN.fullmatch(name):
            raise _bad("A header's name may hold letters, digits and hyphens only.")
        if lowered in CARRIED:
            raise _bad(f"The header {name} is set by Mainspring itself and cannot be given.")
        if lowered in seen:
            raise _bad(f"The header {name} is given twice.")
        seen.add(lowered)
    if len(seen) > MAX_REQUEST_HEADERS:
        raise _bad(f"There are more than {MAX_REQUEST_HEADERS} headers.")


def validate_header_value(name: str, value: str) -> str:
    """A value as it may stand on the wire: one line of printable ASCII."""
    trimmed = value.strip(" \t")
    if not _VALUE.fullmatch(trimmed):
        raise _bad(f"The value of the header {name} must be one line of printable ASCII.")
    return trimmed


def check_size(headers: Iterable[tuple[str, str]]) -> None:
    if sum(len(name) + len(value) + 4 for name, value in headers) > MAX_REQUEST_HEADER_BYTES:
        raise _bad(f"The headers are larger than {MAX_REQUEST_HEADER_BYTES} bytes.")


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """An answer's headers by lower-case name, repeated ones joined by commas."""
    found: dict[str, str] = {}
    size = 0
    for count, (name, value) in enumerate(raw, start=1):
        size += len(name) + len(value) + 4
        if count > MAX_RESPONSE_HEADERS or size > MAX_RESPONSE_HEADER_BYTES:
            raise UpstreamError(
                "The answer has more headers than are read.",
                code="response_too_large",
                retryable=False,
            )
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def drop_headers(headers: Mapping[str, str], dropped: frozenset[str]) -> dict[str, str]:
    """The headers but for some; names are compared without regard to case."""
    return {name: value for name, value in headers.items() if name.lower() not in dropped}


def _bad(sentence: str) -> Invalid:
    return Invalid(sentence, code="bad_header")
