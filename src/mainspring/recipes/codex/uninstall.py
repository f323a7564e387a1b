"""Uninstalling, with recovery for seven days.

Nothing is deleted. An automation stops firing at once and a board becomes read-only; within seven
days everything can be restored, with automations paused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Expired, Finding, Invalid, NotFound
from mainspring.recipes.codex.catalog import (
    RECOVERY,
    CodexServices,
    RecipeInstall,
    check_brain,
    check_live,
    check_one_of,
    list_bundle_members,
    list_dependents,
    list_installs_by_slug,
    list_removed_installs,
    load_install,
    load_install_by_entity,
    lock_codex,
    mark_back,
    mark_gone,
)
from mainspring.workspace.automations import lock_automations, lock_names

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext

MOST_GONE: Final = 500
DEFAULT_GONE: Final = 100


@dataclass(frozen=True, slots=True)
class RestoredInstall:
    """A recovered install and its description."""

    install: RecipeInstall
    details: dict[str, Any]


def uninstall_handler(services: CodexServices) -> CapabilityHandler:
    async def uninstall(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_one_of(arguments, "entity_id", "slug")
        check_brain(ctx, arguments)
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_codex(tx, space)
        asked = await _resolve_requested(ctx, arguments)
        leaving = await _add_members(ctx, asked, arguments.get("cascade"))
        needing = await _list_remaining_dependents(ctx, leaving)
        at = ctx.clock.now()
        if not arguments.get("dry_run", False):
            await _take_away(services, ctx, leaving, at)
        until = (at + RECOVERY).isoformat()
        result: dict[str, Any] = {
            "uninstalled": [
                {
                    "kind": one.entity_kind,
                    "id": str(one.entity_id),
                    "name": one.name,
                    "recoverable_until": until,
                }
                for one in leaving
            ],
            "cascade_count": len(leaving) - len(asked),
        }
        if needing:
            result["still_needed_by"] = [one.describe() for one in needing]
        return result

    return uninstall


async def _take_away(
    services: CodexServices, ctx: CallContext, leaving: Sequence[RecipeInstall], at: datetime
) -> None:
    await lock_automations_in_order(ctx, leaving)
    for one in leaving:
        if one.entity_kind != "bundle":
            await services.kind(one.entity_kind).archive(ctx, one.entity_id)
        await mark_gone(ctx.tx, ctx.actor.workspace_id, one.id, at)


def list_gone_handler() -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_brain(ctx, arguments)
        most = int(arguments.get("limit", DEFAULT_GONE))
        since = ctx.clock.now() - RECOVERY
        found = await list_removed_installs(ctx.tx, ctx.actor.workspace_id, since, most)
        return {"uninstalled": [_describe_removed(one) for one in found]}

    return listed


def recover_handler(services: CodexServices) -> CapabilityHandler:
    async def recover(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_codex(tx, space)
        install = await load_install_by_entity(tx, space, UUID(arguments["entity_id"]))
        _check_recoverable(ctx, install)
        back = await recover_install(services, ctx, install)
        return {**back[-1].details, "recovered": [one.details for one in back[:-1]]}

    return recover


async def recover_install(
    services: CodexServices, ctx: CallContext, install: RecipeInstall
) -> list[RestoredInstall]:
    """Recover an install and its dependencies, itself last."""
    whole = await _list_removed_with(ctx, install)
    await lock_automations_in_order(ctx, whole)
    return [await _bring_one(services, ctx, one) for one in whole]


async def _bring_one(
    services: CodexServices, ctx: CallContext, install: RecipeInstall
) -> RestoredInstall:
    until = install.recoverable_until
    assert until is not None
    name, more = install.name, dict[str, Any]()
    if install.entity_kind != "bundle":
        made = await services.kind(install.entity_kind).restore(ctx, install.entity_id)
        name, more = made.name, dict(made.details)
    await mark_back(ctx.tx, ctx.actor.workspace_id, install.id, name)
    back = replace(install, uninstalled_at=None, name=name)
    return RestoredInstall(
        back, {**back.describe(), "recoverable_until": until.isoformat(), **more}
    )


async def _list_removed_with(ctx: CallContext, install: RecipeInstall) -> list[RecipeInstall]:
    """List what was uninstalled that this one depends on or brought along, before it."""
    space, tx, since = ctx.actor.workspace_id, ctx.tx, ctx.clock.now() - RECOVERY
    found: dict[UUID, RecipeInstall] = {}
    seen: set[UUID] = set()
    # Depth-first, post-order: each is visited twice, before and after its dependencies.
    waiting = [(install, False)]
    while waiting:
        one, looked = waiting.pop()
        if looked:
            found[one.id] = one
            continue
        if one.id in seen or one.uninstalled_at is None or one.uninstalled_at <= since:
            continue
        seen.add(one.id)
        below = [await load_install(tx, space, UUID(i)) for i in one.dependencies.values()]
        if one.kind == "bundle":
            below += [
                member
                for member in await list_bundle_members(tx, space, one.id)
                if member.uninstalled_at == one.uninstalled_at
            ]
        waiting.append((one, True))
        waiting += [(part, False) for part in reversed(below) if part is not None]
    return list(found.values())


async def _resolve_requested(ctx: CallContext, arguments: Mapping[str, Any]) -> list[RecipeInstall]:
    """Resolve the requested installs, by resource or by recipe slug."""
    space, tx = ctx.actor.workspace_id, ctx.tx
    if "entity_id" in arguments:
        install = await load_install_by_entity(tx, space, UUID(arguments["entity_id"]))
        check_live(install)
        return [install]
    if "brain_id" not in arguments:
        detail = "To uninstall all installs of a recipe, set brain_id to the workspace."
        raise Invalid(
            detail, code="brain_needed", findings=[Finding("/brain_id", detail, "required")]
        )
    found = await list_installs_by_slug(tx, space, arguments["slug"])
    here = [one for one in found if one.uninstalled_at is None]
    if not here:
        detail = f"Nothing of {arguments['slug'][:64]!r} is installed here."
        raise NotFound(
            detail,
            code="no_install",
            suggestion="list_installs shows what is installed.",
            findings=[Finding("/slug", detail, "no_install")],
        )
    return here


async def _add_members(
    ctx: CallContext, asked: Sequence[RecipeInstall], cascade: bool | None
) -> list[RecipeInstall]:
    """Add what the requested installs brought along, if requested.

    Anything another install depends on stays.
    """
    space, tx = ctx.actor.workspace_id, ctx.tx
    leaving = {one.id: one for one in asked}
    waiting = list(asked)
    while waiting:
        one = waiting.pop(0)
        whole = one.kind == "bundle" if cascade is None else cascade
        for part in await list_bundle_members(tx, space, one.id) if whole else ():
            if part.uninstalled_at is not None or part.id in leaving:
                continue
            users = await list_dependents(tx, space, part.id)
            if one.kind == "bundle" or all(user.id in leaving for user in users):
                leaving[part.id] = part
                waiting.append(part)
    return list(leaving.values())


async def _list_remaining_dependents(
    ctx: CallContext, leaving: Sequence[RecipeInstall]
) -> list[RecipeInstall]:
    """List remaining installs that depend on one being removed."""
    found: dict[UUID, RecipeInstall] = {}
    for one in leaving:
        for user in await list_dependents(ctx.tx, ctx.actor.workspace_id, one.id):
            found[user.id] = user
    gone = {one.id for one in leaving}
    return [one for one in found.values() if one.id not in gone]


async def lock_automations_in_order(ctx: CallContext, several: Iterable[RecipeInstall]) -> None:
    """Lock automations in a fixed order before changing several."""
    ids = [one.entity_id for one in several if one.entity_kind == "automation"]
    if ids:
        await lock_names(ctx.tx, ctx.actor.workspace_id)
        await lock_automations(ctx.tx, ctx.actor.workspace_id, ids)


def _check_recoverable(ctx: CallContext, install: RecipeInstall) -> None:
    until = install.recoverable_until
    if until is None:
        raise Conflict(
            f"{install.name!r} is installed; there is nothing to recover.", code="not_uninstalled"
        )
    if until <= ctx.clock.now():
        raise Expired(
            f"{install.name!r} could be recovered until {until:%Y-%m-%d %H:%M} UTC.",
            code="recovery_over",
            suggestion="Install the recipe again; what it kept before is archived and can be "
            "restored manually.",
        )


def _describe_removed(install: RecipeInstall) -> dict[str, Any]:
    assert install.uninstalled_at is not None
    until = install.uninstalled_at + RECOVERY
    return {
        **install.describe(),
        "uninstalled_at": install.uninstalled_at.isoformat(),
        "expires_at": until.isoformat(),
    }
