"""The published JSON schema of a recipe: the envelope, and the template by kind.

The envelope has everything that a person is shown before installing. Whether it covers what the
template needs is checked in ``validation``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from mainspring.recipes.package.example_recipes import ANTI_EXAMPLES, EXAMPLES
from mainspring.recipes.package.references import DIGEST_PATTERN
from mainspring.recipes.package.signing import ALGORITHM
from mainspring.recipes.package.template_schemas import (
    REASON,
    SLUG,
    VERSION,
    build_template_schemas,
)
from mainspring.workspace.boards.schemas import NAME, JsonSchema, object_of

FORMAT: Final = "mainspring.recipe"
FORMAT_VERSION: Final = 1
SCHEMA_ID: Final = "urn:mainspring:recipe:1"
KINDS: Final = ("board", "automation", "workflow", "integration", "bundle")

_WORD: Final[JsonSchema] = {
    "type": "string",
    "maxLength": 64,
    "pattern": "^[a-z][a-z0-9_]*$",
    "x-mainspring-says": "Use lowercase letters, digits and underscores, and start with a letter.",
}
_SECRET: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 64}
_SHOWN_ANTI_EXAMPLES: Final = 6


@lru_cache(maxsize=1)
def build_recipe_schema() -> dict[str, Any]:
    """Build the published schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Recipe",
        "description": "Something that others can install: what it makes, and what it asks for. "
        "Where a number or a truth value is left to the install, it is written as a reference.",
        **object_of(_build_fields(), _NEEDED),
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"properties": {"template": schema}},
            }
            for kind, schema in build_template_schemas().items()
        ],
        "examples": [one.document for one in EXAMPLES],
        "x-mainspring-anti-examples": [
            {"value": one.document, "reason": one.reason} for one in ANTI_EXAMPLES if one.schema
        ][:_SHOWN_ANTI_EXAMPLES],
    }


_NEEDED: Final = (
    "format",
    "format_version",
    "slug",
    "version",
    "kind",
    "name",
    "description",
    "publisher",
    "category",
    "template",
)


def _build_fields() -> JsonSchema:
    return {
        "format": {"const": FORMAT},
        "format_version": {"const": FORMAT_VERSION},
        "slug": {"description": "What it is called in the codex.", **SLUG},
        "version": VERSION,
        "kind": {"enum": list(KINDS)},
        "name": NAME,
        "description": {
            "description": "What it does for the person who installs it.",
            "type": "string",
            "minLength": 1,
            "maxLength": 5_000,
        },
        "publisher": {"description": "Who publishes it.", **NAME},
        "author": {"description": "Who wrote it.", **NAME},
        "category": {
            "type": "string",
            "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
            "maxLength": 40,
            "x-mainspring-says": "A category is one word in small letters, such as operations.",
        },
        "tags": {
            "type": "array",
            "maxItems": 20,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 40},
        },
        "preview_image_url": {
            "type": "string",
            "maxLength": 2_000,
            "pattern": "^https://[^\\s]+$",
            "x-mainspring-says": "An image is at an address that begins with https://.",
        },
        "preview": {
            "description": "What it looks like, as Markdown.",
            "type": "string",
            "maxLength": 20_000,
        },
        **_build_requests_schema(),
        **_build_examples_schema(),
    }


def _build_requests_schema() -> JsonSchema:
    """The schema of what the installer is shown and consents to."""
    return {
        "dependencies": {
            "description": "Recipes that must be installed first. Missing ones are installed too.",
            "type": "array",
            "maxItems": 50,
            "items": object_of(
                {
                    "slug": SLUG,
                    "min_version": VERSION,
                    "reason": REASON,
                    "as": {
                        "description": "How the template calls it: install.<as>.id.",
                        **_WORD,
                    },
                },
                ["slug"],
            ),
        },
        "requires": object_of(
            {
                "secrets": _build_needs_schema("name", _SECRET),
                "publisher_secrets": _build_needs_schema("name", _SECRET),
                "connections": _build_needs_schema("integration", {**_SECRET, "maxLength": 100}),
            }
        ),
        "grants": {
            "description": "What it may call, within which bounds; no more than it needs.",
            "type": "array",
            "maxItems": 100,
            "items": object_of(
                {
                    "capability": {"type": "string", "minLength": 1, "maxLength": 200},
                    "params": {"type": "object"},
                },
                ["capability"],
            ),
        },
        "hosts": {
            "description": "Every host that it may reach.",
            "type": "array",
            "maxItems": 100,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 260},
        },
        "settings": {
            "description": "Values chosen at installation. The template uses "
            "install.settings.<name>.",
            "type": "array",
            "maxItems": 50,
            "items": _build_setting_schema(),
        },
    }


def _build_needs_schema(key: str, schema: JsonSchema) -> JsonSchema:
    return {
        "type": "array",
        "maxItems": 50,
        "items": object_of({key: schema, "reason": REASON}, [key, "reason"]),
    }


def _build_setting_schema() -> JsonSchema:
    value = {"type": ["string", "number", "boolean"]}
    return object_of(
        {
            "name": _WORD,
            "label": {"type": "string", "minLength": 1, "maxLength": 200},
            "type": {"enum": ["string", "number", "boolean"]},
            "default": {"description": "Taken where nothing is given.", **value},
            "required": {"type": "boolean", "default": True},
            "example": {"description": "A value that would do.", **value},
        },
        ["name", "type"],
    )


def _build_examples_schema() -> JsonSchema:
    return {
        "examples": {
            "description": "What goes in, and what then happens.",
            "type": "array",
            "maxItems": 20,
            "items": object_of(
                {
                    "name": {"type": "string", "minLength": 1, "maxLength": 200},
                    "inputs": {"type": "object"},
                    "payload": {"type": "object"},
                    "says": {"type": "string", "minLength": 1, "maxLength": 2_000},
                },
                ["name", "says"],
            ),
        },
        "template": {"description": "What it makes, by its kind.", "type": "object"},
        "digest": {
            "description": "SHA-256 of the canonical JSON, without digest and signature.",
            "type": "string",
            "pattern": DIGEST_PATTERN,
            "x-mainspring-says": "A digest is sha256: and 64 small hexadecimal digits.",
        },
        "signature": object_of(
            {
                "algorithm": {"const": ALGORITHM},
                "public_key": {"type": "string", "maxLength": 100},
                "value": {
                    "description": "Over the 32 bytes of the digest, as base64.",
                    "type": "string",
                    "maxLength": 200,
                },
            },
            ["algorithm", "public_key", "value"],
        ),
    }
