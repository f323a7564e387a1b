"""JSON schemas of the administrator capabilities."""

from __future__ import annotations

from typing import Final

from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.workspace.people.users import LONGEST_EMAIL, LONGEST_NAME

USUAL_PAGE: Final = 50
_LARGEST_PAGE: Final = 200
_AN_ID: Final = "01900000-0000-7000-8000-0000000000aa"
_ID: Final = {"type": "string", "minLength": 36, "maxLength": 36}
_MOMENT: Final = {"type": "string", "format": "date-time"}


_PERSON: Final = build_object_part(
    {
        "id": _ID,
        "email": {"type": "string"},
        "name": {"type": "string"},
        "administrator": {"type": "boolean"},
        "has_password": {"type": "boolean"},
        "created_at": _MOMENT,
        "disabled_at": {"type": ["string", "null"], "format": "date-time"},
    },
    ["id", "email", "name", "administrator", "has_password", "created_at", "disabled_at"],
)
_ROOM: Final = build_object_part(
    {
        "id": _ID,
        "name": {"type": "string"},
        "members": {"type": "integer", "minimum": 0},
        "owners": {"type": "array", "items": _ID},
        "created_at": _MOMENT,
    },
    ["id", "name", "members", "owners", "created_at"],
)
_NEXT: Final = {"type": ["string", "null"], "description": "after of the next page."}
_ADA: Final = {
    "id": _AN_ID,
    "email": "ada@example.org",
    "name": "Ada",
    "administrator": False,
    "has_password": True,
    "created_at": "2026-11-15T09:00:00+00:00",
    "disabled_at": None,
}

PAGE: Final = build_object_schema(
    {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _LARGEST_PAGE,
            "default": USUAL_PAGE,
        },
        "after": {**_ID, "description": "next of the previous page."},
    },
    [],
    [{}, {"limit": 10, "after": _AN_ID}],
    [({"limit": 0}, "at least one"), ({"after": 7}, "an id is text")],
)
NEW_USER: Final = build_object_schema(
    {
        "email": {"type": "string", "minLength": 3, "maxLength": LONGEST_EMAIL},
        "name": {"type": "string", "maxLength": LONGEST_NAME, "default": ""},
        "administrator": {
            "type": "boolean",
            "default": False,
            "description": "Whether they administer the installation.",
        },
    },
    ["email"],
    [{"email": "ada@example.org", "name": "Ada"}],
    [({}, "whose?"), ({"email": "ada@example.org", "password": "x"}, "they choose it themselves")],
)
ONE_USER: Final = build_object_schema(
    {"user_id": _ID},
    ["user_id"],
    [{"user_id": _AN_ID}],
    [({}, "whom?"), ({"user_id": "ada@example.org"}, "an id, not an email")],
)
USER: Final = build_object_schema({"user": _PERSON}, ["user"], [{"user": _ADA}])
LINKED: Final = build_object_schema(
    {
        "user": _PERSON,
        "link": {"type": "string", "description": "Returned once; signs in once."},
    },
    ["user", "link"],
    [{"user": _ADA, "link": "https://example.org/sign-in#msl_…"}],
)
USERS: Final = build_object_schema(
    {"users": {"type": "array", "items": _PERSON}, "next": _NEXT},
    ["users", "next"],
    [{"users": [_ADA], "next": None}],
)
WORKSPACES: Final = build_object_schema(
    {"workspaces": {"type": "array", "items": _ROOM}, "next": _NEXT},
    ["workspaces", "next"],
    [{"workspaces": [], "next": None}],
)
