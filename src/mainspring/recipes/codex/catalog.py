"""Recipes and installs of a workspace: which it sees, and which one a slug or an id means.

A slug means the workspace's own recipe first, then the starter, then one shared by another
workspace. An install stores its recipe's id, so that no other publisher can take over the slug
later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, InternalError, Invalid, NotFound, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.suggestions import find_nearest
from mainspring.recipes.codex.starters import Starter, Starters, read_starters
from mainspring.recipes.entities.automations import AutomationHandler
from mainspring.recipes.entities.boards import BoardHandler
from mainspring.recipes.entities.boards import normalize_board as normal_board
from mainspring.recipes.entities.workflows import normalize_workflow as normal_workflow
from mainspring.recipes.kinds import EntityHandler
from mainspring.recipes.package.parser import read_package
from mainspring.recipes.package.references import RecipePackage, Semver

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.registry import Vocabulary
    from mainspring.definition.validate import ValidationReport


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
    """A recipe with its newest version."""

    id: UUID
    origin: RecipeOrigin
    package: RecipePackage
    # Every version, newest first.
    versions: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    # Where it was published; None: a bundled starter.
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
    """The installable recipes; starters are loaded on first use."""

    def __init__(self, starters: Starters | None = None) -> None:
        self._starters = starters
        # Cache of parsed versions, which are immutable, by recipe and version. A digest is not
        # enough: the same content may be signed by another key. None: its format is no longer
        # supported.
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

    async def find_dependency(
        self, tx: Transaction, workspace_id: UUID, recipe: Recipe, slug: str
    ) -> Recipe | None:
        """Resolve a dependency's slug: the same publisher's recipe first."""
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

    async def list_all(self, tx: Transaction, workspace_id: UUID) -> list[Recipe]:
        """List each slug once, as it would be resolved."""
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
        """Find a recipe by exactly one of ``slug`` and ``id``."""
        check_one_of(arguments, "slug", "id")
        if "id" in arguments:
            found = await self.by_id(tx, workspace_id, UUID(arguments["id"]))
        else:
            found = await self.by_slug(tx, workspace_id, arguments["slug"])
        if found is None:
            raise await self._unknown(tx, workspace_id, arguments)
        return found

    async def _rows(self, tx: Transaction, query: str, *values: Any) -> list[Any]:
        """Load published, readable recipes; each version is parsed once."""
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
            known = [one.slug for one in await self.list_all(tx, workspace_id)]
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
    """Require exactly one of these arguments."""
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


# Installs: which recipe lives in a workspace as which thing, and what it was made of.


RECOVERY: Final = timedelta(days=7)

_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended('codex ' || $1, 0))"
_COLUMNS = """
    id, recipe_id, slug, version, digest, kind, entity_kind, entity_id, name, bundle_id, overrides,
    base, dependencies, orphaned, installed_by, installed_at, upgraded_at, uninstalled_at
"""
_OF_ENTITY = f"""
    SELECT {_COLUMNS} FROM recipe_installs WHERE workspace_id = $1 AND entity_id = $2
"""
_OF_SLUG = f"""
    SELECT {_COLUMNS} FROM recipe_installs WHERE workspace_id = $1 AND slug = $2
    ORDER BY installed_at DESC, id DESC
"""
_MEMBERS = f"""
    SELECT {_COLUMNS} FROM recipe_installs WHERE workspace_id = $1 AND bundle_id = $2
    ORDER BY installed_at, id
"""
_LIVE = f"""
    SELECT {_COLUMNS} FROM recipe_installs
    WHERE workspace_id = $1 AND uninstalled_at IS NULL ORDER BY installed_at DESC, id DESC LIMIT $2
"""
_GONE = f"""
    SELECT {_COLUMNS} FROM recipe_installs
    WHERE workspace_id = $1 AND uninstalled_at > $2 ORDER BY uninstalled_at DESC, id DESC LIMIT $3
"""
_INSTALL_BY_ID = f"SELECT {_COLUMNS} FROM recipe_installs WHERE workspace_id = $1 AND id = $2"
_USERS = f"""
    SELECT {_COLUMNS} FROM recipe_installs
    WHERE workspace_id = $1 AND uninstalled_at IS NULL AND EXISTS (
        SELECT FROM json_each_text(dependencies) AS d WHERE d.value = $2)
    ORDER BY installed_at, id
