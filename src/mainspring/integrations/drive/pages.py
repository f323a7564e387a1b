"""A file as the page that it becomes: first what is told of it, later the text in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import Upstream
from mainspring.contracts.html_text import text_of_html
from mainspring.contracts.integration import Broken, Item
from mainspring.contracts.provider_answers import one_line
from mainspring.integrations.drive.client import NAME
from mainspring.integrations.drive.events import FILE_ADDED, FILE_CHANGED

_MOST_OWNERS: Final = 20
_TEXT: Final = 900_000
_SMALL: Final = 400_000
TOO_LARGE: Final = "(The file is too large for its text to be read here.)"
_DOCUMENTS: Final[Mapping[str, str]] = {
    "application/vnd.google-apps.document": "text/plain",
    "application/vnd.google-apps.presentation": "text/plain",
    "application/vnd.google-apps.spreadsheet": "text/csv",
}
_TEXT_KINDS: Final = frozenset(
    {"application/json", "application/xml", "application/x-yaml", "application/yaml"}
)


@dataclass(frozen=True, slots=True)
class Textual:
    """How the text of a file is had: as an export of a document, or as its own bytes."""

    export_as: str | None = None
    too_large: bool = False


def ref_of(file_id: str) -> str:
    return f"drive:file:{file_id}"


def textual(found: Mapping[str, Any]) -> Textual | None:
    """Whether a file has text that is read, and how; None for all others."""
    kind = str(found.get("mimeType", ""))
    if found.get("trashed") is True:
        return None
    if kind in _DOCUMENTS:
        return Textual(_DOCUMENTS[kind])
    is_text = kind.startswith("text/") or kind in _TEXT_KINDS
    return Textual(too_large=size_of(found) > _SMALL) if is_text else None


def file_item(
    found: Mapping[str, Any], news_since: datetime | None = None, text: str | None = None
) -> Item | Broken:
    """The page of a file; one without an id or a name is broken. Without text it keeps the one
    that it has.

    What was added or changed since ``news_since`` is told as an event; None: nothing is news.
    """
    own, name = found.get("id"), found.get("name")
    if not isinstance(own, str) or not own or not isinstance(name, str):
        ref = ref_of(own if isinstance(own, str) and own else "unknown")
        detail = f"{NAME} told of a file without its id or its name."
        return Broken(ref, Upstream(detail, code="file_unreadable", retryable=False))
    told = _frontmatter(found, own)
    event = _event(found, news_since)
    names = ("file_id", "mime_type", "owners", "modified", "web_link")
    return Item(
        source_ref=ref_of(own),
        type="gdrive_file",
        title=one_line(name, 400) or "(no name)",
        body=(text or "")[:_TEXT],
        frontmatter=told,
        event=event,
        payload={} if event is None else {"name": told["name"], **{k: told[k] for k in names}},
        # One page for all its changes; whichever poll comes across one first tells of it.
        news=told["modified"] or None,
        keeps_body=text is None,
    )


def text_from(data: bytes, kind: str) -> str:
    """The text of a file; what is no text in UTF-8 is marked where it is not."""
    text = data.decode("utf-8-sig", "replace").replace("\x00", "").replace("\r\n", "\n")
    return (text_of_html(text) if kind == "text/html" else text).strip()


def size_of(found: Mapping[str, Any]) -> int:
    """Drive writes numbers as text."""
    size = found.get("size")
    return int(size) if isinstance(size, str) and size.isdecimal() and len(size) < 19 else 0


def _frontmatter(found: Mapping[str, Any], own: str) -> dict[str, Any]:
    owners = found.get("owners")
    people = [one for one in owners if isinstance(one, Mapping)] if isinstance(owners, list) else []
    told: dict[str, Any] = {
        "file_id": own,
        "name": _line(found, "name", 400),
        "mime_type": _line(found, "mimeType", 200),
        "owners": [
            _line(one, "emailAddress", 254) or _line(one, "displayName", 200)
            for one in people[:_MOST_OWNERS]
        ],
        "created": _line(found, "createdTime", 40),
        "modified": _line(found, "modifiedTime", 40),
        "web_link": _line(found, "webViewLink", 2_000),
        "size": size_of(found),
    }
    if _line(found, "description", 2_000):
        told["description"] = _line(found, "description", 2_000)
    if found.get("trashed") is True:
        told["trashed"] = True
    return told


def _event(found: Mapping[str, Any], since: datetime | None) -> str | None:
    if since is None or found.get("trashed") is True:
        return None
    came = [_moment(found.get(name)) for name in ("createdTime", "sharedWithMeTime")]
    if any(one is not None and one >= since for one in came):
        return FILE_ADDED.type
    changed = _moment(found.get("modifiedTime"))
    return FILE_CHANGED.type if changed is not None and changed >= since else None


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _line(found: Mapping[str, Any], name: str, most: int) -> str:
    value = found.get(name)
    return one_line(value, most) if isinstance(value, str) else ""
