"""Mapping GitHub's entries to rows and pages. The content is untrusted text.

An entry without its identifying fields is not guessed: as a page it is recorded as unreadable, and
as a row it rejects the whole list, since missing rows would look deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.github.events import ISSUE_OPENED, PR_OPENED, RELEASE_PUBLISHED

_TITLE: Final = 400
Row = dict[str, Any]


class _UnreadableEntry(ValueError):
    """An entry that does not match GitHub's documentation; the message says what is missing."""


def issue_row(entry: Any) -> Row | None:
    """Map an issue to a row; None for a pull request, which GitHub lists among issues."""
    if "pull_request" in _object(entry):
        return None
    return {
        **_map_numbered_entry(entry),
        "comments": _whole(entry.get("comments")),
        "milestone": _text(_inner(entry, "milestone", "title")),
    }


def build_pr_row(entry: Any) -> Row:
    """Map a pull request to a row."""
    return {
        **_map_numbered_entry(_object(entry)),
        "draft": bool(entry.get("draft")),
        "head": _text(_inner(entry, "head", "ref")),
        "base": _text(_inner(entry, "base", "ref")),
        "merged_at": _text(entry.get("merged_at")),
    }


def release_row(entry: Any) -> Row:
    """Map a release to a row."""
    return {
        "id": _id(_object(entry)),
        "tag": _require_text(entry, "tag_name"),
        "name": _text(entry.get("name")) or _require_text(entry, "tag_name"),
        "draft": bool(entry.get("draft")),
        "prerelease": bool(entry.get("prerelease")),
        "author": _text(_inner(entry, "author", "login")),
        "created_at": _text(entry.get("created_at")),
        "published_at": _text(entry.get("published_at")),
        "url": _text(entry.get("html_url")),
    }


def build_commit_row(entry: Any) -> Row:
    """Map a commit to a row, with the first line of its message."""
    commit = _object(_object(entry).get("commit"))
    sha = _require_text(entry, "sha")
    return {
        "id": sha,
        "sha": sha,
        "message": format_one_line((_text(commit.get("message")) or "").partition("\n")[0]),
        "author": _text(_inner(commit, "author", "name")),
        "author_login": _text(_inner(entry, "author", "login")),
        "committed_at": _text(_inner(commit, "committer", "date")),
        "url": _text(entry.get("html_url")),
    }


def build_rows(entries: list[Any], row: Any) -> list[Row]:
    """Map all entries to rows."""
    try:
        return [found for entry in entries if (found := row(entry)) is not None]
    except _UnreadableEntry as error:
        raise _unreadable(str(error)) from None


def issue_item(entry: Any, place: str, told_from: datetime | None = None) -> Item | UnreadableItem:
    """Map an issue or pull request to a page; published when opened after a time."""
    try:
        row = _map_numbered_entry(_object(entry))
        opened = _require_text(entry, "created_at")
    except _UnreadableEntry as error:
        return UnreadableItem(place, _unreadable(str(error)))
    is_pr = "pull_request" in entry
    kind, event = ("pr", PR_OPENED) if is_pr else ("issue", ISSUE_OPENED)
    repository = get_repository_name(entry)
    shown = {key: row[key] for key in _PAYLOAD}
    tells = _is_after(opened, told_from)
    return Item(
        source_ref=f"github:{kind}:{row['id']}",
        type=f"gh_{kind}",
        title=format_one_line(row["title"], _TITLE) or f"#{row['number']}",
        body=_text(entry.get("body")) or "",
        frontmatter={"repository": repository, **{k: v for k, v in row.items() if k != "title"}},
        event=event if tells else None,
        payload={"repository": repository, **shown} if tells else {},
    )


def release_item(
    entry: Any, repository: str, place: str, told_from: datetime | None = None
) -> Item | UnreadableItem:
    """Map a published release to a page."""
    try:
        row = release_row(entry)
        published = _require_text(entry, "published_at")
    except _UnreadableEntry as error:
        return UnreadableItem(place, _unreadable(str(error)))
    tells = _is_after(published, told_from)
    shown = {key: row[key] for key in _RELEASE_PAYLOAD}
    return Item(
        source_ref=f"github:release:{row['id']}",
        type="gh_release",
        title=format_one_line(f"{repository} {row['name']}", _TITLE),
        body=_text(entry.get("body")) or "",
        frontmatter={"repository": repository, **{k: v for k, v in row.items() if k != "draft"}},
        event=RELEASE_PUBLISHED if tells else None,
        payload={"repository": repository, **shown} if tells else {},
    )


def get_repository_name(entry: Mapping[str, Any]) -> str:
    """Return owner/repo, which an issue only has in its repository URL."""
    parts = (_text(entry.get("repository_url")) or "").rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 2 else ""


def parse_time(text: Any) -> datetime | None:
    """Parse a GitHub time; None when invalid."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (TypeError, ValueError, OverflowError):
        return None


_PAYLOAD: Final = ("number", "title", "url", "author", "labels", "created_at")
_RELEASE_PAYLOAD: Final = ("tag", "name", "url", "author", "prerelease", "published_at")


def _is_after(text: str, told_from: datetime | None) -> bool:
    at = parse_time(text)
    return told_from is not None and at is not None and at >= told_from


def _map_numbered_entry(entry: Mapping[str, Any]) -> Row:
    """The common fields of issues and pull requests."""
    number = _whole(entry.get("number"))
    if number is None:
        raise _UnreadableEntry("number")
    return {
        "id": _id(entry),
        "number": number,
        "title": _require_text(entry, "title"),
        "state": _text(entry.get("state")),
        "author": _text(_inner(entry, "user", "login")),
        "labels": _names(entry.get("labels"), "name"),
        "assignees": _names(entry.get("assignees"), "login"),
        "created_at": _text(entry.get("created_at")),
        "updated_at": _text(entry.get("updated_at")),
        "closed_at": _text(entry.get("closed_at")),
        "url": _require_text(entry, "html_url"),
    }


def _object(entry: Any) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise _UnreadableEntry("everything")
    return entry


def _id(entry: Mapping[str, Any]) -> int:
    found = _whole(entry.get("id"))
    if found is None:
        raise _UnreadableEntry("id")
    return found


def _require_text(entry: Mapping[str, Any], name: str) -> str:
    found = entry.get(name)
    if not isinstance(found, str) or not found:
        raise _UnreadableEntry(name)
    return found


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _inner(entry: Mapping[str, Any], name: str, inner: str) -> Any:
    """Return a field of a nullable object: a deleted account, no milestone."""
    part = entry.get(name)
    return part.get(inner) if isinstance(part, Mapping) else None


def _names(value: Any, field: str) -> list[str]:
    """Return names of labels or people; old labels are plain text."""
    entries = value if isinstance(value, list) else []
    found = [one.get(field) if isinstance(one, Mapping) else one for one in entries]
    return [one for one in found if isinstance(one, str)]


def _unreadable(missing: str) -> UpstreamError:
    return UpstreamError(
        f"GitHub sent an entry that cannot be read: it lacks {missing}.",
        code="github_entry",
        retryable=False,
    )
