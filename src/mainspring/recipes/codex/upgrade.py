"""Upgrading an install to the newest version of its recipe.

Local changes conflict with an upgrade unless the caller discards them. Rows, automation states and
rosters are never touched. A bundle is upgraded with all its members, and its members only with the
bundle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.codex.catalog import (
    CodexServices,
    RecipeInstall,
    check_kind,
    check_live,
    list_bundle_members,
    load_install,
    load_install_by_entity,
    lock_codex,
    mark_upgraded,
    set_bundle,
)
from mainspring.recipes.codex.dependencies import (
    InstallPlanner,
    check_filled,
    distribute_overrides,
    list_bundle_requirements,
)
from mainspring.recipes.codex.install import InstallExecution
from mainspring.recipes.codex.uninstall import lock_automations_in_order
from mainspring.recipes.codex.upgrade_preview import (
    UpgradePreview,
    build_reference_values,
    fill_for_install,
    list_dataset_names,
    preview_upgrade,
)
from mainspring.recipes.package import InstalledReference, InstallOwner

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.codex.catalog import Recipe
    from mainspring.recipes.kinds import RecipeEntity


# Executing an upgrade: dependencies first, then the resource, all or nothing.


async def rebuild(
    services: CodexServices, ctx: CallContext, outlook: UpgradePreview
) -> dict[str, Any]:
    """Upgrade an install that is not a bundle."""
    install, recipe = outlook.install, outlook.recipe
    assert recipe is not None
    assert outlook.plan is not None
    assert outlook.overrides is not None
    assert outlook.current is not None
    work = InstallExecution(
        services, ctx, _get_owner(install), outlook.plan, target=(recipe.slug, install.id)
    )
    settings = {"settings": outlook.overrides.get("settings", {})}
    await work.execute(
        distribute_overrides(
            [*outlook.plan.fresh], recipe.slug, _filter_known_settings(work, settings)
        )
    )
    named = {
        one.name: InstalledReference(
            str(work.installed[one.slug].entity_id), work.installed[one.slug].name
        )
        for one in recipe.package.dependencies
    }
    content = fill_for_install(
        install, recipe.package, named, outlook.overrides, outlook.current.name
    )
    filling = build_reference_values(install, named, outlook.overrides)
    await check_filled(services, ctx, recipe.package, filling, "/settings")
    made = await services.kind(install.entity_kind).rebuild(ctx, install.entity_id, content)
    after = replace(
        install,
        version=recipe.version,
        digest=recipe.package.digest,
        name=made.name,
        base=_build_base(install, made, content),
        dependencies=work.dependencies(recipe.package),
        orphaned=outlook.orphaned,
        overrides=outlook.overrides,
    )
    await mark_upgraded(ctx.tx, ctx.actor.workspace_id, after)
    return _describe_upgrade(outlook, made, work)


async def rebuild_bundle(
    services: CodexServices,
    ctx: CallContext,
    outlook: UpgradePreview,
    members: Sequence[UpgradePreview],
    settings: Mapping[str, Any],
    *,
    force: bool,
) -> dict[str, Any]:
    """Upgrade a bundle: its members, new members, and the bundle itself."""
    install, recipe = outlook.install, outlook.recipe
    if recipe is None:
        raise Conflict(
            f"The recipe {install.slug!r} is not on the shelf any more.", code="no_recipe"
        )
    space, tx = ctx.actor.workspace_id, ctx.tx
    wanted = {one.slug for one in list_bundle_requirements(recipe.package)}
    told = [
        await rebuild(services, ctx, one)
        for one in members
        if one.recipe is not None and (one.due or force) and one.install.slug in wanted
    ]
    left = [one.install for one in members if one.install.slug not in wanted]
    for one in left:
        await set_bundle(tx, space, one.id, None)
    upgraded = await _load_upgraded_members(ctx, install, members, wanted)
    planner = InstallPlanner(services.catalog, tx, space, ctx.clock.now(), known=upgraded)
    plan = await planner.plan_below(recipe)
    plan.check()
    work = InstallExecution(
        services, ctx, _get_owner(install), plan, target=(recipe.slug, install.id)
    )
    arguments = _filter_known_settings(work, {"settings": settings})
    await work.execute(distribute_overrides([*plan.fresh], recipe.slug, arguments))
    base = {
        "members": {
            one.slug: work.installed[one.slug].version
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
    answer |= {"members": told, **work.describe_dependencies()}
    answer.pop("dependencies_used", None)
    if left:
        answer["left_behind"] = [one.describe() for one in left]
    return answer


async def _load_upgraded_members(
    ctx: CallContext,
    install: RecipeInstall,
    members: Sequence[UpgradePreview],
    wanted: Collection[str],
) -> dict[str, RecipeInstall]:
    """Return the upgraded members by slug.

    A member's own dependency that is now in the bundle becomes a member.
    """
    space, tx = ctx.actor.workspace_id, ctx.tx
    known: dict[str, RecipeInstall] = {}
    for one in members:
        version = one.install.version if one.recipe is None else one.recipe.version
        known[one.install.slug] = replace(one.install, version=version)
    for one in members:
        for part in await list_bundle_members(tx, space, one.install.id):
            if part.slug in wanted and part.slug not in known and part.uninstalled_at is None:
                await set_bundle(tx, space, part.id, install.id)
                known[part.slug] = part
    return known


def _get_owner(install: RecipeInstall) -> InstallOwner:
    kept: Mapping[str, str] = install.overrides.get("owner", {})
    return InstallOwner(kept.get("id", str(install.installed_by)), kept.get("email", ""))


def _filter_known_settings(work: InstallExecution, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Filter the settings that any of the current recipes has."""
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
    """The recipe's part of the current content, without local datasets."""
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
    result = _describe_versions(outlook.install, outlook.recipe, made.name)
    for key in ("state", "asks_for", "warnings"):
        if key in made.details:
            result[key] = made.details[key]
    if outlook.orphaned:
        result["orphaned_datasets"] = list(outlook.orphaned)
    if outlook.conflicts:
        result["discarded"] = [one.as_dict() for one in outlook.conflicts]
    return {**result, **work.describe_dependencies()}


