"""Previewing an upgrade."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.definition.strict_json import is_same_value, join_pointer
from mainspring.recipes.codex.catalog import CodexServices, Recipe, RecipeInstall, load_install
from mainspring.recipes.codex.dependencies import (
    InstallPlan,
    InstallPlanner,
    InstallStage,
    build_content,
    check_filled,
    name_of,
    rename_content,
    resolve_settings,
)
from mainspring.recipes.package import (
    InstalledReference,
    InstallOwner,
    RecipePackage,
    ReferenceValues,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.kinds import RecipeEntity


# Three-way comparison: the installed content, the current one, and the newer recipe's.

ChangeKind = Literal["added", "removed", "changed", "reordered"]

# Keys that identify list entries, in order of preference.
_NAMES: Final = ("step_id", "id", "name", "key", "slug", "label", "capability")


_SHOWN: Final = 80


class _NoValueType:
    """A missing value, distinct from null."""


_NOTHING: Final = _NoValueType()


@dataclass(frozen=True, slots=True)
class RecipeChange:
    """A changed place."""

    place: str
    change_kind: ChangeKind
    # For a scalar: the old and new value, shortened.
    was: str | None = field(default=None, compare=False)
    becomes: str | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, str]:
        told = {"place": self.place, "change": str(self.change_kind)}
        if self.was is not None and self.becomes is not None:
            told |= {"was": self.was, "becomes": self.becomes}
        return told


def list_recipe_changes(before: Any, after: Any) -> list[RecipeChange]:
    """List every difference of two contents."""
    return list(_compare_values(before, after, _NOTHING, "", agreeing=False))


def find_conflicts(base: Any, current: Any, new: Any) -> list[RecipeChange]:
    """Find local changes that a newer recipe changes differently."""
    return list(_compare_values(base, current, new, "", agreeing=True))


def _compare_values(
    before: Any, after: Any, new: Any, at: str, *, agreeing: bool
) -> Iterator[RecipeChange]:
    if _is_same(before, after) or (agreeing and _is_same(after, new)):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_objects(before, after, new, at, agreeing=agreeing)
        return
    named = _index_by_name(before), _index_by_name(after)
    if named[0] is not None and named[1] is not None:
        yield from _compare_lists(
            named[0], named[1], _index_by_name(new) or {}, at, agreeing=agreeing
        )
        return
    yield RecipeChange(
        at, _classify_change(before, after), _format_short(before), _format_short(after)
    )


def _compare_objects(
    before: Mapping[str, Any], after: Mapping[str, Any], new: Any, at: str, *, agreeing: bool
) -> Iterator[RecipeChange]:
    said = new if isinstance(new, Mapping) else {}
    for key in dict.fromkeys((*before, *after)):
        yield from _compare_values(
            before.get(key, _NOTHING),
            after.get(key, _NOTHING),
            said.get(key, _NOTHING),
            join_pointer(at, key),
            agreeing=agreeing,
        )


def _compare_lists(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    new: Mapping[str, Any],
    at: str,
    *,
    agreeing: bool,
) -> Iterator[RecipeChange]:
    found = list(_compare_objects(before, after, new, at, agreeing=agreeing))
    yield from found
    agreed = agreeing and bool(new) and _has_same_order(after, new)
    if not found and not agreed and not _has_same_order(before, after):
        yield RecipeChange(at, "reordered")


def _has_same_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return [key for key in one if key in other] == [key for key in other if key in one]


def _index_by_name(value: Any) -> dict[str, Any] | None:
    """Index list entries by a unique identifying key; None when there is none."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    for name in _NAMES:
        found = {str(one[name]): one for one in value if isinstance(one, Mapping) and name in one}
        if len(found) == len(value):
            return found
    return None


def _is_same(one: Any, other: Any) -> bool:
    if one is _NOTHING or other is _NOTHING:
        return one is other
    return is_same_value(one, other)


