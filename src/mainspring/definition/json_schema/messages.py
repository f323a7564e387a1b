"""Messages for schema violations, one sentence per keyword.

A sentence names what is expected and the type that was found, but never repeats text from the value
itself, which may be a misplaced secret. The code of a finding is the violated keyword in snake
case. A schema may provide its own messages: ``x-mainspring-says`` in place of a pattern, and
``x-mainspring-instead`` for keys that users expect and that have another name here. Both may also
begin with ``x-surfsense-``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from mainspring.contracts.errors import Finding
from mainspring.definition.json_schema.formats import LOOKS_LIKE, suggest_timezone
from mainspring.definition.json_schema.keywords import find
from mainspring.definition.strict_json import encode_canonical, join_pointer
from mainspring.definition.suggestions import find_nearest, suggest_nearest

# Messages about sizes and counts.


def describe_number_error(error: ValidationError, here: str) -> Finding | None:
    match error.kind:
        case Kind.Minimum(limit=limit):
            return Finding(here, f"This must be at least {limit}.", "minimum")
        case Kind.Maximum(limit=limit):
            return Finding(here, f"This must be at most {limit}.", "maximum")
        case Kind.ExclusiveMinimum(limit=limit):
            return Finding(here, f"This must be more than {limit}.", "exclusive_minimum")
        case Kind.ExclusiveMaximum(limit=limit):
            return Finding(here, f"This must be less than {limit}.", "exclusive_maximum")
        case Kind.MultipleOf(multiple_of=factor):
            return Finding(here, f"This must be a multiple of {factor}.", "multiple_of")
        case _:
            return None


def describe_size_error(error: ValidationError, here: str) -> Finding | None:
    match error.kind:
        case Kind.MinLength(limit=limit):
            detail = f"This must have at least {_count(limit, 'character')}."
            return Finding(here, detail, "min_length")
        case Kind.MaxLength(limit=limit):
            detail = f"This must have at most {_count(limit, 'character')}."
            return Finding(here, detail, "max_length")
        case Kind.MinItems(limit=limit):
            detail = f"This list must have at least {_count(limit, 'item')}."
            return Finding(here, detail, "min_items")
        case Kind.MaxItems(limit=limit):
            detail = f"This list must have at most {_count(limit, 'item')}."
            return Finding(here, detail, "max_items")
        case Kind.MinProperties(limit=limit):
            detail = f"This object must have at least {_count(limit, 'key')}."
            return Finding(here, detail, "min_properties")
        case Kind.MaxProperties(limit=limit):
            detail = f"This object must have at most {_count(limit, 'key')}."
            return Finding(here, detail, "max_properties")
        case _:
            return None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


CHOICES_SHOWN = 12
LONGEST_SHOWN = 60

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def describe_errors(error: ValidationError, root: Any, at: str) -> Iterator[Finding]:
    """The findings for one error of the validator."""
    here = join_pointer(at, *error.instance_path)
    known = _describe_by_schema(error, here, root)
    if known is not None:
        yield known
        return
    match error.kind:
        case Kind.Required(property=name):
            hint = _among(name, error)
            yield Finding(
                join_pointer(here, name), f"The key {name!r} is missing.", "required", hint
            )
        case Kind.AdditionalProperties(unexpected=names):
            for name, detail, hint in _unknown(names, error, root):
                yield Finding(join_pointer(here, name), detail, "additional_properties", hint)
        case Kind.UnevaluatedProperties(unexpected=names):
            for name, detail, hint in _unknown(names, error, root):
                yield Finding(join_pointer(here, name), detail, "unevaluated_properties", hint)
        case Kind.AnyOf(context=branches) | Kind.OneOfNotValid(context=branches):
            yield from _no_branch(branches, here, error, root, at)
        case Kind.Enum(options=options):
            yield _describe_enum_error(options, here, error.instance)
        case Kind.PropertyNames(error=inner):
            reason = next(describe_errors(inner, root, "")).detail
            detail = f"The key {_short(inner.instance)} is not allowed: {reason}"
            yield Finding(join_pointer(here, str(inner.instance)), detail, "property_names")
        case _:
            yield _describe_error(error, here)


def _describe_by_schema(error: ValidationError, here: str, root: Any) -> Finding | None:
    """The message for keywords with a single sentence."""
    match error.kind:
        case Kind.AnyOf() if keys := _keys_of_shapes(error, root):
            return Finding(here, f"Give {_either(keys)}.", "any_of")
        case Kind.OneOfNotValid() if keys := _keys_of_shapes(error, root):
            return Finding(here, f"Give {_either(keys)}.", "one_of")
        case Kind.OneOfMultipleValid() if keys := _keys_of_shapes(error, root):
            return Finding(here, f"Give only one of {_or(keys)}.", "one_of")
        case Kind.Pattern() if said := _get_schema_message(error, root):
            return Finding(here, said, "pattern")
        case Kind.Not() if said := _get_schema_message(error, root):
            return Finding(here, said, "not")
        case _:
            return None


def _describe_error(error: ValidationError, here: str) -> Finding:
    for family in (describe_number_error, describe_size_error, _list_sentence):
        finding = family(error, here)
        if finding is not None:
            return finding
    return _other(error, here)


def _list_sentence(error: ValidationError, here: str) -> Finding | None:
    match error.kind:
        case Kind.UniqueItems():
            return Finding(here, "No two items of this list may be equal.", "unique_items")
        case Kind.UnevaluatedItems():
            detail = "This list has items that are not allowed here."
            return Finding(here, detail, "unevaluated_items")
        case Kind.Contains():
            return _contains(error, here)
        case _:
            return None


def _other(error: ValidationError, here: str) -> Finding:
    match error.kind:
        case Kind.Type(types=types):
            return Finding(here, _wrong_type(types, error.instance), "type")
        case Kind.Constant(expected_value=value):
            return Finding(here, f"This must be exactly {_short(value)}.", "const")
        case Kind.Pattern(pattern=pattern):
            return Finding(here, f"This must match the pattern {_short(pattern)}.", "pattern")
        case Kind.Format(format=name):
            return _describe_format_error(name, here, error.instance)
        case Kind.FalseSchema():
            return Finding(here, "Nothing is allowed here.", "false_schema")
        case Kind.Not():
            detail = "This value is one of those that are not allowed here."
            return Finding(here, detail, "not")
        case Kind.OneOfMultipleValid():
            detail = "This fits more than one of the allowed shapes; it must fit exactly one."
            return Finding(here, detail, "one_of")
        case _:
            detail = f"This does not obey the keyword {error.kind.name!r} of its schema."
            return Finding(here, detail, "schema")


def _describe_format_error(name: str, here: str, value: Any) -> Finding:
    hint = suggest_timezone(str(value)) if name == "iana-timezone" else None
    wanted = LOOKS_LIKE.get(name, f"of the format {name!r}")
    return Finding(here, f"This must be {wanted}.", "format", hint)


def _contains(error: ValidationError, here: str) -> Finding:
    if error.schema_path and error.schema_path[-1] == "maxContains":
        detail = "This list has too many items of a kind that is limited."
    else:
        detail = "This list has too few items of a kind that it must contain."
    return Finding(here, detail, "contains")


def _unknown(
    names: Sequence[str], error: ValidationError, root: Any
) -> Iterator[tuple[str, str, str | None]]:
    allowed = _list_allowed_keys(error, root)
    instead = _hint(error, root, "instead")
    for name in names:
        hint = instead.get(name) if isinstance(instead, Mapping) else None
        detail = f"The key {name!r} is not known here."
        yield name, detail, hint if isinstance(hint, str) else suggest_nearest(name, allowed)


def _list_allowed_keys(error: ValidationError, root: Any) -> list[str]:
    properties = _around(error, root).get("properties")
    if not isinstance(properties, Mapping) or not isinstance(error.instance, Mapping):
        return []
    return [name for name in properties if name not in error.instance]


def _get_schema_message(error: ValidationError, root: Any) -> str | None:
    """The schema's own message in place of its pattern or ``not``, which few people can read."""
    said = _hint(error, root, "says")
    return said if isinstance(said, str) else None


