"""GitHub REST API client.

Lists follow GitHub's Link headers. A response may exceed the size limit; then the same position is
requested in smaller pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import orjson

from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
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
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_responses import (
    LONGEST_PAUSE,
    format_one_line,
    malformed_response_error,
    parse_error_detail,
    parse_refusal,
    read_json,
    retry_after,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

# GitHub's errors as problems with remedies.

NAME: Final = "GitHub"
# The retry delay when GitHub gives none, as it recommends.
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
    """What a request concerns, for error messages."""

    # Such as octo/hello.
    what: str
    # GitHub's field names mapped to the caller's.
    fields: Mapping[str, str] = field(default_factory=dict)


def parse_github_error(
    response: HttpResponse, subject: RequestSubject, now: datetime
) -> Problem | None:
    """Map an error response to a problem; None when it succeeded."""
    limited = _read_rate_limit(response, now)
    if limited is not None:
        return limited
    told = _TOLD.get(response.status)
    return parse_refusal(response, NAME) if told is None else told(response, subject)


def _read_rate_limit(response: HttpResponse, now: datetime) -> UpstreamError | None:
    """Primary or secondary rate limit: nothing was done."""
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
    # One extra second for clock differences.
    return min(max(float(reset) - now.timestamp(), 0.0) + 1.0, LONGEST_PAUSE)


def _build_moved_error(response: HttpResponse, subject: RequestSubject) -> Problem:
    del response
    return Conflict(
        f"{subject.what} has another name by now, and nothing was written.",
        code="github_moved",
        suggestion="Find its current name on GitHub, and use that.",
        unsent=True,
    )


def _unknown(response: HttpResponse, subject: RequestSubject) -> Problem:
    del response, subject
    return ReconnectRequired("GitHub does not accept this access any more.", code="github_access")


def _forbidden(response: HttpResponse, subject: RequestSubject) -> Problem:
    text = parse_error_detail(response).message
    if response.headers.get("x-github-sso", "").startswith("required"):
        return PermissionDenied(
            f"The organisation of {subject.what} requires single sign-on first.",
            code="github_single_sign_on",
            suggestion="At GitHub, let this application into that organisation.",
            unsent=True,
        )
    by_app = "not accessible by integration" in text.lower()
    return PermissionDenied(
        f"GitHub does not allow this account to do that in {subject.what}"
        + (f": {text}" if text else "."),
        code="github_forbidden",
        suggestion=_APP_PERMISSION if by_app else None,
        unsent=True,
    )


def _build_hidden_error(response: HttpResponse, subject: RequestSubject) -> Problem:
    del response
    return NotFound(
        f"{subject.what} is not there, or not visible to this account.",
        code="github_not_found",
        suggestion="Check how it is written, and that the connected account may see it.",
        unsent=True,
    )


def _build_gone_problem(response: HttpResponse, subject: RequestSubject) -> Problem:
    text = parse_error_detail(response).message
    if "sunset" in response.headers or "deprecation" in response.headers:
        return UpstreamError(
            "GitHub has retired the version of its API that this installation uses.",
            code="github_version",
            retryable=False,
            suggestion="Update Mainspring.",
            unsent=True,
        )
    return NotFound(
        f"GitHub reports that this is deleted in {subject.what}" + (f": {text}" if text else "."),
        code="github_gone",
        unsent=True,
    )


def _not_valid(response: HttpResponse, subject: RequestSubject) -> Problem:
    text = parse_error_detail(response).message
    return Invalid(
        "GitHub does not accept this" + (f": {text}" if text else "."),
        code="github_invalid",
        findings=list(_findings(response.body, subject)),
        unsent=True,
    )


def _findings(body: bytes, subject: RequestSubject) -> Iterator[Finding]:
    """Map GitHub's field errors to findings."""
    try:
        entries = orjson.loads(body).get("errors")
    except (orjson.JSONDecodeError, AttributeError):
        return
    for entry in entries[:_MOST_FINDINGS] if isinstance(entries, list) else [entries]:
        if isinstance(entry, str) and entry:
            yield Finding("", format_one_line(entry), "github_invalid")
        elif isinstance(entry, Mapping):
            yield _finding(entry, subject)


