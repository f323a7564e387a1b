"""Generates published JSON Schemas from typed models.

A model is a msgspec structure with its examples and anti-examples. ``build_model_schema`` turns it
into the form that is published, and ``with_arguments`` passes a handler its arguments as a model.
msgspec and not pydantic, because every start of the product defines all of these models: 300 of
them and their schemas cost 0.3 seconds of CPU with msgspec and 2 seconds with pydantic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from msgspec import (
    NODEFAULT,
    UNSET,
    Meta,
    Struct,
    StructMeta,
    UnsetType,
    ValidationError,
    convert,
    field,
)
from msgspec.json import Decoder as JsonDecoder
from msgspec.structs import FieldInfo, fields

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.object_schema import DIALECT

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.limits import Limits

Schema = dict[str, Any]
Model = TypeVar("Model", bound="SchemaModel")
AntiExample = tuple[Any, str]

_SCALARS: Final[Mapping[Any, Schema]] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
}
_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}


class _SchemaModelMeta(StructMeta):
    """Fields of a model keep the published order, so required ones may follow optional ones."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        return super().__new__(mcs, name, bases, namespace, **{"kw_only": True, **options})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class SchemaModel(Struct, metaclass=_SchemaModelMeta, frozen=True, forbid_unknown_fields=True):
    """Arguments or results of a capability, or an object inside of them.

    A field without a default is required. The default ``None`` means that the field may be absent,
    not that it may be null; ``UNSET`` means the same for a field that may also be null. With
    ``forbid_unknown_fields=False`` the published object accepts further properties.
    """

    examples: ClassVar[Sequence[Any]] = ()
    # Values that the schema rejects, each with the reason.
    anti_examples: ClassVar[Sequence[AntiExample]] = ()
    # Keywords of the published object that fields cannot express, such as oneOf.
    keywords: ClassVar[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class LimitKeyword:
    """A keyword whose value is one of the installation's limits."""

    keyword: str
    read: Callable[[Limits], Any]


def build_model_schema(model: type[SchemaModel], limits: Limits | None = None) -> Schema:
    """The complete published schema, with examples and anti-examples."""
    return {
        "$schema": DIALECT,
        **build_model_part(model, limits),
        "examples": list(model.examples),
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in model.anti_examples
        ],
    }


def build_model_part(model: type[SchemaModel], limits: Limits | None = None) -> Schema:
    """The published object inside another schema."""
    hints = _read_type_hints(model)
    properties, required = {}, []
    for one in fields(model):
        name = one.encode_name
        properties[name] = _describe_field(one, hints[one.name], limits)
        if one.required:
            required.append(name)
    closed = {"additionalProperties": False} if _is_closed(model) else {}
    return {
        "type": "object",
        **closed,
        "required": required,
        "properties": properties,
        **model.keywords,
    }


def with_arguments(
    model: type[Model], handler: Callable[[CallContext, Model], Awaitable[Any]]
) -> Callable[[CallContext, Mapping[str, Any]], Awaitable[Any]]:
    """A handler of validated arguments that receives them as a model."""
    # A model that values cannot be converted to raises here, before the application starts.
    JsonDecoder(model)

    async def handle(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return await handler(ctx, parse_arguments(model, arguments))

    return handle


def parse_arguments(model: type[Model], arguments: Mapping[str, Any]) -> Model:
    """Converts validated arguments.

    A value that its schema allows and the type does not, such as a date in another spelling, is
    the caller's to correct.
    """
    try:
        # Not strict: a schema takes 2.0 for an integer. It has already rejected "2".
        return convert(arguments, model, strict=False)
    except ValidationError as error:
        detail, _, path = str(error).partition(" - at `$")
        pointer = path.rstrip("`").replace("[", "/").replace("]", "").replace(".", "/")
        raise Invalid(
            f"The arguments are invalid: {detail}",
            code="arguments_invalid",
            findings=[Finding(pointer, f"{detail}.", "type")],
        ) from None


@cache
def _read_type_hints(model: type[SchemaModel]) -> Mapping[str, Any]:
    return get_type_hints(model, include_extras=True)


def _is_closed(model: type[SchemaModel]) -> bool:
    return model.__struct_config__.forbid_unknown_fields


def _describe_field(info: FieldInfo, annotation: Any, limits: Limits | None) -> Schema:
    default = info.default
    if info.default_factory is not NODEFAULT:
        default = info.default_factory()
    if default is None:
        annotation = _without_null(annotation)
    schema = _describe_type(annotation, limits)
    if default is None or default is UNSET or default is NODEFAULT:
        return schema
    return {**schema, "default": default}


def _without_null(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        base, *notes = get_args(annotation)
        return Annotated[(_without_null(base), *notes)]
    return reduce(or_, (one for one in get_args(annotation) if one is not type(None)))


def _describe_type(annotation: Any, limits: Limits | None) -> Schema:
    if annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = _describe_type(parts[0], limits)
        for note in parts[1:]:
            schema = _apply(note, schema, limits)
        return schema
    if origin is Literal:
        return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
    if origin in (Union, UnionType):
        return _describe_union([one for one in parts if one is not UnsetType], limits)
    if origin is list:
        items = _describe_type(parts[0], limits)
        return {"type": "array", "items": items} if items else {"type": "array"}
    if origin is dict:
        values = _describe_type(parts[1], limits)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {"enum": [one.value for one in annotation]}
    if isinstance(annotation, type) and issubclass(annotation, SchemaModel):
        return build_model_part(annotation, limits)
    raise TypeError(f"There is no published form of {annotation!r}.")


def _apply(note: Any, schema: Schema, limits: Limits | None) -> Schema:
    """A schema with the keywords of one annotation."""
    if isinstance(note, LimitKeyword):
        if limits is None:
            raise TypeError(f"The keyword {note.keyword} needs the limits of the installation.")
        return {**schema, note.keyword: note.read(limits)}
    if not isinstance(note, Meta):
        return schema
    found = {
        keyword: getattr(note, name)
        for name, keyword in _BOUNDS.items()
        if getattr(note, name) is not None
    }
    if note.min_length is not None or note.max_length is not None:
        size = _SIZES[_name_type(schema)]
        sizes = {f"min{size}": note.min_length, f"max{size}": note.max_length}
        found.update({name: bound for name, bound in sizes.items() if bound is not None})
    if note.description is not None:
        found["description"] = note.description
    extra = note.extra_json_schema or {}
    if extra.keys() & {"enum", "const"}:
        # Listed values say more than a type.
        schema = {name: value for name, value in schema.items() if name != "type"}
    return {**schema, **found, **extra}


def _name_type(schema: Schema) -> str:
    named = schema["type"]
    return named if isinstance(named, str) else next(one for one in named if one != "null")


def _describe_union(parts: Sequence[Any], limits: Limits | None) -> Schema:
    null = type(None) in parts
    shapes = [_describe_type(one, limits) for one in parts if one is not type(None)]
    if len(shapes) > 1:
        if any(shape.keys() != {"type"} for shape in shapes):
            raise TypeError("Only plain types have a published form as alternatives.")
        shapes = [{"type": [shape["type"] for shape in shapes]}]
    (schema,) = shapes
    if not null:
        return schema
    if "type" in schema:
        named = schema["type"]
        schema["type"] = [*([named] if isinstance(named, str) else named), "null"]
    if "const" in schema:
        schema["enum"] = [schema.pop("const"), None]
    elif "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema
