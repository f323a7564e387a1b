"""JSON schemas of the upgrade, uninstall and recover capabilities."""

from __future__ import annotations

from typing import Any, Final

from mainspring.recipes.codex.presentation import DEFAULT_INSTALLS, MOST_INSTALLS
from mainspring.recipes.codex.uninstall import DEFAULT_GONE, MOST_GONE
from mainspring.recipes.schemas import (
    BRAIN,
    ENTITY_KINDS,
    INSTALLED,
    KINDS,
    MAYBE,
    SLUG,
    SOME_INSTALLED,
    SOME_SPACE,
    SOME_THING,
    SOME_TIME,
    TEXT,
)
from mainspring.workspace.boards.schemas import (
    ID,
    MOMENT,
    JsonSchema,
    object_of,
    schema_with_examples,
)

_ENTITY: Final[JsonSchema] = {
    "description": "Id of the board, automation, workflow or bundle.",
    **ID,
}
_KIND: Final[JsonSchema] = {"enum": ENTITY_KINDS}
_SOME: Final = {"entity_id": SOME_THING, "entity_kind": "board"}
_PLACE: Final = object_of(
    {
        "place": TEXT,
        "change": {"enum": ["added", "removed", "changed", "reordered"]},
        "was": {"description": "Old value of a single value, shortened.", **TEXT},
        "becomes": {"description": "New value.", **TEXT},
    },
    ["place", "change"],
)
_PLACES: Final[JsonSchema] = {"type": "array", "items": _PLACE}
_ASKS: Final[JsonSchema] = {
    "description": "What a person has to agree to; it is paused until then.",
    "type": "array",
    "items": object_of(
        {"kind": TEXT, "pointer": TEXT, "says": TEXT, "capability": TEXT},
        ["kind", "pointer", "says"],
    ),
}
_NAMES: Final[JsonSchema] = {"type": "array", "items": TEXT}

