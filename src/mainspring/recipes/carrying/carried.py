"""A workspace as it is carried: its things by kind and name, before they are files or rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from mainspring.definition.json_values import canonical
from mainspring.recipes.carrying.naming import slugs_for
from mainspring.recipes.carrying.references import (
    FOLDERS,
    Kind,
    Reference,
    masked,
    rename_all,
)

ThingKind = Literal["board", "automation", "workflow", "prompt"]
# In the order in which they are brought in: later ones may need those before.
KINDS: Final[tuple[ThingKind, ...]] = ("board", "automation", "workflow", "prompt")
FOLDER_OF: Final[Mapping[ThingKind, str]] = {
    "board": FOLDERS["board"],
    "automation": FOLDERS["automation"],
    "workflow": FOLDERS["workflow"],
    "prompt": "prompts",
}
TITLE_OF: Final[Mapping[ThingKind, str]] = {
    "board": "name",
    "automation": "name",
    "workflow": "title",
    "prompt": "name",
}

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing; its content says references instead of ids."""

    kind: ThingKind
    slug: str
    content: Mapping[str, Any]
    # Of a board whose rows are carried: by dataset.
    rows: Rows = field(default_factory=dict)
    # Where a part of the content stands in a file of its own: pointer to path.
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.content.get(TITLE_OF[self.kind], ""))

    @property
    def path(self) -> str:
        return f"{FOLDER_OF[self.kind]}/{self.slug}.json"

    @property
    def reference(self) -> Reference:
        return Reference(cast(Kind, self.kind), self.slug)

    @property
    def inside(self) -> dict[str, Any]:
        """What references may stand in: all but the name, which is taken as it is."""
        return {key: one for key, one in self.content.items() if key != TITLE_OF[self.kind]}

    def with_inside(self, inside: Mapping[str, Any]) -> Thing:
        return replace(self, content={**inside, TITLE_OF[self.kind]: self.name})

    def place(self, pointer: str) -> str:
        """Where a pointer into the content leads, as a file and a place in it."""
        for part, path in self.beside.items():
            if pointer == part or pointer.startswith(f"{part}/"):
                return f"{path}#{pointer[len(part) :]}"
        return f"{self.path}#{pointer}"


@dataclass(frozen=True, slots=True)
class Carried:
    """Everything that a folder holds."""

    things: tuple[Thing, ...] = ()
    # What people here have set; it is shown and never brought in.
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Which recipes things were installed from.
    recipes: tuple[Mapping[str, Any], ...] = ()
    # Names of secrets and integrations that must be there before all of it works.
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, kind: ThingKind) -> tuple[Thing, ...]:
        return tuple(one for one in self.things if one.kind == kind)


def named(things: Iterable[Thing]) -> list[tuple[str, Thing]]:
    """Things of one kind with the names of their files, each beside the name it came with.

    The names follow from the things alone, so that they are the same wherever these are.
    """
    ordered = sorted(
        things, key=lambda one: (one.name, canonical(masked(dict(one.content))), one.slug)
    )
    slugs = slugs_for([one.name for one in ordered])
    return [
        (one.slug, replace(one, slug=slug, beside={}))
        for one, slug in zip(ordered, slugs, strict=True)
    ]


def renamed(carried: Carried) -> Carried:
    """The same with the file names that an export gives, so that two can be compared."""
    names: dict[Reference, Reference] = {}
    things: list[Thing] = []
    for kind in KINDS:
        for before, after in named(carried.of(kind)):
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
