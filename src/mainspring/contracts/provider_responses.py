"""Converts the responses of external APIs to values or problems.

Every integration client meets the same responses: rate limited, refused, not found, redirected, not
JSON. They are handled here once, so that all integrations report them in the same way. Only
provider-specific details, such as its error codes, stay with its client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import orjson

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)

# The maximum wait, whatever a Retry-After header says.
LONGEST_PAUSE: Final = 86_400.0
_SHOWN: Final = 300
_SECONDS: Final = re.compile(r"[0-9]{1,300}(\.[0-9]{1,300})?")
_WORD: Final = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
# Statuses of requests that timed out or came too early: a retry may succeed.
_LATER: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class ProviderErrorDetail:
    """The error code of the provider and its message."""

    reasons: frozenset[str] = frozenset()
    message: str = ""


@dataclass(frozen=True, slots=True)
class ProviderErrorReasons:
    """The error codes of a provider for a rate limit and for a required reconnection."""

    busy: frozenset[str] = frozenset()
    reconnect: frozenset[str] = frozenset()


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds to wait according to Retry-After, given in seconds or as a date.

    A date is relative to the Date header; without one, to ``now`` or the system clock.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), LONGEST_PAUSE)
    until = _parse_http_date(text)
    if until is None:
        return None
    since = _parse_http_date(headers.get("date", "")) or now or datetime.now(UTC)
    return min(max((until - since).total_seconds(), 0.0), LONGEST_PAUSE)


def _parse_http_date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def parse_busy_error(response: HttpResponse, name: str) -> UpstreamError | None:
    """The problem for a rate limit or a temporary failure; None otherwise.

    A rate limit means that nothing was done; after a server error that is unknown.
    """
    status = response.status
    if status == 429:
        return UpstreamError(
            f"{name} limits requests: too many in a short time.",
            code="provider_busy",
            retry_after=retry_after(response.headers),
            unsent=True,
        )
    if status >= 500 or status in _LATER:
        return UpstreamError(
            f"{name} failed with status {status}.",
            code="provider_failed",
            retry_after=retry_after(response.headers),
        )
    return None


def parse_error_detail(response: HttpResponse) -> ProviderErrorDetail:
    """The error code and message in the body of a refusal, in any of the usual places."""
    try:
        body = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return ProviderErrorDetail()
    if not isinstance(body, Mapping):
        return ProviderErrorDetail()
    places = [body, *_iterate_objects(body.get("error")), *_iterate_objects(body.get("errors"))]
    for inner in list(_iterate_objects(body.get("error"))):
        places += [*_iterate_objects(inner.get("errors")), *_iterate_objects(inner.get("details"))]
    words = [body.get("error")]
    words += [one.get(key) for one in places for key in ("reason", "status", "code", "type")]
    texts = [one.get(key) for one in places[1:] + places[:1] for key in _SENTENCES]
    message = next((one for one in texts if isinstance(one, str) and one.strip()), "")
    return ProviderErrorDetail(
        frozenset(one for one in words if isinstance(one, str) and _WORD.fullmatch(one)),
        format_one_line(message),
    )


def parse_refusal(
    response: HttpResponse, name: str, words: ProviderErrorReasons | None = None
) -> Problem | None:
    """The problem for an unsuccessful response; None for a success.

    A refusal of the request (4xx) means that nothing was done.
    """
    status = response.status
    if 200 <= status < 300:
        return None
    told, words = parse_error_detail(response), words or ProviderErrorReasons()
    if told.reasons & words.reconnect:
        return ReconnectRequired(
            f"{name} denies this with the permissions of this connection.",
            code="access_insufficient",
            suggestion="Reconnect the account and accept all requested permissions.",
        )
    if told.reasons & words.busy:
        return UpstreamError(
            f"{name} limits requests: the quota is used up.",
            code="provider_busy",
            retry_after=retry_after(response.headers),
            unsent=True,
        )
    return parse_busy_error(response, name) or _build_refusal(status, name, told)


def read_json(response: HttpResponse, name: str) -> Any:
    """The JSON of a successful response; anything else did not come from this API."""
    try:
        return orjson.loads(response.body)
    except orjson.JSONDecodeError:
        raise malformed_response_error(name) from None


def read_object(response: HttpResponse, name: str) -> dict[str, Any]:
    """The JSON object of a successful response."""
    found = read_json(response, name)
    if not isinstance(found, dict):
        raise malformed_response_error(name)
    return found


def require_text(found: Any, field: str, name: str) -> str:
    """A required text of a response; without it, the response did not come from this API."""
    value = found.get(field) if isinstance(found, Mapping) else None
    if not isinstance(value, str) or not value:
        raise malformed_response_error(name)
    return value


def list_in(found: Any, field: str, name: str) -> list[Any]:
    """An optional list of a response; any other type did not come from this API."""
    value = found.get(field, []) if isinstance(found, Mapping) else None
    if not isinstance(value, list):
        raise malformed_response_error(name)
    return value


def malformed_response_error(name: str) -> UpstreamError:
    """Not retryable: a retry would most likely get the same response."""
    return UpstreamError(
        f"The server's response does not match the API of {name}.",
        code="provider_answer",
        retryable=False,
    )


def format_one_line(text: str, most: int = _SHOWN) -> str:
    """Untrusted text on one line, truncated and without invisible characters."""
    # Only truncated at the end: text after many blanks is kept like any other.
    plain = " ".join(_UNSEEN.sub(" ", text).split())
    return plain[:most] + ("…" if len(plain) > most else "")


_SENTENCES: Final = ("message", "error_description", "detail")
_KINDS: Final[Mapping[int, tuple[type[Problem], str]]] = {
    400: (Invalid, "{name} rejected the request"),
    403: (PermissionDenied, "{name} does not allow this"),
    404: (NotFound, "{name} cannot find it, or this account has no access to it"),
    409: (Conflict, "{name} reports a conflict with the current state"),
    410: (Expired, "{name} reports that it was deleted"),
    412: (Conflict, "It was changed at {name} in the meantime"),
    413: (Invalid, "This is too large for {name}"),
    422: (Invalid, "{name} rejected the request"),
}


def _build_refusal(status: int, name: str, told: ProviderErrorDetail) -> Problem:
    if 300 <= status < 400:
        return UpstreamError(
            f"{name} redirected the request to another address; the redirect was not followed.",
            code="provider_moved",
            retryable=False,
            unsent=True,
        )
    kind, sentence = _KINDS.get(status, (UpstreamError, f"{{name}} returned status {status}"))
    detail = sentence.format(name=name) + (f": {told.message}" if told.message else ".")
    return kind(
        detail,
        code=f"provider_{status}",
        retryable=False,
        unsent=400 <= status < 500 or None,
    )


def _iterate_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a value that is one, or a list of them, or something else."""
    for one in value[:20] if isinstance(value, list) else [value]:
        if isinstance(one, Mapping):
            yield one
