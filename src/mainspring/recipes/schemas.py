"""JSON schemas of the catalog, install and publish capabilities."""

from __future__ import annotations

from typing import Any, Final

from mainspring.recipes.codex.presentation import DEFAULT_RECIPES, MOST_RECIPES
from mainspring.recipes.package.template_schemas import SLUG as SLUG_SHAPE
from mainspring.workspace.boards.schemas import (
    ID,
    MOMENT,
    NAME,
    JsonSchema,
    object_of,
    schema_with_examples,
)

SOME_RECIPE: Final = "01900000-0000-7000-8000-00000000c001"
SOME_THING: Final = "01900000-0000-7000-8000-00000000c002"
SOME_SPACE: Final = "01900000-0000-7000-8000-000000000001"
SOME_TIME: Final = "2026-01-31T09:00:00+00:00"
KINDS: Final = ["board", "automation", "workflow", "integration", "bundle"]
ENTITY_KINDS: Final = ["board", "automation", "workflow", "bundle"]

TEXT: Final[JsonSchema] = {"type": "string"}
MAYBE: Final[JsonSchema] = {"type": ["string", "null"]}
SLUG: Final[JsonSchema] = {"description": "Slug of the recipe.", **SLUG_SHAPE}
RECIPE_ID: Final[JsonSchema] = {"description": "Id of the recipe.", **ID}
BRAIN: Final[JsonSchema] = {
    "description": "Your workspace; the only accepted value and the default.",
    **ID,
}

BRIEFLY: Final = object_of(
    {"id": ID, "slug": TEXT, "name": TEXT, "kind": {"enum": KINDS}, "version": TEXT},
    ["id", "slug", "name", "kind", "version"],
)
SOME_BRIEFLY: Final = {
    "id": SOME_RECIPE,
    "slug": "uptime-board",
    "name": "Uptime",
    "kind": "board",
    "version": "1.0.0",
}
INSTALLED: Final[JsonSchema] = {
    "type": "object",
    "required": ["kind", "id", "name", "source_recipe_slug", "source_recipe_version"],
    "properties": {
        "kind": {"enum": ENTITY_KINDS},
        "id": ID,
        "name": TEXT,
        "source_recipe_slug": TEXT,
        "source_recipe_version": TEXT,
    },
}
SOME_INSTALLED: Final = {
    "kind": "board",
    "id": SOME_THING,
    "name": "Uptime",
    "source_recipe_slug": "uptime-board",
    "source_recipe_version": "1.0.0",
}
_ENTRY: Final[dict[str, JsonSchema]] = {
    "id": ID,
    "slug": TEXT,
    "name": TEXT,
    "kind": {"enum": KINDS},
    "category": TEXT,
    "tags": {"type": "array", "items": TEXT},
    "version": TEXT,
    "description_excerpt": TEXT,
    "preview_image_url": MAYBE,
    "author": TEXT,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "origin": {
        "description": "Who published it: this workspace, built-in, or shared by another.",
        "enum": ["workspace", "starter", "shared"],
    },
    "installed": {"description": "Number of installs here.", "type": "integer"},
    "update_available": {
        "description": "Whether an install here is older than this version.",
        "type": "boolean",
    },
}
# Fields of a single recipe beyond those in a list.
_WHOLE: Final = ("description", "template", "digest", "versions", "installs", "may")
_SOME_ENTRY: Final[dict[str, Any]] = {
    **SOME_BRIEFLY,
    "category": "operations",
    "tags": ["uptime"],
    "description_excerpt": "A board of what is up.",
    "preview_image_url": None,
    "author": "Mainspring",
    "created_at": SOME_TIME,
    "updated_at": SOME_TIME,
    "origin": "starter",
    "installed": 1,
    "update_available": False,
}

LIST_TAKES: Final = schema_with_examples(
    {
        "kind": {"enum": KINDS},
        "category": {"type": "string", "maxLength": 100},
        "tag": {"type": "string", "maxLength": 100},
        "search": {
            "description": "Words or prefixes in name, description, slug, category and tags.",
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RECIPES,
            "default": DEFAULT_RECIPES,
        },
    },
    [],
    [{}, {"kind": "board", "search": "uptime", "limit": 10}],
    ({"kind": "page"}, "no recipe makes a page"),
    ({"limit": 101}, "at most a hundred"),
)
LIST_ANSWERS: Final = schema_with_examples(
    {"recipes": {"type": "array", "items": object_of(_ENTRY, list(_ENTRY))}},
    ["recipes"],
    [{"recipes": [_SOME_ENTRY]}],
    ({}, "no recipe at all is an empty list"),
)
GET_TAKES: Final = schema_with_examples(
    {"slug": SLUG, "id": RECIPE_ID},
    [],
    [{"slug": "uptime-board"}, {"id": SOME_RECIPE}],
    ({"slug": "Uptime Board"}, "a slug is in kebab-case"),
    ({"id": "uptime-board"}, "an id is a uuid"),
)
GET_ANSWERS: Final = schema_with_examples(
    {
        "recipe": {
            "description": "The recipe as published, with its template and local details.",
            "type": "object",
            "required": [*_ENTRY, *_WHOLE],
            "properties": {
                **_ENTRY,
                "template": {"type": "object"},
                "versions": {"type": "array", "items": TEXT},
                "installs": {"type": "array", "items": INSTALLED},
                "may": {
                    "description": "What a person has to agree to, in sentences, dependencies "
                    "included. Values of settings appear as <name>.",
                    "type": "array",
                    "items": TEXT,
                },
            },
        }
    },
    ["recipe"],
    [
        {
            "recipe": {
                **_SOME_ENTRY,
                "description": "A board of what is up.",
                "template": {"name": "Uptime"},
                "digest": "sha256:" + "0" * 64,
                "versions": ["1.0.0"],
                "installs": [SOME_INSTALLED],
                "may": [],
            }
        }
    ],
    ({"recipe": None}, "one that is not there is a problem and not an answer"),
)

