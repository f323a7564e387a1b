"""What is wrong with a value, one sentence per keyword.

A sentence names what is expected and what kind of thing is there, but never repeats
text from the value itself: it may be a secret that was put in the wrong place. The
code of a finding is the keyword it comes from, in snake case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from mainspring.contracts.errors import Finding
from mainspring.definition.json_schema.formats import LOOKS_LIKE, timezones
from mainspring.definition.json_schema.keywords import find
from mainspring.definition.json_values import canonical
from mainspring.definition.pointers import under
from mainspring.definition.words import did_you_mean, nearest

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


def findings_of(error: ValidationError, root: Any, at: str) -> Iterator[Finding]:
    """The findings that one error of the validator comes to."""
    here = under(at, *error.instance_path)
    match error.kind:
        case Kind.Required(property=name):
            hint = _among(name, error)
            yield Finding(under(here, name), f"The key {name!r} is missing.", "required", hint)
        case Kind.AdditionalProperties(unexpected=names):
            for name, detail, hint in _unknown(names, error, root):
                yield Finding(under(here, name), detail, "additional_properties", hint)
        case Kind.UnevaluatedProperties(unexpected=names):
            for name, detail, hint in _unknown(names, error, root):
                yield Finding(under(here, name), detail, "unevaluated_properties", hint)
        case Kind.AnyOf(context=branches) | Kind.OneOfNotValid(context=branches):
            yield from _no_branch(branches, here, error, root, at)
        case Kind.Enum(options=options):
            yield _not_listed(options, here, error.instance)
        case Kind.PropertyNames(error=inner):
            reason = _sentence(inner, "").detail
            detail = f"The key {_short(inner.instance)} is not allowed: {reason}"
            yield Finding(under(here, str(inner.instance)), detail, "property_names")
        case _:
            yield _sentence(error, here)


def _sentence(error: ValidationError, here: str) -> Finding:
    for family in (_number_sentence, _size_sentence, _list_sentence):
        finding = family(error, here)
        if finding is not None:
            return finding
    return _other(error, here)


def _number_sentence(error: ValidationError, here: str) -> Finding | None:
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


def _size_sentence(error: ValidationError, here: str) -> Finding | None:
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
            return _misformatted(name, here, error.instance)
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


def _misformatted(name: str, here: str, value: Any) -> Finding:
    hint = did_you_mean(str(value), timezones()) if name == "iana-timezone" else None
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
    allowed = _known_keys(error, root)
    for name in names:
        yield name, f"The key {name!r} is not known here.", did_you_mean(name, allowed)


def _known_keys(error: ValidationError, root: Any) -> list[str]:
    schema = find(root, under("", *error.schema_path[:-1]))
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(error.instance, Mapping):
        return []
    return [name for name in properties if name not in error.instance]


def _among(name: str, error: ValidationError) -> str | None:
    """A key that is there and looks like the missing one is most likely a slip."""
    if not isinstance(error.instance, Mapping):
        return None
    written = nearest(name, error.instance)
    return None if written is None else f"Is {written!r} meant to be this key?"


def _not_listed(options: Sequence[Any], here: str, value: Any) -> Finding:
    shown = ", ".join(_short(option) for option in options[:CHOICES_SHOWN])
    if len(options) > CHOICES_SHOWN:
        shown += f" and {len(options) - CHOICES_SHOWN} more"
    texts = [option for option in options if isinstance(option, str)]
    suggestion = did_you_mean(value, texts) if isinstance(value, str) else None
    return Finding(here, f"This must be one of {shown}.", "enum", suggestion)


def _no_branch(
    branches: Sequence[Sequence[ValidationError]],
    here: str,
    error: ValidationError,
    root: Any,
    at: str,
) -> Iterator[Finding]:
    """The problems of the shape that was meant, where one shape stands out."""
    fitting = [branch for branch in branches if not _wanted_types(branch, error)]
    meant = [branch for branch in fitting if not _another_kind(branch, error)] or fitting
    if len(meant) == 1:
        for inner in meant[0]:
            yield from findings_of(inner, root, at)
        return
    types = [_wanted_types(branch, error) for branch in branches]
    detail = f"This fits none of the {len(branches)} allowed shapes."
    if all(types):
        wanted = sorted({name for names in types for name in names})
        detail = _wrong_type(wanted, error.instance)
    if isinstance(error.kind, Kind.AnyOf):
        yield Finding(here, detail, "any_of")
    else:
        yield Finding(here, detail, "one_of")


def _another_kind(branch: Sequence[ValidationError], error: ValidationError) -> bool:
    """Whether a branch is about something else, as its discriminator tells."""
    here = len(error.instance_path)
    return any(
        isinstance(inner.kind, Kind.Constant | Kind.Enum | Kind.FalseSchema)
        and len(inner.instance_path) <= here + 1
        for inner in branch
    )


def _wanted_types(branch: Sequence[ValidationError], error: ValidationError) -> list[str]:
    for inner in branch:
        if isinstance(inner.kind, Kind.Type) and inner.instance_path == error.instance_path:
            return inner.kind.types
    return []


def _wrong_type(types: Sequence[str], value: Any) -> str:
    if types == ["integer"] and isinstance(value, float):
        return "This must be a whole number."
    return f"This must be {_any_of_types(types)}, but it is {_type_of(value)}."


def _any_of_types(types: Sequence[str]) -> str:
    names = [_TYPES.get(name, name) for name in types]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _type_of(value: Any) -> str:
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
    """A value of the schema, or a key, as JSON and cut to a readable length."""
    text = canonical(value).decode()
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
