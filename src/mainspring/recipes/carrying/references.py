"""Ids written as references, and back: ``$board(revenue)`` is the board in boards/revenue.json.

A reference may stand anywhere in a text, in the source of a script too. Text that only looks
like one is told apart by its dollars: two of them stand for one, and an odd number of them
begins a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast
from uuid import NAMESPACE_URL, uuid5

from mainspring.definition.strict_json import join_pointer

ReferableKind = Literal["automation", "board", "workflow"]
# What may be referred to, and the folder that it stands in.
FOLDERS: Final[Mapping[ReferableKind, str]] = {
    "automation": "automations",
    "board": "boards",
    "workflow": "workflows",
}
_WORDS: Final = "|".join(FOLDERS)
_HEX: Final = "[0-9a-fA-F]"
_ID: Final = rf"(?<![0-9A-Za-z_-]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![0-9A-Za-z_-])"
# Dollars are taken all at once and from the first one, so that many of them cost no more.
_MARKABLE: Final = re.compile(
    rf"(?<!\$)(?P<dollars>\$*+)(?:(?P<id>{_ID})|(?P<word>(?:{_WORDS})\())"
)
_MARKED: Final = re.compile(
    rf"(?<!\$)(?P<dollars>\$++)(?P<kind>{_WORDS})\((?:(?P<slug>[A-Za-z0-9][A-Za-z0-9_-]{{0,99}})\))?"
)
ID: Final = re.compile(_ID)


@dataclass(frozen=True, slots=True)
class ResourceReference:
    """A thing of a folder, by its kind and the name of its file."""

    kind: ReferableKind
    slug: str

    @property
    def path(self) -> str:
        return f"{FOLDERS[self.kind]}/{self.slug}.json"

    def __str__(self) -> str:
        return f"${self.kind}({self.slug})"


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """A place where a reference leads nowhere."""

    pointer: str
    # What stands there.
    text: str
    reference: ResourceReference | None


def insert_references(text: str, ids: Mapping[str, ResourceReference]) -> str:
    """The text with each id that is known as a reference."""

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
    """The text with each reference as what it stands for; those that are lost are told."""

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
    """The same for every text in a value."""
    return _map_texts(value, "", lambda text, at: insert_references(text, ids))


def fill_all(
    value: Any, find: Callable[[ResourceReference], str | None]
) -> tuple[Any, list[BrokenReference]]:
    """The value with every reference filled, and where one leads nowhere."""
    found: list[BrokenReference] = []

    def fill(text: str, at: str) -> str:
        return resolve_references(
            text, find, lambda shown, one: found.append(BrokenReference(at, shown, one))
        )

    return _map_texts(value, "", fill), found


def replace_with_stand_ins(
    value: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, ResourceReference]]:
    """The value with an id for each reference, and which reference each of these ids is."""
    stood_in: dict[str, ResourceReference] = {}

    def stand_in(reference: ResourceReference) -> str:
        found = str(uuid5(NAMESPACE_URL, str(reference)))
        stood_in[found] = reference
        return found

    filled_in, _ = fill_all(dict(value), stand_in)
    return filled_in, stood_in


def rename_all(value: Any, names: Mapping[ResourceReference, ResourceReference]) -> Any:
    """The value with references to other names of files; what leads nowhere stays."""

    def rename(text: str, at: str) -> str:
        del at
        return _MARKED.sub(lambda found: _rename_reference(found, names), text)

    return _map_texts(value, "", rename)


def mask_references(value: Any) -> Any:
    """The value without ids and references: what is the same in every workspace."""
    return _map_texts(value, "", lambda text, at: ID.sub("", _MARKED.sub("", text)))


def find_remaining_ids(value: Any) -> Iterator[tuple[str, str]]:
    """Ids that are no references, each with its place: they mean nothing elsewhere."""
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
