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
            detail = f"The key {name!r} is missing."
            yield Finding(under(here, name), detail, "required", _among(name, error))
        case Kind.AdditionalProperties(unexpected=names):
            yield from _unknown(names, here, "additional_properties", error, root)
        case Kind.UnevaluatedProperties(unexpected=names):
            yield from _unknown(names, here, "unevaluated_properties", error, root)
        case Kind.AnyOf(context=branches) | Kind.OneOfNotValid(context=branches):
            yield from _no_branch(branches, here, error, root, at)
        case Kind.Enum(options=options):
            yield _not_listed(options, here, error.instance)
        case Kind.PropertyNames(error=inner):
            detail = f"The key {_short(inner.instance)} is not allowed: {_sentence(inner)}"
            yield Finding(under(here, str(inner.instance)), detail, "property_names")
        case Kind.Format(format="iana-timezone"):
            suggestion = did_you_mean(str(error.instance), timezones())
            yield Finding(here, _sentence(error), "format", suggestion)
        case _:
            yield Finding(here, _sentence(error), _snake(error.kind.name))


def _sentence(error: ValidationError) -> str:  # noqa: C901 - one line per keyword is a table
    match error.kind:
        case Kind.Type(types=["integer"]) if isinstance(error.instance, float):
            return "This must be a whole number."
        case Kind.Type(types=types):
            return f"This must be {_any_of_types(types)}, but it is {_type_of(error.instance)}."
        case Kind.Constant(expected_value=value):
            return f"This must be exactly {_short(value)}."
        case Kind.Minimum(limit=limit):
            return f"This must be at least {limit}."
        case Kind.Maximum(limit=limit):
            return f"This must be at most {limit}."
        case Kind.ExclusiveMinimum(limit=limit):
            return f"This must be more than {limit}."
        case Kind.ExclusiveMaximum(limit=limit):
            return f"This must be less than {limit}."
        case Kind.MultipleOf(multiple_of=factor):
            return f"This must be a multiple of {factor}."
        case Kind.MinLength(limit=limit):
            return f"This must have at least {_count(limit, 'character')}."
        case Kind.MaxLength(limit=limit):
            return f"This must have at most {_count(limit, 'character')}."
        case Kind.MinItems(limit=limit):
            return f"This list must have at least {_count(limit, 'item')}."
        case Kind.MaxItems(limit=limit):
            return f"This list must have at most {_count(limit, 'item')}."
        case Kind.MinProperties(limit=limit):
            return f"This object must have at least {_count(limit, 'key')}."
        case Kind.MaxProperties(limit=limit):
            return f"This object must have at most {_count(limit, 'key')}."
        case Kind.Pattern(pattern=pattern):
            return f"This must match the pattern {_short(pattern)}."
        case Kind.Format(format=name):
            return f"This must be {LOOKS_LIKE.get(name, f'of the format {name!r}')}."
        case Kind.UniqueItems():
            return "No two items of this list may be equal."
        case Kind.Contains():
            return _contains(error)
        case Kind.FalseSchema():
            return "Nothing is allowed here."
        case Kind.Not():
            return "This value is one of those that are not allowed here."
        case Kind.OneOfMultipleValid():
            return "This fits more than one of the allowed shapes; it must fit exactly one."
        case Kind.UnevaluatedItems():
            return "This list has items that are not allowed here."
        case _:
            return f"This does not obey the keyword {error.kind.name!r} of its schema."


def _contains(error: ValidationError) -> str:
    keyword = error.schema_path[-1] if error.schema_path else ""
    if keyword == "maxContains":
        return "This list has too many items of a kind that is limited."
    return "This list has too few items of a kind that it must contain."


def _unknown(
    names: Sequence[str], here: str, code: str, error: ValidationError, root: Any
) -> Iterator[Finding]:
    allowed = _known_keys(error, root)
    for name in names:
        detail = f"The key {name!r} is not known here."
        yield Finding(under(here, name), detail, code, did_you_mean(name, allowed))


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
    if all(types):
        wanted = sorted({name for names in types for name in names})
        detail = f"This must be {_any_of_types(wanted)}, but it is {_type_of(error.instance)}."
    else:
        detail = f"This fits none of the {len(branches)} allowed shapes."
    yield Finding(here, detail, _snake(error.kind.name))


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


def _snake(keyword: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in keyword)
