"""The sentences about how much and how many."""

from __future__ import annotations

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from mainspring.contracts.errors import Finding


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
