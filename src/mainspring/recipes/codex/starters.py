"""The starters: recipes that came with the house, read once from the files beside this room.

A folder is named by its slug; an older version of the same recipe stands beside it with its
version behind an @. A folder that cannot be read is left out and told, so that one of them
never takes the whole shelf away.
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
# Every house knows a starter by the same id.
_NAMESPACE: Final = UUID("01900000-0000-7000-8000-00000000c0de")


@dataclass(frozen=True, slots=True)
class Starter:
    """One recipe of the house, the newest version first."""

    id: UUID
    packages: tuple[RecipePackage, ...]
    # When it came to this machine.
    at: datetime


@dataclass(frozen=True, slots=True)
class Starters:
    """All of them by slug, and the folders that could not be read, with the reason."""

    known: Mapping[str, Starter]
    unread: tuple[str, ...] = ()


def compute_starter_id(slug: str) -> UUID:
    return uuid5(_NAMESPACE, slug)


def read_starters(place: Path = STARTERS) -> Starters:
    """Every starter of a folder."""
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