def _finding(entry: Mapping[str, Any], subject: RequestSubject) -> Finding:
    named, code, words = (entry.get(key) for key in ("field", "code", "message"))
    place = named if isinstance(named, str) and _FIELD.fullmatch(named) else ""
    place = subject.fields.get(place, place)
    means = _MEANS.get(code if isinstance(code, str) else "", "is not accepted")
    detail = format_one_line(words) if isinstance(words, str) else f"GitHub says that this {means}."
    return Finding(f"/{place}" if place else "", detail, "github_invalid")


_TOLD: Final = {
    301: _build_moved_error,
    302: _build_moved_error,
    307: _build_moved_error,
    308: _build_moved_error,
    401: _unknown,
    403: _forbidden,
    404: _build_hidden_error,
    410: _build_gone_problem,
    422: _not_valid,
}


USUAL: Final = "https://api.github.com"
VERSION: Final = "2022-11-28"
_SECONDS: Final = 30.0
# Egress has its own limit, which is usually smaller.
_MOST_BYTES: Final = 8_388_608
# A list that pages without entries is not followed for ever.
_SPARE_PAGES: Final = 20
_LINK: Final = re.compile(r'<([^<>]{1,4000})>((?:\s*;\s*[A-Za-z]+="?[^",;<>]*"?)+)')
_REL: Final = re.compile(r';\s*rel="?([^",;]*)"?')
_SMALL: Final = re.compile(r"[1-9][0-9]{0,5}")
_ETAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e]{1,200}"')


@dataclass(frozen=True, slots=True)
class GitHubResponse:
    """A response: its value, the next page, and its ETag."""

    value: Any
    next: str | None = None
    # Sent with the same request again, for a 304 when unchanged.
    etag: str | None = None
    unchanged: bool = False


