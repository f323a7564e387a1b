"""What the capabilities about models take and answer."""

from __future__ import annotations

from typing import Final

from mainspring.contracts.object_schema import build_object_part, build_object_schema

NAME_PATTERN: Final = "^[a-z][a-z0-9_-]{0,31}$"
# A model's name as providers write them, and with a connection's name before it.
MODEL_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$"
MOST_MODELS: Final = 200
MAX_KEY: Final = 4_096
# The largest price that is taken, for a million tokens.
MOST_USD: Final = 100_000
_TEXT: Final = {"type": "string"}
_MOMENT: Final = {"type": "string", "format": "date-time"}
_WHEN: Final = "2026-01-01T00:00:00+00:00"


_NAME: Final = {
    "type": "string",
    "maxLength": 32,
    "pattern": NAME_PATTERN,
    "description": "Definitions refer to it as name/model.",
    "x-mainspring-says": "A connection's name is 1 to 32 small letters, digits, _ and -, and "
    "begins with a letter.",
}
_MODEL: Final = {
    "type": "string",
    "maxLength": 200,
    "pattern": MODEL_PATTERN,
    "x-mainspring-says": "A model's name is letters, digits and . _ : / @ + -.",
}
_KIND: Final = {
    "enum": ["anthropic", "openai", "groq", "compatible"],
    "description": "The API dialect and price list.",
}
_USD: Final = {"type": "number", "minimum": 0, "maximum": MOST_USD}
_TOLD_USD: Final = {"type": "string"}
_RATES: Final = {
    "input_usd_per_million": _TOLD_USD,
    "output_usd_per_million": _TOLD_USD,
    "cached_usd_per_million": _TOLD_USD,
    "stored_usd_per_million": _TOLD_USD,
}
_NEEDED_RATES: Final = ["input_usd_per_million", "output_usd_per_million"]
_PRICE: Final = {
    **build_object_part(
        {
            **_RATES,
            "above": build_object_part(
                {"input_tokens": {"type": "integer"}, **_RATES, "above": {"type": "object"}},
                ["input_tokens", *_NEEDED_RATES],
            ),
        },
        _NEEDED_RATES,
    ),
    "type": ["object", "null"],
    "description": "US dollars per million tokens; above: the price of large requests.",
}
_A_PRICE: Final = {"input_usd_per_million": "3", "output_usd_per_million": "15"}

_CONNECTION: Final = build_object_part(
    {
        "name": _TEXT,
        "kind": _KIND,
        "scope": {"enum": ["workspace", "installation"]},
        # Of the installation's own, administrators alone are told where it is.
        "base_url": {"type": ["string", "null"]},
        "has_key": {"type": "boolean"},
        "models": {"type": "array", "items": _TEXT},
        "takes": {"type": ["string", "null"]},
        "usual_model": {"type": ["string", "null"]},
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
    },
    [
        "name",
        "kind",
        "scope",
        "base_url",
        "has_key",
        "models",
        "takes",
        "usual_model",
        "created_at",
        "updated_at",
    ],
)
_A_CONNECTION: Final = {
    "name": "anthropic",
    "kind": "anthropic",
    "scope": "workspace",
    "base_url": "https://api.anthropic.com",
    "has_key": True,
    "models": [],
    "takes": "models whose names begin with claude",
    "usual_model": "claude-sonnet-4-6",
    "created_at": _WHEN,
    "updated_at": _WHEN,
}
_OFFERED: Final = build_object_part(
    {
        "name": _TEXT,
        "connection": _TEXT,
        "model": _TEXT,
        "price": _PRICE,
        "price_from": {"enum": ["operator", "list", None]},
        "can_be_asked": {"type": "boolean"},
        "why_not": {"type": ["string", "null"]},
    },
    ["name", "connection", "model", "price", "price_from", "can_be_asked", "why_not"],
)