def _format_short(value: Any) -> str | None:
    """Format a scalar in one line; None for anything larger."""
    if not isinstance(value, str | int | float | None):
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _classify_change(before: Any, after: Any) -> ChangeKind:
    if before is _NOTHING:
        return "added"
    return "removed" if after is _NOTHING else "changed"


EntityContent = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UpgradePreview:
    """An install, the newest version, and their differences."""

    install: RecipeInstall
    recipe: Recipe | None
    current: RecipeEntity | None = None
    # Dependencies to be installed first.
    plan: InstallPlan | None = None
    overrides: EntityContent | None = None
    # Changes of the newest version, and conflicting local changes.
    by_recipe: Sequence[RecipeChange] = ()
    conflicts: Sequence[RecipeChange] = ()
    orphaned: Sequence[str] = ()
    asks_for: Sequence[Mapping[str, str]] = ()
    # For an automation: the resulting definition, so that it can be rehearsed.
    definition: EntityContent | None = None

    @property
    def newer(self) -> bool:
        return self.recipe is not None and self.recipe.semver > self.install.semver

    @property
    def due(self) -> bool:
        """Whether there is something to do: a newer version, or a changed setting."""
        if self.recipe is None or self.overrides is None:
            return self.newer
        kept: EntityContent = self.install.overrides.get("settings", {})
        asked: EntityContent = self.overrides.get("settings", {})
        return self.newer or any(asked[name] != kept.get(name, asked[name]) for name in asked)

    @property
    def waiting(self) -> list[InstallStage]:
        """What an upgrade would install first."""
        return [] if self.plan is None else [*self.plan.fresh]

    def describe(self) -> dict[str, Any]:
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


async def preview_upgrade(
    services: CodexServices,
    ctx: CallContext,
    install: RecipeInstall,
    settings: EntityContent,
    *,
    lenient: bool = False,
) -> UpgradePreview:
    """Preview an upgrade; nothing is changed.

    When a new setting has no value yet, the preview is as complete as possible.
    """
    recipe = await services.catalog.by_id(ctx.tx, ctx.actor.workspace_id, install.recipe_id)
    if install.kind == "bundle":
        return UpgradePreview(install, recipe)
    current = await services.kind(install.entity_kind).read(ctx, install.entity_id)
    if current is None:
        raise NotFound(f"{install.name!r} is not there any more.", code="entity_gone")
    if recipe is None:
        conflicts = _find_local_changes(install, current.content, install.base)
        return UpgradePreview(install, None, current, conflicts=conflicts)
    plan = await _plan(services, ctx, install, recipe)
    if not lenient:
        plan.check()
    overrides = _merge_overrides(install, recipe.package, settings, lenient=lenient)
    named = _resolve_references(install, recipe, plan)
    content = fill_for_install(install, recipe.package, named, overrides, install.name)
    if not lenient:
        filling = build_reference_values(install, named, overrides)
        await check_filled(services, ctx, recipe.package, filling, "/settings")
    new = await services.normalize(ctx, install.entity_kind, content, install.entity_id)
    return UpgradePreview(
        install,
        recipe,
        current,
        plan,
        overrides,
        by_recipe=list_recipe_changes(install.base, _restore_name(install, new)),
        conflicts=_find_local_changes(install, current.content, new),
        orphaned=list_orphans(install, new),
        asks_for=await _find_new_authority(services, ctx, install, recipe, content),
        definition=content.get("definition") if _is_whole(install, recipe, plan) else None,
    )


def _is_whole(install: RecipeInstall, recipe: Recipe, plan: InstallPlan) -> bool:
    """Report whether all dependencies exist and every setting has a value."""
    kept: EntityContent = install.overrides.get("settings", {})
    return not any(plan.fresh) and not resolve_settings(recipe.package, kept, "/settings")[1]


