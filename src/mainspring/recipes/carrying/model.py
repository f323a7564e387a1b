"""A workspace as it is carried: its things by kind and name, before they are files or rows."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from mainspring.definition.strict_json import encode_canonical
from mainspring.recipes.carrying.references import (
    FOLDERS,
    ReferableKind,
    ResourceReference,
    mask_references,
    rename_all,
)

# What files are called: names that follow from the things in them, and fit every file system.

LONGEST: Final = 60
_GAPS: Final = re.compile(r"[^a-z0-9]+")
# What a name may be when a person has chosen it.
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Names that other systems keep for their devices.
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
)


def build_file_slug(name: str) -> str:
    """The name in small letters, digits and hyphens; one that has none of them is a digest."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _GAPS.sub("-", plain).strip("-")[:LONGEST].rstrip("-")
    if not slug:
        return f"x-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"x-{slug}" if slug in _DEVICES else slug


def build_file_slugs(names: Sequence[str]) -> list[str]:
    """One for each name, in the order of the names; each is given out once.

    The names come in an order that follows from the things alone. Whoever comes later gets a
    number, and never one that is somebody's own name.
    """
    wished = [build_file_slug(name) for name in names]
    used: set[str] = set()
    given = []
    for slug in wished:
        chosen, number = slug, 2
        while chosen in used or (chosen != slug and chosen in wished):
            chosen, number = f"{slug}-{number}", number + 1
        used.add(chosen)
        given.append(chosen)
    return given


def is_part(text: str) -> bool:
    """Whether a file or a folder can have this name everywhere, its ending left out."""
    return _PART.fullmatch(text) is not None and text.lower() not in _DEVICES


def find_case_collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Paths that are one and the same where capitals do not count."""
    seen: dict[str, str] = {}
    found = []
    for path in sorted(paths):
        first = seen.setdefault(path.lower(), path)
        if first != path:
            found.append((first, path))
    return found


ResourceKind = Literal["board", "automation", "workflow", "prompt"]
# In the order in which they are brought in: later ones may need those before.
KINDS: Final[tuple[ResourceKind, ...]] = ("board", "automation", "workflow", "prompt")
FOLDER_OF: Final[Mapping[ResourceKind, str]] = {
    "board": FOLDERS["board"],
    "automation": FOLDERS["automation"],
    "workflow": FOLDERS["workflow"],
    "prompt": "prompts",
}
TITLE_OF: Final[Mapping[ResourceKind, str]] = {
    "board": "name",
    "automation": "name",
    "workflow": "title",
    "prompt": "name",
}

DatasetRows = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class WorkspaceResource:
    """One thing; its content says references instead of ids."""

    kind: ResourceKind
    slug: str
    content: Mapping[str, Any]
    # Of a board whose rows are carried: by dataset.
    rows: DatasetRows = field(default_factory=dict)
    # Where a part of the content stands in a file of its own: pointer to path.
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.content.get(TITLE_OF[self.kind], ""))

    @property
    def path(self) -> str:
        return f"{FOLDER_OF[self.kind]}/{self.slug}.json"

    @property
    def reference(self) -> ResourceReference:
        return ResourceReference(cast("ReferableKind", self.kind), self.slug)

    @property
    def inside(self) -> dict[str, Any]:
        """What references may stand in: all but the name, which is taken as it is."""
        return {key: one for key, one in self.content.items() if key != TITLE_OF[self.kind]}

    def with_inside(self, inside: Mapping[str, Any]) -> WorkspaceResource:
        return replace(self, content={**inside, TITLE_OF[self.kind]: self.name})

    def place(self, pointer: str) -> str:
        """Where a pointer into the content leads, as a file and a place in it."""
        for part, path in self.beside.items():
            if pointer == part or pointer.startswith(f"{part}/"):
                return f"{path}#{pointer[len(part) :]}"
        return f"{self.path}#{pointer}"


@dataclass(frozen=True, slots=True)
class WorkspaceContent:
    """Everything that a folder holds."""

    things: tuple[WorkspaceResource, ...] = ()
    # What people here have set; it is shown and never brought in.
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Which recipes things were installed from.
    recipes: tuple[Mapping[str, Any], ...] = ()
    # Names of secrets and integrations that must be there before all of it works.
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, kind: ResourceKind) -> tuple[WorkspaceResource, ...]:
        return tuple(one for one in self.things if one.kind == kind)


def assign_slugs(things: Iterable[WorkspaceResource]) -> list[tuple[str, WorkspaceResource]]:
    """Things of one kind with the names of their files, each beside the name it came with.

    The names follow from the things alone, so that they are the same wherever these are.
    """
    ordered = sorted(
        things,
        key=lambda one: (one.name, encode_canonical(mask_references(dict(one.content))), one.slug),
    )
    slugs = build_file_slugs([one.name for one in ordered])
    return [
        (one.slug, replace(one, slug=slug, beside={}))
        for one, slug in zip(ordered, slugs, strict=True)
    ]


def normalize_slugs(carried: WorkspaceContent) -> WorkspaceContent:
    """The same with the file names that an export gives, so that two can be compared."""
    names: dict[ResourceReference, ResourceReference] = {}
    things: list[WorkspaceResource] = []
    for kind in KINDS:
        for before, after in assign_slugs(carried.of(kind)):
            things.append(after)
            if kind != "prompt":
                names[replace(after, slug=before).reference] = after.reference
    return replace(
        carried,
        things=tuple(
            one if one.kind == "prompt" else one.with_inside(rename_all(one.inside, names))
            for one in things
        ),
        recipes=tuple(rename_all(dict(one), names) for one in carried.recipes),
    )
