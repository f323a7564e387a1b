"""On-demand source: GitHub's issue and pull request search, as pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import MOST_FETCHED, ItemBatch, Source
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.partial_results import read_one
from mainspring.contracts.provider_responses import malformed_response_error
from mainspring.integrations.github.client import (
    NAME,
    GitHub,
    GitHubResponse,
    RequestSubject,
    parse_page,
)
from mainspring.integrations.github.mapping import issue_item

_USUAL: Final = 50
_PAGE: Final = 50
# GitHub accepts 256 characters, and a query that names no kind gets one appended.
_MOST_QUERY: Final = 256 - len(" is:issue")
_INCOMPLETE: Final = "GitHub took too long to look everywhere, so some may be missing."
INPUT: Final = build_object_schema(
    {
        "query": {
            "type": "string",
            "description": "As in GitHub's search: repo:octo/hello is:open label:bug login. "
            "Without "
            "is:issue or is:pr, both kinds are looked for.",
            "minLength": 1,
            "maxLength": _MOST_QUERY,
        },
        "limit": {
            "type": "integer",
            "description": "At most so many, the latest changed first.",
            "minimum": 1,
            "maximum": MOST_FETCHED,
            "default": _USUAL,
        },
    },
    ["query"],
    [
        {"query": "repo:octo/hello is:open is:issue"},
        {"query": "is:pr review-requested:@me", "limit": 20},
    ],
    [
        ({}, "nothing is looked for"),
        ({"query": ""}, "nothing is looked for"),
        ({"query": "is:open", "limit": 251}, "more than one call brings"),
    ],
)


def build_search_source(github: GitHub) -> Source:
    """Build the source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        limit = int(given.get("limit", _USUAL))
        if not isinstance((cursor or {}).get("places"), list):
            # A cursor of an earlier version: the search starts again.
            cursor = None
        brought = int((cursor or {}).get("brought", 0))
        entries: list[Any] = []
        following: list[list[Any]] = []
        cut = False
        for kind, page, size in _places(given["query"], cursor, min(_PAGE, limit)):
            found = await _search_page(github, ctx, f"{given['query']} {kind}".rstrip(), page, size)
            entries += found.value["items"]
            cut = cut or found.value.get("incomplete_results") is True
            if found.next is not None:
                following.append([kind, *parse_page(found.next, (page + 1, size))])
        if not _KIND.search(given["query"]):
            entries.sort(key=_get_changed_at, reverse=True)
        wanted = entries[: limit - brought]
        at = [f"github:search:{brought + n}" for n in range(len(wanted))]
        brought += len(wanted)
        more = bool(following) and brought < limit
        return ItemBatch(
            [
                read_one(place, partial(issue_item, one, place))
                for one, place in zip(wanted, at, strict=True)
            ],
            cursor={"places": following, "brought": brought} if more else None,
            more=more,
            note=_INCOMPLETE if cut else None,
        )

    return Source("github", INPUT, read, parse_request)


async def _search_page(
    github: GitHub, ctx: CallContext, query: str, page: int, size: int
) -> GitHubResponse:
    """Read one page of one search."""
    asked = {
        "q": query,
        "sort": "updated",
        "order": "desc",
        "per_page": str(size),
        "page": str(page),
    }
    what = RequestSubject("what is looked for", {"q": "query"})
    answer = await github.get(ctx, "/search/issues", asked, what)
    found = answer.value.get("items") if isinstance(answer.value, dict) else None
    if not isinstance(found, list):
        raise malformed_response_error(NAME)
    return answer


def _places(query: str, cursor: Mapping[str, Any] | None, size: int) -> list[tuple[str, int, int]]:
    """The searches to make: query suffix, page and page size of each.

    GitHub searches issues and pull requests one kind at a time for GitHub App user tokens, and
    refuses a query that names neither.
    """
    if cursor is not None:
        return [(str(kind), int(page), int(size)) for kind, page, size in cursor["places"]]
    kinds = ("",) if _KIND.search(query) or not query.strip() else ("is:issue", "is:pr")
    return [(kind, 1, size) for kind in kinds]


def _get_changed_at(entry: Any) -> str:
    return str(entry.get("updated_at") or "") if isinstance(entry, Mapping) else ""


_KIND: Final = re.compile(
    r"(?<![\w:.-])(?:is|type):(?:issue|pr|pull-request)s?(?![\w-])", re.IGNORECASE
)
_REPOSITORY: Final = re.compile(r"(?<![\w/:.])([A-Za-z0-9][\w-]{0,38}/[\w.-]{1,100}[\w-])(?![\w/])")
_QUALIFIED: Final = re.compile(r"(?<!\S)-?[a-z-]+:\S+")
_QUOTED: Final = re.compile(r"[\"“”']([^\"“”']{2,100})[\"“”']")
_DAYS: Final = re.compile(r"\b(?:last|past)\s+(\d{1,3})\s+(day|week)s?\b")
_WORDS: Final = (
    (r"\bopen(ed)?\b", "is:open"),
    (r"\bclosed\b", "is:closed"),
    (r"\bmerged\b", "is:merged"),
    (r"\b(pull requests?|prs?)\b", "is:pr"),
    (r"\bissues?\b", "is:issue"),
    (r"\bassigned to me\b", "assignee:@me"),
    (r"\b(my|mine|i opened|i wrote)\b", "author:@me"),
    (r"\bmention(s|ing|ed)? me\b", "mentions:@me"),
)


def parse_request(request: str, now: datetime) -> dict[str, Any]:
    """Parse a search from a sentence such as: open pull requests in octo/hello of the last 7
    days."""
    qualified = _QUALIFIED.findall(request)
    if qualified:
        return {"query": request.strip()[:_MOST_QUERY]}
    low = request.lower()
    found = [word for pattern, word in _WORDS if re.search(pattern, low)]
    if {"is:pr", "is:issue"} <= set(found):
        # A search that names neither kind returns both.
        found = [word for word in found if word not in {"is:pr", "is:issue"}]
    found += [f"repo:{name}" for name in _REPOSITORY.findall(request)[:5]]
    since = _since(low, now)
    found += [f"updated:>={since:%Y-%m-%d}"] if since else []
    found += [f'"{text}"' for text in _QUOTED.findall(request)[:3]]
    if "is:merged" in found and not {"is:pr", "is:issue"} & set(found):
        found.insert(found.index("is:merged") + 1, "is:pr")
    if not found or found in (["is:open"], ["is:closed"]):
        raise _unclear()
    return {"query": " ".join(found)[:_MOST_QUERY]}


def _since(low: str, now: datetime) -> datetime | None:
    counted = _DAYS.search(low)
    if counted is not None:
        return now - timedelta(days=int(counted[1]) * (7 if counted[2] == "week" else 1))
    for words, days in (("today", 0), ("yesterday", 1), ("last week", 7), ("this week", 7)):
        if words in low:
            return now - timedelta(days=days)
    return None


def _unclear() -> Invalid:
    detail = "It does not say what to look for at GitHub."
    return Invalid(
        detail,
        code="github_request",
        findings=[Finding("/request", detail, "github_request")],
        suggestion="Name a repository, as in: open issues in octo/hello. Or give input.query.",
    )