_OVERRIDES: Final = object_of(
    {
        "board_name": {**NAME},
        "board_description": {"type": "string", "maxLength": 5_000},
        "title": {**NAME},
        "charter": {"type": "string", "maxLength": 20_000},
        "roster": {
            "description": "Members of the workflow and their roles.",
            "type": "array",
            "maxItems": 100,
            "items": {"type": "object"},
        },
        "name": {"description": "Name of what the recipe creates.", **NAME},
        "settings": {
            "description": "Values of the recipe's declared settings.",
            "type": "object",
            "maxProperties": 50,
        },
    }
)
APPLY_TAKES: Final = schema_with_examples(
    {"slug": SLUG, "id": RECIPE_ID, "brain_id": BRAIN, "overrides": _OVERRIDES},
    [],
    [
        {"slug": "uptime-board"},
        {"slug": "uptime-board", "overrides": {"board_name": "Shop uptime"}},
    ],
    ({"slug": "uptime board"}, "a slug is in kebab-case"),
    ({"slug": "a", "overrides": {"colour": "red"}}, "only what can be changed can be overridden"),
    ({"slug": "a", "overrides": {"board_name": " "}}, "a name that can be read"),
)
_THINGS: Final[JsonSchema] = {"type": "array", "items": INSTALLED}
APPLY_ANSWERS: Final = schema_with_examples(
    {
        "recipe": BRIEFLY,
        "created": INSTALLED,
        "dependencies_used": {"description": "Existing dependencies.", **_THINGS},
        "recovered": {"description": "Uninstalled items that were restored.", **_THINGS},
        "cascade_installed": {"description": "Dependencies installed first.", **_THINGS},
    },
    ["recipe", "created"],
    [{"recipe": SOME_BRIEFLY, "created": SOME_INSTALLED}],
    ({"recipe": SOME_BRIEFLY}, "what was made?"),
)
_NEED: Final[dict[str, JsonSchema]] = {"slug": TEXT, "min_version": TEXT, "reason": TEXT}
_NEEDED: Final = ["slug", "min_version"]
NEEDS_TAKES: Final = schema_with_examples(
    {"slug": SLUG, "id": RECIPE_ID, "brain_id": BRAIN},
    [],
    [{"slug": "uptime-check"}],
    ({"slug": ""}, "which recipe?"),
)
NEEDS_ANSWERS: Final = schema_with_examples(
    {
        "recipe": BRIEFLY,
        "declared": {"type": "array", "items": object_of(_NEED, _NEEDED)},
        "satisfied": {
            "description": "Installed and new enough.",
            "type": "array",
            "items": object_of({**_NEED, "installed": INSTALLED}, [*_NEEDED, "installed"]),
        },
        "missing": {
            "description": "Not installed; available ones are installed first.",
            "type": "array",
            "items": object_of(
                {
                    **_NEED,
                    "available": object_of(
                        {"has_recipe": {"type": "boolean"}, "latest_version": MAYBE},
                        ["has_recipe", "latest_version"],
                    ),
                },
                [*_NEEDED, "available"],
            ),
        },
        "chain": {
            "description": "Everything to install, in order.",
            "type": "array",
            "items": object_of(
                {
                    "slug": TEXT,
                    "version": MAYBE,
                    "needed_by": MAYBE,
                    "way": {"enum": ["install", "recover", "use"]},
                },
                ["slug", "version", "needed_by", "way"],
            ),
        },
        "problems": {"description": "Why it cannot be installed.", "type": "array", "items": TEXT},
    },
    ["recipe", "declared", "satisfied", "missing", "chain", "problems"],
    [
        {
            "recipe": SOME_BRIEFLY,
            "declared": [],
            "satisfied": [],
            "missing": [],
            "chain": [
                {"slug": "uptime-board", "version": "1.0.0", "needed_by": None, "way": "install"}
            ],
            "problems": [],
        }
    ],
    ({"recipe": SOME_BRIEFLY}, "what does it need?"),
)
PUBLISH_TAKES: Final = schema_with_examples(
    {
        "package": {
            "description": "The content of recipe.json.",
            "type": "object",
        },
        "shared": {
            "description": "Visible to every workspace of the installation. Default: as before, "
            "at first false.",
            "type": "boolean",
        },
    },
    ["package"],
    [
        {
            "package": {
                "format": "mainspring.recipe",
                "format_version": 1,
                "slug": "reading-list",
                "version": "1.0.0",
                "kind": "board",
                "name": "Reading list",
                "description": "What to read next.",
                "publisher": "Somebody",
                "category": "knowledge",
                "template": {"name": "Reading list"},
            }
        }
    ],
    ({}, "which recipe?"),
    ({"package": "reading-list"}, "the recipe itself, not its name"),
)
PUBLISH_ANSWERS: Final = schema_with_examples(
    {
        "id": ID,
        "slug": TEXT,
        "version": TEXT,
        "kind": {"enum": KINDS},
        "shared": {"type": "boolean"},
        "signed": {"type": "boolean"},
        "digest": TEXT,
    },
    ["id", "slug", "version", "kind", "shared", "signed", "digest"],
    [
        {
            "id": SOME_RECIPE,
            "slug": "reading-list",
            "version": "1.0.0",
            "kind": "board",
            "shared": False,
            "signed": False,
            "digest": "sha256:" + "0" * 64,
        }
    ],
    ({"slug": "reading-list"}, "which version?"),
)
