"""Event types of GitHub, published for watched repositories."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.event import EventType
from mainspring.contracts.object_schema import build_object_schema

ISSUE_OPENED: Final = "github.issue_opened"
PR_OPENED: Final = "github.pr_opened"
RELEASE_PUBLISHED: Final = "github.release_published"

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_REPOSITORY: Final[dict[str, Any]] = {**_TEXT, "description": "As owner/repo."}
_OPENED: Final = build_object_schema(
    {
        "repository": _REPOSITORY,
        "number": {"type": "integer", "minimum": 1},
        "title": _TEXT,
        "url": _TEXT,
        "author": {"type": ["string", "null"]},
        "labels": {"type": "array", "items": _TEXT},
        "created_at": _TEXT,
    },
    ["repository", "number", "title", "url", "author", "labels", "created_at"],
    [
        {
            "repository": "octo/hello",
            "number": 7,
            "title": "The login fails",
            "url": "https://github.com/octo/hello/issues/7",
            "author": "mona",
            "labels": ["bug"],
            "created_at": "2026-03-01T09:00:00Z",
        }
    ],
    [({"repository": "octo/hello", "number": 0}, "numbers begin at one")],
)
_PUBLISHED: Final = build_object_schema(
    {
        "repository": _REPOSITORY,
        "tag": _TEXT,
        "name": _TEXT,
        "url": _TEXT,
        "author": {"type": ["string", "null"]},
        "prerelease": {"type": "boolean"},
        "published_at": _TEXT,
    },
    ["repository", "tag", "name", "url", "author", "prerelease", "published_at"],
    [
        {
            "repository": "octo/hello",
            "tag": "v1.2.0",
            "name": "The quiet one",
            "url": "https://github.com/octo/hello/releases/tag/v1.2.0",
            "author": "mona",
            "prerelease": False,
            "published_at": "2026-03-01T09:00:00Z",
        }
    ],
    [({"repository": "octo/hello"}, "a release has a tag")],
)

EVENTS: Final = (
    EventType(ISSUE_OPENED, "An issue was opened in a watched repository.", _OPENED),
    EventType(PR_OPENED, "A pull request was opened in a watched repository.", _OPENED),
    EventType(RELEASE_PUBLISHED, "A release of a watched repository was published.", _PUBLISHED),
)
