"""Capabilities for the rows of a board."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.limits import Limits
from mainspring.workspace.boards.row_queries import (
    HOW,
    LONGEST_WORDS,
    MOST_FILTERS,
    MOST_GROUPS,
    OPS,
    ORDERS,
    PER,
    build_summarize_handler,
)
from mainspring.workspace.boards.rows import (
    append_handler,
    delete_handler,
    restore_handler,
    update_handler,
)
from mainspring.workspace.boards.schemas import (
    BOARD_ID,
    COUNT,
    DATASET,
    FIELD,
    ID,
    KEEPS,
    MOST_BATCH,
    NUMBER,
    READS,
    ROW_IDS,
    SOME_BOARD,
    SOME_ROW,
    TOLD_ROW_IDS,
    JsonSchema,
    object_of,
    schema_with_examples,
)

# Arguments for searching and filtering rows, and for aggregates in groups.

LOOKS: Final[dict[str, JsonSchema]] = {
    "search": {
        "description": "Only rows with this text in a value; case-insensitive.",
        "type": "string",
        "maxLength": LONGEST_WORDS,
    },
    "filters": {
        "description": "All must match. above and below compare numbers; from and until compare "
        "text, such as dates; empty and filled take no value.",
        "type": "array",
        "maxItems": MOST_FILTERS,
        "items": object_of(
            {
                "field": FIELD,
                "op": {"enum": list(OPS)},
                "value": {"type": ["string", "number"], "maxLength": LONGEST_WORDS},
            },
            ["field", "op"],
        ),
    },
}


def build_summarize_capability() -> Capability:
    group = object_of(
        {
            "value": {"description": "null: rows without a value.", "type": ["string", "null"]},
            "rows": COUNT,
            "number": {"type": ["number", "null"]},
        },
        ["value", "rows", "number"],
    )
    return Capability(
        id="summarize_board_rows",
        description="Count or sum rows of a board in groups\n\n"
        "Returns one group per value of a field, for example for a chart. Non-numeric values "
        "count as rows and are excluded from sums.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "dataset": DATASET,
                "by": {"description": "Group by this field.", **FIELD},
                "per": {
                    "description": "Read the values as dates and group by this period.",
                    "enum": list(PER),
                },
                "how": {"enum": list(HOW), "default": "count"},
                "of": {"description": "Field to sum; not needed for count.", **FIELD},
                "order": {
                    "description": "By value, or largest number first.",
                    "enum": list(ORDERS),
                    "default": "value",
                },
                "limit": {**NUMBER, "maximum": MOST_GROUPS, "default": MOST_GROUPS},
                **LOOKS,
            },
            ["board_id", "by"],
            [
                {"board_id": SOME_BOARD, "by": "state"},
                {"board_id": SOME_BOARD, "by": "due", "per": "month", "how": "sum", "of": "price"},
            ],
            ({"board_id": SOME_BOARD}, "by what?"),
            ({"board_id": SOME_BOARD, "by": "state", "how": "median"}, "no way that is known"),
        ),
        output_schema=schema_with_examples(
            {
                "board_id": ID,
                "dataset": {"type": "string"},
                "groups": {"type": "array", "items": group},
                "of": {"description": "Total number of groups.", **COUNT},
            },
            ["board_id", "dataset", "groups", "of"],
            [
                {
                    "board_id": SOME_BOARD,
                    "dataset": "default",
                    "groups": [{"value": "open", "rows": 2, "number": 2}],
                    "of": 1,
                }
            ],
            ({"groups": []}, "of which board?"),
        ),
        handler=build_summarize_handler(),
        annotations=READS,
    )


def row_capabilities(limits: Limits) -> tuple[Capability, ...]:
    """Build append, update, delete and restore with the operator's limits."""
    return _append(limits), _update(limits), _delete(), _restore()


