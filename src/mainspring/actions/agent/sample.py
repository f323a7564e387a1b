"""What an agent answers that was only pretended: a value of the shape that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema

_REASON: Final = "No model is connected, so the agent was only pretended."
_PLAIN: Final[dict[str, Any]] = {
    "string": "…", "integer": 0, "number": 0, "boolean": False, "array": [], "null": None,
}  # fmt: skip
_DEEPEST: Final = 8


def pretended(arguments: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """An answer that fits, or nothing to do where none can be made up."""
    schema = arguments.get("output_schema")
    output, kind = None, "done"
    if isinstance(schema, Mapping):
        try:
            output = sample_of(schema)
            fits = compile_schema(schema, limits).is_valid(output)
        except Problem:
            fits = False
        output, kind = (output, "done") if fits else (None, "nothing")
    return {
        "output": output,
        "text": _REASON,
        "kind": kind,
        "turns": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0},
        "model": "",
        "transcript": None,
    }


def sample_of(schema: Any, depth: int = 0) -> Any:
    """The first value that comes to mind."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        known = schema.get("properties") or {}
        return {name: sample_of(known.get(name), depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        # One item shows what later steps make of it.
        count = min(max(schema.get("minItems", 1), 1), schema.get("maxItems", 20), 20)
        return [sample_of(schema.get("items"), depth + 1)] * count
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return _PLAIN.get(str(kind))
