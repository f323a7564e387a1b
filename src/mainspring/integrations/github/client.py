"""GitHub's REST API: the only place that knows its addresses and how it pages.

Lists are read by the links that GitHub sends along, never by counting. An answer may be larger
than what is taken from outside at once; then the same place is asked for in smaller pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import orjson

from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
from mainspring.contracts.errors import Problem, UpstreamError
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_answers import malformed_response_error, read_json
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText
from mainspring.integrations.github.refusals import NAME, RequestSubject, parse_github_error

USUAL: Final = "https://api.github.com"
VERSION: Final = "2022-11-28"
_SECONDS: Final = 30.0
# The way out has a bound of its own, which is usually smaller.
_MOST_BYTES: Final = 8_388_608
# A list that goes on without bringing anything is not followed for ever.
_SPARE_PAGES: Final = 20
_LINK: Final = re.compile(r'<([^<>]{1,4000})>((?:\s*;\s*[A-Za-z]+="?[^",;<>]*"?)+)')
_REL: Final = re.compile(r';\s*rel="?([^",;]*)"?')
_SMALL: Final = re.compile(r"[1-9][0-9]{0,5}")
_ETAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e]{1,200}"')


@dataclass(frozen=True, slots=True)
class GitHubResponse:
    """What a question brought: its value, where its list goes on, and its mark."""

    value: Any
    next: str | None = None
    # Sent along with the same question again, it is answered only when something changed.
    etag: str | None = None
    unchanged: bool = False


class GitHub:
    """GitHub's API at one address."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, host = resolve_base_address(addresses, "github", USUAL)
        self.hosts = frozenset({host})

    async def account(self, ctx: CallContext) -> str:
        """The login of whoever is connected."""
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
        """One answer; an unchanged one has no value. A page that is too large comes smaller."""
        url = self._base + path + (f"?{urlencode(query)}" if query else "")
        return await self._fitting(ctx, url, asked, etag)

    async def listed(
        self,
        ctx: CallContext,
        path: str,
        query: Mapping[str, str],
        size: int,
        most: int,
        asked: RequestSubject,
    ) -> tuple[list[Any], bool]:
        """A list to its end, or to the most that is wanted; and whether there was more."""
        found: list[Any] = []
        query = {**query, "per_page": str(min(size, most))}
        url: str | None = f"{self._base}{path}?{urlencode(query)}"
        for _ in range(most + _SPARE_PAGES):
            if url is None or len(found) >= most:
                break
            answer = await self._fitting(ctx, url, asked)
            if not isinstance(answer.value, list):
                raise malformed_response_error(NAME)
            found += answer.value
            url = answer.next
        return found[:most], url is not None or len(found) > most

    async def post(
        self, ctx: CallContext, path: str, body: Mapping[str, Any], asked: RequestSubject
    ) -> dict[str, Any]:
        """Writes something; a place that has moved is told and not followed."""
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
        found = _checked(ctx, response, asked)
        if not isinstance(found, dict):
            raise malformed_response_error(NAME)
        return found

    async def _fitting(
        self, ctx: CallContext, url: str, asked: RequestSubject, etag: str | None = None
    ) -> GitHubResponse:
        """The answer, in smaller pages where it is too large for the way out."""
        while True:
            try:
                return await self._got(ctx, url, asked, etag)
            except UpstreamError as error:
                smaller = _smaller(url) if error.code == "response_too_large" else None
                if smaller is None:
                    raise
                # The mark was given for pages of the other size.
                url, etag = smaller, None

    async def _got(
        self, ctx: CallContext, url: str, asked: RequestSubject, etag: str | None
    ) -> GitHubResponse:
        headers = _headers(ctx)
        if etag is not None:
            headers["If-None-Match"] = etag
        response = await ctx.http.send(
            HttpRequest("GET", url, headers, {}, None, _SECONDS, _MOST_BYTES)
        )
        if response.status == 304 and etag is not None:
            return GitHubResponse(None, etag=etag, unchanged=True)
        value = _checked(ctx, response, asked)
        return GitHubResponse(value, self._next(response), mark_of(response.headers))

    def _next(self, response: HttpResponse) -> str | None:
        """Where the list goes on; somewhere else would be given the token, so it is refused."""
        url = parse_next_link(response.headers.get("link", ""))
        if url is not None and not url.startswith(f"{self._base}/"):
            raise malformed_response_error(NAME)
        return url


def build_repository_path(owner: str, repo: str, *parts: str) -> str:
    """The path of something in a repository."""
    return "/" + "/".join(quote(part, safe="") for part in ("repos", owner, repo, *parts))


def parse_next_link(header: str) -> str | None:
    """The address of the next page in a Link header."""
    for found in _LINK.finditer(header):
        rel = _REL.search(found[2])
        if rel is not None and "next" in rel[1].split():
            return found[1]
    return None


def parse_page(url: str | None, usual: tuple[int, int]) -> tuple[int, int]:
    """The page that an address leads to and its size; what it does not say is as usual."""
    query = dict(parse_qsl(urlsplit(url or "").query))
    said = (query.get("page", ""), query.get("per_page", ""))
    page, size = (
        int(text) if _SMALL.fullmatch(text) else known
        for text, known in zip(said, usual, strict=True)
    )
    return page, size


def mark_of(headers: Mapping[str, str]) -> str | None:
    """The mark of an answer, where it can be sent back as it is."""
    text = headers.get("etag", "").strip()
    return text if _ETAG.fullmatch(text) else None


def _smaller(url: str) -> str | None:
    """The same place of a list in pages of half the size; None: one entry alone is too large."""
    split = urlsplit(url)
    query = dict(parse_qsl(split.query))
    page, size = parse_page(url, (1, 1))
    if size <= 1:
        return None
    half = size // 2
    if page > 1 and not {"after", "before"} & query.keys():
        before = (page - 1) * size
        # The entries before must fill whole pages.
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


def _checked(ctx: CallContext, response: HttpResponse, asked: RequestSubject) -> Any:
    problem: Problem | None = parse_github_error(response, asked, ctx.clock.now())
    if problem is not None:
        raise problem
    return read_json(response, NAME)
