"""The shape of the envelope: what the strict model refuses, in words for its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mainspring.contracts.errors import Finding
from mainspring.definition.model import (
    CURRENT_VERSION,
    PARTS,
    Definition,
    Step,
    read_steps,
)
from mainspring.definition.pointers import join_pointer
from mainspring.definition.validate.outline import DefinitionOutline
from mainspring.definition.validate.report import FindingCollector
from mainspring.definition.words import suggest_nearest

ModelsByPath = Mapping[tuple[str, ...], type[BaseModel]]

# What the model can refuse: our sentence, and the keyword of JSON Schema as the code, so that
# an envelope and a config are told apart by their pointers alone.
_SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("required", "{name} is required."),
    "extra_forbidden": ("additional_properties", "There is no {name} here."),
    "string_type": ("type", "{name} must be text, not {found}."),
    "int_type": ("type", "{name} must be a whole number, not {found}."),
    "int_from_float": ("type", "{name} must be a whole number, not {found}."),
    "bool_type": ("type", "{name} must be true or false, not {found}."),
    "dict_type": ("type", "{name} must be an object, not {found}."),
    "model_type": ("type", "{name} must be an object, not {found}."),
    "model_attributes_type": ("type", "{name} must be an object, not {found}."),
    "tuple_type": ("type", "{name} must be a list, not {found}."),
    "literal_error": ("enum", "{name} must be {expected}."),
    "string_too_short": ("min_length", "{name} must not be empty."),
    "string_too_long": ("max_length", "{name} may have at most {max_length} characters."),
    "string_pattern_mismatch": ("pattern", "{name} does not have the form of a name."),
    "string_unicode": ("type", "{name} must be text that can be written as UTF-8."),
    "greater_than_equal": ("minimum", "{name} must be at least {ge}."),
    "less_than_equal": ("maximum", "{name} must be at most {le}."),
    "too_short": ("min_items", "{name} needs at least one entry."),
    "too_long": ("max_items", "{name} may have at most {max_length} entries."),
}
_NAME_FORMS: Final = {
    "id": "Begin with a small letter; then small letters, digits, - and _, at most 64 in all.",
    "step_id": "Begin with a small letter; then small letters, digits and _, at most 64 in all.",
    "output_as": "Begin with a small letter; then small letters, digits and _, at most 64 in all.",
}


def check_shape(
    document: Mapping[str, Any], outline: DefinitionOutline, sheet: FindingCollector
) -> Definition | None:
    """The definition when the envelope is right; every problem of it is written down."""
    definition = None
    try:
        definition = Definition.from_json(document)
    except ValidationError as error:
        sheet.add(describe_model_errors(error))
    for step in outline.steps():
        if step.known is not None and step.known.nested is not None and step.config is not None:
            _check_nested(step.config.get(step.known.nested), step.nested_pointer, sheet)
    return definition


def describe_model_errors(
    error: ValidationError, at: str = "", parts: ModelsByPath = PARTS
) -> Iterator[Finding]:
    """What the model refused, as findings below a place."""
    for one in error.errors(include_url=False):
        pointer = join_pointer(at, *one["loc"])
        yield Finding(pointer, _describe_model_error(one), _code(one), _suggestion(one, parts))


def _check_nested(value: Any, pointer: str, sheet: FindingCollector) -> None:
    """Nested steps stand in a config, which the envelope leaves to the action."""
    if not isinstance(value, list):
        return  # the action's own schema says so
    try:
        read_steps(value)
    except ValidationError as error:
        sheet.add(describe_model_errors(error, pointer, {("*",): Step}))


def _code(error: ErrorDetails) -> str:
    return _SENTENCES.get(error["type"], (error["type"], ""))[0]


def _describe_model_error(error: ErrorDetails) -> str:
    last = error["loc"][-1] if error["loc"] else "The definition"
    name = f"Entry {last}" if isinstance(last, int) else last
    sentence = _SENTENCES.get(error["type"], ("", error["msg"]))[1]
    context = {key: str(value) for key, value in error.get("ctx", {}).items()}
    return sentence.format(name=name, found=_kind(error["input"]), **context)


def _suggestion(error: ErrorDetails, parts: ModelsByPath) -> str | None:
    place, kind = error["loc"], error["type"]
    name = str(place[-1]) if place else ""
    if kind == "string_pattern_mismatch":
        return _NAME_FORMS.get(name)
    if kind == "missing" and name == "schema_version":
        return f'Add "schema_version": "{CURRENT_VERSION}".'
    if kind == "literal_error" and isinstance(error["input"], str):
        return suggest_nearest(error["input"], str(error["ctx"]["expected"]).split("'")[1::2])
    if kind == "extra_forbidden":
        part = parts.get(tuple("*" if isinstance(step, int) else step for step in place[:-1]))
        return None if part is None else suggest_nearest(name, _keys(part))
    if name == "when" and kind == "string_type":
        return 'Write the condition as text, for example "{{ inputs.count > 0 }}".'
    return None


def _keys(part: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in part.model_fields.items()]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "this"
