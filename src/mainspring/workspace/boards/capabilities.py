"""The board capabilities, shared by members, clients and runs."""

from __future__ import annotations

from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.workspace.boards.board_view import MOST_ROWS, get_handler
from mainspring.workspace.boards.management import (
    DEFAULT_BOARDS,
    MOST_BOARDS,
    archive_handler,
    create_handler,
    list_handler,
    update_handler,
)
from mainspring.workspace.boards.part_capabilities import part_capabilities
from mainspring.workspace.boards.row_capabilities import (
    LOOKS,
    build_summarize_capability,
    row_capabilities,
)
from mainspring.workspace.boards.schemas import (
    BOARD_FIELDS,
    BOARD_ID,
    BOARD_SCHEMA,
    COUNT,
    DATASET,
    DATASET_SCHEMA,
    DATASETS,
    FIELD,
    ID,
    KEEPS,
    LINKS,
    MOMENT,
    NAME,
    NUMBER,
    READS,
    SOME_BOARD,
    SOME_COLUMNS,
    SOME_FIELDS,
    SOME_MEMBER,
    SOME_ROW,
    SOME_SCHEMA,
    SOME_TIME,
    JsonSchema,
    object_of,
    schema_with_examples,
)

_DESCRIPTION: JsonSchema = {"type": "string", "maxLength": 5_000}
_DESCRIBED = schema_with_examples(
    {**BOARD_FIELDS, "schema": BOARD_SCHEMA},
    [*BOARD_FIELDS, "schema"],
    [{**SOME_FIELDS, "schema": SOME_SCHEMA}],
    ({"id": SOME_BOARD}, "what is in it?"),
)


def board_capabilities(limits: Limits) -> tuple[Capability, ...]:
    """Build the board capabilities with the operator's limits."""
    return (
        _create(limits),
        _list(),
        _get(limits),
        _update(limits),
        _archive(),
        build_summarize_capability(),
        *row_capabilities(limits),
        *part_capabilities(limits),
    )


def _create(limits: Limits) -> Capability:
    return Capability(
        id="create_board",
        description="Create a board\n\n"
        "A board stores rows in datasets. It always has the dataset default; define "
        "more here or with update_board. Names need not be unique.",
        input_schema=schema_with_examples(
            {"name": NAME, "description": _DESCRIPTION, "datasets": DATASETS},
            ["name"],
            [
                {"name": "CRM"},
                {
                    "name": "CRM",
                    "description": "People we talk to.",
                    "datasets": [
                        {
                            "name": "default",
                            "columns": SOME_COLUMNS,
                            "dedupe_key_field": "company",
                        }
                    ],
                },
            ],
            ({}, "a board has a name"),
            ({"name": " "}, "a name that can be read"),
            ({"name": "CRM", "datasets": [{"columns": []}]}, "a dataset has a name too"),
            (
                {
                    "name": "CRM",
                    "datasets": [{"name": "d", "columns": [{"key": "a", "type": "x"}]}],
                },
                "a column's type is called field_type",
            ),
        ),
        output_schema=_DESCRIBED,
        handler=create_handler(limits),
        annotations=KEEPS,
    )


def _list() -> Capability:
    total = object_of({"name": {"type": "string"}, "total": COUNT}, ["name", "total"])
    entry = object_of(
        {**BOARD_FIELDS, "datasets": {"type": "array", "items": total}},
        [*BOARD_FIELDS, "datasets"],
    )
    return Capability(
        id="list_boards",
        description="List boards\n\n"
        "Oldest first, with datasets and row counts. Continue at next, which is null "
        "on the last page.",
        input_schema=schema_with_examples(
            {
                "archived": {
                    "description": "Include archived boards.",
                    "type": "boolean",
                    "default": False,
                },
                "limit": {**NUMBER, "maximum": MOST_BOARDS, "default": DEFAULT_BOARDS},
                "after": {"description": "next of the previous page.", **ID},
            },
            [],
            [{}, {"limit": 20, "after": SOME_BOARD}],
            ({"limit": 0}, "at least one"),
            ({"after": "CRM"}, "an id, not a name"),
        ),
        output_schema=schema_with_examples(
            {
                "boards": {"type": "array", "items": entry},
                "next": {"type": ["string", "null"]},
            },
            ["boards", "next"],
            [
                {
                    "boards": [{**SOME_FIELDS, "datasets": [{"name": "default", "total": 2}]}],
                    "next": None,
                }
            ],
            ({"boards": []}, "the end is said by next being null"),
        ),
        handler=list_handler(),
        annotations=READS,
    )


