"""The arguments and answers of ingest_from_endpoint, as JSON Schema.

The parts are those of a declarative integration, so that a recipe and the step that it becomes
are written in the same words. Nothing in them is a template of the run, except that secrets may
stand in headers and query.
"""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.workspace.pages.content import LONGEST_TYPE, TYPE_PATTERN

METHODS: Final = ("GET", "POST")
MOST_PAGES: Final = 400
USUAL_PAGES: Final = 20
MOST_LISTED: Final = 250

Schema = dict[str, Any]

_WORD: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 100}
_PATH: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 1_000}
_TEXT: Final[Schema] = {"type": "string", "maxLength": 20_000}
OP: Final[Schema] = {
    "type": "string",
    "maxLength": 40,
    "pattern": "^[a-z][a-z0-9_]*$",
    "x-mainspring-says": "An op is small letters, digits and underscores, such as snapshot.",
}
SOURCE: Final[Schema] = {
    "type": "string",
    "maxLength": 64,
    "pattern": "^[a-z0-9][a-z0-9-]*$",
    "x-mainspring-says": "A slug is small letters, digits and dashes, such as coinmarketcap-top10.",
}
METHOD: Final[Schema] = {
    "enum": list(METHODS),
    "x-mainspring-says": "A declarative integration reads: its method is GET, or POST with a "
    "question as JSON.",
}
URL: Final[Schema] = {"type": "string", "minLength": 8, "maxLength": 4_000}
HEADERS: Final[Schema] = {
    "type": "object",
    "maxProperties": 30,
    "propertyNames": {"maxLength": 128, "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
    "additionalProperties": {"type": "string", "maxLength": 4_000},
}
QUERY: Final[Schema] = {
    "type": "object",
    "maxProperties": 50,
    "additionalProperties": {"type": "string", "maxLength": 4_000},
}
MAPPING: Final[Schema] = build_object_part(
    {
        "iterate": {"description": "JSONPath to the items of the response.", **_PATH},
        "page_type": {"type": "string", "maxLength": LONGEST_TYPE, "pattern": TYPE_PATTERN},
        "source_ref_prefix": {"type": "string", "minLength": 1, "maxLength": 60},
        "source_ref": {
            "description": "Identifies an item; prevents duplicates.",
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
        },
        "title": {"type": "string", "minLength": 1, "maxLength": 1_000},
        "frontmatter": {
            "description": "Values are stored as text.",
            "type": "object",
            "maxProperties": 100,
            "additionalProperties": _TEXT,
        },
        "body": _TEXT,
    },
    ["iterate", "page_type", "source_ref_prefix", "source_ref", "title"],
)
_PAGES: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": MOST_PAGES}
_COUNTING: Final = ("next", "param", "start", "size_param", "size")
PAGING: Final[Schema] = {
    **build_object_part(
        {
            "kind": {"enum": ["cursor", "page", "link"]},
            "next": {"description": "cursor: where the response has the next cursor.", **_PATH},
            "param": {"description": "cursor and page: the query parameter.", **_WORD},
            "start": {"type": "integer", "minimum": 0, "maximum": 1_000_000},
            "size_param": _WORD,
            "size": {"type": "integer", "minimum": 1, "maximum": 1_000},
            "max_pages": {"default": USUAL_PAGES, **_PAGES},
        },
        ["kind"],
    ),
    "allOf": [
        {
            "if": {"properties": {"kind": {"const": "cursor"}}},
            "then": {
                "required": ["next", "param"],
                "properties": {"start": False, "size_param": False, "size": False},
            },
        },
        {
            "if": {"properties": {"kind": {"const": "page"}}},
            "then": {"required": ["param"], "properties": {"next": False}},
        },
        {
            "if": {"properties": {"kind": {"const": "link"}}},
            "then": {"properties": dict.fromkeys(_COUNTING, False)},
        },
    ],
}
CURSOR: Final[Schema] = build_object_part(
    {
        "field": {"description": "JSONPath in each item to the increasing value.", **_PATH},
        "param": {"description": "Query parameter for the highest value so far.", **_WORD},
        "initial": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    ["field", "param"],
)
RATE: Final[Schema] = build_object_part(
    {"min_seconds": {"type": "number", "minimum": 0, "maximum": 60}}, ["min_seconds"]
)
_SOME_MAPPING: Final = {
    "iterate": "$.data[*]",
    "page_type": "crypto_coin_snapshot",
    "source_ref_prefix": "cmc:",
    "source_ref": "{{symbol}}@{{last_updated}}",
    "title": "{{name}} ({{symbol}}) — ${{quote.USD.price}}",
    "frontmatter": {"symbol": "{{symbol}}", "price_usd": "{{quote.USD.price}}"},
}
_SOME: Final = {
    "source": "coinmarketcap-top10",
    "op": "snapshot",
    "method": "GET",
    "url": "https://api.example.com/listings?limit=10",
    "mapping": _SOME_MAPPING,
}


def _none(schema: Schema) -> Schema:
    """Data and not a template of the run, whatever braces are in it."""
    return {**schema, "x-mainspring-scope": "none"}


INPUT: Final = build_object_schema(
    {
        "source": _none({"description": "Slug of the integration.", **SOURCE}),
        "op": _none({"description": "Name of the endpoint.", **OP}),
        "method": _none(METHOD),
        "url": _none(URL),
        "headers": HEADERS,
        "query": QUERY,
        "json": _none({"description": "Body of a POST.", "type": "object"}),
        "mapping": _none(MAPPING),
        "paging": _none(PAGING),
        "conditional": _none({"description": "Request only changes, by ETag.", "type": "boolean"}),
        "cursor": _none(CURSOR),
        "rate": _none(
            build_object_part(
                {
                    **RATE["properties"],
                    "waits_first": {
                        "description": "Another endpoint was called just before.",
                        "type": "boolean",
                    },
                },
                ["min_seconds"],
            )
        ),
    },
    ["source", "op", "url", "mapping"],
    [
        _SOME,
        {
            **_SOME,
            "method": "POST",
            "json": {"limit": 50},
            "paging": {"kind": "cursor", "next": "$.next_cursor", "param": "cursor"},
        },
        {
            **_SOME,
            "paging": {"kind": "page", "param": "page", "start": 1, "max_pages": 5},
            "cursor": {"field": "$.updated_at", "param": "since"},
            "rate": {"min_seconds": 1},
        },
        {**_SOME, "paging": {"kind": "link"}, "conditional": True},
    ],
    [
        ({"source": "cmc", "op": "snapshot", "url": "https://a.example/"}, "what of it is kept?"),
        ({**_SOME, "method": "DELETE"}, "it reads"),
        ({**_SOME, "op": "Take snapshot"}, "small letters"),
        ({**_SOME, "paging": {"kind": "cursor"}}, "where does an answer say the next one?"),
        ({**_SOME, "paging": {"kind": "link", "param": "page"}}, "a link says it all"),
        ({**_SOME, "mapping": {**_SOME_MAPPING, "frontmatter": {"rank": 1}}}, "text alone"),
        ({**_SOME, "rate": {"min_seconds": 3_600}}, "a run would take for ever"),
    ],
)
OUTPUT: Final = build_object_schema(
    {
        "source": {"type": "string"},
        "op": {"type": "string"},
        "ingested_count": {
            "description": "New and changed pages.",
            "type": "integer",
        },
        "page_slugs": {
            "description": f"Those pages; the first {MOST_LISTED}.",
            "type": "array",
            "items": {"type": "string"},
        },
        "errors": {
            "description": "Items that could not be read or stored; the rest succeeded.",
            "type": "array",
            "items": build_object_part(
                {
                    "source_ref": {"type": "string"},
                    "detail": {"type": "string"},
                    "code": {"type": "string"},
                }
            ),
        },
        "more": {"description": "There is more for the next run.", "type": "boolean"},
        "note": {"type": "string"},
    },
    ["source", "op", "ingested_count", "page_slugs", "more"],
    [
        {
            "source": "coinmarketcap-top10",
            "op": "snapshot",
            "ingested_count": 1,
            "page_slugs": ["bitcoin-btc-64012-5-0c94b1aa"],
            "more": False,
        }
    ],
    [({"source": "coinmarketcap-top10"}, "what came of it?")],
)
