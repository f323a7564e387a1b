"""The published schemas of models, and the arguments that handlers receive as models."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast
from uuid import UUID

import pytest
from msgspec import UNSET, Meta, UnsetType, field

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.model_schema import (
    LimitKeyword,
    SchemaModel,
    build_model_part,
    build_model_schema,
    parse_arguments,
    with_arguments,
)

ID = "01900000-0000-7000-8000-0000000000b1"
Slug = Annotated[str, Meta(min_length=1, max_length=9, pattern="^[a-z]+$", description="Its name.")]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(SchemaModel):
    x: Annotated[int, Meta(ge=0, lt=10)]
    y: float = 1.5


class Everything(SchemaModel):
    slug: Slug | None = None
    renamed: Annotated[Slug | None, Meta(description="The new name.")] = None
    id: UUID
    at: datetime | None
    day: date | UnsetType | None = UNSET
    kind: Literal["b", "a"] = "b"
    shade: Literal["dark"] | None
    colour: Colour
    listed: Annotated[str, Meta(extra_json_schema={"enum": ["x"]})]
    points: Annotated[list[Point], Meta(min_length=1)]
    by_name: dict[str, Point]
    free: Annotated[dict[str, Any], Meta(max_length=3)]
    scalar: str | bool | None
    anything: Any = UNSET
    source: str | None = field(name="from", default=None)
    tags: list[str] = field(default_factory=list)

    keywords: ClassVar = {"minProperties": 1}
    examples: ClassVar = [{"id": ID}]
    anti_examples: ClassVar = [({}, "it needs an id")]


class Open(SchemaModel, forbid_unknown_fields=False):
    text: Annotated[str, LimitKeyword("maxLength", lambda limits: limits.page_bytes)]


POINT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["x"],
    "properties": {
        "x": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        "y": {"type": "number", "default": 1.5},
    },
}


def test_a_model_is_published_with_its_fields_in_order_and_nothing_else() -> None:
    slug = {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "maxLength": 9}

    found = build_model_schema(Everything)

    assert found == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": [
            "id",
            "at",
            "shade",
            "colour",
            "listed",
            "points",
            "by_name",
            "free",
            "scalar",
        ],
        "properties": {
            "slug": {**slug, "description": "Its name."},
            "renamed": {**slug, "description": "The new name."},
            "id": {"type": "string", "format": "uuid"},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "day": {"type": ["string", "null"], "format": "date"},
            "kind": {"enum": ["b", "a"], "default": "b"},
            "shade": {"enum": ["dark", None]},
            "colour": {"enum": ["red", "blue"]},
            "listed": {"enum": ["x"]},
            "points": {"type": "array", "items": POINT, "minItems": 1},
            "by_name": {"type": "object", "additionalProperties": POINT},
            "free": {"type": "object", "maxProperties": 3},
            "scalar": {"type": ["string", "boolean", "null"]},
            "anything": {},
            "from": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "minProperties": 1,
        "examples": [{"id": ID}],
        "x-mainspring-anti-examples": [{"value": {}, "reason": "it needs an id"}],
    }
    assert " ".join(found["properties"]) == (
        "slug renamed id at day kind shade colour listed points by_name free scalar anything "
        "from tags"
    )


def test_an_open_model_accepts_more_and_reads_a_limit_of_the_installation() -> None:
    limits = Limits(page_bytes=77)

    assert build_model_part(Open, limits) == {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string", "maxLength": 77}},
    }
    with pytest.raises(TypeError, match="maxLength needs the limits"):
        build_model_part(Open)


def test_what_has_no_published_form_is_a_programming_error() -> None:
    class Odd(SchemaModel):
        value: complex

    with pytest.raises(TypeError, match="no published form"):
        build_model_part(Odd)


async def _add(ctx: CallContext, point: Point) -> float:
    del ctx
    return point.x + point.y


async def test_a_handler_receives_its_arguments_as_a_model() -> None:
    handle = with_arguments(Point, _add)

    context = cast(CallContext, None)
    assert await handle(context, MappingProxyType({"x": 2})) == 3.5
    assert await handle(context, {"x": 2.0, "y": 1}) == 3


def test_a_value_that_the_model_cannot_hold_is_a_finding_with_its_pointer() -> None:
    class Nested(SchemaModel):
        points: list[Point]

    with pytest.raises(Invalid) as caught:
        parse_arguments(Nested, {"points": [{"x": 1}, {"x": "two"}]})

    (finding,) = caught.value.findings
    assert (finding.pointer, finding.detail) == ("/points/1/x", "Expected `int`, got `str`.")
    assert caught.value.code == "arguments_invalid"


def test_a_model_that_cannot_be_converted_is_refused_when_its_handler_is_built() -> None:
    class Unusable(SchemaModel):
        value: Annotated[str | None, Meta(min_length=1)] = None

    async def handle(ctx: CallContext, arguments: Unusable) -> None:
        del ctx, arguments

    with pytest.raises(TypeError, match="min_length"):
        with_arguments(Unusable, handle)
