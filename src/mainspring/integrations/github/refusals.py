"""What GitHub's refusals mean, as problems that say what to do.

GitHub says with the same status that somebody may not, and that they asked too often; and it says
of what is hidden from somebody that it is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from mainspring.contracts.context import HttpResponse
from mainspring.contracts.errors import (
    Conflict,
    Finding,
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
    parse_error_detail,
    parse_refusal,
    retry_after,
)

NAME: Final = "GitHub"
# How long to wait when GitHub does not say it; its own advice.
_USUAL_PAUSE: Final = 60.0
_MOST_FINDINGS: Final = 20
_EPOCH: Final = re.compile(r"[0-9]{1,12}")
_FIELD: Final = re.compile(r"[A-Za-z0-9_]{1,60}")
_APP_PERMISSION: Final = (
    "Install the GitHub App where the repository is, and give it the permissions Contents, Issues "
    "and Pull requests."
)
_MEANS: Final[Mapping[str, str]] = {
    "missing": "names something that is not there",
    "missing_field": "is missing",
    "invalid": "is not valid",
    "already_exists": "is there already",
    "unprocessable": "cannot be worked with",
}


@dataclass(frozen=True, slots=True)
class RequestSubject:
    """What a request is about, for the sentences of its problems."""

    # Such as octo/hello.
    what: str
    # GitHub's names of fields, where whoever asked knows them by others.
    fields: Mapping[str, str] = field(default_factory=dict)


def parse_github_error(
    response: HttpResponse, asked: RequestSubject, now: datetime
) -> Problem | None:
    """The problem behind an answer; None where it is a success."""
    limited = _limited(response, now)
    if limited is not None:
        return limited
    told = _TOLD.get(response.status)
    return parse_refusal(response, NAME) if told is None else told(response, asked)


def _limited(response: HttpResponse, now: datetime) -> UpstreamError | None:
    """Too many requests in an hour, or in a moment: nothing was done."""
    if response.status not in {403, 429}:
        return None
    headers = response.headers
    spent = headers.get("x-ratelimit-remaining", "").strip() == "0"
    pause = retry_after(headers)
    words = parse_error_detail(response).message.lower()
    if not (response.status == 429 or spent or pause is not None or "rate limit" in words):
        return None
    if pause is None and spent:
        pause = _until(headers.get("x-ratelimit-reset", ""), now)
    return UpstreamError(
        "GitHub asks for a pause: too many requests in a short time.",
        code="provider_busy",
        retry_after=_USUAL_PAUSE if pause is None else pause,
        unsent=True,
    )


def _until(reset: str, now: datetime) -> float | None:
    if not _EPOCH.fullmatch(reset.strip()):
        return None
    # A second more, for a clock that is not quite ours.
    return min(max(float(reset) - now.timestamp(), 0.0) + 1.0, LONGEST_PAUSE)


def _moved(response: HttpResponse, asked: RequestSubject) -> Problem:
    del response
    return Conflict(
        f"{asked.what} has another name by now, and nothing was written.",
        code="github_moved",
        suggestion="Look at GitHub what it is called now, and write that name.",
        unsent=True,
    )


def _unknown(response: HttpResponse, asked: RequestSubject) -> Problem:
    del response, asked
    return ReconnectRequired("GitHub does not accept this access any more.", code="github_access")


def _forbidden(response: HttpResponse, asked: RequestSubject) -> Problem:
    words = parse_error_detail(response).message
    if response.headers.get("x-github-sso", "").startswith("required"):
        return PermissionDenied(
            f"The organisation of {asked.what} wants its single sign-on to be used first.",
            code="github_single_sign_on",
            suggestion="At GitHub, let this application into that organisation.",
            unsent=True,
        )
    by_app = "not accessible by integration" in words.lower()
    return PermissionDenied(
        f"GitHub does not allow this account to do that in {asked.what}"
        + (f": {words}" if words else "."),
        code="github_forbidden",
        suggestion=_APP_PERMISSION if by_app else None,
        unsent=True,
    )


def _hidden(response: HttpResponse, asked: RequestSubject) -> Problem:
    del response
    return NotFound(
        f"{asked.what} is not there, or not visible to this account.",
        code="github_not_found",
        suggestion="Check how it is written, and that the connected account may see it.",
        unsent=True,
    )


def _gone(response: HttpResponse, asked: RequestSubject) -> Problem:
    words = parse_error_detail(response).message
    if "sunset" in response.headers or "deprecation" in response.headers:
        return UpstreamError(
            "GitHub has retired the version of its API that this installation uses.",
            code="github_version",
            retryable=False,
            suggestion="Update Mainspring.",
            unsent=True,
        )
    return NotFound(
        f"GitHub says that this is gone from {asked.what}" + (f": {words}" if words else "."),
        code="github_gone",
        unsent=True,
    )


def _not_valid(response: HttpResponse, asked: RequestSubject) -> Problem:
    words = parse_error_detail(response).message
    return Invalid(
        "GitHub does not accept this" + (f": {words}" if words else "."),
        code="github_invalid",
        findings=list(_findings(response.body, asked)),
        unsent=True,
    )


def _findings(body: bytes, asked: RequestSubject) -> Iterator[Finding]:
    """What is wrong with which field, as far as GitHub tells it."""
    try:
        entries = orjson.loads(body).get("errors")
    except (orjson.JSONDecodeError, AttributeError):
        return
    for entry in entries[:_MOST_FINDINGS] if isinstance(entries, list) else [entries]:
        if isinstance(entry, str) and entry:
            yield Finding("", format_one_line(entry), "github_invalid")
        elif isinstance(entry, Mapping):
            yield _finding(entry, asked)


def _finding(entry: Mapping[str, Any], asked: RequestSubject) -> Finding:
    named, code, words = (entry.get(key) for key in ("field", "code", "message"))
    place = named if isinstance(named, str) and _FIELD.fullmatch(named) else ""
    place = asked.fields.get(place, place)
    means = _MEANS.get(code if isinstance(code, str) else "", "is not accepted")
    detail = format_one_line(words) if isinstance(words, str) else f"GitHub says that this {means}."
    return Finding(f"/{place}" if place else "", detail, "github_invalid")


_TOLD: Final = {
    301: _moved,
    302: _moved,
    307: _moved,
    308: _moved,
    401: _unknown,
    403: _forbidden,
    404: _hidden,
    410: _gone,
    422: _not_valid,
}