class GitHub:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, host = resolve_base_address(addresses, "github", USUAL)
        self.hosts = frozenset({host})

    async def account(self, ctx: CallContext) -> str:
        """Return the connected user's login."""
        found = (await self.get(ctx, "/user", {}, RequestSubject("this account"))).value
        login = found.get("login") if isinstance(found, dict) else None
        if not isinstance(login, str) or not login:
            raise malformed_response_error(NAME)
        return login

    async def get(
        self,
        ctx: CallContext,
        path: str,
        query: Mapping[str, str],
        asked: RequestSubject,
        etag: str | None = None,
    ) -> GitHubResponse:
        """GET; an unchanged response has no value. A too large page is requested in smaller
        ones."""
        url = self._base + path + (f"?{urlencode(query)}" if query else "")
        return await self._fitting(ctx, url, asked, etag)

    async def list_all(
        self,
        ctx: CallContext,
        path: str,
        query: Mapping[str, str],
        size: int,
        most: int,
        subject: RequestSubject,
    ) -> tuple[list[Any], bool]:
        """Read a list to its end or a limit; return whether there is more."""
        found: list[Any] = []
        query = {**query, "per_page": str(min(size, most))}
        url: str | None = f"{self._base}{path}?{urlencode(query)}"
        for _ in range(most + _SPARE_PAGES):
            if url is None or len(found) >= most:
                break
            answer = await self._fitting(ctx, url, subject)
            if not isinstance(answer.value, list):
                raise malformed_response_error(NAME)
            found += answer.value
            url = answer.next
        return found[:most], url is not None or len(found) > most

    async def post(
        self, ctx: CallContext, path: str, body: Mapping[str, Any], asked: RequestSubject
    ) -> dict[str, Any]:
        """POST; redirects are reported and not followed."""
        response = await ctx.http.send(
            HttpRequest(
                method="POST",
                url=self._base + path,
                headers={**_headers(ctx), "Content-Type": "application/json"},
                query={},
                body=orjson.dumps(body),
                timeout_seconds=_SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )
        found = _check_response(ctx, response, asked)
        if not isinstance(found, dict):
            raise malformed_response_error(NAME)
        return found

    async def delete(self, ctx: CallContext, path: str, asked: RequestSubject) -> None:
        """DELETE; what is not there counts as deleted."""
        response = await ctx.http.send(
            HttpRequest(
                method="DELETE",
                url=self._base + path,
                headers=_headers(ctx),
                query={},
                body=None,
                timeout_seconds=_SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )
        problem = parse_github_error(response, asked, ctx.clock.now())
        if problem is not None and response.status != 404:
            raise problem

    async def _fitting(
        self, ctx: CallContext, url: str, subject: RequestSubject, etag: str | None = None
    ) -> GitHubResponse:
        """Request, in smaller pages when the response is too large."""
        while True:
            try:
                return await self._got(ctx, url, subject, etag)
            except UpstreamError as error:
                smaller = _smaller(url) if error.code == "response_too_large" else None
                if smaller is None:
                    raise
                # The ETag belongs to the other page size.
                url, etag = smaller, None

    async def _got(
        self, ctx: CallContext, url: str, subject: RequestSubject, etag: str | None
    ) -> GitHubResponse:
        headers = _headers(ctx)
        if etag is not None:
            headers["If-None-Match"] = etag
        response = await ctx.http.send(
            HttpRequest("GET", url, headers, {}, None, _SECONDS, _MOST_BYTES)
        )
        if response.status == 304 and etag is not None:
            return GitHubResponse(None, etag=etag, unchanged=True)
        value = _check_response(ctx, response, subject)
        return GitHubResponse(value, self._next(response), mark_of(response.headers))

    def _next(self, response: HttpResponse) -> str | None:
        """The next page; another host would receive the token, so it is rejected."""
        url = parse_next_link(response.headers.get("link", ""))
        if url is not None and not url.startswith(f"{self._base}/"):
            raise malformed_response_error(NAME)
        return url


def build_repository_path(owner: str, repo: str, *parts: str) -> str:
    """Build the path of something in a repository."""
    return "/" + "/".join(quote(part, safe="") for part in ("repos", owner, repo, *parts))


def parse_next_link(header: str) -> str | None:
    """Parse the next page's URL from a Link header."""
    for found in _LINK.finditer(header):
        rel = _REL.search(found[2])
        if rel is not None and "next" in rel[1].split():
            return found[1]
    return None


def parse_page(url: str | None, usual: tuple[int, int]) -> tuple[int, int]:
    """Parse page number and size of a URL, with defaults."""
    query = dict(parse_qsl(urlsplit(url or "").query))
    said = (query.get("page", ""), query.get("per_page", ""))
    page, size = (
        int(text) if _SMALL.fullmatch(text) else known
        for text, known in zip(said, usual, strict=True)
    )
    return page, size


def mark_of(headers: Mapping[str, str]) -> str | None:
    """Return a response's ETag, if it can be sent back unchanged."""
    text = headers.get("etag", "").strip()
    return text if _ETAG.fullmatch(text) else None


def _smaller(url: str) -> str | None:
    """Return the same position with half the page size; None: a single entry is too large."""
    split = urlsplit(url)
    query = dict(parse_qsl(split.query))
    page, size = parse_page(url, (1, 1))
    if size <= 1:
        return None
    half = size // 2
    if page > 1 and not {"after", "before"} & query.keys():
        before = (page - 1) * size
        # The preceding entries must fill whole pages.
        while before % half:
            half -= 1
        query["page"] = str(before // half + 1)
    return split._replace(query=urlencode({**query, "per_page": str(half)})).geturl()


def _headers(ctx: CallContext) -> dict[str, str | SecretText]:
    headers: dict[str, str | SecretText] = {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": VERSION,
    }
    if ctx.account is not None:
        headers["Authorization"] = SecretText(("Bearer ", CONNECTION_TOKEN))
    return headers


def _check_response(ctx: CallContext, response: HttpResponse, subject: RequestSubject) -> Any:
    problem: Problem | None = parse_github_error(response, subject, ctx.clock.now())
    if problem is not None:
        raise problem
    return read_json(response, NAME)
