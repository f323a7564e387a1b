"""A file as the page that it becomes: first what is told of it, later the text in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_answers import format_one_line
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
class TextAccess:
    """How the text of a file is had: as an export of a document, or as its own bytes."""

    export_as: str | None = None
    too_large: bool = False


def build_source_ref(file_id: str) -> str:
    return f"drive:file:{file_id}"


def get_text_access(found: Mapping[str, Any]) -> TextAccess | None:
    """Whether a file has text that is read, and how; None for all others."""
    kind = str(found.get("mimeType", ""))
    if found.get("trashed") is True:
        return None
    if kind in _DOCUMENTS:
        return TextAccess(_DOCUMENTS[kind])
    is_text = kind.startswith("text/") or kind in _TEXT_KINDS
    return TextAccess(too_large=read_size(found) > _SMALL) if is_text else None


def build_file_item(
    found: Mapping[str, Any], news_since: datetime | None = None, text: str | None = None
) -> Item | UnreadableItem:
    """The page of a file; one without an id or a name is broken. Without text it keeps the one
    that it has.

    What was added or changed since ``news_since`` is told as an event; None: nothing is news.
    """
    own, name = found.get("id"), found.get("name")
    if not isinstance(own, str) or not own or not isinstance(name, str):
        ref = build_source_ref(own if isinstance(own, str) and own else "unknown")
        detail = f"{NAME} told of a file without its id or its name."
        return UnreadableItem(ref, UpstreamError(detail, code="file_unreadable", retryable=False))
    told = _frontmatter(found, own)
    event = _event(found, news_since)
    names = ("file_id", "mime_type", "owners", "modified", "web_link")
    return Item(
        source_ref=build_source_ref(own),
        type="gdrive_file",
        title=format_one_line(name, 400) or "(no name)",
        body=(text or "")[:_TEXT],
        frontmatter=told,
        event=event,
        payload={} if event is None else {"name": told["name"], **{k: told[k] for k in names}},
        # One page for all its changes; whichever poll comes across one first tells of it.
        news=told["modified"] or None,
        keeps_body=text is None,
    )


def decode_text(data: bytes, kind: str) -> str:
    """The text of a file; what is no text in UTF-8 is marked where it is not."""
    text = data.decode("utf-8-sig", "replace").replace("\x00", "").replace("\r\n", "\n")
    return (extract_html_text(text) if kind == "text/html" else text).strip()


def read_size(found: Mapping[str, Any]) -> int:
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
        "size": read_size(found),
    }
    if _line(found, "description", 2_000):
        told["description"] = _line(found, "description", 2_000)
    if found.get("trashed") is True:
        told["trashed"] = True
    return told


def _event(found: Mapping[str, Any], since: datetime | None) -> str | None:
    if since is None or found.get("trashed") is True:
        return None
    came = [_parse_timestamp(found.get(name)) for name in ("createdTime", "sharedWithMeTime")]
    if any(one is not None and one >= since for one in came):
        return FILE_ADDED.type
    changed = _parse_timestamp(found.get("modifiedTime"))
    return FILE_CHANGED.type if changed is not None and changed >= since else None


def _parse_timestamp(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _line(found: Mapping[str, Any], name: str, most: int) -> str:
    value = found.get(name)
    return format_one_line(value, most) if isinstance(value, str) else ""
