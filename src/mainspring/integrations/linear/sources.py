"""Linear source and poll: search on demand, and changed issues on a schedule.

The poll reads from the latest change backwards, page by page, to where the previous poll started.
Only a completed poll advances that time, so an interrupted one is repeated and loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, UpstreamError
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.partial_results import read_one
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.linear.client import Linear
from mainspring.integrations.linear.events import ISSUE_CREATED

# Mapping issues to pages. The content is untrusted text.

_TITLE: Final = 400
_NEEDED: Final = ("id", "identifier", "title", "url", "createdAt", "updatedAt")
_PRIORITIES: Final = ("none", "urgent", "high", "medium", "low")


def issue_item(node: Any, place: str, told_from: datetime | None = None) -> Item | UnreadableItem:
    """Map an issue to a page; published when created after a time."""
    entry = node if isinstance(node, Mapping) else {}
    for name in _NEEDED:
        if not isinstance(entry.get(name), str) or not entry[name]:
            return UnreadableItem(place, _unreadable(name))
    made = parse_time(entry["createdAt"])
    tells = told_from is not None and made is not None and made >= told_from
    values = _values(entry)
    shown = {key: values[key] for key in _TOLD} | {"title": entry["title"], "id": entry["id"]}
    return Item(
        source_ref=f"linear:issue:{entry['id']}",
        type="linear_issue",
        title=format_one_line(f"{entry['identifier']} {entry['title']}", _TITLE),
        body=entry["description"] if isinstance(entry.get("description"), str) else "",
        frontmatter=values,
        event=ISSUE_CREATED if tells else None,
        payload=shown if tells else {},
    )


def parse_time(text: Any) -> datetime | None:
    """Parse a Linear time; None when invalid."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (TypeError, ValueError, OverflowError):
        return None


_TOLD: Final = ("identifier", "url", "team", "state", "assignee", "created_at")


def _values(entry: Mapping[str, Any]) -> dict[str, Any]:
    priority = entry.get("priority")
    known = isinstance(priority, int | float) and priority in range(len(_PRIORITIES))
    return {
        "identifier": entry["identifier"],
        "url": entry["url"],
        "team": _inner(entry, "team", "key"),
        "state": _inner(entry, "state", "name"),
        "assignee": _inner(entry, "assignee", "name"),
        "creator": _inner(entry, "creator", "name"),
        "priority": _PRIORITIES[int(priority)] if known and priority is not None else None,
        "labels": _labels(entry.get("labels")),
        "due_date": _text(entry.get("dueDate")),
        "created_at": entry["createdAt"],
        "updated_at": entry["updatedAt"],
        "completed_at": _text(entry.get("completedAt")),
        "canceled_at": _text(entry.get("canceledAt")),
    }


def _labels(value: Any) -> list[str]:
    nodes = value.get("nodes") if isinstance(value, Mapping) else None
    found = nodes if isinstance(nodes, list) else []
    return [one["name"] for one in found if isinstance(_inner({"x": one}, "x", "name"), str)]


def _inner(entry: Mapping[str, Any], name: str, inner: str) -> str | None:
    part = entry.get(name)
    return _text(part.get(inner)) if isinstance(part, Mapping) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _unreadable(missing: str) -> UpstreamError:
    return UpstreamError(
        f"Linear sent an issue that cannot be read: it lacks {missing}.",
        code="linear_entry",
        retryable=False,
    )


_USUAL: Final = 50
_PAGE: Final = 25
# How far back the first poll goes, and the overlap for clock differences.
_FIRST: Final = timedelta(days=14)
_OVERLAP: Final = timedelta(seconds=30)
INPUT: Final = build_object_schema(
    {
        "query": {
            "type": "string",
            "description": "Words to search for. Default: the issues changed last.",
            "minLength": 1,
            "maxLength": 500,
        },
        "limit": {
            "type": "integer",
            "description": "At most so many.",
            "minimum": 1,
            "maximum": MOST_FETCHED,
            "default": _USUAL,
        },
    },
    [],
    [{"query": "the door"}, {"limit": 20}],
    [
        ({"query": ""}, "nothing is looked for"),
        ({"limit": 251}, "more than one call brings"),
        ({"team": "ENG"}, "a search is words alone"),
    ],
)


def build_search_source(linear: Linear) -> Source:
    """Build the source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        limit, query = int(given.get("limit", _USUAL)), given.get("query")
        after = cursor["after"] if cursor else None
        brought = int(cursor["brought"]) if cursor else 0
        size = min(_PAGE, limit - brought)
        if query is None:
            page = await linear.list_changed(ctx, None, after, size)
        else:
            page = await linear.search(ctx, query, after, size)
        nodes = page.nodes[: limit - brought]
        at = [f"linear:search:{brought + n}" for n in range(len(nodes))]
        items = [
            read_one(ref, partial(issue_item, one, ref)) for ref, one in zip(at, nodes, strict=True)
        ]
        brought += len(nodes)
        more = page.after is not None and brought < limit
        return ItemBatch(items, {"after": page.after, "brought": brought} if more else None, more)

    return Source("linear", INPUT, read, parse_request)


def build_issues_poll(linear: Linear) -> Poll:
    """Build the poll for new and changed issues."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given
        now, place = ctx.clock.now(), cursor or {}
        began = parse_time(place.get("began")) or now
        since = parse_time(place.get("since")) or now - _FIRST
        # When the current poll started; the next one goes back to it.
        looked = parse_time(place.get("looked")) or now
        after = place.get("after") if isinstance(place.get("after"), str) else None
        try:
            page = await linear.list_changed(ctx, _format_time(since), after, _PAGE)
        except Invalid:
            # The cursor expired: the poll starts again.
            if after is None:
                raise
            page = await linear.list_changed(ctx, _format_time(since), None, _PAGE)
        at = f"linear:{_format_time(since)}:{after or ''}"
        items = [
            read_one(f"{at}:{n}", partial(issue_item, one, f"{at}:{n}", began))
            for n, one in enumerate(page.nodes)
        ]
        then = {"began": _format_time(began)}
        if page.after is None:
            return ItemBatch(items, {**then, "since": _format_time(looked - _OVERLAP)})
        going = {"since": _format_time(since), "looked": _format_time(looked), "after": page.after}
        return ItemBatch(items, {**then, **going}, more=True)

    return Poll("issues", "New and changed issues that the connected account may see.", read)


_QUOTED: Final = re.compile(r"[\"“”]([^\"“”]{1,200})[\"“”]")
_ABOUT: Final = re.compile(
    r"\b(?:about|mentioning|matching|containing|for|on)\s+(.{2,200})$", re.IGNORECASE
)
_LATEST: Final = re.compile(
    r"\b(latest|recent|recently|newest|new|changed|updated)\b", re.IGNORECASE
)


def parse_request(request: str, now: datetime) -> dict[str, Any]:
    """Parse a search from a sentence such as: issues about login; the latest issues."""
    del now
    text = " ".join(request.split())
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return {"query": quoted[1]}
    about = _ABOUT.search(text)
    if about is not None:
        return {"query": about[1].rstrip(" .?!")}
    if _LATEST.search(text):
        return {}
    detail = "It does not say which issues of Linear to look for."
    raise Invalid(
        detail,
        code="linear_request",
        findings=[Finding("/request", detail, "linear_request")],
        suggestion="Say: issues about …, or: the latest issues. Or give input.query.",
    )


def _format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
