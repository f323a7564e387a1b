"""Comparing workspace contents, including added permissions in the wording of consents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mainspring.contracts.errors import Finding
from mainspring.definition.authority import AutomationAuthority, find_additions, read_authority
from mainspring.definition.strict_json import is_same_value
from mainspring.definition.validate import validate
from mainspring.recipes.carrying.model import (
    KINDS,
    WorkspaceContent,
    WorkspaceResource,
    normalize_slugs,
)
from mainspring.recipes.carrying.references import (
    ResourceReference,
    insert_references,
    replace_with_stand_ins,
)
from mainspring.workspace.versions import list_changes

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary


# Differences between two workspace contents: added, removed and changed resources.

DifferenceKind = Literal["added", "removed", "changed"]
# Permissions an automation has beyond another; the first is None for a new one.
FindWidening = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Sequence[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class WorkspaceDifference:
    """A resource that differs."""

    kind: str
    name: str
    path: str
    what: DifferenceKind
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


def find_no_widening(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Sequence[Mapping[str, str]]:
    """Used when permissions cannot be determined."""
    del before, after
    return ()


def compare(
    before: WorkspaceContent,
    after: WorkspaceContent,
    *,
    widens: FindWidening = find_no_widening,
    rows: bool = False,
) -> list[WorkspaceDifference]:
    """List every difference by kind and name; rows only on request."""
    old, new = normalize_slugs(before), normalize_slugs(after)
    found = [*_compare_resources(old, new, widens, rows=rows)]
    for kind, path, was, now in (
        ("settings", "settings.json", dict(old.settings), dict(new.settings)),
        ("recipes", "recipes.json", _index_recipes(old), _index_recipes(new)),
    ):
        if not is_same_value(was, now):
            found.append(
                WorkspaceDifference(
                    kind, kind, path, _classify_difference(was, now), tuple(list_changes(was, now))
                )
            )
    return found


def _compare_resources(
    old: WorkspaceContent, new: WorkspaceContent, widens: FindWidening, *, rows: bool
) -> Iterator[WorkspaceDifference]:
    for kind in KINDS:
        counted = [Counter(one.name for one in side.of(kind)) for side in (old, new)]
        several = {name for count in counted for name, many in count.items() if many > 1}
        was = {_build_match_key(one, several): one for one in old.of(kind)}
        now = {_build_match_key(one, several): one for one in new.of(kind)}
        for key in sorted(was.keys() | now.keys()):
            left, right = was.get(key), now.get(key)
            if left is None and right is not None:
                wider = widens(None, right.content) if kind == "automation" else ()
                yield WorkspaceDifference(kind, right.name, right.path, "added", (), tuple(wider))
            elif right is None and left is not None:
                yield WorkspaceDifference(kind, left.name, left.path, "removed")
            elif left is not None and right is not None:
                yield from _compare_pair(left, right, widens, rows=rows)


def _build_match_key(thing: WorkspaceResource, several: set[str]) -> tuple[str, str]:
    """Match by name; the file only counts when several resources share a name.

    The same resource may have another file name, depending on the others.
    """
    return thing.name, thing.slug if thing.name in several else ""


def _compare_pair(
    left: WorkspaceResource, right: WorkspaceResource, widens: FindWidening, *, rows: bool
) -> Iterator[WorkspaceDifference]:
    was, now = _get_comparable_content(left, rows=rows), _get_comparable_content(right, rows=rows)
    if is_same_value(was, now):
        return
    wider: Sequence[Mapping[str, str]] = ()
    if left.kind == "automation":
        wider = widens(left.content, right.content)
    yield WorkspaceDifference(
        left.kind, right.name, right.path, "changed", tuple(list_changes(was, now)), tuple(wider)
    )


def _get_comparable_content(thing: WorkspaceResource, *, rows: bool) -> dict[str, Any]:
    held = {name: list(found) for name, found in thing.rows.items()}
    return {**thing.content, **({"rows": held} if rows and held else {})}


def _index_recipes(carried: WorkspaceContent) -> dict[str, Any]:
    return {str(one.get("of", number)): one for number, one in enumerate(carried.recipes)}


def _classify_difference(was: Mapping[str, Any], now: Mapping[str, Any]) -> DifferenceKind:
    if not was:
        return "added"
    return "changed" if now else "removed"


def build_widening_check(vocabulary: Vocabulary, limits: Limits) -> FindWidening:
    """Build a permission comparison with this vocabulary; an unreadable definition reports why."""

    def widens(
        before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> Sequence[Mapping[str, str]]:
        stood_in: dict[str, ResourceReference] = {}
        now = _read_stand_in_authority(after, vocabulary, limits, stood_in)
        was = (
            None
            if before is None
            else _read_stand_in_authority(before, vocabulary, limits, stood_in)
        )
        for one in (now, was):
            if isinstance(one, Finding):
                says = f"What it may do is unknown: {insert_references(one.detail, stood_in)}"
                return [{"kind": "unknown", "pointer": one.pointer, "says": says}]
        assert isinstance(now, AutomationAuthority)
        assert not isinstance(was, Finding)
        return [
            {**one.as_dict(), "says": insert_references(one.says, stood_in)}
            for one in find_additions(was, now)
        ]

    return widens


def _read_stand_in_authority(
    content: Mapping[str, Any],
    vocabulary: Vocabulary,
    limits: Limits,
    stood_in: dict[str, ResourceReference],
) -> AutomationAuthority | Finding:
    document, used = replace_with_stand_ins(content)
    stood_in |= used
    report = validate(document, vocabulary, limits)
    if not report.ok:
        return report.findings[0]
    return read_authority(
        report.accepted().as_dict(),
        report.grants,
        limits,
        pure=report.traits.pure,
        labels=report.traits.labels,
    )
