"""The shelf: which recipes a workspace sees, and which one is meant by a slug or an id.

A slug means the workspace's own recipe first, then the starter, then what another workspace
shares. An install remembers the id of its recipe, so no other publisher ever slips in under
the same slug later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, NotFound, Problem
from mainspring.definition.suggestions import find_nearest
from mainspring.recipes.codex.starters import Starter, Starters, read_starters
from mainspring.recipes.package.model import RecipePackage, Semver
from mainspring.recipes.package.parser import read_package

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

RecipeOrigin = Literal["workspace", "starter", "shared"]

_MOST: Final = 2_000
_NEWEST = """
    SELECT r.id, r.slug, r.workspace_id, r.workspace_id = $1 AS own, r.created_at, r.updated_at,
        v.versions
    FROM recipes r
    JOIN LATERAL (
        SELECT array_agg(n.version ORDER BY n.rank DESC) AS versions
        FROM recipe_versions n WHERE n.workspace_id = r.workspace_id AND n.recipe_id = r.id
    ) AS v ON v.versions IS NOT NULL
    WHERE (r.workspace_id = $1 OR r.shared)
"""
_PACKAGES = """
    SELECT v.recipe_id, v.version, v.package
    FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS wanted(workspace_id, recipe_id, version)
    JOIN recipe_versions v USING (workspace_id, recipe_id, version)
"""
_BY_SLUG = f"{_NEWEST} AND r.slug = $2 ORDER BY own DESC"
_OF_PUBLISHER = f"{_NEWEST} AND r.slug = $2 AND r.workspace_id = $3"
_BY_ID = f"{_NEWEST} AND r.id = $2"
_ALL = f"{_NEWEST} ORDER BY own DESC, r.slug LIMIT {_MOST}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe on the shelf, with its newest version."""

    id: UUID
    origin: RecipeOrigin
    package: RecipePackage
    # Every version, the newest first.
    versions: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    # Where it was published; None: it came with the house.
    workspace_id: UUID | None = None

    @property
    def slug(self) -> str:
        return self.package.slug

    @property
    def kind(self) -> str:
        return self.package.kind

    @property
    def version(self) -> str:
        return str(self.package.version)

    @property
    def semver(self) -> Semver:
        return self.package.version

    @property
    def document(self) -> Mapping[str, Any]:
        return self.package.document