def _hint(error: ValidationError, root: Any, name: str) -> Any:
    """An annotation of the schema; imported definitions use the second prefix."""
    around = _around(error, root)
    return around.get(f"x-mainspring-{name}", around.get(f"x-surfsense-{name}"))


def _around(error: ValidationError, root: Any) -> Mapping[str, Any]:
    """The schema whose keyword was violated."""
    schema = find(root, join_pointer("", *error.schema_path[:-1]))
    return schema if isinstance(schema, Mapping) else {}


def _keys_of_shapes(error: ValidationError, root: Any) -> list[str]:
    """The required keys of which one is needed, when the alternatives differ in nothing else."""
    shapes = find(root, join_pointer("", *error.schema_path))
    if not isinstance(shapes, list):
        return []
    asked = [shape.get("required") for shape in shapes if isinstance(shape, Mapping)]
    keys = [names[0] for names in asked if isinstance(names, list) and len(names) == 1]
    alone = all(isinstance(shape, Mapping) and len(shape) == 1 for shape in shapes)
    return keys if alone and len(keys) == len(shapes) else []


def _either(keys: Sequence[str]) -> str:
    return _or(keys) if len(keys) < 3 else f"one of {_or(keys)}"


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _among(name: str, error: ValidationError) -> str | None:
    """An existing key that resembles the missing one is most likely a typo."""
    if not isinstance(error.instance, Mapping):
        return None
    written = find_nearest(name, error.instance)
    return None if written is None else f"Is {written!r} meant to be this key?"


