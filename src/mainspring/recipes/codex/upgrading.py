"""Upgrading: an install becomes what the newest version of its recipe says.

What people here changed since the install is theirs and stands in the way, unless they say that
it may go. Rows, the state of automations and rosters are never touched. A bundle is upgraded
with all its members, and its members with nothing but the bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.pointers import join_pointer
from mainspring.definition.words import suggest_nearest
from mainspring.recipes.codex import installs
from mainspring.recipes.codex.desk import CodexServices
from mainspring.recipes.codex.foreseeing import UpgradePreview, preview_upgrade
from mainspring.recipes.codex.installs import RecipeInstall, check_kind, check_live, hold_codex
from mainspring.recipes.codex.rebuilding import rebuild, rebuild_bundle
from mainspring.recipes.codex.removing import hold_automations

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext


def check_handler(desk: CodexServices) -> CapabilityHandler:
    async def check(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        install = await _load_requested_install(ctx, given)
        bundle = await _find_bundle(ctx, install)
        outlook = await preview_upgrade(desk, ctx, install, {}, lenient=True)
        told = outlook.told()
        told["bundle"] = None if bundle is None else bundle.told()
        if install.kind == "bundle":
            members = [
                (one, await preview_upgrade(desk, ctx, one, {}, lenient=True))
                for one in await _list_present_members(ctx, install)
            ]
            told["members"] = [{**one.told(), **each.told()} for one, each in members]
            told["has_upgrade"] = outlook.newer or any(each.newer for _, each in members)
            told["has_user_changes"] = any(each.conflicts for _, each in members)
        return told

    return check


def upgrade_handler(desk: CodexServices) -> CapabilityHandler:
    async def upgrade(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        await hold_codex(ctx.tx, ctx.actor.workspace_id)
        install = await _load_requested_install(ctx, given)
        await _check_alone(ctx, install)
        force, settings = bool(given.get("force", False)), given.get("settings", {})
        members = await _list_present_members(ctx, install)
        await hold_automations(ctx, [install, *members])
        outlooks = [await preview_upgrade(desk, ctx, one, settings) for one in (install, *members)]
        _check_known(outlooks, settings)
        if not force:
            _check_untouched(outlooks)
            if not any(one.due for one in outlooks):
                return Unchanged(_describe_unchanged(install))
        if install.kind == "bundle":
            return await rebuild_bundle(desk, ctx, outlooks[0], outlooks[1:], settings, force=force)
        _check_on_shelf(outlooks[0])
        return await rebuild(desk, ctx, outlooks[0])

    return upgrade


async def _load_requested_install(ctx: CallContext, given: Mapping[str, Any]) -> RecipeInstall:
    space = ctx.actor.workspace_id
    install = await installs.load_install_by_entity(ctx.tx, space, UUID(given["entity_id"]))
    check_kind(install, given["entity_kind"])
    check_live(install)
    return install


async def _list_present_members(ctx: CallContext, install: RecipeInstall) -> list[RecipeInstall]:
    """The members of a bundle that are still here."""
    if install.kind != "bundle":
        return []
    found = await installs.list_bundle_members(ctx.tx, ctx.actor.workspace_id, install.id)
    return [one for one in found if one.uninstalled_at is None and one.kind != "bundle"]


async def _find_bundle(ctx: CallContext, install: RecipeInstall) -> RecipeInstall | None:
    if install.bundle_id is None:
        return None
    above = await installs.load_install(ctx.tx, ctx.actor.workspace_id, install.bundle_id)
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
    """A setting that nothing has is refused, so that nobody believes in it."""
    if settings and all(one.recipe is None for one in outlooks):
        _check_on_shelf(outlooks[0])
    if outlooks[0].install.kind == "bundle" and outlooks[0].newer:
        # It may bring members whose settings are judged when they are made.
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
    """What people here changed is not thrown away by itself."""
    touched = [(one.install, change) for one in outlooks for change in one.conflicts if one.due]
    if not touched:
        return
    findings = [
        Finding(
            change.place,
            f"{install.name!r} was {change.way} here at {change.place}.",
            "user_change",
        )
        for install, change in touched
    ]
    places = ", ".join(change.place for _, change in touched[:5])
    more = f" and {len(touched) - 5} more" if len(touched) > 5 else ""
    raise Conflict(
        f"People here changed what the upgrade would replace: {places}{more}.",
        code="user_changes",
        findings=findings,
        suggestion="Give force to throw these changes away, or undo them first.",
    )


def _check_on_shelf(outlook: UpgradePreview) -> None:
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
