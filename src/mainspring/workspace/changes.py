"""What changed between two definitions, place by place.

Steps are compared with the step of the same id and triggers with theirs, wherever they
stand: a step that only moved is one change and not a wall of them. Other lists are compared
as a whole. A place is a JSON pointer into the newer definition; for what is gone, and for
where something came from, into the older one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.definition.json_values import is_same_value
from mainspring.definition.pointers import join_pointer

DefinitionChange = dict[str, Any]

# What names an entry of a list, in the order in which it is looked for.
_NAMES: Final = ("step_id", "id")


def list_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[DefinitionChange]:
    """Every difference: add, remove, replace or move, with the values before and after."""
    return list(_diff_values(before, after, "", ""))


def _diff_values(before: Any, after: Any, was: str, now: str) -> Iterator[DefinitionChange]:
    if is_same_value(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _diff_objects(before, after, was, now)
        return
    if isinstance(before, list) and isinstance(after, list):
        name = _name_of(before, after)
        if name is not None:
            yield from _diff_named_entries(before, after, was, now, name)
            return
    yield {"op": "replace", "pointer": now, "before": before, "after": after}


def _diff_objects(
    before: Mapping[str, Any], after: Mapping[str, Any], was: str, now: str
) -> Iterator[DefinitionChange]:
    for key, value in before.items():
        if key in after:
            yield from _diff_values(
                value, after[key], join_pointer(was, key), join_pointer(now, key)
            )
        else:
            yield {"op": "remove", "pointer": join_pointer(was, key), "before": value}
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "pointer": join_pointer(now, key), "after": value}


def _diff_named_entries(
    before: Sequence[Any], after: Sequence[Any], was: str, now: str, name: str
) -> Iterator[DefinitionChange]:
    old = {entry[name]: place for place, entry in enumerate(before)}
    new = {entry[name]: place for place, entry in enumerate(after)}
    for key, place in old.items():
        if key not in new:
            yield {"op": "remove", "pointer": join_pointer(was, place), "before": before[place]}
    kept = [key for key in new if key in old]
    settled = _find_longest_order([old[key] for key in kept])
    for key, place in new.items():
        here = join_pointer(now, place)
        if key not in old:
            yield {"op": "add", "pointer": here, "after": after[place]}
            continue
        there = join_pointer(was, old[key])
        if old[key] not in settled:
            yield {"op": "move", "pointer": here, "from": there}
        yield from _diff_values(before[old[key]], after[place], there, here)


def _name_of(before: Sequence[Any], after: Sequence[Any]) -> str | None:
    """The key that names every entry of both lists, each name once in its list."""
    for name in _NAMES:
        if all(_are_all_named(entries, name) for entries in (before, after)):
            return name
    return None


def _are_all_named(entries: Sequence[Any], name: str) -> bool:
    found = [entry.get(name) if isinstance(entry, Mapping) else None for entry in entries]
    return all(isinstance(entry, str) for entry in found) and len(set(found)) == len(found)


def _find_longest_order(places: Sequence[int]) -> set[int]:
    """The most places that still follow one another; the others are the ones that moved."""
    ends: list[int] = []
    before: list[tuple[int, int]] = []
    for place in places:
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        before.append((length, place))
    settled: set[int] = set()
    wanted = len(ends) - 1
    last = max(places, default=0) + 1
    for length, place in reversed(before):
        if length == wanted and place < last:
            settled.add(place)
            last, wanted = place, wanted - 1
    return settled