def _append(limits: Limits) -> Capability:
    some = {"board_id": SOME_BOARD, "rows": [{"company": "Acme"}]}
    return Capability(
        id="append_board_rows",
        description="Append rows to a board\n\n"
        f"Give up to {MOST_BATCH:,} JSON objects; all are stored, or none. With a key "
        "field (in the call or set on the dataset), existing rows are skipped, also "
        "under concurrent calls. Values must match the dataset's columns; other keys "
        "are free. Use update_board_rows to change rows.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "dataset": DATASET,
                "rows": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_BATCH,
                    "items": {"type": "object", "minProperties": 1},
                },
                "dedupe_key_field": {
                    "description": "Skip rows whose value of this field exists.",
                    **FIELD,
                },
            },
            ["board_id", "rows"],
            [some, {**some, "dataset": "default", "dedupe_key_field": "company"}],
            ({"board_id": SOME_BOARD, "rows": []}, "nothing to append"),
            ({"board_id": SOME_BOARD, "rows": [["Acme"]]}, "a row is an object"),
            ({"name": "CRM", "rows": [{"a": 1}]}, "boards are written by id alone"),
            ({**some, "row": {}}, "an argument that does not exist"),
        ),
        output_schema=schema_with_examples(
            {
                **_TOLD,
                "appended": COUNT,
                "skipped": {"description": "Rows that existed.", **COUNT},
                "total": COUNT,
            },
            [*_TOLD, "appended", "skipped", "total"],
            [{**_SOME, "appended": 1, "skipped": 0, "total": 1}],
            ({"appended": 1}, "it must say which rows"),
        ),
        handler=append_handler(limits),
        annotations=_build_large_annotations(limits),
    )


def _update(limits: Limits) -> Capability:
    return Capability(
        id="update_board_rows",
        description="Update fields of rows\n\n"
        "Name each row by row_id with the fields to change; others stay. If a row "
        "does not exist, nothing is changed.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "dataset": DATASET,
                "rows": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_BATCH,
                    "items": {
                        "type": "object",
                        "required": ["row_id"],
                        "properties": {"row_id": ID},
                    },
                },
            },
            ["board_id", "rows"],
            [{"board_id": SOME_BOARD, "rows": [{"row_id": SOME_ROW, "state": "won"}]}],
            ({"board_id": SOME_BOARD, "rows": [{"state": "won"}]}, "which row?"),
            ({"board_id": SOME_BOARD, "rows": []}, "nothing to change"),
        ),
        output_schema=schema_with_examples(
            {**_TOLD, "updated": COUNT, "unchanged": COUNT},
            [*_TOLD, "updated", "unchanged"],
            [{**_SOME, "updated": 1, "unchanged": 0}],
            ({"updated": 1}, "it must say which rows"),
        ),
        handler=update_handler(limits),
        annotations=_build_large_annotations(limits),
    )


def _delete() -> Capability:
    return Capability(
        id="delete_board_rows",
        description="Delete rows of a board\n\n"
        "Restore them with restore_board_rows. Rows that are already deleted are "
        "ignored.",
        input_schema=_build_row_ids_schema(),
        output_schema=_build_moved_schema("deleted"),
        handler=delete_handler(),
        annotations=KEEPS,
    )


def _restore() -> Capability:
    return Capability(
        id="restore_board_rows",
        description="Restore deleted rows\n\n"
        "With their old position and values. If a row's key is now used by another "
        "row, none is restored.",
        input_schema=_build_row_ids_schema(),
        output_schema=_build_moved_schema("restored"),
        handler=restore_handler(),
        annotations=KEEPS,
    )


def _build_row_ids_schema() -> JsonSchema:
    return schema_with_examples(
        {"board_id": BOARD_ID, "dataset": DATASET, "row_ids": ROW_IDS},
        ["board_id", "row_ids"],
        [{"board_id": SOME_BOARD, "row_ids": [SOME_ROW]}],
        ({"board_id": SOME_BOARD}, "which rows?"),
        ({"board_id": SOME_BOARD, "row_ids": "all"}, "each by its id"),
    )


def _build_moved_schema(word: str) -> JsonSchema:
    return schema_with_examples(
        {**_TOLD, word: COUNT, "total": COUNT},
        [*_TOLD, word, "total"],
        [{**_SOME, word: 1, "total": 0}],
        ({word: True}, "how many, not whether"),
    )


_TOLD: JsonSchema = {"board_id": ID, "dataset": {"type": "string"}, "row_ids": TOLD_ROW_IDS}
_SOME = {"board_id": SOME_BOARD, "dataset": "default", "row_ids": [SOME_ROW]}


def _build_large_annotations(limits: Limits) -> Annotations:
    return replace(KEEPS, seconds=0.5, arguments_bytes=limits.board_append_bytes)
