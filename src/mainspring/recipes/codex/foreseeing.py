"""What an upgrade of one install would come to, before anything of it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, Missing
from mainspring.recipes.codex import installs
from mainspring.recipes.codex.comparing import Change, changes, own_changes
from mainspring.recipes.codex.contents import content_of, name_of, with_name
from mainspring.recipes.codex.desk import Desk
from mainspring.recipes.codex.filled import check_filled
from mainspring.recipes.codex.installs import Install
from mainspring.recipes.codex.needs import Plan, Planner, Stage
from mainspring.recipes.codex.shelf import Recipe
from mainspring.recipes.codex.wishes import settings_of
from mainspring.recipes.package import Filling, Named, Owner, Package

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.kinds import Made

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outlook:
    """One install, the newest version of its recipe, and what lies between the two."""

    install: Install
    recipe: Recipe | None
    current: Made | None = None
    # What is needed first and not there yet.
    plan: Plan | None = None
    wishes: Content | None = None
    # What the newest version changes, and what people here changed otherwise.
    by_recipe: Sequence[Change] = ()
    conflicts: Sequence[Change] = ()
    orphaned: Sequence[str] = ()
    asks_for: Sequence[Mapping[str, str]] = ()
    # Of an automation: what it would be, so that it can be rehearsed before it is.
    definition: Content | None = None

    @property
    def newer(self) -> bool:
        return self.recipe is not None and self.recipe.semver > self.install.semver

    @property
    def due(self) -> bool:
        """There is something to carry out: a newer version, or a setting with another value."""
        if self.recipe is None or self.wishes is None:
            return self.newer
        kept: Content = self.install.overrides.get("settings", {})
        asked: Content = self.wishes.get("settings", {})
        return self.newer or any(asked[name] != kept.get(name, asked[name]) for name in asked)

    @property
    def waiting(self) -> list[Stage]:
        """What an upgrade would install first."""
        return [] if self.plan is None else [*self.plan.fresh]

    def told(self) -> dict[str, Any]:
        return {
            "installed": self.install.version,
            "latest": None if self.recipe is None else self.recipe.version,
            "has_upgrade": self.newer,
            "has_user_changes": bool(self.conflicts),
            "change_summary": {
                "recipe": [one.as_dict() for one in self.by_recipe],
                "yours": [one.as_dict() for one in self.conflicts],
                "new_dependencies": [one.slug for one in self.waiting],
                "orphaned_datasets": list(self.orphaned),
            },
            "asks_for": list(self.asks_for),
            "definition": self.definition if self.newer else None,
        }


async def foresee(
    desk: Desk, ctx: CallContext, install: Install, settings: Content, *, lenient: bool = False
) -> Outlook:
    """What the newest version would make of an install; nothing is changed.

    Somebody who only looks is told what can be told, where a new setting has no value yet.
    """
    recipe = await desk.shelf.by_id(ctx.tx, ctx.actor.workspace_id, install.recipe_id)
    if install.kind == "bundle":
        return Outlook(install, recipe)
    current = await desk.kind(install.entity_kind).read(ctx, install.entity_id)
    if current is None:
        raise Missing(f"{install.name!r} is not there any more.", code="entity_gone")
    if recipe is None:
        conflicts = _theirs(install, current.content, install.base)
        return Outlook(install, None, current, conflicts=conflicts)
    plan = await _plan(desk, ctx, install, recipe)
    if not lenient:
        plan.check()
    wishes = _wishes(install, recipe.package, settings, lenient=lenient)
    named = _named(install, recipe, plan)
    content = filled(install, recipe.package, named, wishes, install.name)
    if not lenient:
        filling = filling_of(install, named, wishes)
        await check_filled(desk, ctx, recipe.package, filling, "/settings")
    new = await desk.normal(ctx, install.entity_kind, content, install.entity_id)
    return Outlook(
        install,
        recipe,
        current,
        plan,
        wishes,
        by_recipe=changes(install.base, _renamed(install, new)),
        conflicts=_theirs(install, current.content, new),
        orphaned=orphans(install, new),
        asks_for=await _asks(desk, ctx, install, recipe, content),
        definition=content.get("definition") if _is_whole(install, recipe, plan) else None,
    )


def _is_whole(install: Install, recipe: Recipe, plan: Plan) -> bool:
    """Whether all that it would be tied to is there, and every setting has a value."""
    kept: Content = install.overrides.get("settings", {})
    return not any(plan.fresh) and not settings_of(recipe.package, kept, "/settings")[1]


async def _asks(
    desk: Desk, ctx: CallContext, install: Install, recipe: Recipe, content: Content
) -> list[dict[str, str]]:
    if install.entity_kind != "automation" or recipe.semver <= install.semver:
        return []
    found = await desk.automations.foresee(ctx, install.entity_id, content)
    return [one.as_dict() for one in found]


async def _plan(desk: Desk, ctx: CallContext, install: Install, recipe: Recipe) -> Plan:
    space, tx = ctx.actor.workspace_id, ctx.tx
    known: dict[str, Install] = {}
    for slug, one in install.dependencies.items():
        found = await installs.by_id(tx, space, UUID(one))
        if found is not None:
            known[slug] = found
    planner = Planner(desk.shelf, tx, space, ctx.clock.now(), known=known)
    return await planner.plan_below(recipe)


def _wishes(
    install: Install, package: Package, settings: Content, *, lenient: bool
) -> dict[str, Any]:
    """What was asked for at the install, and the settings that the newer version has."""
    kept: Content = install.overrides.get("settings", {})
    values, wrong = settings_of(package, {**kept, **settings}, "/settings")
    if wrong and not lenient:
        raise Invalid(
            f"It cannot be upgraded like this: {wrong[0].detail}",
            code=wrong[0].code,
            findings=wrong,
            suggestion=wrong[0].suggestion,
        )
    if lenient:
        values = {**{one.name: one.example for one in package.settings}, **values}
    return {**install.overrides, "settings": values}


def _named(install: Install, recipe: Recipe, plan: Plan) -> dict[str, Named]:
    """What the newest version needs, with stand-ins for what is not made yet."""
    named = {}
    for one in recipe.package.dependencies:
        stage = plan.by_slug.get(one.slug)
        there = None if stage is None else stage.there
        if there is not None:
            named[one.name] = Named(str(there.entity_id), there.name)
        else:
            named[one.name] = Named(str(install.id if stage is None else stage.id), one.slug)
    return named


def filled(
    install: Install, package: Package, named: Mapping[str, Named], wishes: Content, name: str
) -> dict[str, Any]:
    """The content of a version for an install that is there, under the name that it has."""
    filling = filling_of(install, named, wishes)
    return with_name(install.entity_kind, content_of(package, filling, wishes), name)


def filling_of(install: Install, named: Mapping[str, Named], wishes: Content) -> Filling:
    """What the references of a version stand for in an install that is there."""
    kept = install.overrides.get("owner", {})
    owner = Owner(kept.get("id", str(install.installed_by)), kept.get("email", ""))
    return Filling(owner, named, wishes.get("settings", {}))


def _theirs(install: Install, current: Content, new: Content) -> list[Change]:
    """What people here changed; a name is theirs anyway, and so is a dataset of their own."""
    found = own_changes(install.base, _renamed(install, current), _renamed(install, new))
    return [one for one in found if not _own_dataset(install, new, one)]


def _renamed(install: Install, content: Content) -> dict[str, Any]:
    """A content under the name that was installed, so that names are never among the changes."""
    kind = install.entity_kind
    return with_name(kind, content, name_of(kind, install.base))


def _own_dataset(install: Install, new: Content, change: Change) -> bool:
    """A dataset that no recipe speaks of is kept by every upgrade."""
    parts = change.place.split("/")
    if install.entity_kind != "board" or len(parts) < 3 or parts[1] != "datasets":
        return False
    return parts[2] not in {*dataset_names(install.base), *dataset_names(new)}


def dataset_names(content: Content) -> list[str]:
    return [str(one["name"]) for one in content.get("datasets", ())]


def orphans(install: Install, new: Content) -> list[str]:
    """Datasets that an earlier version brought and the new one does not have."""
    if install.entity_kind != "board":
        return []
    there = dataset_names(new)
    before = [*install.orphaned, *dataset_names(install.base)]
    return [one for one in dict.fromkeys(before) if one not in there]
