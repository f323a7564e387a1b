"""JSON pointers: reading a place, and immutable updates.

Documents are never modified in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.strict_json import join_pointer, split_pointer

NOT_THERE: Final = object()
_APPEND: Final = "-"
_LONGEST_INDEX: Final = 6


class PointerNotFound(Exception):
    """No container exists at this pointer."""

    def __init__(self, pointer: str, detail: str) -> None:
        super().__init__(detail)
        self.finding = Finding(pointer, detail, "no_place")


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one: an unvalidated document may hold anything."""
    return value if isinstance(value, Mapping) else {}


def value_at(document: Any, pointer: str) -> Any:
    """Return the value there, or ``NOT_THERE``."""
    if pointer and not pointer.startswith("/"):
        return NOT_THERE
    value = document
    for part in split_pointer(pointer):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and _is_index(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return NOT_THERE
    return value


def set_at_pointer(document: Any, pointer: str, value: Any) -> Any:
    """Return a copy with a value set; intermediate objects are created."""
    return _put(document, split_pointer(pointer), value, pointer)


def take_out(document: Any, pointer: str) -> Any:
    """Return a copy without the value at a place."""
    *above, last = split_pointer(pointer) or [""]
    holder = value_at(document, join_pointer("", *above))
    if isinstance(holder, Mapping) and last in holder:
        return set_at_pointer(
            document, join_pointer("", *above), {k: v for k, v in holder.items() if k != last}
        )
    if isinstance(holder, list) and _is_index(last) and int(last) < len(holder):
        place = int(last)
        return set_at_pointer(
            document, join_pointer("", *above), holder[:place] + holder[place + 1 :]
        )
    raise PointerNotFound(pointer, "There is nothing at this place that could be taken out.")


def is_within(pointer: str, outer: str) -> bool:
    """Report whether a place is another one, or inside it."""
    return pointer == outer or pointer.startswith(f"{outer}/")


def parent_of(pointer: str) -> str:
    return pointer.rpartition("/")[0]


def texts(document: Any) -> Iterator[tuple[str, str, str]]:
    """Yield every text with its pointer and key; list items have the list's key."""
    waiting: list[tuple[str, str, Any]] = [("", "", document)]
    while waiting:
        pointer, key, value = waiting.pop()
        if isinstance(value, str):
            yield pointer, key, value
        elif isinstance(value, Mapping):
            waiting += [
                (join_pointer(pointer, name), str(name), one) for name, one in value.items()
            ]
        elif isinstance(value, list):
            waiting += [(join_pointer(pointer, place), key, one) for place, one in enumerate(value)]


def _put(holder: Any, parts: list[str], value: Any, pointer: str) -> Any:
    if not parts:
        return value
    part, rest = parts[0], parts[1:]
    if isinstance(holder, Mapping):
        below = holder.get(part, _create_container(rest))
        return {**holder, part: _put(below, rest, value, pointer)}
    if isinstance(holder, list):
        place = len(holder) if part == _APPEND else int(part) if _is_index(part) else -1
        if 0 <= place <= len(holder):
            below = holder[place] if place < len(holder) else {}
            return [*holder[:place], _put(below, rest, value, pointer), *holder[place + 1 :]]
    raise PointerNotFound(pointer, "There is nothing here that could hold a value at this place.")


def _create_container(rest: list[str]) -> Any:
    """Create an intermediate container: a list for index 0, else an object."""
    return [] if rest and rest[0] in ("0", _APPEND) else {}


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= _LONGEST_INDEX
