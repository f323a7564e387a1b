"""The shapes of links and recipes, as boards and their capabilities show them."""

from __future__ import annotations

from typing import Any, Final

from mainspring.workspace.boards.shapes import (
    COUNT,
    ID,
    MOMENT,
    SOME_BOARD,
    SOME_MEMBER,
    SOME_TIME,
    JsonSchema,
    object_of,
)

SOME_LINK_ID: Final = "01900000-0000-7000-8000-00000000001b"
SOME_RECIPE_ID: Final = "01900000-0000-7000-8000-00000000001c"
SOME_AUTOMATION: Final = "01900000-0000-7000-8000-00000000001d"

_TEXT: Final[JsonSchema] = {"type": "string"}
_MAYBE_ID: Final[JsonSchema] = {**ID, "type": ["string", "null"]}
_MAYBE_MOMENT: Final[JsonSchema] = {**MOMENT, "type": ["string", "null"]}
_MAYBE_TEXT: Final[JsonSchema] = {"type": ["string", "null"]}
LINK_FIELDS: Final[dict[str, JsonSchema]] = {
    "id": ID,
    "board_id": ID,
    "kind": _TEXT,
    "ref": {"type": "object"},
    "display_name": _TEXT,
    "integration_provider": _MAYBE_TEXT,
    "integration_user_id": {
        "description": "Whose connection is used; null where none is.",
        **_MAYBE_ID,
    },
    "created_by": ID,
    "created_at": MOMENT,
}
RECIPE_FIELDS: Final[dict[str, JsonSchema]] = {
    "id": ID,
    "link_id": ID,
    "board_id": ID,
    "dataset_name": _TEXT,
    "adapter_op": _TEXT,
    "params": {"type": "object"},
    "refresh_cron": {"description": "In UTC; null: refreshed by hand.", **_MAYBE_TEXT},
    "dedupe_key_field": _MAYBE_TEXT,
    "dedupe_target_field": _MAYBE_TEXT,
    "automation_id": {"description": "What refreshes it by the schedule.", **_MAYBE_ID},
    "last_refreshed_at": _MAYBE_MOMENT,
    "last_rows": {**COUNT, "type": ["integer", "null"]},
    "last_failed_at": _MAYBE_MOMENT,
    "last_error": {
        "description": "The problem of the last refresh: why it failed, or which rows it left out.",
        "type": ["object", "null"],
    },
    "failures_in_row": COUNT,
    "created_by": ID,
    "created_at": MOMENT,
}
RECIPE: Final[JsonSchema] = object_of(RECIPE_FIELDS, list(RECIPE_FIELDS))
LINK: Final[JsonSchema] = object_of(
    {**LINK_FIELDS, "recipes": {"type": "array", "items": RECIPE}}, [*LINK_FIELDS, "recipes"]
)
LINKS: Final[JsonSchema] = {"type": "array", "items": LINK}
SOME_LINK: Final[dict[str, Any]] = {
    "id": SOME_LINK_ID,
    "board_id": SOME_BOARD,
    "kind": "github",
    "ref": {"owner": "octo", "repo": "hello"},
    "display_name": "hello PRs",
    "integration_provider": None,
    "integration_user_id": SOME_MEMBER,
    "created_by": SOME_MEMBER,
    "created_at": SOME_TIME,
}
SOME_RECIPE: Final[dict[str, Any]] = {
    "id": SOME_RECIPE_ID,
    "link_id": SOME_LINK_ID,
    "board_id": SOME_BOARD,
    "dataset_name": "prs",
    "adapter_op": "github.list_open_prs",
    "params": {},
    "refresh_cron": "0 * * * *",
    "dedupe_key_field": "id",
    "dedupe_target_field": "pr_id",
    "automation_id": SOME_AUTOMATION,
    "last_refreshed_at": None,
    "last_rows": None,
    "last_failed_at": None,
    "last_error": None,
    "failures_in_row": 0,
    "created_by": SOME_MEMBER,
    "created_at": SOME_TIME,
}