def _get(limits: Limits) -> Capability:
    return Capability(
        id="get_board",
        description="Get a board and a page of its rows\n\n"
        "Give board_id or name; board_id wins, and an ambiguous name is an error that "
        "lists the boards. Returns the rows of one dataset. Large rows end a page "
        "early: continue at next_offset. With search, filters or sort, total counts "
        "the matches, up to a few thousand after the page.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "name": NAME,
                "dataset": DATASET,
                "offset": {**COUNT, "maximum": 1_000_000_000, "default": 0},
                "limit": {**NUMBER, "maximum": MOST_ROWS, "default": MOST_ROWS},
                "after": {
                    "description": "Start after this row; stable while rows are deleted.",
                    **ID,
                },
                "include_deleted": {"type": "boolean", "default": False},
                "sort": {"description": "Field to sort by.", **FIELD},
                "descending": {"type": "boolean", "default": False},
                **LOOKS,
            },
            [],
            [
                {"board_id": SOME_BOARD},
                {"name": "CRM", "dataset": "default", "offset": 1000, "limit": 500},
                {
                    "board_id": SOME_BOARD,
                    "sort": "company",
                    "descending": True,
                    "search": "acme",
                    "filters": [{"field": "state", "op": "is", "value": "open"}],
                },
            ],
            ({}, "which board?"),
            ({"dataset": "default"}, "of which board?"),
            ({"name": "CRM", "limit": MOST_ROWS + 1}, "more than one page holds"),
            ({"name": "CRM", "offset": -1}, "there is nothing before the first"),
            ({"name": "CRM", "filters": [{"field": "a", "op": "like"}]}, "an op that is unknown"),
            anyOf=[{"required": ["board_id"]}, {"required": ["name"]}],
        ),
        output_schema=_build_board_schema(),
        handler=get_handler(limits),
        annotations=READS,
    )


def _build_page_schema() -> JsonSchema:
    # Rows are the workspace's own data; the schema only says that each is an object.
    return object_of(
        {
            "rows": {"type": "array", "items": {"type": "object"}, "maxItems": MOST_ROWS},
            "schema": DATASET_SCHEMA,
            "total": COUNT,
            "more_than_total": {
                "description": "There are more matches than total.",
                "type": "boolean",
            },
            "offset": {"type": ["integer", "null"]},
            "limit": NUMBER,
            "next_offset": {"type": ["integer", "null"]},
        },
        ["rows", "schema", "total"],
    )


def _build_board_schema() -> JsonSchema:
    part = object_of(
        {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "version": NUMBER,
            "updated_at": MOMENT,
        }
    )
    dashboard = object_of({"version": NUMBER, "bytes": COUNT, "updated_at": MOMENT})
    some_row = {
        "row_id": SOME_ROW,
        "company": "Acme",
        "_src": f"member:{SOME_MEMBER}",
        "_updated_at": SOME_TIME,
    }
    some_page = {
        "rows": [some_row],
        "schema": SOME_SCHEMA["datasets"][0],  # type: ignore[index]
        "total": 1,
        "offset": 0,
        "limit": MOST_ROWS,
        "next_offset": None,
    }
    properties = {
        **BOARD_FIELDS,
        "schema": BOARD_SCHEMA,
        "data": object_of(
            {"datasets": {"type": "object", "additionalProperties": _build_page_schema()}},
            ["datasets"],
        ),
        "skills": {"type": "array", "items": part},
        "forms": {"type": "array", "items": part},
        "dashboard": {**dashboard, "type": ["object", "null"]},
        "links": {
            "description": "Links that fill its datasets, with the last refresh.",
            **LINKS,
        },
    }
    example = {
        **SOME_FIELDS,
        "schema": SOME_SCHEMA,
        "data": {"datasets": {"default": some_page}},
        "skills": [],
        "forms": [],
        "dashboard": None,
        "links": [],
    }
    return schema_with_examples(
        properties, list(properties), [example], ({"rows": []}, "rows are in a dataset")
    )


def _update(limits: Limits) -> Capability:
    return Capability(
        id="update_board",
        description="Update a board's name, description or datasets\n\n"
        "Adds datasets that do not exist. columns replaces all columns; values of "
        "removed columns stay in the rows. archived: false restores an archived board.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "name": NAME,
                "description": _DESCRIPTION,
                "archived": {"type": "boolean"},
                "datasets": DATASETS,
            },
            ["board_id"],
            [
                {"board_id": SOME_BOARD, "name": "Customers"},
                {
                    "board_id": SOME_BOARD,
                    "datasets": [{"name": "default", "columns": SOME_COLUMNS}],
                },
            ],
            ({"name": "Customers"}, "which board?"),
            ({"board_id": SOME_BOARD}, "nothing changes"),
            ({"board_id": SOME_BOARD, "rows": []}, "rows have calls of their own"),
            minProperties=2,
        ),
        output_schema=_DESCRIBED,
        handler=update_handler(limits),
        annotations=KEEPS,
    )


def _archive() -> Capability:
    return Capability(
        id="archive_board",
        description="Archive a board\n\n"
        "It is no longer found by name and cannot be changed; nothing is deleted. "
        "Restore it with update_board and archived: false.",
        input_schema=schema_with_examples(
            {"board_id": BOARD_ID},
            ["board_id"],
            [{"board_id": SOME_BOARD}],
            ({"name": "CRM"}, "a name may mean several boards"),
        ),
        output_schema=schema_with_examples(
            {"board_id": ID, "archived": {"const": True}},
            ["board_id", "archived"],
            [{"board_id": SOME_BOARD, "archived": True}],
            ({}, "it must say which board"),
        ),
        handler=archive_handler(),
        annotations=KEEPS,
    )