def check_handler(services: CodexServices) -> CapabilityHandler:
    async def check(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        install = await _load_requested_install(ctx, arguments)
        bundle = await _find_bundle(ctx, install)
        outlook = await preview_upgrade(services, ctx, install, {}, lenient=True)
        told = outlook.describe()
        told["bundle"] = None if bundle is None else bundle.describe()
        if install.kind == "bundle":
            members = [
                (one, await preview_upgrade(services, ctx, one, {}, lenient=True))
                for one in await _list_present_members(ctx, install)
            ]
            told["members"] = [{**one.describe(), **each.describe()} for one, each in members]
            told["has_upgrade"] = outlook.newer or any(each.newer for _, each in members)
            told["has_user_changes"] = any(each.conflicts for _, each in members)
        return told

    return check


def upgrade_handler(services: CodexServices) -> CapabilityHandler:
    async def upgrade(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        await lock_codex(ctx.tx, ctx.actor.workspace_id)
        install = await _load_requested_install(ctx, arguments)
        await _check_alone(ctx, install)
        force, settings = bool(arguments.get("force", False)), arguments.get("settings", {})
        members = await _list_present_members(ctx, install)
        await lock_automations_in_order(ctx, [install, *members])
        outlooks = [
            await preview_upgrade(services, ctx, one, settings) for one in (install, *members)
        ]
        _check_known(outlooks, settings)
        if not force:
            _check_untouched(outlooks)
            if not any(one.due for one in outlooks):
                return Unchanged(_describe_unchanged(install))
        if install.kind == "bundle":
            return await rebuild_bundle(
                services, ctx, outlooks[0], outlooks[1:], settings, force=force
            )
        _check_in_catalog(outlooks[0])
        return await rebuild(services, ctx, outlooks[0])

    return upgrade


async def _load_requested_install(ctx: CallContext, arguments: Mapping[str, Any]) -> RecipeInstall:
    space = ctx.actor.workspace_id
    install = await load_install_by_entity(ctx.tx, space, UUID(arguments["entity_id"]))
    check_kind(install, arguments["entity_kind"])
    check_live(install)
    return install


async def _list_present_members(ctx: CallContext, install: RecipeInstall) -> list[RecipeInstall]:
    """List a bundle's members that still exist."""
    if install.kind != "bundle":
        return []
    found = await list_bundle_members(ctx.tx, ctx.actor.workspace_id, install.id)
    return [one for one in found if one.uninstalled_at is None and one.kind != "bundle"]


async def _find_bundle(ctx: CallContext, install: RecipeInstall) -> RecipeInstall | None:
    if install.bundle_id is None:
        return None
    above = await load_install(ctx.tx, ctx.actor.workspace_id, install.bundle_id)
    gone = above is None or above.uninstalled_at is not None or above.kind != "bundle"
    return None if gone else above


async def _check_alone(ctx: CallContext, install: RecipeInstall) -> None:
    bundle = await _find_bundle(ctx, install)
    if bundle is not None:
        detail = f"{install.name!r} belongs to the bundle {bundle.name!r} and is upgraded with it."
        raise Conflict(
            detail,
            code="bundled",
            findings=[Finding("/entity_id", detail, "bundled")],
            suggestion=f"Upgrade the bundle: entity_id {bundle.entity_id}, entity_kind bundle.",
        )


def _check_known(outlooks: list[UpgradePreview], settings: Mapping[str, Any]) -> None:
    """Reject unknown settings, so that none is silently ignored."""
    if settings and all(one.recipe is None for one in outlooks):
        _check_in_catalog(outlooks[0])
    if outlooks[0].install.kind == "bundle" and outlooks[0].newer:
        # It may add members whose settings are checked when they are created.
        return
    packages = [one.recipe.package for one in outlooks if one.recipe is not None]
    known = {setting.name for package in packages for setting in package.settings}
    wrong = [
        Finding(
            join_pointer("/settings", name),
            f"There is no setting {name[:64]!r}.",
            "unknown_setting",
            suggest_nearest(name, known),
        )
        for name in settings
        if name not in known
    ]
    if wrong:
        raise Invalid(
            f"It cannot be upgraded like this: {wrong[0].detail}",
            code=wrong[0].code,
            findings=wrong,
            suggestion=wrong[0].suggestion,
        )


def _check_untouched(outlooks: list[UpgradePreview]) -> None:
    """Reject discarding local changes implicitly."""
    touched = [(one.install, change) for one in outlooks for change in one.conflicts if one.due]
    if not touched:
        return
    findings = [
        Finding(
            change.place,
            f"{install.name!r} was {change.change_kind} here at {change.place}.",
            "user_change",
        )
        for install, change in touched
    ]
    places = ", ".join(change.place for _, change in touched[:5])
    more = f" and {len(touched) - 5} more" if len(touched) > 5 else ""
    raise Conflict(
        f"The upgrade would replace your own changes: {places}{more}.",
        code="user_changes",
        findings=findings,
        suggestion="Give force to throw these changes away, or undo them first.",
    )


def _check_in_catalog(outlook: UpgradePreview) -> None:
    if outlook.recipe is None:
        raise Conflict(
            f"The recipe {outlook.install.slug!r} is not on the shelf any more.",
            code="no_recipe",
            suggestion="What is installed stays as it is.",
        )


def _describe_unchanged(install: RecipeInstall) -> dict[str, Any]:
    return {
        "entity_id": str(install.entity_id),
        "entity_kind": install.entity_kind,
        "upgraded_from_version": install.version,
        "upgraded_to_version": install.version,
        "name": install.name,
    }
