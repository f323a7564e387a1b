"""Publishing an immutable version of a recipe.

Installs of earlier versions see that a newer one exists; nothing changes until they upgrade. After
a signed version, all later ones must be signed with the same key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Conflict, Finding, Invalid, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.recipes.codex.catalog import CodexServices, lock_codex
from mainspring.recipes.compiling.compiler import is_bare, wrap_bare_recipe
from mainspring.recipes.package import (
    RecipePackage,
    Semver,
    format_digest,
    read_package,
    validate_package,
)

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction

# Shared slugs are assigned one at a time, across workspaces.
_HOLD_SHARED = "SELECT pg_advisory_xact_lock(hashtextextended('shared recipes', 0))"
_SHARED_ELSEWHERE = "SELECT id FROM recipes WHERE shared AND slug = $2 AND workspace_id <> $1"
_OWN = """
    SELECT id, kind, shared, public_key, (
        SELECT version FROM recipe_versions v
        WHERE v.workspace_id = r.workspace_id AND v.recipe_id = r.id ORDER BY rank DESC LIMIT 1
    ) AS version
    FROM recipes r WHERE workspace_id = $1 AND slug = $2 FOR NO KEY UPDATE
"""
_ADD = """
    INSERT INTO recipes (workspace_id, id, slug, kind, shared, public_key)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
_CHANGE = """
    UPDATE recipes SET shared = $3, public_key = coalesce(public_key, $4), updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_ADD_VERSION = """
    INSERT INTO recipe_versions
        (workspace_id, recipe_id, version, rank, package, digest, published_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""


def publish_handler(services: CodexServices) -> CapabilityHandler:
    async def publish(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        package = await asyncio.to_thread(_read, arguments["package"], services)
        words = await services.validator.load_vocabulary(space, package.template)
        _refuse(await asyncio.to_thread(validate_package, package, words, services.limits))
        await lock_codex(tx, space)
        await tx.execute(_HOLD_SHARED)
        row = await tx.fetchrow(_OWN, space, package.slug)
        shared = bool(arguments.get("shared", row is not None and row["shared"]))
        # The first private owner of a slug keeps it, even when another workspace shares it later.
        if row is None or shared:
            await _check_slug(services, tx, space, package)
        if row is not None:
            _check_next(package, row)
        recipe_id = generate_id() if row is None else row["id"]
        key = package.public_key
        if row is None:
            await tx.execute(_ADD, space, recipe_id, package.slug, package.kind, shared, key)
        else:
            await tx.execute(_CHANGE, space, recipe_id, shared, key)
        await tx.execute(
            _ADD_VERSION,
            space,
            recipe_id,
            str(package.version),
            package.version.rank,
            dict(package.document),
            package.digest,
            ctx.actor.id,
        )
        return {
            "id": str(recipe_id),
            "slug": package.slug,
            "version": str(package.version),
            "kind": package.kind,
            "shared": shared,
            "signed": key is not None,
            "digest": format_digest(package.digest),
        }

    return publish


def _read(value: Any, services: CodexServices) -> RecipePackage:
    try:
        package = read_package(
            wrap_bare_recipe(value) if is_bare(value) else value, services.limits
        )
    except Invalid as wrong:
        raise _invalid_package_error(
            wrong.findings or [Finding("", wrong.detail, wrong.code)]
        ) from None
    _refuse(name_findings(package.name))
    return package


def _refuse(findings: list[Finding]) -> None:
    if findings:
        raise _invalid_package_error(findings)


def _invalid_package_error(findings: Any) -> Invalid:
    placed = [
        Finding(f"/package{one.pointer}", one.detail, one.code, one.suggestion) for one in findings
    ]
    things = "1 problem" if len(placed) == 1 else f"{len(placed)} problems"
    return Invalid(
        f"Nothing was published: the recipe has {things}. {placed[0].detail}",
        code="invalid_recipe",
        findings=placed,
    )


async def _check_slug(
    services: CodexServices, tx: Transaction, workspace_id: UUID, package: RecipePackage
) -> None:
    whose = None
    if package.slug in await services.catalog.starters():
        whose = "a built-in starter"
    elif await tx.fetchrow(_SHARED_ELSEWHERE, workspace_id, package.slug) is not None:
        whose = "a shared recipe of another publisher"
    if whose is not None:
        detail = f"{package.slug!r} is the slug of {whose}."
        raise Conflict(
            detail,
            code="slug_taken",
            suggestion="Choose another slug.",
            findings=[Finding("/package/slug", detail, "slug_taken")],
        )


def _check_next(package: RecipePackage, row: Any) -> None:
    """Check a new version against the previous ones."""
    if row["kind"] != package.kind:
        detail = f"{package.slug!r} makes a {row['kind']}, and a later version cannot change that."
        raise Conflict(
            detail,
            code="kind_changed",
            suggestion="Publish it under another slug.",
            findings=[Finding("/package/kind", detail, "kind_changed")],
        )
    newest = Semver.parse(row["version"])
    if package.version <= newest:
        detail = (
            f"Version {newest} is published, and what is published never changes; "
            f"{package.version} is not newer."
        )
        raise Conflict(
            detail,
            code="version_not_newer",
            suggestion="Give it a higher version.",
            findings=[Finding("/package/version", detail, "version_not_newer")],
        )
    if row["public_key"] is not None and row["public_key"] != package.public_key:
        detail = (
            "The versions before were signed, and this one is not."
            if package.public_key is None
            else "Another key has signed the versions before."
        )
        raise PermissionDenied(
            detail,
            code="other_key",
            suggestion="Sign it with the key of the versions before.",
            findings=[Finding("/package/signature", detail, "other_key")],
        )
