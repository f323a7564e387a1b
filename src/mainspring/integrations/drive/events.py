"""Event types of Drive: new and changed files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.contracts.object_schema import build_object_schema

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_PAYLOAD: Final[Mapping[str, Any]] = build_object_schema(
    {
        "file_id": {"type": "string", "description": "Drive's file id."},
        "name": _TEXT,
        "mime_type": _TEXT,
        "owners": {"type": "array", "items": _TEXT},
        "modified": {"type": "string", "description": "When it was changed last."},
        "web_link": {"type": "string", "description": "Where a person opens it."},
        "page_slug": {"type": "string", "description": "The page of the file."},
    },
    ["file_id", "name", "mime_type", "owners", "modified", "web_link"],
    [
        {
            "file_id": "1AbCdEfGh",
            "name": "Plan",
            "mime_type": "application/vnd.google-apps.document",
            "owners": ["ada@example.com"],
            "modified": "2026-06-01T09:00:00.000Z",
            "web_link": "https://docs.google.com/document/d/1AbCdEfGh/edit",
        }
    ],
    [({"name": "Plan"}, "it says which file")],
)

FILE_ADDED: Final = EventType("drive.file_added", "A file is new in a Google Drive.", _PAYLOAD)
FILE_CHANGED: Final = EventType(
    "drive.file_changed", "A file of a Google Drive was changed.", _PAYLOAD
)
EVENTS: Final = (FILE_ADDED, FILE_CHANGED)
