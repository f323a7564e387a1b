"""Capabilities for the skills, forms, dashboard and versions of a board."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.workspace.boards.management import revert_handler
from mainspring.workspace.boards.parts import (
    MOST_VERSIONS,
    BoardPart,
    build_dashboard_handler,
    build_versions_handler,
    delete_part_handler,
    list_parts_handler,
    set_part_handler,
)
from mainspring.workspace.boards.schemas import (
    BOARD_ID,
    BY,
    COUNT,
    DATASET,
    FIELD,
    ID,
    KEEPS,
    MOMENT,
    NUMBER,
    PART_NAME,
    READS,
    SOME_BOARD,
    SOME_MEMBER,
    SOME_TIME,
    JsonSchema,
    object_of,
    schema_with_examples,
)

_TEXT: JsonSchema = {"type": "string", "maxLength": 2_000}
_LONG: JsonSchema = {"type": "string", "maxLength": 20_000}
_SKILL: JsonSchema = {
    "description": _TEXT,
    "prompt": {**_LONG, "minLength": 1},
    "allowed_tools": {
        "description": "Capabilities it can call.",
        "type": "array",
        "maxItems": 100,
        "uniqueItems": True,
        "items": {
            "type": "string",
            "pattern": r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$",
            "x-mainspring-says": "This is not the name of a capability.",
        },
    },
    "inputs_schema": {"description": "JSON Schema of its input.", "type": "object"},
}
_FORM: JsonSchema = {
    "title": {"type": "string", "maxLength": 200},
    "description": _TEXT,
    "dataset": {**DATASET, "description": "Dataset for submissions."},
    "instructions": {"description": "How to conduct the conversation.", **_LONG},
    "fields": {
        "type": "array",
        "minItems": 1,
        "maxItems": 100,
        "items": object_of(
            {
                "key": FIELD,
                "label": {"type": "string", "maxLength": 200},
                "help": _TEXT,
                "required": {"type": "boolean", "default": False},
            },
            ["key"],
        ),
    },
}
_SOME_SKILL = {"name": "score", "prompt": "Score {{ row.company }} from 1 to 5."}
_SOME_FORM = {"name": "contact", "fields": [{"key": "company", "required": True}]}
_PARTS = ["columns", "skill", "form", "dashboard"]


def part_capabilities(limits: Limits) -> tuple[Capability, ...]:
    """Build the capabilities for board parts and versions with the operator's limits."""
    return (
        _set("skill", _SKILL, ["prompt"], _SOME_SKILL, limits),
        _list("skill", _SKILL, _SOME_SKILL),
        _delete("skill", limits),
        _set("form", _FORM, ["fields"], _SOME_FORM, limits),
        _list("form", _FORM, _SOME_FORM),
        _delete("form", limits),
        _set_dashboard(limits),
        _get_dashboard(),
        _build_versions_capability(),
        _revert(limits),
    )


def _set(
    part: BoardPart, fields: JsonSchema, needed: list[str], some: dict[str, Any], limits: Limits
) -> Capability:
    return Capability(
        id=f"set_board_{part}",
        description=f"Set a {part} of a board\n\n"
        f"Replaces the {part} of that name; earlier versions are kept.",
        input_schema=schema_with_examples(
            {"board_id": BOARD_ID, "name": PART_NAME, **fields},
            ["board_id", "name", *needed],
            [{"board_id": SOME_BOARD, **some}],
            ({"board_id": SOME_BOARD, "name": "a"}, f"what is the {part}?"),
            ({"board_id": SOME_BOARD, **some, "name": "a/b"}, "a name has no slash"),
        ),
        output_schema=_build_part_result_schema(part, str(some["name"])),
        handler=set_part_handler(part, limits),
        annotations=KEEPS,
    )


def _list(part: BoardPart, fields: JsonSchema, some: dict[str, Any]) -> Capability:
    around = {"name": {"type": "string"}, "version": NUMBER, "updated_at": MOMENT}
    return Capability(
        id=f"list_board_{part}s",
        description=f"List the {part}s of a board\n\nReturns full {part}s, sorted by name.",
        input_schema=_build_board_argument(),
        output_schema=schema_with_examples(
            {
                "board_id": ID,
                f"{part}s": {
                    "type": "array",
                    "items": object_of({**around, **fields}, list(around)),
                },
            },
            ["board_id", f"{part}s"],
            [
                {
                    "board_id": SOME_BOARD,
                    f"{part}s": [{**some, "version": 1, "updated_at": SOME_TIME}],
                }
            ],
            ({}, "of which board?"),
        ),
        handler=list_parts_handler(part),
        annotations=READS,
    )


def _delete(part: BoardPart, limits: Limits) -> Capability:
    return Capability(
        id=f"delete_board_{part}",
        description=f"Delete a {part} of a board\n\n"
        "Its versions stay; restore it with revert_board_part.",
        input_schema=schema_with_examples(
            {"board_id": BOARD_ID, "name": PART_NAME},
            ["board_id", "name"],
            [{"board_id": SOME_BOARD, "name": "first"}],
            ({"board_id": SOME_BOARD}, f"which {part}?"),
        ),
        output_schema=_build_part_result_schema(part, "first"),
        handler=delete_part_handler(part, limits),
        annotations=KEEPS,
    )


