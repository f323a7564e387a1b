"""What monday.com's answers mean: its data, or a problem that says what to do.

It has spelt its errors in several ways over the years, and all of them still arrive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import (
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.provider_answers import (
    LONGEST_PAUSE,
    format_one_line,
    malformed_response_error,
    parse_refusal,
    retry_after,
)

NAME: Final = "monday.com"
_USUAL_PAUSE: Final = 60.0
_RESET: Final = re.compile(r"reset in ([0-9]{1,6}) seconds?")
_NOT_A_LETTER: Final = re.compile(r"[^a-z]")
_BUSY: Final = (
    "complexity",
    "ratelimit",
    "concurrency",
    "dailylimit",
    "minutelimit",
    "iplimit",
    "fieldlimit",
    "fieldminutelimit",
)
_RECONNECT: Final = frozenset({"notauthenticated", "unauthenticated", "invalidtoken"})
_DENIED: Final = ("unauthorized", "forbidden", "missingrequiredpermissions", "accessdenied")
_MISSING: Final = ("notfound", "invalidboardid", "invaliditemid")
_LATER: Final = ("cursor", "locked", "internal", "timeout")


def parse_data(response: HttpResponse) -> dict[str, Any]:
    """The data of an answer; half of it beside an error is no answer."""
    body = _object(response.body)
    if body is not None:
        problem = _told(body, response)
        if problem is not None:
            raise problem
    problem = parse_refusal(response, NAME)
    if problem is not None:
        raise problem
    data = None if body is None else body.get("data")
    if not isinstance(data, dict):
        raise malformed_response_error(NAME)
    return data


def _told(body: Mapping[str, Any], response: HttpResponse) -> Problem | None:
    """The problem that a body tells of, if it does."""
    errors = body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    if first is None and not (body.get("error_code") or body.get("error_message")):
        return None
    error = first if isinstance(first, Mapping) else {"message": first}
    inner = error.get("extensions")
    more: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    words = _text(error.get("message")) or _text(body.get("error_message"))
    code = _text(more.get("code")) or _text(body.get("error_code")) or words
    status = more.get("status_code", body.get("status_code", response.status))
    word = _NOT_A_LETTER.sub("", code.lower())
    return _meaning(word, status, words, _pause(more, words, response))


def _meaning(word: str, status: Any, words: str, pause: float) -> Problem:
    said = f": {format_one_line(words)}" if words else "."
    if status == 429 or any(busy in word for busy in _BUSY):
        return UpstreamError(
            "monday.com asks for a pause: its limit of requests is used up.",
            code="provider_busy",
            retry_after=pause,
            unsent=True,
        )
    if word in _RECONNECT or status == 401:
        return ReconnectRequired(
            "monday.com does not accept this access any more.", code="monday_access"
        )
    if status == 403 or any(one in word for one in _DENIED):
        return PermissionDenied(
            f"monday.com does not allow this{said}", code="monday_forbidden", unsent=True
        )
    if status == 404 or any(one in word for one in _MISSING):
        return NotFound(
            f"monday.com knows no such thing, or does not show it to this account{said}",
            code="monday_not_found",
            unsent=True,
        )
    later = any(one in word for one in _LATER) or (isinstance(status, int) and status >= 500)
    if later:
        return UpstreamError(f"monday.com failed{said}", code="provider_failed", retry_after=pause)
    return Invalid(f"monday.com does not accept this{said}", code="monday_invalid", unsent=True)


def _pause(more: Mapping[str, Any], words: str, response: HttpResponse) -> float:
    """For how long to wait, wherever that is said."""
    asked = retry_after(response.headers)
    if asked is not None:
        return asked
    seconds = more.get("retry_in_seconds")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        return min(float(seconds), LONGEST_PAUSE)
    reset = _RESET.search(words)
    return float(reset[1]) if reset is not None else _USUAL_PAUSE


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
