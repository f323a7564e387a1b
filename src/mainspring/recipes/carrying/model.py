"""The exported content of a workspace: resources by kind and name."""

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

# File names derived from resource names, valid on every file system.

LONGEST: Final = 60
_GAPS: Final = re.compile(r"[^a-z0-9]+")
# Valid characters of a file name chosen by a person.
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Reserved device names (Windows).
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
)


def build_file_slug(name: str) -> str:
    """Build a slug of lower-case letters, digits and hyphens; a digest when nothing is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _GAPS.sub("-", plain).strip("-")[:LONGEST].rstrip("-")
    if not slug:
        return f"x-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"x-{slug}" if slug in _DEVICES else slug


def build_file_slugs(names: Sequence[str]) -> list[str]:
    """Build a unique slug for each name.

    The order of names is deterministic. Later duplicates get a number, and never one that is
    another resource's own slug.
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
    """Report whether a name without extension is valid on every file system."""
    return _PART.fullmatch(text) is not None and text.lower() not in _DEVICES


def find_case_collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Find paths that collide on case-insensitive file systems."""
    seen: dict[str, str] = {}
    found = []
    for path in sorted(paths):
        first = seen.setdefault(path.lower(), path)
        if first != path:
            found.append((first, path))
    return found


ResourceKind = Literal["board", "automation", "workflow", "prompt"]
# In import order: later ones may refer to earlier ones.
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
    """A resource whose content has references instead of ids."""

    kind: ResourceKind
    slug: str
    content: Mapping[str, Any]
    # For a board exported with rows: rows by dataset.
    rows: DatasetRows = field(default_factory=dict)
    # Parts of the content in separate files: pointer to path.
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
        """The content that may have references: everything but the name."""
        return {key: one for key, one in self.content.items() if key != TITLE_OF[self.kind]}

    def with_inside(self, inside: Mapping[str, Any]) -> WorkspaceResource:
        return replace(self, content={**inside, TITLE_OF[self.kind]: self.name})

    def place(self, pointer: str) -> str:
        """Map a pointer into the content to a file and a pointer in it."""
        for part, path in self.beside.items():
            if pointer == part or pointer.startswith(f"{part}/"):
                return f"{path}#{pointer[len(part) :]}"
        return f"{self.path}#{pointer}"


@dataclass(frozen=True, slots=True)
class WorkspaceContent:
    """Everything in a folder."""

    resources: tuple[WorkspaceResource, ...] = ()
    # Workspace settings, exported for information and never imported.
    settings: Mapping[str, Any] = field(default_factory=dict)
    # The recipes that resources were installed from.
    recipes: tuple[Mapping[str, Any], ...] = ()
    # Secrets and integrations that must exist for everything to work.
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, kind: ResourceKind) -> tuple[WorkspaceResource, ...]:
        return tuple(one for one in self.resources if one.kind == kind)


def assign_slugs(things: Iterable[WorkspaceResource]) -> list[tuple[str, WorkspaceResource]]:
    """Assign file slugs to resources of one kind.

    Slugs only depend on the resources, so that they are the same everywhere.
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
    """Normalize file slugs to those of an export, for comparison."""
    names: dict[ResourceReference, ResourceReference] = {}
    things: list[WorkspaceResource] = []
    for kind in KINDS:
        for before, after in assign_slugs(carried.of(kind)):
            things.append(after)
            if kind != "prompt":
                names[replace(after, slug=before).reference] = after.reference
    return replace(
        carried,
        resources=tuple(
            one if one.kind == "prompt" else one.with_inside(rename_all(one.inside, names))
            for one in things
        ),
        recipes=tuple(rename_all(dict(one), names) for one in carried.recipes),
    )
