"""Three ways to say one thing: what was installed, what is there now, what a newer recipe says.

A place that people here changed is theirs. It stands in the way of an upgrade unless the newer
recipe says there what they say. Entries of lists are told apart by their names, so a column
that somebody added is one change, and every column after it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mainspring.definition.json_values import is_same_value
from mainspring.definition.pointers import join_pointer

ChangeKind = Literal["added", "removed", "changed", "reordered"]

# What names an entry of a list, in the order in which it is looked for.
_NAMES: Final = ("step_id", "id", "name", "key", "slug", "label", "capability")


_SHOWN: Final = 80


class _NoValueType:
    """No value at all, which is not null."""


_NOTHING: Final = _NoValueType()


@dataclass(frozen=True, slots=True)
class RecipeChange:
    """One place that is not what it was."""

    place: str
    way: ChangeKind
    # Of a single value that changed: what it was and what it is then, shortened.
    was: str | None = field(default=None, compare=False)
    becomes: str | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, str]:
        told = {"place": self.place, "change": str(self.way)}
        if self.was is not None and self.becomes is not None:
            told |= {"was": self.was, "becomes": self.becomes}
        return told


def list_recipe_changes(before: Any, after: Any) -> list[RecipeChange]:
    """Every place at which two contents differ."""
    return list(_compare_values(before, after, _NOTHING, "", agreeing=False))


def find_conflicts(base: Any, current: Any, new: Any) -> list[RecipeChange]:
    """What people here changed since the install and a newer recipe says otherwise."""
    return list(_compare_values(base, current, new, "", agreeing=True))


def _compare_values(
    before: Any, after: Any, new: Any, at: str, *, agreeing: bool
) -> Iterator[RecipeChange]:
    if _is_same(before, after) or (agreeing and _is_same(after, new)):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_objects(before, after, new, at, agreeing=agreeing)
        return
    named = _index_by_name(before), _index_by_name(after)
    if named[0] is not None and named[1] is not None:
        yield from _compare_lists(
            named[0], named[1], _index_by_name(new) or {}, at, agreeing=agreeing
        )
        return
    yield RecipeChange(
        at, _classify_change(before, after), _format_short(before), _format_short(after)
    )


def _compare_objects(
    before: Mapping[str, Any], after: Mapping[str, Any], new: Any, at: str, *, agreeing: bool
) -> Iterator[RecipeChange]:
    said = new if isinstance(new, Mapping) else {}
    for key in dict.fromkeys((*before, *after)):
        yield from _compare_values(
            before.get(key, _NOTHING),
            after.get(key, _NOTHING),
            said.get(key, _NOTHING),
            join_pointer(at, key),
            agreeing=agreeing,
        )


def _compare_lists(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    new: Mapping[str, Any],
    at: str,
    *,
    agreeing: bool,
) -> Iterator[RecipeChange]:
    found = list(_compare_objects(before, after, new, at, agreeing=agreeing))
    yield from found
    agreed = agreeing and bool(new) and _has_same_order(after, new)
    if not found and not agreed and not _has_same_order(before, after):
        yield RecipeChange(at, "reordered")


def _has_same_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return [key for key in one if key in other] == [key for key in other if key in one]


def _index_by_name(value: Any) -> dict[str, Any] | None:
    """The entries of a list by what names each of them once; None where nothing does."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    for name in _NAMES:
        found = {str(one[name]): one for one in value if isinstance(one, Mapping) and name in one}
        if len(found) == len(value):
            return found
    return None


def _is_same(one: Any, other: Any) -> bool:
    if one is _NOTHING or other is _NOTHING:
        return one is other
    return is_same_value(one, other)


def _format_short(value: Any) -> str | None:
    """A single value as it can stand in a line; None for anything larger."""
    if not isinstance(value, str | int | float | None):
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _classify_change(before: Any, after: Any) -> ChangeKind:
    if before is _NOTHING:
        return "added"
    return "removed" if after is _NOTHING else "changed"
