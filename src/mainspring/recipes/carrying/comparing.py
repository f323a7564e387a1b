"""Two workspaces beside each other: what is new, what is gone, and what is another one.

Things are matched by their kind and their name, whatever their files are called. Of an
automation that changed it is told, too, what it could do that it could not before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mainspring.definition.json_values import same
from mainspring.recipes.carrying.carried import KINDS, Carried, Thing, renamed
from mainspring.workspace.changes import changes

What = Literal["added", "removed", "changed"]
# What an automation may do beyond another; the first is None where it is new.
Widens = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Sequence[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same on both sides."""

    kind: str
    name: str
    path: str
    what: What
    changes: tuple[Mapping[str, Any], ...] = ()
    widens: tuple[Mapping[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "path": self.path,
            "what": self.what,
            "changes": list(self.changes),
            "widens": list(self.widens),
        }


def nothing_wider(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Sequence[Mapping[str, str]]:
    """Where nobody can say what an automation may do."""
    del before, after
    return ()


def compare(
    before: Carried, after: Carried, *, widens: Widens = nothing_wider, rows: bool = False
) -> list[Difference]:
    """Every difference, by kind and name; rows only where they are asked for."""
    old, new = renamed(before), renamed(after)
    found = [*_things(old, new, widens, rows=rows)]
    for kind, path, was, now in (
        ("settings", "settings.json", dict(old.settings), dict(new.settings)),
        ("recipes", "recipes.json", _listed(old), _listed(new)),
    ):
        if not same(was, now):
            found.append(Difference(kind, kind, path, _what(was, now), tuple(changes(was, now))))
    return found


def _things(old: Carried, new: Carried, widens: Widens, *, rows: bool) -> Iterator[Difference]:
    for kind in KINDS:
        counted = [Counter(one.name for one in side.of(kind)) for side in (old, new)]
        several = {name for count in counted for name, many in count.items() if many > 1}
        was = {_key(one, several): one for one in old.of(kind)}
        now = {_key(one, several): one for one in new.of(kind)}
        for key in sorted(was.keys() | now.keys()):
            left, right = was.get(key), now.get(key)
            if left is None and right is not None:
                wider = widens(None, right.content) if kind == "automation" else ()
                yield Difference(kind, right.name, right.path, "added", (), tuple(wider))
            elif right is None and left is not None:
                yield Difference(kind, left.name, left.path, "removed")
            elif left is not None and right is not None:
                yield from _changed(left, right, widens, rows=rows)


def _key(thing: Thing, several: set[str]) -> tuple[str, str]:
    """By the name; the file counts only where several things have one name.

    The file of the same thing may be called another way, for what else is there.
    """
    return thing.name, thing.slug if thing.name in several else ""


def _changed(left: Thing, right: Thing, widens: Widens, *, rows: bool) -> Iterator[Difference]:
    was, now = _content(left, rows=rows), _content(right, rows=rows)
    if same(was, now):
        return
    wider: Sequence[Mapping[str, str]] = ()
    if left.kind == "automation":
        wider = widens(left.content, right.content)
    yield Difference(
        left.kind, right.name, right.path, "changed", tuple(changes(was, now)), tuple(wider)
    )


def _content(thing: Thing, *, rows: bool) -> dict[str, Any]:
    held = {name: list(found) for name, found in thing.rows.items()}
    return {**thing.content, **({"rows": held} if rows and held else {})}


def _listed(carried: Carried) -> dict[str, Any]:
    return {str(one.get("of", number)): one for number, one in enumerate(carried.recipes)}


def _what(was: Mapping[str, Any], now: Mapping[str, Any]) -> What:
    if not was:
        return "added"
    return "changed" if now else "removed"
