"""JSON schemas of links and recipes, shared by the board capabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Effect
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.boards.columns import FIELD_TYPES, LONGEST_KEY

# Schema fragments that the board capabilities share.

JsonSchema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
SOME_BOARD: Final = "01900000-0000-7000-8000-00000000000b"
SOME_ROW: Final = "01900000-0000-7000-8000-00000000000c"
SOME_MEMBER: Final = "01900000-0000-7000-8000-000000000002"
SOME_TIME: Final = "2026-01-31T09:00:00+00:00"
MOST_BATCH: Final = 5_000

READS: Final = Annotations(
    toolset=Toolset.BOARDS, effect=Effect.READ, transactional=True, seconds=0.1
)
KEEPS: Final = Annotations(
    toolset=Toolset.BOARDS, effect=Effect.KEEP, transactional=True, seconds=0.2
)

ID: Final[JsonSchema] = {"type": "string", "format": "uuid"}
MOMENT: Final[JsonSchema] = {"type": "string", "format": "date-time"}
COUNT: Final[JsonSchema] = {"type": "integer", "minimum": 0}
NUMBER: Final[JsonSchema] = {"type": "integer", "minimum": 1, "maximum": 1_000_000_000}
BOARD_ID: Final[JsonSchema] = {**ID}
NAME: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": r"\S",
    "x-mainspring-says": "A name cannot be blank.",
}
# It may be part of a URL.
PART_NAME: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": r"^[^/\s]([^/]*[^/\s])?$",
    "x-mainspring-says": "This name has no slash in it and no blank at its ends.",
}
DATASET: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "default": "default",
}
FIELD: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY}
ROW_IDS: Final[JsonSchema] = {
    "type": "array",
    "items": ID,
    "minItems": 1,
    "maxItems": MOST_BATCH,
}
TOLD_ROW_IDS: Final[JsonSchema] = {"type": "array", "items": {"type": "string"}}


def object_of(properties: Mapping[str, Any], required: Sequence[str] = ()) -> JsonSchema:
    """An object schema with these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": dict(properties),
    }


def schema_with_examples(
    properties: Mapping[str, Any],
    required: Sequence[str],
    examples: Sequence[Any],
    *wrong: tuple[Any, str],
    **more: Any,
) -> JsonSchema:
    """A schema of arguments or results with examples and counter-examples."""
    return {
        "$schema": _DIALECT,
        **object_of(properties, required),
        **more,
        "examples": list(examples),
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


COLUMN: Final = object_of(
    {
        "key": {"description": "Row key that this column shows.", **FIELD},
        "label": {"type": "string", "minLength": 1, "maxLength": 200},
        "field_type": {"enum": list(FIELD_TYPES), "default": "text"},
        "options": {
            "description": "Allowed values of a select.",
            "type": "array",
            "minItems": 1,
            "maxItems": 500,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
        },
    },
    ["key"],
)
COLUMNS: Final[JsonSchema] = {"type": "array", "items": COLUMN, "maxItems": 200}
KEY_FIELD: Final[JsonSchema] = {
    "description": "Field that identifies a row: existing rows are not appended again. null: none.",
    "type": ["string", "null"],
    "minLength": 1,
    "maxLength": LONGEST_KEY,
}
DATASETS: Final[JsonSchema] = {
    "type": "array",
    "maxItems": 50,
    "items": object_of(
        {
            "name": {**NAME, "maxLength": 100},
            "columns": COLUMNS,
            "dedupe_key_field": KEY_FIELD,
        },
        ["name"],
    ),
}
BY: Final = object_of({"kind": {"enum": ["member", "client", "run"]}, "id": ID}, ["kind", "id"])
DATASET_SCHEMA: Final = object_of(
    {
        "name": {"type": "string"},
        "columns": COLUMNS,
        "dedupe_key_field": KEY_FIELD,
        "version": NUMBER,
    },
    ["name", "columns", "dedupe_key_field", "version"],
)
BOARD_SCHEMA: Final = object_of(
    {"version": {"const": 2}, "datasets": {"type": "array", "items": DATASET_SCHEMA}},
    ["version", "datasets"],
)
_OF_BOARD: Final = {
    "id": ID,
    "name": {"type": "string"},
    "description": {"type": "string"},
    "created_by": BY,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "archived": {"type": "boolean"},
}
BOARD_FIELDS: Final[Mapping[str, JsonSchema]] = _OF_BOARD
SOME_COLUMNS: Final = [
    {"key": "company", "label": "Company", "field_type": "text"},
    {"key": "state", "label": "State", "field_type": "select", "options": ["open", "won"]},
]
SOME_SCHEMA: Final = {
    "version": 2,
    "datasets": [
        {"name": "default", "columns": SOME_COLUMNS, "dedupe_key_field": "company", "version": 1}
    ],
}
SOME_FIELDS: Final = {
    "id": SOME_BOARD,
    "name": "CRM",
    "description": "People we talk to.",
    "created_by": {"kind": "member", "id": SOME_MEMBER},
    "created_at": SOME_TIME,
    "updated_at": SOME_TIME,
    "archived": False,
}


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
        "description": "Whose connection is used; null: none.",
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
    "refresh_cron": {"description": "In UTC; null: no schedule.", **_MAYBE_TEXT},
    "dedupe_key_field": _MAYBE_TEXT,
    "dedupe_target_field": _MAYBE_TEXT,
    "automation_id": {"description": "The automation that refreshes it.", **_MAYBE_ID},
    "last_refreshed_at": _MAYBE_MOMENT,
    "last_rows": {**COUNT, "type": ["integer", "null"]},
    "last_failed_at": _MAYBE_MOMENT,
    "last_error": {
        "description": "Problem of the last refresh: why it failed, or which rows were skipped.",
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
