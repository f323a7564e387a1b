"""What the capabilities about models take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from mainspring.contracts.model_schema import SchemaModel

NAME_PATTERN: Final = "^[a-z][a-z0-9_-]{0,31}$"

MODEL_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$"

MOST_MODELS: Final = 200

MAX_KEY: Final = 4_096

MOST_USD: Final = 100_000

_WHEN: Final = "2026-01-01T00:00:00+00:00"

_NEEDED_RATES: Final = ["input_usd_per_million", "output_usd_per_million"]

_A_PRICE: Final = {"input_usd_per_million": "3", "output_usd_per_million": "15"}

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


class NoModelArguments(SchemaModel):
    examples: ClassVar = [{}]
    anti_examples: ClassVar = [({"all": True}, "all of it comes anyway")]


_Kind = Annotated[
    Literal["anthropic", "openai", "groq", "compatible"],
    Meta(description="The API dialect and price list."),
]


class _ModelConnectionEntry(SchemaModel):
    name: str
    kind: _Kind
    scope: Literal["workspace", "installation"]
    base_url: str | None
    has_key: bool
    models: list[str]
    takes: str | None
    usual_model: str | None
    created_at: datetime
    updated_at: datetime


class _ModelPriceAbove(SchemaModel):
    input_tokens: int
    input_usd_per_million: str
    output_usd_per_million: str
    cached_usd_per_million: str | None = None
    stored_usd_per_million: str | None = None
    above: dict[str, Any] | None = None


class _ModelPrice(SchemaModel):
    input_usd_per_million: str
    output_usd_per_million: str
    cached_usd_per_million: str | None = None
    stored_usd_per_million: str | None = None
    above: _ModelPriceAbove | None = None

    keywords: ClassVar = {
        "description": "US dollars per million tokens; above: the price of large requests."
    }


class _OfferedModel(SchemaModel):
    name: str
    connection: str
    model: str
    price: _ModelPrice | None
    price_from: Literal["operator", "list"] | None
    can_be_asked: bool
    why_not: str | None


class ListModelsResult(SchemaModel):
    connections: list[_ModelConnectionEntry]
    models: list[_OfferedModel]
    usual_model: str | None
    note: str | None

    examples: ClassVar = [
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
    ]
    anti_examples: ClassVar = [
        ({"connections": [{**_A_CONNECTION, "key": "sk-0"}]}, "a key is never answered")
    ]


_Name = Annotated[
    str,
    Meta(
        max_length=32,
        pattern=NAME_PATTERN,
        description="Definitions refer to it as name/model.",
        extra_json_schema={
            "x-mainspring-says": (
                "A connection's name is 1 to 32 small letters, digits, _ and -, "
                "and begins with a letter."
            )
        },
    ),
]

_Model = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=MODEL_PATTERN,
        extra_json_schema={
            "x-mainspring-says": "A model's name is letters, digits and . _ : / @ + -."
        },
    ),
]


class ConnectModelArguments(SchemaModel):
    name: _Name
    kind: Annotated[
        Literal["anthropic", "openai", "groq", "compatible"] | None,
        Meta(description="Default: name, if it is a kind."),
    ] = None
    base_url: (
        Annotated[
            str,
            Meta(
                min_length=1, max_length=500, description="Default: the public address of the kind."
            ),
        ]
        | None
    ) = None
    key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MAX_KEY,
                pattern="^[!-~]+$",
                description="Stored in the vault and never returned.",
                extra_json_schema={
                    "writeOnly": True,
                    "x-mainspring-says": "A key has no spaces and plain letters alone.",
                },
            ),
        ]
        | None
    ) = None
    models: (
        Annotated[
            list[_Model],
            Meta(
                max_length=MOST_MODELS,
                description="Models to offer; empty: the known models of the kind.",
            ),
        ]
        | None
    ) = None
    usual_model: (
        Annotated[
            str,
            Meta(
                max_length=200,
                pattern=MODEL_PATTERN,
                description="The default model.",
                extra_json_schema={
                    "x-mainspring-says": "A model's name is letters, digits and . _ : / @ + -."
                },
            ),
        ]
        | UnsetType
        | None
    ) = UNSET

    examples: ClassVar = [
        {"name": "anthropic", "key": "sk-0123456789"},
        {
            "name": "house",
            "kind": "compatible",
            "base_url": "https://models.example/v1",
            "models": ["qwen3-32b"],
            "usual_model": "qwen3-32b",
        },
    ]
    anti_examples: ClassVar = [
        ({"key": "sk-0123456789"}, "it needs a name"),
        ({"name": "Anthropic", "key": "sk-0"}, "small letters alone"),
        ({"name": "house", "kind": "http"}, "an unknown kind"),
        ({"name": "openai", "key": "Bearer sk-0"}, "the key alone, without a word before it"),
    ]


class ConnectModelResult(SchemaModel):
    connection: _ModelConnectionEntry
    created: bool

    examples: ClassVar = [{"connection": _A_CONNECTION, "created": True}]
    anti_examples: ClassVar = [
        ({"connection": {**_A_CONNECTION, "key": "sk-0"}}, "a key is never answered")
    ]


class ModelNameArguments(SchemaModel):
    name: _Name

    examples: ClassVar = [{"name": "anthropic"}]
    anti_examples: ClassVar = [({}, "which one?"), ({"name": "*"}, "one name at a time")]


class DisconnectModelResult(SchemaModel):
    disconnected: bool
    needed_by: Annotated[
        list[str], Meta(description="Active automations that use it and fail from now on.")
    ]

    examples: ClassVar = [{"disconnected": True, "needed_by": ["Weekly digest"]}]
    anti_examples: ClassVar = [({"disconnected": 1, "needed_by": []}, "whether, not how many")]


class TestModelResult(SchemaModel):
    works: bool
    detail: str
    models: list[str]

    examples: ClassVar = [
        {"works": True, "detail": "It answers and lists 1 model.", "models": ["qwen3-32b"]}
    ]
    anti_examples: ClassVar = [({"works": "yes"}, "true or false")]


_Usd = Annotated[float, Meta(ge=0, le=MOST_USD)]


class AdminSetModelPriceArguments(SchemaModel):
    model: Annotated[
        str,
        Meta(
            max_length=200,
            pattern=MODEL_PATTERN,
            description="A model, or name/model for one connection.",
            extra_json_schema={
                "x-mainspring-says": "A model's name is letters, digits and . _ : / @ + -."
            },
        ),
    ]
    input_usd_per_million: _Usd
    output_usd_per_million: _Usd
    cached_usd_per_million: (
        Annotated[float, Meta(ge=0, le=MOST_USD, description="Default: the input price.")] | None
    ) = None
    stored_usd_per_million: (
        Annotated[float, Meta(ge=0, le=MOST_USD, description="Default: the input price.")] | None
    ) = None

    examples: ClassVar = [
        {"model": "house/qwen3-32b", "input_usd_per_million": 0, "output_usd_per_million": 0},
        {
            "model": "claude-sonnet-4-6",
            "input_usd_per_million": 3,
            "output_usd_per_million": 15,
            "cached_usd_per_million": 0.3,
        },
    ]
    anti_examples: ClassVar = [
        ({"model": "qwen3-32b", "input_usd_per_million": 1}, "and what it writes?"),
        (
            {"model": "a b", "input_usd_per_million": 1, "output_usd_per_million": 1},
            "no model has a space in its name",
        ),
        (
            {"model": "a", "input_usd_per_million": -1, "output_usd_per_million": 1},
            "prices are not negative",
        ),
    ]


_A_SET: Final = {"model": "house/qwen3-32b", **_A_PRICE, "set_at": _WHEN}


class _SetPrice(SchemaModel):
    model: str
    input_usd_per_million: str
    output_usd_per_million: str
    cached_usd_per_million: str | None = None
    stored_usd_per_million: str | None = None
    set_at: datetime


class AdminSetModelPriceResult(SchemaModel):
    price: _SetPrice

    examples: ClassVar = [{"price": _A_SET}]
    anti_examples: ClassVar = [({"price": 3}, "read and written apart")]


class AdminListModelPricesResult(SchemaModel):
    prices: list[_SetPrice]

    examples: ClassVar = [{"prices": [_A_SET]}]
    anti_examples: ClassVar = [({"prices": {}}, "a list")]


class AdminDeleteModelPriceArguments(SchemaModel):
    model: _Model

    examples: ClassVar = [{"model": "house/qwen3-32b"}]
    anti_examples: ClassVar = [({}, "which one?"), ({"model": "*"}, "one model at a time")]


class AdminDeleteModelPriceResult(SchemaModel):
    deleted: bool

    examples: ClassVar = [{"deleted": True}]
    anti_examples: ClassVar = [({"deleted": 1}, "whether, not how many")]
