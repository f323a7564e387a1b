"""What people and runs can do with links of boards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.board_links import links, refresh
from mainspring.connections.board_links.adapters import LinkableResources
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.boards.schemas import (
    BOARD_ID,
    COUNT,
    FIELD,
    ID,
    LINK_FIELDS,
    LINKS,
    NAME,
    PART_NAME,
    READS,
    RECIPE_FIELDS,
    SOME_BOARD,
    SOME_LINK,
    SOME_LINK_ID,
    SOME_RECIPE,
    SOME_RECIPE_ID,
    JsonSchema,
    object_of,
    schema_with_examples,
)
from mainspring.workspace.built_in_automations import BuiltInAutomations

if TYPE_CHECKING:
    from mainspring.store.database import Database

_SHORT: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 100}
_LINK_ID: Final[JsonSchema] = {**ID}
_RECIPE_ID: Final[JsonSchema] = {**ID}
_MADE_BY_PEOPLE: Final = Annotations(
    toolset=Toolset.BOARDS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.3,
    audience=Audience.PEOPLE,
)
_OF_RECIPE: Final[dict[str, JsonSchema]] = {
    "link_id": _LINK_ID,
    "dataset_name": {
        "description": "Created if it does not exist.",
        **PART_NAME,
    },
    "adapter_op": {"description": "Such as github.list_open_prs.", **_SHORT},
    "params": {
        "description": "Arguments of the operation.",
        "type": ["object", "null"],
    },
    "refresh_cron": {
        "description": "In UTC. Default: no schedule.",
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": 200,
    },
    "dedupe_key_field": {
        "description": "Outside field that identifies a row. Default: the operation's own.",
        **FIELD,
    },
    "dedupe_target_field": {
        "description": "Column that stores it. Default: the same name.",
        **FIELD,
    },
}
_TOLD: Final[dict[str, JsonSchema]] = {
    "recipe_id": ID,
    "board_id": ID,
    "dataset": {"type": "string"},
    "total": {"description": "Rows in the dataset now.", **COUNT},
    "appended": COUNT,
    "updated": COUNT,
    "restored": {"description": "Rows that were deleted and are restored.", **COUNT},
    "deleted": COUNT,
    "unchanged": COUNT,
    "duplicates": {"description": "Rows with a duplicate key.", **COUNT},
    "duplicate_keys": {"type": "array", "items": {"type": "string"}},
    "left_out": {"description": "Rows that could not be read or stored.", **COUNT},
    "problems": {
        "description": "The first of those, by position.",
        "type": "array",
        "items": object_of(
            {"row": COUNT, "detail": {"type": "string"}, "code": {"type": "string"}}
        ),
    },
    "renamed": {
        "description": "Fields renamed because the board uses their names itself.",
        "type": "object",
        "additionalProperties": {"type": "string"},
    },
}
_FOUND: Final[dict[str, JsonSchema]] = {
    "kind": {"type": "string"},
    "op": {"type": "string"},
    "rows": {"type": "array", "items": {"type": "object"}},
    "count": {"description": "Number of rows.", **COUNT},
    "cut": {"description": "Whether only the first rows are returned.", "type": "boolean"},
    "left_out": {"description": "Entries that could not be read as rows.", **COUNT},
    "problems": {
        "description": "The first of those.",
        "type": "array",
        "items": object_of({"detail": {"type": "string"}, "code": {"type": "string"}}),
    },
}
_SOME_TOLD: Final[dict[str, Any]] = {
    "recipe_id": SOME_RECIPE_ID,
    "board_id": SOME_BOARD,
    "dataset": "prs",
    "total": 12,
    "appended": 2,
    "updated": 1,
    "restored": 0,
    "deleted": 1,
    "unchanged": 9,
    "duplicates": 0,
    "duplicate_keys": [],
    "left_out": 0,
    "problems": [],
    "renamed": {},
}


def linked_capabilities(
    kinds: LinkableResources,
    automations: BuiltInAutomations,
    limits: Limits,
    database: Database | None,
) -> tuple[Capability, ...]:
    """Everything about links, over what this installation can read."""
    return (
        _create_link(kinds),
        _create_recipe(kinds, automations, limits),
        _refresh(kinds, limits, database),
        _list(),
        _delete_link(),
        _delete_recipe(),
        _query(kinds, limits, database),
    )


def _create_link(kinds: LinkableResources) -> Capability:
    some = {
        "board_id": SOME_BOARD,
        "kind": "github",
        "ref": {"owner": "octo", "repo": "hello"},
        "display_name": "hello PRs",
    }
    return Capability(
        id="create_board_link",
        description="Link a board to an outside resource\n\n"
        "Reads nothing yet: call create_dataset_recipe next to fill a dataset. For "
        "private resources give integration_provider to use your own connection. "
        f"Adapters: {kinds.listed()}.",
        input_schema=schema_with_examples(
            {
                "board_id": BOARD_ID,
                "kind": {"description": "An adapter.", **_SHORT},
                "ref": {
                    "description": "What to read, as the adapter expects it: a url, or owner and "
                    "repo.",
                    "type": "object",
                },
                "display_name": NAME,
                "integration_provider": {
                    "description": "Connection to use, such as github.",
                    **_SHORT,
                },
                "integration_user_id": {
                    "description": "Must be you.",
                    **ID,
                },
            },
            ["board_id", "kind", "ref", "display_name"],
            [some],
            ({**some, "ref": "octo/hello"}, "a reference is an object"),
            ({**some, "display_name": ""}, "it has a name"),
            ({"kind": "github", "ref": {}, "display_name": "x"}, "which board?"),
        ),
        output_schema=schema_with_examples(
            LINK_FIELDS, list(LINK_FIELDS), [SOME_LINK], ({}, "which link?")
        ),
        handler=links.create_link(kinds),
        annotations=Annotations(
            toolset=Toolset.BOARDS,
            effect=Effect.KEEP,
            transactional=True,
            seconds=0.3,
            audience=Audience.PEOPLE,
            judge=lambda given: links.link_findings(kinds, given),
        ),
    )


def _create_recipe(
    kinds: LinkableResources, automations: BuiltInAutomations, limits: Limits
) -> Capability:
    some = {
        "link_id": SOME_LINK_ID,
        "dataset_name": "prs",
        "adapter_op": "github.list_open_prs",
    }
    operations = sorted(op.id for one in kinds.values() for op in one.adapter.operations)
    return Capability(
        id="create_dataset_recipe",
        description="Fill a dataset from a board link\n\n"
        "Each refresh replaces the rows with those of the outside resource; a row "
        "keeps its row_id while its key exists. With refresh_cron an automation refreshes it and "
        "is active immediately; otherwise call refresh_dataset. "
        f"Operations: {', '.join(operations) or 'none'}.",
        input_schema=schema_with_examples(
            _OF_RECIPE,
            ["link_id", "dataset_name", "adapter_op"],
            [
                {
                    **some,
                    "refresh_cron": "0 * * * *",
                    "dedupe_key_field": "id",
                    "dedupe_target_field": "pr_id",
                },
                {**some, "params": {"limit": 100}, "refresh_cron": None},
            ],
            ({**some, "dataset_name": ""}, "a dataset has a name"),
            ({**some, "params": "all"}, "arguments are an object"),
            ({"dataset_name": "prs", "adapter_op": "github.list_open_prs"}, "from which link?"),
        ),
        output_schema=schema_with_examples(
            RECIPE_FIELDS, list(RECIPE_FIELDS), [SOME_RECIPE], ({}, "which recipe?")
        ),
        handler=links.create_recipe(kinds, automations, limits),
        annotations=_MADE_BY_PEOPLE,
    )


def _refresh(kinds: LinkableResources, limits: Limits, database: Database | None) -> Capability:
    return Capability(
        id="refresh_dataset",
        description="Refresh a dataset from its link\n\n"
        "Makes the dataset match the outside resource; writes only changes. Invalid "
        "rows are reported and skipped. Errors are stored with the recipe and shown "
        "on the board.",
        input_schema=_only("recipe_id", _RECIPE_ID, SOME_RECIPE_ID),
        output_schema=schema_with_examples(
            _TOLD, list(_TOLD), [_SOME_TOLD], ({"total": 1}, "of what?")
        ),
        handler=refresh.refresh_handler(kinds, limits, database),
        annotations=Annotations(toolset=Toolset.BOARDS, effect=Effect.KEEP, seconds=10.0),
    )


def _list() -> Capability:
    return build_capability(
        "list_board_links",
        "List the links of a board",
        "Returns each link's recipes with last refresh, row count and errors.",
        _only("board_id", BOARD_ID, SOME_BOARD),
        schema_with_examples(
            {"board_id": ID, "links": LINKS},
            ["board_id", "links"],
            [{"board_id": SOME_BOARD, "links": [{**SOME_LINK, "recipes": [SOME_RECIPE]}]}],
            ({"links": []}, "of which board?"),
        ),
        links.list_links(),
        READS,
    )


def _delete_link() -> Capability:
    return build_capability(
        "delete_board_link",
        "Delete a board link",
        "Deletes its recipes and archives the automations that refreshed them. Rows stay.",
        _only("link_id", _LINK_ID, SOME_LINK_ID),
        schema_with_examples(
            {"link_id": ID, "board_id": ID, "deleted": {"const": True}, "recipes": COUNT},
            ["link_id", "board_id", "deleted", "recipes"],
            [{"link_id": SOME_LINK_ID, "board_id": SOME_BOARD, "deleted": True, "recipes": 1}],
            ({}, "which link?"),
        ),
        links.delete_link(),
        _MADE_BY_PEOPLE,
    )


def _delete_recipe() -> Capability:
    some = {
        "recipe_id": SOME_RECIPE_ID,
        "board_id": SOME_BOARD,
        "dataset_name": "prs",
        "deleted": True,
    }
    return build_capability(
        "delete_dataset_recipe",
        "Stop filling a dataset from a link",
        "Archives the automation that refreshed it. Rows stay.",
        _only("recipe_id", _RECIPE_ID, SOME_RECIPE_ID),
        schema_with_examples(
            {
                "recipe_id": ID,
                "board_id": ID,
                "dataset_name": {"type": "string"},
                "deleted": {"const": True},
            },
            list(some),
            [some],
            ({}, "which recipe?"),
        ),
        links.delete_recipe(),
        _MADE_BY_PEOPLE,
    )


def _query(kinds: LinkableResources, limits: Limits, database: Database | None) -> Capability:
    some = {
        "kind": "github",
        "op": "github.list_open_prs",
        "ref": {"owner": "octo", "repo": "hello"},
    }
    answer = {
        "kind": "github",
        "op": "github.list_open_prs",
        "rows": [{"id": 1, "title": "Fix the clock"}],
        "count": 1,
        "cut": False,
        "left_out": 0,
        "problems": [],
    }
    return Capability(
        id="adapter_query",
        description="Read rows from an outside resource once\n\n"
        "Stores nothing; use create_board_link to keep rows on a board. Uses your "
        "connection if there is one; a run uses its owner's and reads only linked "
        f"addresses. Adapters: {kinds.listed()}.",
        input_schema=schema_with_examples(
            {
                "kind": {"description": "An adapter.", **_SHORT},
                "op": {"description": "An operation of the adapter.", **_SHORT},
                "ref": {
                    "description": "What to read, as the adapter expects it.",
                    "type": ["object", "null"],
                },
                "params": {
                    "description": "Arguments of the operation.",
                    "type": ["object", "null"],
                },
            },
            ["kind", "op"],
            [some, {**some, "params": {"limit": 10}}],
            ({"kind": "github", "ref": {}}, "what of it?"),
            ({**some, "ref": "octo/hello"}, "a reference is an object"),
        ),
        output_schema=schema_with_examples(
            _FOUND, list(_FOUND), [answer], ({"rows": []}, "of what?")
        ),
        handler=refresh.query_handler(kinds, limits, database),
        annotations=Annotations(
            toolset=Toolset.BOARDS,
            effect=Effect.READ,
            seconds=5.0,
            opens=True,
            judge=lambda given: refresh.query_findings(kinds, given),
        ),
    )


def _only(name: str, shape: JsonSchema, some: str) -> JsonSchema:
    return schema_with_examples(
        {name: shape},
        [name],
        [{name: some}],
        ({}, "which one?"),
        ({name: "prs"}, "an id, not a name"),
    )
