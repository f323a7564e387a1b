"""Pieces of Markdown, and JSON Schemas as tables that a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NOTE = "<!-- Written by scripts/reference.py; change the code, then run it again. -->"

Schema = Mapping[str, Any]


def page(title: str, lead: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTE, lead, *(part for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
    return "\n".join(lines) if len(lines) > 2 else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def code(text: object) -> str:
    return f"`{text}`"


def sentence(text: str | None) -> str:
    """The first paragraph, on one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=dict) + "\n"


def fields(schema: Schema) -> str:
    """The properties of an object schema as a table; other shapes as JSON."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return sentence(schema.get("description")) or f"```json\n{as_json(schema)}```"
    required = set(schema.get("required", ()))
    rows = [
        (
            code(name),
            shape(entry),
            "required" if name in required else default_of(entry),
            sentence(entry.get("description") or entry.get("title")),
        )
        for name, entry in properties.items()
    ]
    return table(("Key", "Type", "Default", "Meaning"), rows)


def shape(schema: Any) -> str:
    """What kind of value a schema wants, in a few words."""
    if not isinstance(schema, Mapping):
        return "anything"
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    if "type" not in schema:
        choices = schema.get("anyOf") or schema.get("oneOf")
        return " or ".join(dict.fromkeys(map(shape, choices))) if choices else "anything"
    named = schema["type"]
    kind = named if isinstance(named, str) else " or ".join(named)
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def default_of(schema: Any) -> str:
    known = isinstance(schema, Mapping) and "default" in schema
    return code(json.dumps(schema["default"], ensure_ascii=False)) if known else ""


def shape_of_output(schema: Schema) -> str:
    keys = ", ".join(code(key) for key in schema.get("properties", {}))
    return f"{shape(schema)} with {keys}." if keys else f"{shape(schema)}."