def _describe_enum_error(options: Sequence[Any], here: str, value: Any) -> Finding:
    shown = ", ".join(_short(option) for option in options[:CHOICES_SHOWN])
    if len(options) > CHOICES_SHOWN:
        shown += f" and {len(options) - CHOICES_SHOWN} more"
    texts = [option for option in options if isinstance(option, str)]
    suggestion = suggest_nearest(value, texts) if isinstance(value, str) else None
    return Finding(here, f"This must be one of {shown}.", "enum", suggestion)


def _no_branch(
    branches: Sequence[Sequence[ValidationError]],
    here: str,
    error: ValidationError,
    root: Any,
    at: str,
) -> Iterator[Finding]:
    """The problems of the intended alternative, when one clearly matches best."""
    fitting = [branch for branch in branches if not _list_expected_types(branch, error)]
    meant = [branch for branch in fitting if not _another_kind(branch, error)] or fitting
    if len(meant) == 1:
        for inner in meant[0]:
            yield from describe_errors(inner, root, at)
        return
    types = [_list_expected_types(branch, error) for branch in branches]
    detail = f"This fits none of the {len(branches)} allowed shapes."
    if all(types):
        wanted = sorted({name for names in types for name in names})
        detail = _wrong_type(wanted, error.instance)
    if isinstance(error.kind, Kind.AnyOf):
        yield Finding(here, detail, "any_of")
    else:
        yield Finding(here, detail, "one_of")


def _another_kind(branch: Sequence[ValidationError], error: ValidationError) -> bool:
    """Whether a branch describes another kind of value, according to its discriminator."""
    here = len(error.instance_path)
    return any(
        isinstance(inner.kind, Kind.Constant | Kind.Enum | Kind.FalseSchema)
        and len(inner.instance_path) <= here + 1
        for inner in branch
    )


def _list_expected_types(branch: Sequence[ValidationError], error: ValidationError) -> list[str]:
    for inner in branch:
        if isinstance(inner.kind, Kind.Type) and inner.instance_path == error.instance_path:
            return inner.kind.types
    return []


def _wrong_type(types: Sequence[str], value: Any) -> str:
    if types == ["integer"] and isinstance(value, float):
        return "This must be a whole number."
    return f"This must be {_any_of_types(types)}, but it is {_describe_type(value)}."


def _any_of_types(types: Sequence[str]) -> str:
    return _or([_TYPES.get(name, name) for name in types])


def _describe_type(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case None:
            return "null"
        case str():
            return "text"
        case Mapping():
            return "an object"
        case list():
            return "a list"
        case _:
            return "a number"


def _short(value: Any) -> str:
    """A value of the schema, or a key, as JSON truncated to a readable length."""
    text = encode_canonical(value).decode()
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