"""
_ADD = """
    INSERT INTO recipe_installs (workspace_id, id, recipe_id, slug, version, digest, kind,
        entity_kind, entity_id, name, bundle_id, overrides, base, dependencies, installed_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""
_UPGRADED = """
    UPDATE recipe_installs SET version = $3, digest = $4, name = $5, base = $6, dependencies = $7,
        orphaned = $8, overrides = $9, upgraded_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_TAKEN_AWAY = """
    UPDATE recipe_installs SET uninstalled_at = $3 WHERE workspace_id = $1 AND id = $2
"""
_BELONGS = """
    UPDATE recipe_installs SET bundle_id = $3 WHERE workspace_id = $1 AND id = $2
"""
_BACK = """
    UPDATE recipe_installs SET uninstalled_at = NULL, name = $3 WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class RecipeInstall:
    """One recipe living in one workspace."""

    id: UUID
    recipe_id: UUID
    slug: str
    version: str
    digest: bytes
    kind: str
    entity_kind: str
    entity_id: UUID
    name: str
    # What brought it along: a bundle, or the install that needed it.
    bundle_id: UUID | None
    overrides: Mapping[str, Any]
    base: Mapping[str, Any]
    dependencies: Mapping[str, str]
    orphaned: Sequence[str]
    installed_by: UUID
    installed_at: datetime
    upgraded_at: datetime | None
    uninstalled_at: datetime | None

    @property
    def semver(self) -> Semver:
        return Semver.parse(self.version)

    @property
    def recoverable_until(self) -> datetime | None:
        return None if self.uninstalled_at is None else self.uninstalled_at + RECOVERY

    def describe(self) -> dict[str, Any]:
        """What it is, with where it came from."""
        return {
            "kind": self.entity_kind,
            "id": str(self.entity_id),
            "name": self.name,
            "source_recipe_slug": self.slug,
            "source_recipe_version": self.version,
        }


async def lock_codex(tx: Transaction, workspace_id: UUID) -> None:
    """Nobody else changes installs of this workspace until the transaction ends."""
    await tx.execute(_HOLD, str(workspace_id))


async def add_install(tx: Transaction, workspace_id: UUID, made: RecipeInstall) -> None:
    await tx.execute(
        _ADD,
        workspace_id,
        made.id,
        made.recipe_id,
        made.slug,
        made.version,
        made.digest,
        made.kind,
        made.entity_kind,
        made.entity_id,
        made.name,
        made.bundle_id,
        dict(made.overrides),
        dict(made.base),
        dict(made.dependencies),
        made.installed_by,
    )


async def mark_upgraded(tx: Transaction, workspace_id: UUID, made: RecipeInstall) -> None:
    await tx.execute(
        _UPGRADED,
        workspace_id,
        made.id,
        made.version,
        made.digest,
        made.name,
        dict(made.base),
        dict(made.dependencies),
        list(made.orphaned),
        dict(made.overrides),
    )


async def mark_gone(tx: Transaction, workspace_id: UUID, install: UUID, at: datetime) -> None:
    await tx.execute(_TAKEN_AWAY, workspace_id, install, at)


async def set_bundle(
    tx: Transaction, workspace_id: UUID, install: UUID, bundle: UUID | None
) -> None:
    """What is in a bundle is upgraded with it; a recipe outside bundles by itself."""
    await tx.execute(_BELONGS, workspace_id, install, bundle)


async def mark_back(tx: Transaction, workspace_id: UUID, install: UUID, name: str) -> None:
    await tx.execute(_BACK, workspace_id, install, name)


async def load_install_by_entity(
    tx: Transaction, workspace_id: UUID, entity_id: UUID
) -> RecipeInstall:
    """The install behind a thing; what was made by hand is no install."""
    row = await tx.fetchrow(_OF_ENTITY, workspace_id, entity_id)
    if row is None:
        detail = "This was not installed from a recipe here."
        raise NotFound(
            detail,
            code="no_install",
            suggestion="list_installs shows what is installed.",
            findings=[Finding("/entity_id", detail, "no_install")],
        )
    return _read(row)


async def load_install(tx: Transaction, workspace_id: UUID, install: UUID) -> RecipeInstall | None:
    row = await tx.fetchrow(_INSTALL_BY_ID, workspace_id, install)
    return None if row is None else _read(row)


async def list_installs_by_slug(
    tx: Transaction, workspace_id: UUID, slug: str
) -> list[RecipeInstall]:
    """Every install of a recipe, the newest first, what was taken away included."""
    return [_read(row) for row in await tx.fetch(_OF_SLUG, workspace_id, slug)]


async def list_bundle_members(
    tx: Transaction, workspace_id: UUID, install: UUID
) -> list[RecipeInstall]:
    """What an install brought along, in the order in which it was made."""
    return [_read(row) for row in await tx.fetch(_MEMBERS, workspace_id, install)]


async def list_dependents(
    tx: Transaction, workspace_id: UUID, install: UUID
) -> list[RecipeInstall]:
    """The installs that were made with this one."""
    return [_read(row) for row in await tx.fetch(_USERS, workspace_id, str(install))]


async def list_live_installs(tx: Transaction, workspace_id: UUID, most: int) -> list[RecipeInstall]:
    return [_read(row) for row in await tx.fetch(_LIVE, workspace_id, most)]


async def list_removed_installs(
    tx: Transaction, workspace_id: UUID, since: datetime, most: int
) -> list[RecipeInstall]:
    """What was taken away after a moment."""
    return [_read(row) for row in await tx.fetch(_GONE, workspace_id, since, most)]


def check_live(install: RecipeInstall) -> None:
    if install.uninstalled_at is not None:
        raise Conflict(
            f"{install.name!r} is uninstalled.",
            code="uninstalled",
            suggestion="Bring it back with recover_recipe first.",
        )


def check_kind(install: RecipeInstall, entity_kind: str) -> None:
    """The caller knows its kind."""
    if install.entity_kind != entity_kind:
        detail = f"{install.name!r} is of the kind {install.entity_kind}, not {entity_kind}."
        raise Conflict(
            detail,
            code="other_kind",
            findings=[Finding("/entity_kind", detail, "other_kind", install.entity_kind)],
        )


def _read(row: Any) -> RecipeInstall:
    return RecipeInstall(**dict(row))


# What the codex works with: the catalog, the kinds of entities, and the validator.


EntityContent = Mapping[str, Any]


class WorkspaceValidator(Protocol):
    """What can be said in a workspace, and the verdict on a definition there."""

    async def load_vocabulary(self, workspace_id: UUID, document: Any) -> Vocabulary: ...

    async def validate(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> ValidationReport: ...


@dataclass(frozen=True, slots=True)
class CodexServices:
    """The parts around the capabilities of the codex."""

    validator: WorkspaceValidator
    limits: Limits
    catalog: RecipeCatalog
    boards: BoardHandler
    automations: AutomationHandler
    workflows: EntityHandler | None = None

    def kind(self, entity_kind: str) -> EntityHandler:
        kinds: dict[str, EntityHandler | None] = {
            "board": self.boards,
            "automation": self.automations,
            "workflow": self.workflows,
        }
        found = kinds.get(entity_kind)
        if found is None:
            raise InternalError(f"There is no way to make a {entity_kind} here.", retryable=False)
        return found

    async def normalize(
        self, ctx: CallContext, entity_kind: str, content: EntityContent, entity_id: UUID
    ) -> EntityContent:
        """A content as it would be read back from the thing that it makes."""
        if entity_kind == "board":
            return normal_board(content)
        if entity_kind == "workflow":
            return normal_workflow(content)
        return await self.automations.normalize(ctx, content, entity_id)


def build_codex_services(
    judge: WorkspaceValidator, limits: Limits, workflows: EntityHandler | None = None
) -> CodexServices:
    boards, automations = BoardHandler(limits), AutomationHandler(judge, limits)
    return CodexServices(judge, limits, RecipeCatalog(), boards, automations, workflows)


def get_entity_kind(kind: str) -> str:
    """What a recipe of this kind makes."""
    return "automation" if kind == "integration" else kind


def check_brain(ctx: CallContext, arguments: Mapping[str, Any]) -> None:
    """Any other workspace than the caller's looks as if it were not there."""
    if "brain_id" in arguments and UUID(arguments["brain_id"]) != ctx.actor.workspace_id:
        raise NotFound(
            "There is no such workspace.",
            code="no_workspace",
            findings=[Finding("/brain_id", "There is no such workspace.", "no_workspace")],
            suggestion="Leave brain_id out for the workspace you are in.",
        )
