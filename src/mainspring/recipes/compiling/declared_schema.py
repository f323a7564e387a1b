"""The shape of a declarative integration, as JSON Schema."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.object_schema import DIALECT, build_object_part
from mainspring.gate.ingestion import declared_schema as parts

_TEXT: Final = {"type": "string", "maxLength": 4_000}
_SECRET: Final = {
    "type": "string",
    "maxLength": 64,
    "pattern": "^[A-Z][A-Z0-9_]*$",
    "x-mainspring-says": "A publisher secret's name is capitals, digits and underscores, with a "
    "capital first.",
}
_AUTH: Final = {
    **build_object_part(
        {
            "type": {
                "enum": ["api_key", "none"],
                "x-mainspring-says": "auth.type is api_key or none. What signs in otherwise, such "
                "as OAuth, is a recipe with a script.",
            },
            "header": {"type": "string", "minLength": 1, "maxLength": 128},
            "secret_name": _SECRET,
        },
        ["type"],
    ),
    "if": {"required": ["type"], "properties": {"type": {"const": "api_key"}}},
    "then": {"required": ["secret_name"]},
}
_TRIGGER: Final = build_object_part(
    {
        "kind": {
            "enum": ["cron"],
            "x-mainspring-says": "A declarative integration is read on a cron; what waits for "
            "something else is a recipe with a script.",
        },
        "cron": {"type": "string", "minLength": 1, "maxLength": 200},
        "tz": {"type": "string", "minLength": 1, "maxLength": 100},
    },
    ["kind", "cron"],
)
_ENDPOINT: Final = {
    **build_object_part(
        {
            "op": parts.OP,
            "method": parts.METHOD,
            "url": parts.URL,
            "headers": parts.HEADERS,
            "query": parts.QUERY,
            "json": {"type": "object"},
            "mapping": parts.MAPPING,
            "paging": parts.PAGING,
            "conditional": {"type": "boolean"},
            "cursor": parts.CURSOR,
            "rate": parts.RATE,
        },
        ["op", "url"],
    ),
    "x-mainspring-instead": dict.fromkeys(("body", "data"), "The question of a POST is json."),
}
DECLARED: Final[dict[str, Any]] = {
    "$schema": DIALECT,
    **build_object_part(
        {
            "slug": parts.SOURCE,
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "description": _TEXT,
            "publisher": _TEXT,
            "auth": _AUTH,
            "trigger": _TRIGGER,
            "endpoints": {"type": "array", "minItems": 1, "maxItems": 20, "items": _ENDPOINT},
            "mapping": parts.MAPPING,
            "rate": parts.RATE,
        },
        ["trigger", "endpoints"],
    ),
    "x-mainspring-instead": {
        "paging": "It belongs to an endpoint.",
        "cursor": "It belongs to an endpoint.",
        "conditional": "It belongs to an endpoint.",
        "schedule": "Say it as trigger: {kind: cron, cron}.",
    },
}
