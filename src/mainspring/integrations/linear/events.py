"""Event type of Linear: an issue created since polling started."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.contracts.object_schema import build_object_schema

ISSUE_CREATED: Final = "linear.issue_created"

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_MAYBE: Final[dict[str, Any]] = {"type": ["string", "null"]}
_FIELDS: Final[dict[str, Any]] = {
    "id": _TEXT,
    "identifier": _TEXT,
    "title": _TEXT,
    "url": _TEXT,
    "team": _MAYBE,
    "state": _MAYBE,
    "assignee": _MAYBE,
    "created_at": _TEXT,
}
EVENTS: Final = (
    EventType(
        ISSUE_CREATED,
        "An issue was created in Linear.",
        build_object_schema(
            _FIELDS,
            list(_FIELDS),
            [
                {
                    "id": "6f1c0d2e-3a4b-4c5d-8e6f-0123456789ab",
                    "identifier": "ENG-7",
                    "title": "The login fails",
                    "url": "https://linear.app/octo/issue/ENG-7",
                    "team": "ENG",
                    "state": "Todo",
                    "assignee": None,
                    "created_at": "2026-03-01T09:00:00.000Z",
                }
            ],
            [({"title": "x"}, "an issue has an identifier")],
        ),
    ),
)