NOTHING: Final = build_object_schema({}, [], [{}], [({"all": True}, "all of it comes anyway")])
MODELS: Final = build_object_schema(
    {
        "connections": {"type": "array", "items": _CONNECTION},
        "models": {"type": "array", "items": _OFFERED},
        "usual_model": {"type": ["string", "null"]},
        "note": {"type": ["string", "null"]},
    },
    ["connections", "models", "usual_model", "note"],
    [
        {
            "connections": [_A_CONNECTION],
            "models": [
                {
                    "name": "anthropic/claude-sonnet-4-6",
                    "connection": "anthropic",
                    "model": "claude-sonnet-4-6",
                    "price": _A_PRICE,
                    "price_from": "list",
                    "can_be_asked": True,
                    "why_not": None,
                }
            ],
            "usual_model": "anthropic/claude-sonnet-4-6",
            "note": None,
        }
    ],
    [({"connections": [{**_A_CONNECTION, "key": "sk-0"}]}, "a key is never answered")],
)
CONNECT: Final = build_object_schema(
    {
        "name": _NAME,
        "kind": {**_KIND, "description": "Default: name, if it is a kind."},
        "base_url": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "Default: the public address of the kind.",
        },
        "key": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_KEY,
            "pattern": "^[!-~]+$",
            "writeOnly": True,
            "x-mainspring-says": "A key has no spaces and plain letters alone.",
            "description": "Stored in the vault and never returned.",
        },
        "models": {
            "type": "array",
            "items": _MODEL,
            "maxItems": MOST_MODELS,
            "description": "Models to offer; empty: the known models of the kind.",
        },
        "usual_model": {
            **_MODEL,
            "type": ["string", "null"],
            "description": "The default model.",
        },
    },
    ["name"],
    [
        {"name": "anthropic", "key": "sk-0123456789"},
        {
            "name": "house",
            "kind": "compatible",
            "base_url": "https://models.example/v1",
            "models": ["qwen3-32b"],
            "usual_model": "qwen3-32b",
        },
    ],
    [
        ({"key": "sk-0123456789"}, "it needs a name"),
        ({"name": "Anthropic", "key": "sk-0"}, "small letters alone"),
        ({"name": "house", "kind": "http"}, "an unknown kind"),
        ({"name": "openai", "key": "Bearer sk-0"}, "the key alone, without a word before it"),
    ],
)
CONNECTED: Final = build_object_schema(
    {"connection": _CONNECTION, "created": {"type": "boolean"}},
    ["connection", "created"],
    [{"connection": _A_CONNECTION, "created": True}],
    [({"connection": {**_A_CONNECTION, "key": "sk-0"}}, "a key is never answered")],
)
ONE_NAME: Final = build_object_schema(
    {"name": _NAME},
    ["name"],
    [{"name": "anthropic"}],
    [({}, "which one?"), ({"name": "*"}, "one name at a time")],
)
DISCONNECTED: Final = build_object_schema(
    {
        "disconnected": {"type": "boolean"},
        "needed_by": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Active automations that use it and fail from now on.",
        },
    },
    ["disconnected", "needed_by"],
    [{"disconnected": True, "needed_by": ["Weekly digest"]}],
    [({"disconnected": 1, "needed_by": []}, "whether, not how many")],
)
TESTED: Final = build_object_schema(
    {
        "works": {"type": "boolean"},
        "detail": {"type": "string"},
        "models": {"type": "array", "items": {"type": "string"}},
    },
    ["works", "detail", "models"],
    [{"works": True, "detail": "It answers and lists 1 model.", "models": ["qwen3-32b"]}],
    [({"works": "yes"}, "true or false")],
)
SET_PRICE: Final = build_object_schema(
    {
        "model": {**_MODEL, "description": "A model, or name/model for one connection."},
        "input_usd_per_million": _USD,
        "output_usd_per_million": _USD,
        "cached_usd_per_million": {**_USD, "description": "Default: the input price."},
        "stored_usd_per_million": {**_USD, "description": "Default: the input price."},
    },
    ["model", *_NEEDED_RATES],
    [
        {"model": "house/qwen3-32b", "input_usd_per_million": 0, "output_usd_per_million": 0},
        {
            "model": "claude-sonnet-4-6",
            "input_usd_per_million": 3,
            "output_usd_per_million": 15,
            "cached_usd_per_million": 0.3,
        },
    ],
    [
        ({"model": "qwen3-32b", "input_usd_per_million": 1}, "and what it writes?"),
        (
            {"model": "a b", "input_usd_per_million": 1, "output_usd_per_million": 1},
            "no model has a space in its name",
        ),
        (
            {"model": "a", "input_usd_per_million": -1, "output_usd_per_million": 1},
            "prices are not negative",
        ),
    ],
)
_SET: Final = build_object_part(
    {"model": _TEXT, **_RATES, "set_at": _MOMENT}, ["model", *_NEEDED_RATES, "set_at"]
)
_A_SET: Final = {"model": "house/qwen3-32b", **_A_PRICE, "set_at": _WHEN}
PRICE: Final = build_object_schema(
    {"price": _SET}, ["price"], [{"price": _A_SET}], [({"price": 3}, "read and written apart")]
)
PRICES: Final = build_object_schema(
    {"prices": {"type": "array", "items": _SET}},
    ["prices"],
    [{"prices": [_A_SET]}],
    [({"prices": {}}, "a list")],
)
ONE_MODEL: Final = build_object_schema(
    {"model": _MODEL},
    ["model"],
    [{"model": "house/qwen3-32b"}],
    [({}, "which one?"), ({"model": "*"}, "one model at a time")],
)
DELETED: Final = build_object_schema(
    {"deleted": {"type": "boolean"}},
    ["deleted"],
    [{"deleted": True}],
    [({"deleted": 1}, "whether, not how many")],
)
