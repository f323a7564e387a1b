"""JSON schemas of the templates by recipe kind.

Boards use the schemas of ``create_board`` and related capabilities, so that the same input is valid
in both. Definitions and scripts are validated elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.recipes.compiling.declarative import DECLARED
from mainspring.recipes.package.references import SAYS as VERSION_SAYS
from mainspring.recipes.package.references import SEMVER_PATTERN as VERSION_PATTERN
from mainspring.workspace.boards.part_capabilities import part_capabilities
from mainspring.workspace.boards.schemas import DATASETS, NAME, JsonSchema, object_of

SLUG: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 64,
    "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
    "x-mainspring-says": "A slug is small letters and digits with single dashes between them, "
    "such as uptime-check.",
}
VERSION: Final[JsonSchema] = {
    "type": "string",
    "maxLength": 30,
    "pattern": VERSION_PATTERN,
    "x-mainspring-says": VERSION_SAYS,
}
REASON: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 500}
WORKFLOW_TEMPLATES: Final = ("progress_scorer", "task_nudger", "milestone_reviewer")

_TEXT: Final[JsonSchema] = {"type": "string", "maxLength": 20_000}
_MOST_MEMBERS: Final = 50


def build_template_schemas() -> dict[str, JsonSchema]:
    """Build the template schema by kind."""
    return {
        "board": _build_board_schema(),
        "automation": _build_automation_schema(),
        "workflow": _build_workflow_schema(),
        "integration": _build_integration_schema(),
        "bundle": _build_bundle_schema(),
    }


def build_script_schema() -> JsonSchema:
    """The schema of a script and its limits; the rest is validated as an automation."""
    listed: JsonSchema = {"type": "array", "maxItems": 100}
    return {
        "description": "A script with its triggers, grants, hosts and bounds.",
        "type": "object",
        "properties": {
            "source": {"description": "The TypeScript.", "type": "string", "minLength": 1},
            "source_file": {
                "description": "In a folder: the file next to recipe.json that contains it.",
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
            },
            "triggers": {**listed, "items": {"type": "object"}},
            "tool_grants": {**listed, "items": {"type": "object", "required": ["tool"]}},
            "http_fetch_hosts": {**listed, "items": {"type": "string", "maxLength": 300}},
        },
        "oneOf": [{"required": ["source"]}, {"required": ["source_file"]}],
    }


def _build_automation_schema() -> JsonSchema:
    return {
        "description": "An ordinary definition, or a script that becomes one.",
        **object_of(
            {
                "definition": {"description": "An ordinary definition.", "type": "object"},
                "script": build_script_schema(),
            }
        ),
        "oneOf": [{"required": ["definition"]}, {"required": ["script"]}],
    }


def _build_board_schema() -> JsonSchema:
    parts = {one.id: one for one in part_capabilities(Limits())}
    rows = {"type": "array", "maxItems": 500, "items": {"type": "object"}}
    return {
        "description": "A board as create_board takes it, with its parts and first rows.",
        **object_of(
            {
                "name": NAME,
                "description": {"type": "string", "maxLength": 5_000},
                "datasets": DATASETS,
                "skills": _build_parts_schema(parts["set_board_skill"]),
                "forms": _build_parts_schema(parts["set_board_form"]),
                "dashboard": {"description": "One HTML document.", "type": "string"},
                "rows": {
                    "description": "The first rows of each dataset, by its name.",
                    "type": "object",
                    "maxProperties": 50,
                    "additionalProperties": rows,
                },
            },
            ["name"],
        ),
    }


def _build_parts_schema(setting: Capability) -> JsonSchema:
    """Skills or forms, without the board, which does not exist yet."""
    taken: Mapping[str, Any] = setting.input_schema
    fields = {name: part for name, part in taken["properties"].items() if name != "board_id"}
    needed = [name for name in taken["required"] if name != "board_id"]
    return {"type": "array", "maxItems": 100, "items": object_of(fields, needed)}


def _build_workflow_schema() -> JsonSchema:
    return {
        "description": "A charter with its numbers and dates, and what works for it.",
        **object_of(
            {
                "title": NAME,
                "charter": _TEXT,
                "kpis": {"type": "array", "maxItems": 50, "items": {"type": "object"}},
                "deadlines": {"type": "array", "maxItems": 100, "items": {"type": "object"}},
                "board": {"description": "A dependency that is a board.", **SLUG},
                "automations": {
                    "description": "Dependencies that are automations, or the names of templates "
                    f"of workflows: {', '.join(WORKFLOW_TEMPLATES)}.",
                    "type": "array",
                    "maxItems": _MOST_MEMBERS,
                    "uniqueItems": True,
                    "items": {"type": "string", "minLength": 1, "maxLength": 64},
                },
            },
            ["title"],
        ),
    }


def _build_integration_schema() -> JsonSchema:
    declared = {key: part for key, part in DECLARED.items() if key != "$schema"}
    # It equals the recipe's slug.
    declared["properties"] = {**declared["properties"], "slug": SLUG}
    return {
        "description": "When it reads, where, and how each item becomes a page; or a script.",
        "type": "object",
        "if": {"required": ["script"]},
        "then": object_of({"script": build_script_schema()}),
        "else": declared,
    }


def _build_bundle_schema() -> JsonSchema:
    return {
        "description": "Recipes that are installed together.",
        **object_of(
            {
                "members": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": _MOST_MEMBERS,
                    "items": object_of(
                        {"slug": SLUG, "min_version": VERSION, "reason": REASON}, ["slug"]
                    ),
                }
            },
            ["members"],
        ),
    }