class RecipeCatalog:
    """What there is to install; the starters are read when somebody first looks."""

    def __init__(self, starters: Starters | None = None) -> None:
        self._starters = starters
        # A version never changes, so what was read once is known by the recipe and the version.
        # A digest would not do: the same recipe of somebody else may be signed by another key.
        # None: it is of a format that is not read here any more.
        self._read: dict[tuple[UUID, str], RecipePackage | None] = {}

    async def starters(self) -> Mapping[str, Starter]:
        if self._starters is None:
            self._starters = await asyncio.to_thread(read_starters)
        return self._starters.known

    async def by_slug(self, tx: Transaction, workspace_id: UUID, slug: str) -> Recipe | None:
        rows = await self._rows(tx, _BY_SLUG, workspace_id, slug)
        if rows and rows[0]["own"]:
            return self._published(rows[0])
        starter = (await self.starters()).get(slug)
        if starter is not None:
            return _build_starter_recipe(starter)
        return self._published(rows[0]) if rows else None

    async def needed(
        self, tx: Transaction, workspace_id: UUID, recipe: Recipe, slug: str
    ) -> Recipe | None:
        """What a recipe means by a slug: what its publisher calls so, before anything else."""
        if recipe.origin == "shared":
            rows = await self._rows(tx, _OF_PUBLISHER, workspace_id, slug, recipe.workspace_id)
            if rows:
                return self._published(rows[0])
        if recipe.origin != "workspace":
            starter = (await self.starters()).get(slug)
            if starter is not None:
                return _build_starter_recipe(starter)
        return await self.by_slug(tx, workspace_id, slug)

    async def by_id(self, tx: Transaction, workspace_id: UUID, recipe_id: UUID) -> Recipe | None:
        for starter in (await self.starters()).values():
            if starter.id == recipe_id:
                return _build_starter_recipe(starter)
        rows = await self._rows(tx, _BY_ID, workspace_id, recipe_id)
        return self._published(rows[0]) if rows else None

    async def all(self, tx: Transaction, workspace_id: UUID) -> list[Recipe]:
        """Each slug once, as it would be found by its slug."""
        rows = await self._rows(tx, _ALL, workspace_id)
        found = {row["slug"]: self._published(row) for row in rows if row["own"]}
        for slug, starter in (await self.starters()).items():
            found.setdefault(slug, _build_starter_recipe(starter))
        for row in rows:
            if row["slug"] not in found:
                found[row["slug"]] = self._published(row)
        return sorted(found.values(), key=lambda one: one.slug)

    async def find(
        self, tx: Transaction, workspace_id: UUID, arguments: Mapping[str, Any]
    ) -> Recipe:
        """The recipe that is meant by exactly one of ``slug`` and ``id``."""
        check_one_of(arguments, "slug", "id")
        if "id" in arguments:
            found = await self.by_id(tx, workspace_id, UUID(arguments["id"]))
        else:
            found = await self.by_slug(tx, workspace_id, arguments["slug"])
        if found is None:
            raise await self._unknown(tx, workspace_id, arguments)
        return found

    async def _rows(self, tx: Transaction, query: str, *values: Any) -> list[Any]:
        """What was published and can be read; a version is read once."""
        rows = await tx.fetch(query, *values)
        if len(self._read) > _MOST:
            self._read.clear()
        new = [row for row in rows if _get_newest(row) not in self._read]
        wanted = [(row["workspace_id"], *_get_newest(row)) for row in new]
        columns = [list(column) for column in zip(*wanted, strict=True)]
        for row in await tx.fetch(_PACKAGES, *columns) if new else ():
            key = (row["recipe_id"], row["version"])
            self._read[key] = await asyncio.to_thread(_read_package_or_none, row["package"])
        return [row for row in rows if self._read.get(_get_newest(row)) is not None]

    def _published(self, row: Any) -> Recipe:
        package = self._read[_get_newest(row)]
        assert package is not None
        origin: RecipeOrigin = "workspace" if row["own"] else "shared"
        versions = tuple(row["versions"])
        return Recipe(
            row["id"],
            origin,
            package,
            versions,
            row["created_at"],
            row["updated_at"],
            row["workspace_id"],
        )

    async def _unknown(
        self, tx: Transaction, workspace_id: UUID, arguments: Mapping[str, Any]
    ) -> NotFound:
        if "id" in arguments:
            detail, hint, at = "There is no recipe with this id.", None, "/id"
        else:
            detail, at = f"There is no recipe called {arguments['slug'][:64]!r}.", "/slug"
            known = [one.slug for one in await self.all(tx, workspace_id)]
            close = find_nearest(arguments["slug"], known)
            hint = None if close is None else f"Did you mean {close!r}?"
        hint = hint or "list_starter_recipes shows what there is."
        return NotFound(
            detail,
            code="no_recipe",
            suggestion=hint,
            findings=[Finding(at, detail, "no_recipe", hint)],
        )


def _get_newest(row: Any) -> tuple[UUID, str]:
    return row["id"], row["versions"][0]


def _read_package_or_none(document: Any) -> RecipePackage | None:
    try:
        return read_package(document)
    except Problem:
        return None


def check_one_of(arguments: Mapping[str, Any], *names: str) -> None:
    """Exactly one of these says what is meant."""
    there = [name for name in names if name in arguments]
    if len(there) != 1:
        both = " and ".join(names)
        detail = f"Give one of {both}, not both." if there else f"Which one? Give one of {both}."
        raise Invalid(
            detail,
            code="one_of",
            findings=[Finding(f"/{name}", detail, "one_of") for name in there or names[:1]],
        )


def _build_starter_recipe(starter: Starter) -> Recipe:
    versions = tuple(str(one.version) for one in starter.packages)
    return Recipe(starter.id, "starter", starter.packages[0], versions, starter.at, starter.at)
