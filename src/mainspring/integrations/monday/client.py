"""monday.com GraphQL API client.

It also reports errors with status 200 in ``errors``. Items are paged by cursor, boards by page
number.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
from mainspring.contracts.errors import (
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
    parse_refusal,
    retry_after,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

# monday.com's responses: data, or a problem with a remedy.

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
    """Return a response's data; partial data next to an error is discarded."""
    body = _object(response.body)
    if body is not None:
        problem = _parse_problem(body, response)
        if problem is not None:
            raise problem
    problem = parse_refusal(response, NAME)
    if problem is not None:
        raise problem
    data = None if body is None else body.get("data")
    if not isinstance(data, dict):
        raise malformed_response_error(NAME)
    return data


def _parse_problem(body: Mapping[str, Any], response: HttpResponse) -> Problem | None:
    """Return the problem that a body reports, if any."""
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


def _meaning(word: str, status: Any, text: str, pause: float) -> Problem:
    said = f": {format_one_line(text)}" if text else "."
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
            f"monday.com did not find this, or does not show it to this account{said}",
            code="monday_not_found",
            unsent=True,
        )
    later = any(one in word for one in _LATER) or (isinstance(status, int) and status >= 500)
    if later:
        return UpstreamError(f"monday.com failed{said}", code="provider_failed", retry_after=pause)
    return Invalid(f"monday.com does not accept this{said}", code="monday_invalid", unsent=True)


def _pause(more: Mapping[str, Any], text: str, response: HttpResponse) -> float:
    """The retry delay, from wherever it is given."""
    asked = retry_after(response.headers)
    if asked is not None:
        return asked
    seconds = more.get("retry_in_seconds")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        return min(float(seconds), LONGEST_PAUSE)
    reset = _RESET.search(text)
    return float(reset[1]) if reset is not None else _USUAL_PAUSE


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


USUAL: Final = "https://api.monday.com/v2"
VERSION: Final = "2026-07"
_SECONDS: Final = 30.0
_MOST_BYTES: Final = 8_388_608
_ITEMS: Final = 50
_BOARDS: Final = 100
_SPARE_PAGES: Final = 20

_ITEM: Final = """
  id name state created_at updated_at url group { title }
  column_values {
    id type text
    ... on BoardRelationValue { display_value }
    ... on DependencyValue { display_value }
    ... on MirrorValue { display_value }
  }
"""
_ME: Final = "query { me { name email account { name } } }"
_FIRST: Final = (
    "query ($board: [ID!], $limit: Int!) { boards(ids: $board) { id name columns { id title type }"
    f" items_page(limit: $limit) {{ cursor items {{ {_ITEM} }} }} }} }}"
)
_NEXT: Final = (
    "query ($cursor: String!, $limit: Int!) { next_items_page(cursor: $cursor, limit: $limit)"
    f" {{ cursor items {{ {_ITEM} }} }} }}"
)
_LISTED: Final = (
    "query ($page: Int!, $limit: Int!) { boards(page: $page, limit: $limit) {"
    " id name state board_kind workspace_id items_count updated_at url } }"
)
_UPDATE: Final = (
    "mutation ($item: ID!, $body: String!) {"
    " create_update(item_id: $item, body: $body) { id item_id } }"
)


@dataclass(frozen=True, slots=True)
class BoardItems:
    """A board's columns and items."""

    columns: list[Any]
    items: list[Any] = field(default_factory=list)
    # Whether there are more than the limit.
    more: bool = False


class Monday:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._url, host = resolve_base_address(addresses, "monday", USUAL)
        self.hosts = frozenset({host})

    async def account(self, ctx: CallContext) -> str:
        """Return the connected user and account."""
        me = (await self._ask(ctx, _ME, {})).get("me")
        found = me if isinstance(me, dict) else {}
        email, account = found.get("email"), found.get("account")
        name = account.get("name") if isinstance(account, dict) else None
        if not isinstance(email, str) or not isinstance(name, str):
            raise malformed_response_error(NAME)
        return f"{email} ({name})"

    async def items(self, ctx: CallContext, board_id: str, most: int) -> BoardItems:
        """List a board's items, up to a limit."""

        async def first(limit: int) -> dict[str, Any]:
            return await self._ask(ctx, _FIRST, {"board": [board_id], "limit": limit})

        size, data = await _fitting(first, min(_ITEMS, most))
        board = _board(data, board_id)
        columns, page = board.get("columns"), board.get("items_page")
        if not isinstance(columns, list):
            raise malformed_response_error(NAME)
        items, cursor = _page(page)
        for _ in range(most + _SPARE_PAGES):
            if cursor is None or len(items) >= most:
                break
            place = cursor

            async def rest(limit: int, place: str = place) -> dict[str, Any]:
                return await self._ask(ctx, _NEXT, {"cursor": place, "limit": limit})

            size, data = await _fitting(rest, size)
            found, cursor = _page(data.get("next_items_page"))
            items += found
        return BoardItems(columns, items[:most], cursor is not None or len(items) > most)

    async def boards(self, ctx: CallContext, most: int) -> tuple[list[Any], bool]:
        """List the account's boards, and whether there are more than the limit."""
        found: list[Any] = []
        size = min(_BOARDS, most)
        for page in range(1, most // size + _SPARE_PAGES):
            data = await self._ask(ctx, _LISTED, {"page": page, "limit": size})
            boards = data.get("boards")
            if not isinstance(boards, list):
                raise malformed_response_error(NAME)
            found += boards
            if len(boards) < size:
                return found[:most], len(found) > most
            if len(found) > most:
                break
        return found[:most], True

    async def post_update(self, ctx: CallContext, item_id: str, body: str) -> str:
        """Post an update on an item; return its id."""
        made = (await self._ask(ctx, _UPDATE, {"item": item_id, "body": body})).get("create_update")
        named = made.get("id") if isinstance(made, dict) else None
        if not isinstance(named, str | int):
            raise malformed_response_error(NAME)
        return str(named)

    async def _ask(
        self, ctx: CallContext, document: str, variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        response = await ctx.http.send(
            HttpRequest(
                method="POST",
                url=self._url,
                headers={
                    "Authorization": SecretText((CONNECTION_TOKEN,)),
                    "API-Version": VERSION,
                    "Content-Type": "application/json",
                },
                query={},
                body=orjson.dumps({"query": document, "variables": variables}),
                timeout_seconds=_SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )
        return parse_data(response)


async def _fitting(
    ask: Callable[[int], Awaitable[dict[str, Any]]], size: int
) -> tuple[int, dict[str, Any]]:
    """Read a page, in a smaller size when the response is too large; return that size."""
    try:
        return size, await ask(size)
    except UpstreamError as error:
        if error.code != "response_too_large" or size <= 1:
            raise
    return await _fitting(ask, size // 2)


def _board(data: Mapping[str, Any], board_id: str) -> dict[str, Any]:
    """Return the requested board; for an inaccessible one the response is empty."""
    boards = data.get("boards")
    if not isinstance(boards, list) or not all(isinstance(one, dict) for one in boards):
        raise malformed_response_error(NAME)
    if not boards:
        raise NotFound(
            f"Board {board_id} is not there, or not visible to this account.",
            code="monday_not_found",
            suggestion="Check the number in the board's address, and who may see the board.",
        )
    return dict(boards[0])


def _page(value: Any) -> tuple[list[Any], str | None]:
    found = value if isinstance(value, dict) else {}
    items, cursor = found.get("items"), found.get("cursor")
    if not isinstance(items, list) or not isinstance(cursor, str | None):
        raise malformed_response_error(NAME)
    return items, cursor or None
