"""Trying a filter out: whether it lets a payload through, and which parts of it do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mainspring.contracts.limits import Limits
from mainspring.definition.filters import compile_filter
from mainspring.definition.pointers import under


def unmet(
    written: Mapping[str, Any], payload: Mapping[str, Any], limits: Limits, at: str = ""
) -> list[str]:
    """Pointers to the parts that do not hold; none when the filter lets the payload through.

    ``Invalid`` if it is not a filter.
    """
    if compile_filter(written, limits)(payload):
        return []
    return [
        pointer
        for pointer, part in _parts(written, at)
        if not compile_filter(part, limits)(payload)
    ]


def _parts(written: Mapping[str, Any], at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every condition that must hold, as a filter of its own."""
    for key, value in written.items():
        if key == "$and":
            for number, member in enumerate(value):
                yield from _parts(member, under(at, key, number))
        elif not key.startswith("$") and isinstance(value, Mapping):
            for name, operand in value.items():
                yield under(at, key, name), {key: {name: operand}}
        else:
            yield under(at, key), {key: value}