CHECK_TAKES: Final = schema_with_examples(
    {"entity_id": _ENTITY, "entity_kind": _KIND},
    ["entity_id", "entity_kind"],
    [_SOME],
    ({"entity_id": SOME_THING}, "what is it?"),
    ({"entity_id": "Uptime", "entity_kind": "board"}, "an id, not a name"),
    ({"entity_id": SOME_THING, "entity_kind": "page"}, "no recipe makes a page"),
)
CHECK_ANSWERS: Final = schema_with_examples(
    {
        "installed": {"description": "Installed version.", **TEXT},
        "latest": {
            "description": "Newest version; null: the recipe is no longer published.",
            **MAYBE,
        },
        "has_upgrade": {"type": "boolean"},
        "has_user_changes": {
            "description": "Whether an upgrade would overwrite local edits.",
            "type": "boolean",
        },
        "change_summary": object_of(
            {
                "recipe": {"description": "Changes of the newer version.", **_PLACES},
                "yours": {"description": "Local edits.", **_PLACES},
                "new_dependencies": {
                    "description": "Recipes to install first.",
                    **_NAMES,
                },
                "orphaned_datasets": {
                    "description": "Datasets that the newer version does not have; they stay.",
                    **_NAMES,
                },
            },
            ["recipe", "yours", "new_dependencies", "orphaned_datasets"],
        ),
        "asks_for": _ASKS,
        "definition": {
            "description": "The new definition of an automation: rehearse it with "
            "rehearse_automation. null: there is no newer version, or it first "
            "needs another recipe or a setting.",
            "type": ["object", "null"],
        },
        "bundle": {
            "description": "The bundle that it is upgraded with; null: none.",
            "type": ["object", "null"],
        },
        "members": {
            "description": "Of a bundle: each member.",
            "type": "array",
            "items": {"type": "object"},
        },
    },
    [
        "installed",
        "latest",
        "has_upgrade",
        "has_user_changes",
        "change_summary",
        "asks_for",
        "bundle",
    ],
    [
        {
            "installed": "1.0.0",
            "latest": "1.1.0",
            "has_upgrade": True,
            "has_user_changes": False,
            "change_summary": {
                "recipe": [{"place": "/datasets/default/columns/state", "change": "added"}],
                "yours": [],
                "new_dependencies": [],
                "orphaned_datasets": [],
            },
            "asks_for": [],
            "bundle": None,
        }
    ],
    ({"has_upgrade": True}, "to which version?"),
)
UPGRADE_TAKES: Final = schema_with_examples(
    {
        "entity_id": _ENTITY,
        "entity_kind": _KIND,
        "force": {
            "description": "Overwrite local edits.",
            "type": "boolean",
            "default": False,
        },
        "settings": {
            "description": "Values of new settings; others stay.",
            "type": "object",
            "maxProperties": 50,
        },
    },
    ["entity_id", "entity_kind"],
    [_SOME, {**_SOME, "force": True}],
    ({"entity_id": SOME_THING}, "what is it?"),
    ({**_SOME, "force": "yes"}, "force is true or false"),
)
UPGRADE_ANSWERS: Final = schema_with_examples(
    {
        "entity_id": ID,
        "entity_kind": _KIND,
        "upgraded_from_version": TEXT,
        "upgraded_to_version": TEXT,
        "name": TEXT,
        "state": {"description": "Of an automation.", **TEXT},
        "asks_for": _ASKS,
        "orphaned_datasets": _NAMES,
        "discarded": {"description": "Overwritten local edits.", **_PLACES},
        "dependencies_used": {"type": "array", "items": INSTALLED},
        "recovered": {"type": "array", "items": INSTALLED},
        "cascade_installed": {"type": "array", "items": INSTALLED},
        "members": {
            "description": "Of a bundle: each member.",
            "type": "array",
            "items": {"type": "object"},
        },
        "left_behind": {
            "description": "Members that the bundle no longer has; they stay installed.",
            "type": "array",
            "items": INSTALLED,
        },
        "warnings": {"type": "array", "items": {"type": "object"}},
    },
    ["entity_id", "entity_kind", "upgraded_from_version", "upgraded_to_version", "name"],
    [{**_SOME, "upgraded_from_version": "1.0.0", "upgraded_to_version": "1.1.0", "name": "Uptime"}],
    (_SOME, "from which version to which?"),
)
UNINSTALL_TAKES: Final = schema_with_examples(
    {
        "entity_id": _ENTITY,
        "slug": {**SLUG, "description": "Remove everything installed from this recipe."},
        "brain_id": {**BRAIN, "description": "With slug: your workspace."},
        "cascade": {
            "description": "Also remove dependencies that nothing else uses. Default: only for "
            "bundles.",
            "type": "boolean",
        },
        "dry_run": {
            "description": "Only return what would be removed and what uses it.",
            "type": "boolean",
            "default": False,
        },
    },
    [],
    [
        {"entity_id": SOME_THING},
        {"slug": "uptime-board", "brain_id": SOME_SPACE},
        {"entity_id": SOME_THING, "dry_run": True},
    ],
    ({"entity_id": "Uptime"}, "an id, not a name"),
    ({"slug": "Uptime"}, "a slug is in kebab-case"),
)
_GONE: Final = {"kind": _KIND, "id": ID, "name": TEXT, "recoverable_until": MOMENT}
_SOME_GONE: Final[dict[str, Any]] = {
    "kind": "board",
    "id": SOME_THING,
    "name": "Uptime",
    "recoverable_until": SOME_TIME,
}
UNINSTALL_ANSWERS: Final = schema_with_examples(
    {
        "uninstalled": {"type": "array", "items": object_of(_GONE, list(_GONE))},
        "cascade_count": {
            "description": "How many of them were removed as dependencies.",
            "type": "integer",
        },
        "still_needed_by": {
            "description": "Installed items that use parts of it.",
            "type": "array",
            "items": INSTALLED,
        },
    },
    ["uninstalled", "cascade_count"],
    [{"uninstalled": [_SOME_GONE], "cascade_count": 0}],
    ({"uninstalled": []}, "how many came along?"),
)
GONE_TAKES: Final = schema_with_examples(
    {
        "brain_id": BRAIN,
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_GONE,
            "default": DEFAULT_GONE,
        },
    },
    [],
    [{}, {"limit": 20}],
    ({"limit": 501}, "at most five hundred"),
)
_LEFT: Final = {**INSTALLED["properties"], "uninstalled_at": MOMENT, "expires_at": MOMENT}
GONE_ANSWERS: Final = schema_with_examples(
    {"uninstalled": {"type": "array", "items": object_of(_LEFT, list(_LEFT))}},
    ["uninstalled"],
    [{"uninstalled": [{**SOME_INSTALLED, "uninstalled_at": SOME_TIME, "expires_at": SOME_TIME}]}],
    ({}, "nothing at all is an empty list"),
)
RECOVER_TAKES: Final = schema_with_examples(
    {"entity_id": _ENTITY},
    ["entity_id"],
    [{"entity_id": SOME_THING}],
    ({}, "the slug is missing"),
    ({"entity_id": "Uptime"}, "an id, not a name"),
)
RECOVER_ANSWERS: Final = schema_with_examples(
    {
        **INSTALLED["properties"],
        "recoverable_until": MOMENT,
        "renamed_from": {"description": "The original name, which is taken now.", **TEXT},
        "state": {"description": "Of an automation: paused.", **TEXT},
        "recovered": {
            "description": "What was restored with it.",
            "type": "array",
            "items": INSTALLED,
        },
    },
    [*INSTALLED["required"], "recoverable_until", "recovered"],
    [{**SOME_INSTALLED, "recoverable_until": SOME_TIME, "recovered": []}],
    ({"id": SOME_THING}, "what is it?"),
    additionalProperties=True,
)
INSTALLS_TAKES: Final = schema_with_examples(
    {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_INSTALLS,
            "default": DEFAULT_INSTALLS,
        }
    },
    [],
    [{}, {"limit": 20}],
    ({"limit": 0}, "at least one"),
)
_HERE: Final[dict[str, JsonSchema]] = {
    **INSTALLED["properties"],
    "recipe_kind": {"enum": KINDS},
    "latest_version": MAYBE,
    "update_available": {"type": "boolean"},
    "bundle": {
        "description": "The bundle that it is upgraded with; null: none.",
        "type": ["object", "null"],
    },
    "orphaned_datasets": _NAMES,
    "installed_at": MOMENT,
    "upgraded_at": {"type": ["string", "null"]},
}
INSTALLS_ANSWERS: Final = schema_with_examples(
    {"installs": {"type": "array", "items": object_of(_HERE, list(_HERE))}},
    ["installs"],
    [
        {
            "installs": [
                {
                    **SOME_INSTALLED,
                    "recipe_kind": "board",
                    "latest_version": "1.1.0",
                    "update_available": True,
                    "bundle": None,
                    "orphaned_datasets": [],
                    "installed_at": SOME_TIME,
                    "upgraded_at": None,
                }
            ]
        }
    ],
    ({}, "nothing at all is an empty list"),
)