def _set_dashboard(limits: Limits) -> Capability:
    return Capability(
        id="set_board_dashboard",
        description="Set the dashboard of a board\n\n"
        f"Give one HTML document of at most {limits.board_dashboard_bytes:,} bytes. "
        "Earlier versions are kept.",
        input_schema=schema_with_examples(
            {"board_id": BOARD_ID, "html": {"type": "string", "minLength": 1}},
            ["board_id", "html"],
            [{"board_id": SOME_BOARD, "html": "<h1>CRM</h1>"}],
            ({"board_id": SOME_BOARD, "html": ""}, "a document says something"),
            ({"board_id": SOME_BOARD, "name": "a", "html": "x"}, "there is one, without a name"),
        ),
        output_schema=_build_part_result_schema("dashboard", ""),
        handler=set_part_handler("dashboard", limits),
        annotations=KEEPS,
    )


def _get_dashboard() -> Capability:
    return Capability(
        id="get_board_dashboard",
        description="Get the dashboard of a board\n\nReturns the HTML as stored.",
        input_schema=_build_board_argument(),
        output_schema=schema_with_examples(
            {"board_id": ID, "html": {"type": "string"}, "version": NUMBER, "updated_at": MOMENT},
            ["board_id", "html", "version", "updated_at"],
            [
                {
                    "board_id": SOME_BOARD,
                    "html": "<h1>CRM</h1>",
                    "version": 1,
                    "updated_at": SOME_TIME,
                }
            ],
            ({"html": ""}, "of which board?"),
        ),
        handler=build_dashboard_handler(),
        annotations=READS,
    )


def _build_versions_capability() -> Capability:
    entry = object_of(
        {
            "part": {"enum": _PARTS},
            "name": {"type": "string"},
            "version": NUMBER,
            "removed": {"description": "The part was deleted.", "type": "boolean"},
            "revert_of": {"type": ["integer", "null"]},
            "by": BY,
            "created_at": MOMENT,
        },
        ["part", "name", "version", "removed", "revert_of", "by", "created_at"],
    )
    some = {
        "part": "columns",
        "name": "default",
        "version": 2,
        "removed": False,
        "revert_of": None,
        "by": {"kind": "member", "id": SOME_MEMBER},
        "created_at": SOME_TIME,
    }
    return Capability(
        id="list_board_versions",
        description="List versions of the parts of a board\n\n"
        "Columns of each dataset, skills, forms and the dashboard, newest first.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "part": {"enum": _PARTS},
                "name": {
                    "description": "Of the dataset, skill or form.",
                    "type": "string",
                    "maxLength": 100,
                },
                "limit": {**NUMBER, "maximum": MOST_VERSIONS, "default": 100},
            },
            ["board_id"],
            [{"board_id": SOME_BOARD}, {"board_id": SOME_BOARD, "part": "columns"}],
            ({"board_id": SOME_BOARD, "part": "rows"}, "rows have no versions"),
        ),
        output_schema=schema_with_examples(
            {"board_id": ID, "versions": {"type": "array", "items": entry}},
            ["board_id", "versions"],
            [{"board_id": SOME_BOARD, "versions": [some]}],
            ({}, "of which board?"),
        ),
        handler=build_versions_handler(),
        annotations=READS,
    )


def _revert(limits: Limits) -> Capability:
    return Capability(
        id="revert_board_part",
        description="Restore an earlier version of a part of a board\n\n"
        "Creates a new version. Restoring columns does not change rows. If the part "
        "was deleted in that version, it is deleted again.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "part": {"enum": _PARTS},
                "name": {
                    "description": "Of the dataset, skill or form; omit for the dashboard.",
                    "type": "string",
                    "maxLength": 100,
                },
                "version": NUMBER,
            },
            ["board_id", "part", "version"],
            [{"board_id": SOME_BOARD, "part": "columns", "name": "default", "version": 1}],
            ({"board_id": SOME_BOARD, "part": "columns"}, "which version?"),
            ({"board_id": SOME_BOARD, "part": "dashboard", "version": 0}, "they begin with 1"),
        ),
        output_schema=_build_part_result_schema("columns", "default"),
        handler=revert_handler(limits),
        annotations=KEEPS,
    )


def _build_board_argument() -> JsonSchema:
    return schema_with_examples(
        {"board_id": BOARD_ID},
        ["board_id"],
        [{"board_id": SOME_BOARD}],
        ({}, "which board?"),
        ({"board_id": "CRM"}, "an id, not a name"),
    )


def _build_part_result_schema(part: str, name: str) -> JsonSchema:
    return schema_with_examples(
        {"board_id": ID, "part": {"enum": _PARTS}, "name": {"type": "string"}, "version": COUNT},
        ["board_id", "part", "name", "version"],
        [{"board_id": SOME_BOARD, "part": part, "name": name, "version": 1}],
        ({"version": 1}, "of what?"),
    )
