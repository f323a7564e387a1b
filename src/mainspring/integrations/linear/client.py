"""Linear GraphQL API client.

Linear reports errors with status 200 or 400 in ``errors``; the code there decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
from mainspring.contracts.errors import (
    Invalid,
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
    parse_refusal,
    retry_after,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

# Linear's responses: data, or a problem with a remedy.

NAME: Final = "Linear"
_USUAL_PAUSE: Final = 60.0
# Errors are short; large responses are not parsed twice to find one.
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
# Linear's internal errors, which also have status 200 or 400.
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
    """Return a response's data; partial data next to an error is discarded."""
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
    """Report whether a response with status 200 or 400 says that the token is invalid."""
    body = _object(response.body) if len(response.body) <= _LONGEST_REFUSAL else None
    errors = None if body is None else body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    more = first.get("extensions") if isinstance(first, Mapping) else None
    return isinstance(more, Mapping) and bool(_names(more) & _RECONNECT)


def pause_of(headers: Mapping[str, str], now: datetime) -> float:
    """The retry delay: as requested, or until the rate limit resets."""
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
    # Internal errors use the same field as ours.
    internal = "internal server error" in said.lower()
    later = response.status >= 500 or bool(names & _LATER) or internal
    return UpstreamError(
        _sentence("Linear failed", said),
        code="provider_failed",
        retryable=later,
        retry_after=retry_after(response.headers) if later else None,
    )


def _names(more: Mapping[str, Any]) -> frozenset[str]:
    """Linear's error code and type, normalized."""
    words = [more.get(name) for name in ("code", "type")]
    spelt = [word.upper().replace(" ", "_") for word in words if isinstance(word, str)]
    return frozenset(one for one in spelt if _WORD.fullmatch(one))


def _sentence(begin: str, text: str) -> str:
    return f"{begin}: {text}" if text else f"{begin}."


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


USUAL: Final = "https://api.linear.app/graphql"
_SECONDS: Final = 30.0
_MOST_BYTES: Final = 8_388_608

_ISSUE: Final = """
  id identifier title description @include(if: $whole) url priority
  createdAt updatedAt completedAt canceledAt dueDate
  state { name type } team { key name } assignee { name } creator { name }
  labels(first: 20) { nodes { name } }
"""
_VIEWER: Final = "query { viewer { name email organization { name } } }"
_CHANGED: Final = (
    "query ($first: Int!, $after: String, $filter: IssueFilter, $whole: Boolean!) {"
    " issues(first: $first, after: $after, filter: $filter, orderBy: updatedAt) {"
    f" nodes {{ {_ISSUE} }} pageInfo {{ hasNextPage endCursor }} }} }}"
)
_SEARCHED: Final = (
    "query ($first: Int!, $after: String, $term: String!, $whole: Boolean!) {"
    " searchIssues(first: $first, after: $after, term: $term) {"
    f" nodes {{ {_ISSUE} }} pageInfo {{ hasNextPage endCursor }} }} }}"
)
_TEAM: Final = (
    "query ($filter: TeamFilter!) { teams(first: 2, filter: $filter) { nodes { id key name } } }"
)
_USER: Final = "query ($filter: UserFilter!) { users(first: 2, filter: $filter) { nodes { id } } }"
_LABELS: Final = (
    "query ($filter: IssueLabelFilter!) {"
    " issueLabels(first: 250, filter: $filter) { nodes { id name team { id } } } }"
)
_MADE: Final = "id identifier title url"
_CREATE: Final = (
    "mutation ($input: IssueCreateInput!) {"
    f" issueCreate(input: $input) {{ success issue {{ {_MADE} }} }} }}"
)
_ONE: Final = f"query ($id: String!) {{ issue(id: $id) {{ {_MADE} }} }}"


@dataclass(frozen=True, slots=True)
class IssuePage:
    """A page of issues, with the cursor."""

    nodes: list[Any]
    after: str | None = None


