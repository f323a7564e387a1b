"""Field paths: ``a.b.0.c`` leads through objects and lists to one value.

Dots separate; digits are a position in a list and a key in an object. A backslash takes
the next character as it is, so a dot in a key is written ``\\.`` and a dollar sign at
the beginning ``\\$``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOST_PARTS = 64


class MissingField:
    """What a path leads to when it leads nowhere; JSON's null is something else."""

    __slots__ = ()


MISSING: Final = MissingField()


class InvalidFieldPath(ValueError):
    """The path cannot be read; the message is a sentence for its author."""


def parse_field_path(path: str) -> tuple[str, ...]:
    """The parts of a path, or ``BadPath`` with the reason."""
    parts: list[str] = []
    part: list[str] = []
    characters = iter(path)
    for character in characters:
        if character == "\\":
            following = next(characters, None)
            if following is None:
                raise InvalidFieldPath("A backslash at the end of a path stands before nothing.")
            part.append(following)
        elif character == ".":
            parts.append("".join(part))
            part = []
        else:
            part.append(character)
    parts.append("".join(part))
    if "" in parts:
        raise InvalidFieldPath("A path has a name before and after each dot.")
    if len(parts) > MOST_PARTS:
        raise InvalidFieldPath(f"A path has at most {MOST_PARTS} parts.")
    return tuple(parts)


def read(payload: Mapping[str, Any], parts: tuple[str, ...]) -> Any:
    """What a path leads to in a payload."""
    value: Any = payload
    for part in parts:
        value = step_into(value, part)
        if value is MISSING:
            break
    return value


def step_into(value: Any, part: str) -> Any:
    """One step of a path, into an object by key or into a list by position."""
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, list) and part.isdecimal() and part.isascii():
        position = int(part) if len(part) < 10 else len(value)
        return value[position] if position < len(value) else MISSING
    return MISSING
