"""What Linear's answers mean: its data, or a problem that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import (
    Invalid,
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

NAME: Final = "Linear"
_USUAL_PAUSE: Final = 60.0
# A refusal is short; no page of issues is read twice to look for one.
_LONGEST_REFUSAL: Final = 8_192
_MILLISECONDS: Final = re.compile(r"[0-9]{10,15}")
_WORD: Final = re.compile(r"[A-Z0-9_]{1,60}")
_LIMITS: Final = ("requests", "complexity", "endpoint-requests")
_RECONNECT: Final = frozenset({"AUTHENTICATION_ERROR", "UNAUTHENTICATED"})
_DENIED: Final = frozenset({"FORBIDDEN", "FEATURE_NOT_ACCESSIBLE", "USAGE_LIMIT_EXCEEDED"})
_WRONG: Final = frozenset(
    {
        "INPUT_ERROR",
        "BAD_USER_INPUT",
        "INVALID_INPUT",
        "USER_ERROR",
        "GRAPHQL_ERROR",
        "GRAPHQL_VALIDATION_FAILED",
    }
)
# Failures of Linear's own, which it also tells with status 200 or 400.
_LATER: Final = frozenset(
    {
        "BOOTSTRAP_ERROR",
        "INTERNAL_ERROR",
        "INTERNAL_SERVER_ERROR",
        "LOCK_TIMEOUT",
        "NETWORK_ERROR",
    }
)


def parse_data(response: HttpResponse, now: datetime) -> dict[str, Any]:
    """The data of an answer; half of it beside an error is no answer."""
    body = _object(response.body)
    errors = None if body is None else body.get("errors")
    if isinstance(errors, list) and errors:
        raise _problem(errors[0], response, now)
    problem = parse_refusal(response, NAME)
    if problem is not None:
        raise problem
    data = None if body is None else body.get("data")
    if not isinstance(data, dict):
        raise malformed_response_error(NAME)
    return data


def is_token_refused(response: HttpResponse) -> bool:
    """Whether an answer with status 200 or 400 says that the token is not good any more."""
    body = _object(response.body) if len(response.body) <= _LONGEST_REFUSAL else None
    errors = None if body is None else body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    more = first.get("extensions") if isinstance(first, Mapping) else None
    return isinstance(more, Mapping) and bool(_names(more) & _RECONNECT)


def pause_of(headers: Mapping[str, str], now: datetime) -> float:
    """For how long to wait: as it is asked for, or until what is used up is there again."""
    asked = retry_after(headers)
    if asked is not None:
        return asked
    ends = [
        float(reset) / 1000 - now.timestamp()
        for limit in _LIMITS
        if headers.get(f"x-ratelimit-{limit}-remaining", "").strip() == "0"
        and _MILLISECONDS.fullmatch(reset := headers.get(f"x-ratelimit-{limit}-reset", "").strip())
    ]
    return min(max(*ends, 0.0) + 1.0, LONGEST_PAUSE) if ends else _USUAL_PAUSE


def _problem(error: Any, response: HttpResponse, now: datetime) -> Problem:
    told = error if isinstance(error, Mapping) else {}
    extensions = told.get("extensions")
    more = extensions if isinstance(extensions, Mapping) else {}
    names = _names(more)
    words = more.get("userPresentableMessage") or told.get("message")
    said = format_one_line(words) if isinstance(words, str) else ""
    if "RATELIMITED" in names or response.status == 429:
        return UpstreamError(
            "Linear asks for a pause: its limit of requests is used up.",
            code="provider_busy",
            retry_after=pause_of(response.headers, now),
            unsent=True,
        )
    if names & _RECONNECT or response.status == 401:
        return ReconnectRequired(
            "Linear does not accept this access any more.", code="linear_access"
        )
    if names & _DENIED or response.status == 403:
        return PermissionDenied(
            _sentence("Linear does not allow this", said), code="linear_forbidden", unsent=True
        )
    if names & _WRONG or more.get("userError") is True:
        return Invalid(
            _sentence("Linear does not accept this", said), code="linear_invalid", unsent=True
        )
    # Its own failures are told in the same place as ours.
    internal = "internal server error" in said.lower()
    later = response.status >= 500 or bool(names & _LATER) or internal
    return UpstreamError(
        _sentence("Linear failed", said),
        code="provider_failed",
        retryable=later,
        retry_after=retry_after(response.headers) if later else None,
    )


def _names(more: Mapping[str, Any]) -> frozenset[str]:
    """Linear's names for an error, a code and a type in words, in one spelling."""
    words = [more.get(name) for name in ("code", "type")]
    spelt = [word.upper().replace(" ", "_") for word in words if isinstance(word, str)]
    return frozenset(one for one in spelt if _WORD.fullmatch(one))


def _sentence(begin: str, said: str) -> str:
    return f"{begin}: {said}" if said else f"{begin}."


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
