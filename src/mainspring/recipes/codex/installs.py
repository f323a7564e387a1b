"""Installs: which recipe lives in a workspace as which thing, and what it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.recipes.package.model import Semver

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

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
_BY_ID = f"SELECT {_COLUMNS} FROM recipe_installs WHERE workspace_id = $1 AND id = $2"
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

    def told(self) -> dict[str, Any]:
        """What it is, with where it came from."""
        return {
            "kind": self.entity_kind,
            "id": str(self.entity_id),
            "name": self.name,
            "source_recipe_slug": self.slug,
            "source_recipe_version": self.version,
        }


async def hold_codex(tx: Transaction, workspace_id: UUID) -> None:
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
    """What is in a bundle is upgraded with it; what is in none stands alone."""
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
    row = await tx.fetchrow(_BY_ID, workspace_id, install)
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
    """Whoever asks knows what it is."""
    if install.entity_kind != entity_kind:
        detail = f"{install.name!r} is of the kind {install.entity_kind}, not {entity_kind}."
        raise Conflict(
            detail,
            code="other_kind",
            findings=[Finding("/entity_kind", detail, "other_kind", install.entity_kind)],
        )


def _read(row: Any) -> RecipeInstall:
    return RecipeInstall(**dict(row))