async def _find_new_authority(
    services: CodexServices,
    ctx: CallContext,
    install: RecipeInstall,
    recipe: Recipe,
    content: EntityContent,
) -> list[dict[str, str]]:
    if install.entity_kind != "automation" or recipe.semver <= install.semver:
        return []
    found = await services.automations.preview_consent(ctx, install.entity_id, content)
    return [one.as_dict() for one in found]


async def _plan(
    services: CodexServices, ctx: CallContext, install: RecipeInstall, recipe: Recipe
) -> InstallPlan:
    space, tx = ctx.actor.workspace_id, ctx.tx
    known: dict[str, RecipeInstall] = {}
    for slug, one in install.dependencies.items():
        found = await load_install(tx, space, UUID(one))
        if found is not None:
            known[slug] = found
    planner = InstallPlanner(services.catalog, tx, space, ctx.clock.now(), known=known)
    return await planner.plan_below(recipe)


def _merge_overrides(
    install: RecipeInstall, package: RecipePackage, settings: EntityContent, *, lenient: bool
) -> dict[str, Any]:
    """Merge the options of the install with the settings of the newer version."""
    kept: EntityContent = install.overrides.get("settings", {})
    values, wrong = resolve_settings(package, {**kept, **settings}, "/settings")
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


def _resolve_references(
    install: RecipeInstall, recipe: Recipe, plan: InstallPlan
) -> dict[str, InstalledReference]:
    """Resolve the newest version's references, with stand-ins for what does not exist yet."""
    named = {}
    for one in recipe.package.dependencies:
        stage = plan.by_slug.get(one.slug)
        there = None if stage is None else stage.existing
        if there is not None:
            named[one.name] = InstalledReference(str(there.entity_id), there.name)
        else:
            named[one.name] = InstalledReference(
                str(install.id if stage is None else stage.id), one.slug
            )
    return named


def fill_for_install(
    install: RecipeInstall,
    package: RecipePackage,
    named: Mapping[str, InstalledReference],
    overrides: EntityContent,
    name: str,
) -> dict[str, Any]:
    """Resolve a version's content for an existing install, under its current name."""
    filling = build_reference_values(install, named, overrides)
    return rename_content(install.entity_kind, build_content(package, filling, overrides), name)


def build_reference_values(
    install: RecipeInstall, named: Mapping[str, InstalledReference], overrides: EntityContent
) -> ReferenceValues:
    """Return the reference values of an existing install."""
    kept = install.overrides.get("owner", {})
    owner = InstallOwner(kept.get("id", str(install.installed_by)), kept.get("email", ""))
    return ReferenceValues(owner, named, overrides.get("settings", {}))


def _find_local_changes(
    install: RecipeInstall, current: EntityContent, new: EntityContent
) -> list[RecipeChange]:
    """Find local changes; names and local datasets do not count."""
    found = find_conflicts(
        install.base, _restore_name(install, current), _restore_name(install, new)
    )
    return [one for one in found if not _is_local_dataset(install, new, one)]


def _restore_name(install: RecipeInstall, content: EntityContent) -> dict[str, Any]:
    """Restore the installed name, so that renames never count as changes."""
    kind = install.entity_kind
    return rename_content(kind, content, name_of(kind, install.base))


def _is_local_dataset(install: RecipeInstall, new: EntityContent, change: RecipeChange) -> bool:
    """A dataset that no recipe has is kept by every upgrade."""
    parts = change.place.split("/")
    if install.entity_kind != "board" or len(parts) < 3 or parts[1] != "datasets":
        return False
    return parts[2] not in {*list_dataset_names(install.base), *list_dataset_names(new)}


def list_dataset_names(content: EntityContent) -> list[str]:
    return [str(one["name"]) for one in content.get("datasets", ())]


def list_orphans(install: RecipeInstall, new: EntityContent) -> list[str]:
    """List datasets that an earlier version had and the new one lacks."""
    if install.entity_kind != "board":
        return []
    there = list_dataset_names(new)
    before = [*install.orphaned, *list_dataset_names(install.base)]
    return [one for one in dict.fromkeys(before) if one not in there]
