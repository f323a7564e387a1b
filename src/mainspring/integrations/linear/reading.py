"""What Linear sends, read into pages. All of it is text of strangers, and stays data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_answers import format_one_line
from mainspring.integrations.linear.events import ISSUE_CREATED

_TITLE: Final = 400
_NEEDED: Final = ("id", "identifier", "title", "url", "createdAt", "updatedAt")
_PRIORITIES: Final = ("none", "urgent", "high", "medium", "low")


def issue_item(node: Any, place: str, told_from: datetime | None = None) -> Item | UnreadableItem:
    """An issue as a page; told of where it was made after a moment."""
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
    """A moment as Linear writes it; None where it is none."""
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
