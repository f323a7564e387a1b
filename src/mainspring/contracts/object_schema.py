"""JSON Schemas of objects that have these properties and no others, as most schemas here are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def build_object_part(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """A part of a schema; where nothing is said of it, every property is required."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties if required is None else required),
        "properties": dict(properties),
    }


def build_object_schema(
    properties: Mapping[str, Any],
    required: Sequence[str],
    examples: Sequence[Any],
    anti_examples: Sequence[tuple[Any, str]] = (),
) -> dict[str, Any]:
    """A whole schema, with what fits it and what does not, each of those with its reason."""
    return {
        "$schema": DIALECT,
        **build_object_part(properties, required),
        "examples": list(examples),
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in anti_examples
        ],
    }
