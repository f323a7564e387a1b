"""Messages for validation errors of the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from mainspring.contracts.errors import Finding
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

# The JSON Schema keyword is the code, as in the findings about definitions.
_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("required", "{name} is required."),
    "extra_forbidden": ("additional_properties", "There is no {name} here."),
    "string_type": ("type", "{name} must be text, not {found}."),
    "int_type": ("type", "{name} must be a whole number, not {found}."),
    "int_parsing": ("type", "{name} must be a whole number."),
    "int_parsing_size": ("type", "{name} is too large a number."),
    "int_from_float": ("type", "{name} must be a whole number, not {found}."),
    "float_type": ("type", "{name} must be a number, not {found}."),
    "float_parsing": ("type", "{name} must be a number."),
    "finite_number": ("type", "{name} must be a finite number."),
    "bool_type": ("type", "{name} must be true or false, not {found}."),
    "bool_parsing": ("type", "{name} must be true or false."),
    "dict_type": ("type", "{name} must be an object, not {found}."),
    "model_type": ("type", "{name} must be an object, not {found}."),
    "model_attributes_type": ("type", "{name} must be an object, not {found}."),
    "list_type": ("type", "{name} must be a list, not {found}."),
    "tuple_type": ("type", "{name} must be a list, not {found}."),
    "uuid_type": ("format", "{name} must be an id, not {found}."),
    "uuid_parsing": ("format", "{name} is not an id."),
    "datetime_type": ("format", "{name} must be a date and time, not {found}."),
    "datetime_parsing": ("format", "{name} must be a date and time such as 2027-03-01T09:00:00Z."),
    "datetime_from_date_parsing": (
        "format",
        "{name} must be a date and time such as 2027-03-01T09:00:00Z.",
    ),
    "timezone_aware": ("format", "{name} must say its zone, as in 2027-03-01T09:00:00Z."),
    "literal_error": ("enum", "{name} must be {expected}."),
    "enum": ("enum", "{name} must be {expected}."),
    "string_too_short": ("min_length", "{name} needs at least {min_length} characters."),
    "string_too_long": ("max_length", "{name} may have at most {max_length} characters."),
    "string_pattern_mismatch": ("pattern", "{name} does not have the form it needs."),
    "string_unicode": ("type", "{name} must be text that can be written as UTF-8."),
    "greater_than": ("minimum", "{name} must be above {gt}."),
    "greater_than_equal": ("minimum", "{name} must be at least {ge}."),
    "less_than": ("maximum", "{name} must be below {lt}."),
    "less_than_equal": ("maximum", "{name} must be at most {le}."),
    "too_short": ("min_items", "{name} needs at least {min_length} entries."),
    "too_long": ("max_items", "{name} may have at most {max_length} entries."),
}
_LONGEST = 64


def finding_of(
    error: ErrorDetails | Mapping[str, Any], pointer: str, model: type[BaseModel] | None = None
) -> Finding:
    """One validation error as a finding with its pointer."""
    kind = str(error["type"])
    code, sentence = _SENTENCES.get(kind, (kind, ""))
    place = error["loc"]
    last = place[-1] if place else "The document"
    name = f"Entry {last}" if isinstance(last, int) else str(last)[:_LONGEST]
    context = {key: str(value) for key, value in error.get("ctx", {}).items()}
    if sentence:
        detail = sentence.format(name=name, found=_kind(error["input"]), **context)
    elif kind == "value_error" or (kind.islower() and "ctx" not in error):
        # An error of our own validators; its message is already for people.
        detail = str(error["msg"]).removeprefix("Value error, ")
    else:
        detail = f"{name} is not what is expected here."
    return Finding(pointer, detail, code, _suggestion(error, kind, model))


def body_pointer(error: ErrorDetails, value: Any) -> str:
    """The pointer of an error. Parts that are not in the document (a union's tag) are omitted."""
    pointer, here = "", value
    for index, part in enumerate(error["loc"]):
        last = index == len(error["loc"]) - 1
        if isinstance(here, dict) and part in here:
            pointer, here = join_pointer(pointer, part), here[str(part)]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            pointer, here = join_pointer(pointer, part), here[part]
        elif last and error["type"] == "missing":
            pointer = join_pointer(pointer, part)
    return pointer


def _suggestion(
    error: ErrorDetails | Mapping[str, Any], kind: str, model: type[BaseModel] | None
) -> str | None:
    place = error["loc"]
    if kind == "extra_forbidden" and model is not None:
        part = _model_at(model, place[:-1])
        return None if part is None else suggest_nearest(str(place[-1]), _keys(part))
    if kind in {"literal_error", "enum"} and isinstance(error["input"], str):
        return suggest_nearest(error["input"], str(error["ctx"]["expected"]).split("'")[1::2])
    return None


def _model_at(model: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel] | None:
    here: type[BaseModel] | None = model
    for part in place:
        if isinstance(part, int) or here is None:
            continue
        field = next((f for n, f in here.model_fields.items() if part in {n, f.alias}), None)
        if field is not None:
            here = _model_in(field.annotation)
    return here


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int():
            return "a number"
        case float():
            return "a decimal number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "this"