class Linear:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._url, host = resolve_base_address(addresses, "linear", USUAL)
        self.hosts = frozenset({host})

    async def account(self, ctx: CallContext) -> str:
        """Return the connected user and workspace."""
        viewer = _part(await self._ask(ctx, _VIEWER, {}), "viewer")
        email, name = viewer.get("email"), _part(viewer, "organization").get("name")
        if not isinstance(email, str) or not isinstance(name, str):
            raise malformed_response_error(NAME)
        return f"{email} ({name})"

    async def list_changed(
        self, ctx: CallContext, since: str | None, after: str | None, size: int
    ) -> IssuePage:
        """List issues changed since a time, latest first."""
        wanted = {"updatedAt": {"gte": since}} if since else None
        return await self._page(ctx, _CHANGED, "issues", {"after": after, "filter": wanted}, size)

    async def search(self, ctx: CallContext, term: str, after: str | None, size: int) -> IssuePage:
        """List issues by Linear's search."""
        return await self._page(
            ctx, _SEARCHED, "searchIssues", {"after": after, "term": term}, size
        )

    async def teams(self, ctx: CallContext, wanted: Mapping[str, Any]) -> list[Any]:
        """Return up to two matching teams, to detect ambiguity."""
        return _nodes(await self._ask(ctx, _TEAM, {"filter": wanted}), "teams")

    async def users(self, ctx: CallContext, wanted: Mapping[str, Any]) -> list[Any]:
        """Return up to two matching users."""
        return _nodes(await self._ask(ctx, _USER, {"filter": wanted}), "users")

    async def labels(self, ctx: CallContext, wanted: Mapping[str, Any]) -> list[Any]:
        """Return matching labels of all teams."""
        return _nodes(await self._ask(ctx, _LABELS, {"filter": wanted}), "issueLabels")

    async def create(self, ctx: CallContext, issue: Mapping[str, Any]) -> dict[str, Any]:
        """Create an issue under the given id, or return the existing one."""
        try:
            made = _part(await self._ask(ctx, _CREATE, {"input": issue}), "issueCreate")
        except Invalid:
            found = await self._find_issue(ctx, str(issue["id"]))
            if found is None:
                raise
            return found
        if made.get("success") is not True:
            raise UpstreamError(
                "Linear did not make the issue.", code="linear_not_made", retryable=False
            )
        return _part(made, "issue")

    async def _find_issue(self, ctx: CallContext, named: str) -> dict[str, Any] | None:
        """Return an issue by id; Linear reports a missing one as an error."""
        try:
            found = (await self._ask(ctx, _ONE, {"id": named})).get("issue")
        except Invalid:
            return None
        return found if isinstance(found, dict) else None

    async def _page(
        self,
        ctx: CallContext,
        document: str,
        field: str,
        variables: dict[str, Any],
        size: int,
        *,
        whole: bool = True,
    ) -> IssuePage:
        """Read a page, in a smaller size when the response is too large.

        A single issue that is too large is read without its description.
        """
        try:
            asked = {**variables, "first": size, "whole": whole}
            listed = _part(await self._ask(ctx, document, asked), field)
        except UpstreamError as error:
            if error.code != "response_too_large" or not whole:
                raise
            half = max(size // 2, 1)
            return await self._page(ctx, document, field, variables, half, whole=size > 1)
        nodes, info = listed.get("nodes"), _part(listed, "pageInfo")
        after = info.get("endCursor") if info.get("hasNextPage") is True else None
        if not isinstance(nodes, list) or not isinstance(after, str | None):
            raise malformed_response_error(NAME)
        return IssuePage(nodes, after)

    async def _ask(
        self, ctx: CallContext, document: str, variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        response = await ctx.http.send(
            HttpRequest(
                method="POST",
                url=self._url,
                headers={
                    "Authorization": SecretText(("Bearer ", CONNECTION_TOKEN)),
                    "Content-Type": "application/json",
                },
                query={},
                body=orjson.dumps({"query": document, "variables": variables}),
                timeout_seconds=_SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )
        return parse_data(response, ctx.clock.now())


def _part(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    if not isinstance(found, dict):
        raise malformed_response_error(NAME)
    return found


def _nodes(data: Mapping[str, Any], name: str) -> list[Any]:
    nodes = _part(data, name).get("nodes")
    if not isinstance(nodes, list):
        raise malformed_response_error(NAME)
    return nodes
