"""Builds JSON Schemas of objects without additional properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def build_object_part(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """A subschema; every property is required unless ``required`` is given."""
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
    """A complete schema with examples, and anti-examples with their reasons."""
    return {
        "$schema": DIALECT,
        **build_object_part(properties, required),
        "examples": list(examples),
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in anti_examples
        ],
    }
