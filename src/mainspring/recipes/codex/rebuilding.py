"""Carries an upgrade out: what it needs first, then the thing itself, all of it or nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Conflict
from mainspring.recipes.codex import installs
from mainspring.recipes.codex.applying import InstallExecution
from mainspring.recipes.codex.desk import CodexServices
from mainspring.recipes.codex.filled import check_filled
from mainspring.recipes.codex.foreseeing import (
    UpgradePreview,
    build_reference_values,
    fill_for_install,
    list_dataset_names,
)
from mainspring.recipes.codex.installs import RecipeInstall, mark_upgraded, set_bundle
from mainspring.recipes.codex.needs import InstallPlanner, list_bundle_requirements
from mainspring.recipes.codex.wishes import distribute_overrides
from mainspring.recipes.package import InstalledReference, InstallOwner

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.codex.shelf import Recipe
    from mainspring.recipes.kinds import RecipeEntity


async def rebuild(desk: CodexServices, ctx: CallContext, outlook: UpgradePreview) -> dict[str, Any]:
    """One install that is not a bundle."""
    install, recipe = outlook.install, outlook.recipe
    assert recipe is not None
    assert outlook.plan is not None
    assert outlook.wishes is not None
    assert outlook.current is not None
    work = InstallExecution(
        desk, ctx, _get_owner(install), outlook.plan, above=(recipe.slug, install.id)
    )
    settings = {"settings": outlook.wishes.get("settings", {})}
    await work.carry_out(
        distribute_overrides(
            [*outlook.plan.fresh], recipe.slug, _filter_known_settings(work, settings)
        )
    )
    named = {
        one.name: InstalledReference(
            str(work.standing[one.slug].entity_id), work.standing[one.slug].name
        )
        for one in recipe.package.dependencies
    }
    content = fill_for_install(install, recipe.package, named, outlook.wishes, outlook.current.name)
    filling = build_reference_values(install, named, outlook.wishes)
    await check_filled(desk, ctx, recipe.package, filling, "/settings")
    made = await desk.kind(install.entity_kind).rebuild(ctx, install.entity_id, content)
    after = replace(
        install,
        version=recipe.version,
        digest=recipe.package.digest,
        name=made.name,
        base=_build_base(install, made, content),
        dependencies=work.dependencies(recipe.package),
        orphaned=outlook.orphaned,
        overrides=outlook.wishes,
    )
    await mark_upgraded(ctx.tx, ctx.actor.workspace_id, after)
    return _describe_upgrade(outlook, made, work)


async def rebuild_bundle(
    desk: CodexServices,
    ctx: CallContext,
    outlook: UpgradePreview,
    members: Sequence[UpgradePreview],
    settings: Mapping[str, Any],
    *,
    force: bool,
) -> dict[str, Any]:
    """A bundle: its members, those that are new in it, and the bundle itself."""
    install, recipe = outlook.install, outlook.recipe
    if recipe is None:
        raise Conflict(
            f"The recipe {install.slug!r} is not on the shelf any more.", code="no_recipe"
        )
    space, tx = ctx.actor.workspace_id, ctx.tx
    wanted = {one.slug for one in list_bundle_requirements(recipe.package)}
    told = [
        await rebuild(desk, ctx, one)
        for one in members
        if one.recipe is not None and (one.due or force) and one.install.slug in wanted
    ]
    left = [one.install for one in members if one.install.slug not in wanted]
    for one in left:
        await set_bundle(tx, space, one.id, None)
    upgraded = await _load_upgraded_members(ctx, install, members, wanted)
    planner = InstallPlanner(desk.shelf, tx, space, ctx.clock.now(), known=upgraded)
    plan = await planner.plan_below(recipe)
    plan.check()
    work = InstallExecution(desk, ctx, _get_owner(install), plan, above=(recipe.slug, install.id))
    given = _filter_known_settings(work, {"settings": settings})
    await work.carry_out(distribute_overrides([*plan.fresh], recipe.slug, given))
    base = {
        "members": {
            one.slug: work.standing[one.slug].version
            for one in list_bundle_requirements(recipe.package)
        }
    }
    await mark_upgraded(
        tx,
        space,
        replace(
            install,
            version=recipe.version,
            digest=recipe.package.digest,
            base=base,
            dependencies=work.dependencies(recipe.package),
        ),
    )
    answer = _describe_versions(install, recipe, install.name)
    answer |= {"members": told, **work.beside()}
    answer.pop("dependencies_used", None)
    if left:
        answer["left_behind"] = [one.told() for one in left]
    return answer


async def _load_upgraded_members(
    ctx: CallContext,
    install: RecipeInstall,
    members: Sequence[UpgradePreview],
    wanted: Collection[str],
) -> dict[str, RecipeInstall]:
    """The members as they are after their upgrades, by slug.

    What a member brought along and the bundle has too from now on becomes a member itself.
    """
    space, tx = ctx.actor.workspace_id, ctx.tx
    known: dict[str, RecipeInstall] = {}
    for one in members:
        version = one.install.version if one.recipe is None else one.recipe.version
        known[one.install.slug] = replace(one.install, version=version)
    for one in members:
        for part in await installs.list_bundle_members(tx, space, one.install.id):
            if part.slug in wanted and part.slug not in known and part.uninstalled_at is None:
                await set_bundle(tx, space, part.id, install.id)
                known[part.slug] = part
    return known


def _get_owner(install: RecipeInstall) -> InstallOwner:
    kept: Mapping[str, str] = install.overrides.get("owner", {})
    return InstallOwner(kept.get("id", str(install.installed_by)), kept.get("email", ""))


def _filter_known_settings(work: InstallExecution, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that something among what is made now has."""
    names = {
        one.name
        for stage in work.plan.fresh
        if stage.recipe is not None
        for one in stage.recipe.package.settings
    }
    return {
        "settings": {name: value for name, value in settings["settings"].items() if name in names}
    }


def _build_base(
    install: RecipeInstall, made: RecipeEntity, content: Mapping[str, Any]
) -> dict[str, Any]:
    """What the recipe brought, as it stands now; datasets of people here are not among it."""
    if install.entity_kind != "board":
        return dict(made.content)
    there = {"default", *list_dataset_names(content)}
    kept = [one for one in made.content["datasets"] if one["name"] in there]
    return {**made.content, "datasets": kept}


def _describe_versions(install: RecipeInstall, recipe: Recipe, name: str) -> dict[str, Any]:
    return {
        "entity_id": str(install.entity_id),
        "entity_kind": install.entity_kind,
        "upgraded_from_version": install.version,
        "upgraded_to_version": recipe.version,
        "name": name,
    }


def _describe_upgrade(
    outlook: UpgradePreview, made: RecipeEntity, work: InstallExecution
) -> dict[str, Any]:
    assert outlook.recipe is not None
    told = _describe_versions(outlook.install, outlook.recipe, made.name)
    for key in ("state", "asks_for", "warnings"):
        if key in made.told:
            told[key] = made.told[key]
    if outlook.orphaned:
        told["orphaned_datasets"] = list(outlook.orphaned)
    if outlook.conflicts:
        told["discarded"] = [one.as_dict() for one in outlook.conflicts]
    return {**told, **work.beside()}
