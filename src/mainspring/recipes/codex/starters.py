"""The bundled starter recipes, loaded once from the ``starters`` folder.

A folder is named by its slug; older versions have their version after an @. An unreadable folder is
skipped and reported, so that it does not break the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID, uuid5

from mainspring.contracts.errors import Problem
from mainspring.recipes.package.loader import read_place
from mainspring.recipes.package.parser import read_package
from mainspring.recipes.package.references import RecipePackage

STARTERS: Final = Path(__file__).parent.parent / "starters"
# The namespace that gives a starter the same id in every installation.
_NAMESPACE: Final = UUID("01900000-0000-7000-8000-00000000c0de")


@dataclass(frozen=True, slots=True)
class Starter:
    """A bundled recipe, newest version first."""

    id: UUID
    packages: tuple[RecipePackage, ...]
    # When it was added to this machine.
    at: datetime


@dataclass(frozen=True, slots=True)
class Starters:
    """All starters by slug, and unreadable folders with reasons."""

    known: Mapping[str, Starter]
    unread: tuple[str, ...] = ()


def compute_starter_id(slug: str) -> UUID:
    return uuid5(_NAMESPACE, slug)


def read_starters(place: Path = STARTERS) -> Starters:
    """Load every starter of a folder."""
    found: dict[str, list[tuple[RecipePackage, datetime]]] = {}
    unread: list[str] = []
    folders = sorted(one for one in place.iterdir() if one.is_dir()) if place.is_dir() else []
    for folder in folders:
        if not (folder / "recipe.json").is_file():
            continue
        try:
            package = read_package(read_place(folder))
        except Problem as problem:
            unread.append(f"{folder.name}: {problem.detail}")
            continue
        if package.slug != folder.name.partition("@")[0]:
            unread.append(f"{folder.name}: its slug is {package.slug!r}.")
            continue
        at = datetime.fromtimestamp((folder / "recipe.json").stat().st_mtime, UTC)
        found.setdefault(package.slug, []).append((package, at))
    known = {slug: _build_starter(slug, editions) for slug, editions in found.items()}
    return Starters(known, tuple(unread))


def _build_starter(slug: str, editions: Sequence[tuple[RecipePackage, datetime]]) -> Starter:
    ordered = sorted(editions, key=lambda one: one[0].version, reverse=True)
    return Starter(compute_starter_id(slug), tuple(one for one, _ in ordered), ordered[0][1])
