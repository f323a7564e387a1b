"""Polls of a connection's repositories.

A poll continues from the time of the latest change it saw, not from a page, since entries move
while they are read. Unchanged lists return 304, which does not count against the rate limit. An
unreadable repository is reported, and the others continue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.integration import Item, ItemBatch, Poll, UnreadableItem
from mainspring.contracts.partial_results import read_one
from mainspring.contracts.provider_responses import malformed_response_error
from mainspring.integrations.github.client import (
    NAME,
    GitHub,
    RequestSubject,
    build_repository_path,
    parse_page,
)
from mainspring.integrations.github.mapping import issue_item, parse_time, release_item
from mainspring.integrations.github.names import REPOSITORIES, read_watched_repositories

# How far back the first poll goes.
_FIRST: Final = timedelta(days=14)
_ISSUES: Final = 50
_RELEASES: Final = 15
_NOBODY: Final = "No repositories are named in the settings of the connection."
RepositoryCursor = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RepositoryPoll:
    """The result of polling one repository."""

    items: Sequence[Item | UnreadableItem]
    place: RepositoryCursor
    more: bool = False


_PollRepository = Callable[[CallContext, str, str, RepositoryCursor], Awaitable[RepositoryPoll]]


def build_issues_poll(github: GitHub) -> Poll:
    """Build the poll for new and changed issues and pull requests."""

    async def look(
        ctx: CallContext, owner: str, repo: str, place: RepositoryCursor
    ) -> RepositoryPoll:
        now = ctx.clock.now()
        began = parse_time(place.get("began")) or now
        since = parse_time(place.get("since")) or now - _FIRST
        page, size = _page(place)
        # The ETag belongs to exactly this request.
        etag = place.get("etag") if isinstance(place.get("etag"), str) else None
        query = {
            "state": "all",
            "sort": "updated",
            "direction": "asc",
            "since": _format_time(since),
            "per_page": str(size),
            "page": str(page),
        }
        path = build_repository_path(owner, repo, "issues")
        answer = await github.get(ctx, path, query, RequestSubject(f"{owner}/{repo}"), etag)
        if answer.unchanged:
            return RepositoryPoll([], place)
        entries = answer.value
        if not isinstance(entries, list):
            raise malformed_response_error(NAME)
        at = f"github:{owner}/{repo}:{_format_time(since)}"
        items = [
            read_one(f"{at}:{n}", partial(issue_item, one, f"{at}:{n}", began))
            for n, one in enumerate(entries)
        ]
        more = answer.next is not None
        then: dict[str, Any] = {"began": _format_time(began), "since": _latest(entries, since, now)}
        if then["since"] == _format_time(since):
            # All entries share one timestamp: it is read page by page.
            then["page"], then["size"] = parse_page(answer.next, (page + more, size))
            if not more and any(one > now for one in _changes(entries)):
                # Entries dated in the future stay last: new ones come before them.
                then["page"] = 1
            then |= {"etag": answer.etag} if answer.etag and not more else {}
        return RepositoryPoll(items, then, more)

    return Poll(
        "issues",
        "New and changed issues and pull requests of the repositories in the settings.",
        _over_all(look),
        needs=REPOSITORIES,
    )


def build_releases_poll(github: GitHub) -> Poll:
    """Build the poll for new releases."""

    async def look(
        ctx: CallContext, owner: str, repo: str, place: RepositoryCursor
    ) -> RepositoryPoll:
        began = parse_time(place.get("began")) or ctx.clock.now()
        known = place.get("known") if isinstance(place.get("known"), list) else []
        etag = place.get("etag") if isinstance(place.get("etag"), str) else None
        name = f"{owner}/{repo}"
        answer = await github.get(
            ctx,
            build_repository_path(owner, repo, "releases"),
            {"per_page": str(_RELEASES)},
            RequestSubject(name),
            etag,
        )
        if answer.unchanged:
            return RepositoryPoll([], place)
        entries = answer.value
        if not isinstance(entries, list):
            raise malformed_response_error(NAME)
        fresh = [one for one in entries if not _is_skipped(one, known or ())]
        at = f"github:{name}:releases"
        items = [
            read_one(f"{at}:{n}", partial(release_item, one, name, f"{at}:{n}", began))
            for n, one in enumerate(fresh)
        ]
        seen = [one["id"] for one in entries if isinstance(one, dict) and _is_out(one)]
        return RepositoryPoll(
            items, {"began": _format_time(began), "known": seen, "etag": answer.etag}
        )

    return Poll(
        "releases",
        "New releases of the repositories in the settings.",
        _over_all(look),
        "*/30 * * * *",
        needs=REPOSITORIES,
    )


def _over_all(look: _PollRepository) -> Callable[..., Awaitable[ItemBatch]]:
    """Poll each due repository, and store each cursor."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        named = {
            f"{owner}/{repo}": (owner, repo) for owner, repo in read_watched_repositories(given)
        }
        if not named:
            return ItemBatch([], cursor, note=_NOBODY)
        places = _places(cursor, named)
        due = [name for name in _due(cursor) if name in named] or list(named)
        items: list[Item | UnreadableItem] = []
        again: list[str] = []
        for count, name in enumerate(due):
            try:
                one = await look(ctx, *named[name], places.get(name, {}))
            except ReconnectRequired:
                raise
            except Problem as problem:
                if isinstance(problem, UpstreamError) and problem.retryable:
                    if not count:
                        raise
                    return _pause_batch(items, places, [*due[count:], *again], problem)
                items.append(UnreadableItem(f"github:repository:{name}", problem))
                continue
            items += one.items
            places[name] = one.place
            again += [name] if one.more else []
        return ItemBatch(items, {"places": places, "due": again}, more=bool(again))

    return read


def _pause_batch(
    items: list[Item | UnreadableItem],
    places: dict[str, RepositoryCursor],
    due: list[str],
    problem: Problem,
) -> ItemBatch:
    """On a rate limit, keep what was read; the next poll starts with the rest."""
    note = f"{problem.detail} {len(due)} repositories are left for the next look."
    return ItemBatch(items, {"places": places, "due": due}, note=note)


def _places(
    cursor: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> dict[str, RepositoryCursor]:
    """Return each repository's cursor; removed ones are dropped."""
    found = (cursor or {}).get("places")
    kept = found if isinstance(found, Mapping) else {}
    return {name: kept[name] for name in named if isinstance(kept.get(name), Mapping)}


def _due(cursor: Mapping[str, Any] | None) -> list[str]:
    found = (cursor or {}).get("due")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _page(place: RepositoryCursor) -> tuple[int, int]:
    page, size = place.get("page"), place.get("size")
    return (page, size) if isinstance(page, int) and isinstance(size, int) else (1, _ISSUES)


def _changes(entries: list[Any]) -> list[datetime]:
    """Return the modification times of entries, where present."""
    told = [parse_time(one.get("updated_at")) for one in entries if isinstance(one, dict)]
    return [one for one in told if one is not None]


def _latest(entries: list[Any], since: datetime, now: datetime) -> str:
    """Return the latest modification time; future ones are ignored."""
    return _format_time(max([since, *(one for one in _changes(entries) if one <= now)]))


def _is_out(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("id"), int) and not entry.get("draft")


def _is_skipped(entry: Any, known: Sequence[Any]) -> bool:
    """Skip drafts and releases that were already published as events."""
    return isinstance(entry, dict) and (bool(entry.get("draft")) or entry.get("id") in known)


def _format_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
