"""References instead of ids: ``$board(revenue)`` is the board in boards/revenue.json.

A reference may be anywhere in a text, including a script's source. Literal dollars are escaped by
doubling: an odd number of dollars starts a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast
from uuid import NAMESPACE_URL, uuid5

from mainspring.definition.strict_json import join_pointer

ReferableKind = Literal["automation", "board", "workflow"]
# Kinds that can be referenced, and their folders.
FOLDERS: Final[Mapping[ReferableKind, str]] = {
    "automation": "automations",
    "board": "boards",
    "workflow": "workflows",
}
_WORDS: Final = "|".join(FOLDERS)
_HEX: Final = "[0-9a-fA-F]"
_ID: Final = rf"(?<![0-9A-Za-z_-]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![0-9A-Za-z_-])"
# Dollars are matched possessively from the first one, so that matching is linear.
_MARKABLE: Final = re.compile(
    rf"(?<!\$)(?P<dollars>\$*+)(?:(?P<id>{_ID})|(?P<word>(?:{_WORDS})\())"
)
_MARKED: Final = re.compile(
    rf"(?<!\$)(?P<dollars>\$++)(?P<kind>{_WORDS})\((?:(?P<slug>[A-Za-z0-9][A-Za-z0-9_-]{{0,99}})\))?"
)
ID: Final = re.compile(_ID)


@dataclass(frozen=True, slots=True)
class ResourceReference:
    """A resource by kind and file name."""

    kind: ReferableKind
    slug: str

    @property
    def path(self) -> str:
        return f"{FOLDERS[self.kind]}/{self.slug}.json"

    def __str__(self) -> str:
        return f"${self.kind}({self.slug})"


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """A reference without a target."""

    pointer: str
    # The text there.
    text: str
    reference: ResourceReference | None


def insert_references(text: str, ids: Mapping[str, ResourceReference]) -> str:
    """Replace known ids by references."""

    def mark(found: re.Match[str]) -> str:
        dollars = found["dollars"]
        if found["word"] is not None:
            return dollars * 2 + found["word"]
        reference = ids.get(found["id"].lower())
        return found[0] if reference is None else f"{dollars * 2}{reference}"

    return _MARKABLE.sub(mark, text)


def resolve_references(
    text: str,
    find: Callable[[ResourceReference], str | None],
    lost: Callable[[str, ResourceReference | None], None],
) -> str:
    """Resolve the references of a text; broken ones are reported."""

    def fill(found: re.Match[str]) -> str:
        dollars, slug = found["dollars"], found["slug"]
        rest = found[0][len(dollars) :]
        if len(dollars) % 2 == 0:
            return dollars[: len(dollars) // 2] + rest
        reference = (
            None if slug is None else ResourceReference(cast("ReferableKind", found["kind"]), slug)
        )
        value = None if reference is None else find(reference)
        if value is None:
            lost(found[0], reference)
            return found[0]
        return dollars[: len(dollars) // 2] + value

    return _MARKED.sub(fill, text)


def mark_all(value: Any, ids: Mapping[str, ResourceReference]) -> Any:
    """Insert references in every text of a value."""
    return _map_texts(value, "", lambda text, at: insert_references(text, ids))


def fill_all(
    value: Any, find: Callable[[ResourceReference], str | None]
) -> tuple[Any, list[BrokenReference]]:
    """Resolve every reference of a value, and list broken ones."""
    found: list[BrokenReference] = []

    def fill(text: str, at: str) -> str:
        return resolve_references(
            text, find, lambda shown, one: found.append(BrokenReference(at, shown, one))
        )

    return _map_texts(value, "", fill), found


def replace_with_stand_ins(
    value: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, ResourceReference]]:
    """Replace references by placeholder ids, and return the mapping."""
    stood_in: dict[str, ResourceReference] = {}

    def stand_in(reference: ResourceReference) -> str:
        found = str(uuid5(NAMESPACE_URL, str(reference)))
        stood_in[found] = reference
        return found

    filled_in, _ = fill_all(dict(value), stand_in)
    return filled_in, stood_in


def rename_all(value: Any, names: Mapping[ResourceReference, ResourceReference]) -> Any:
    """Rename the targets of references; broken ones are kept."""

    def rename(text: str, at: str) -> str:
        del at
        return _MARKED.sub(lambda found: _rename_reference(found, names), text)

    return _map_texts(value, "", rename)


def mask_references(value: Any) -> Any:
    """Mask ids and references, for comparison across workspaces."""
    return _map_texts(value, "", lambda text, at: ID.sub("", _MARKED.sub("", text)))


def find_remaining_ids(value: Any) -> Iterator[tuple[str, str]]:
    """Find ids that are not references, which have no meaning elsewhere."""
    found: list[tuple[str, str]] = []

    def look(text: str, at: str) -> str:
        found.extend((at, one[0]) for one in ID.finditer(text))
        return text

    _map_texts(value, "", look)
    return iter(found)


def _rename_reference(
    found: re.Match[str], names: Mapping[ResourceReference, ResourceReference]
) -> str:
    dollars, slug = found["dollars"], found["slug"]
    if len(dollars) % 2 == 0 or slug is None:
        return found[0]
    reference = ResourceReference(cast("ReferableKind", found["kind"]), slug)
    return f"{dollars[1:]}{names.get(reference, reference)}"


def _map_texts(value: Any, at: str, change: Callable[[str, str], str]) -> Any:
    if isinstance(value, str):
        return change(value, at)
    if isinstance(value, Mapping):
        return {key: _map_texts(one, join_pointer(at, key), change) for key, one in value.items()}
    if isinstance(value, list):
        return [_map_texts(one, join_pointer(at, place), change) for place, one in enumerate(value)]
    return value
