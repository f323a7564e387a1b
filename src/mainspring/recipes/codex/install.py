"""Installing a recipe: dependencies first, then itself, all or nothing.

A recipe may be installed more than once; each install has its own resources. Dependencies are
shared where they are standalone, and the result lists what was reused, recovered and created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import is_same_value, join_pointer
from mainspring.recipes.codex.catalog import (
    CodexServices,
    RecipeInstall,
    WorkspaceValidator,
    add_install,
    check_brain,
    get_entity_kind,
    lock_codex,
)
from mainspring.recipes.codex.dependencies import (
    BOARD_WISHES,
    InstallPlan,
    InstallPlanner,
    InstallStage,
    build_content,
    check_filled,
    distribute_overrides,
    list_bundle_requirements,
    list_requirements,
)
from mainspring.recipes.codex.presentation import describe_entity, summarize_recipe
from mainspring.recipes.codex.uninstall import recover_install
from mainspring.recipes.package import (
    InstalledReference,
    InstallOwner,
    RecipePackage,
    ReferenceValues,
)
from mainspring.recipes.package.references import build_stand_ins

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.codex.catalog import Recipe
    from mainspring.recipes.kinds import RecipeEntity


# Attributing a rejected definition to the setting that caused it.

_AT: Final = "/overrides/settings"
_SHOWN: Final = 80
# This problem already names its settings.
_SAID: Final = ("setting_leads_elsewhere",)


async def attribute_to_settings(
    judge: WorkspaceValidator,
    workspace_id: UUID,
    package: RecipePackage,
    filling: ReferenceValues,
    problem: Invalid,
) -> Invalid:
    """Attribute a problem to the settings that cause it, if any."""
    usual = dict(build_stand_ins(package.document).settings)
    if problem.code in _SAID:
        return problem
    if await _find_content_problems(judge, workspace_id, package, replace(filling, settings=usual)):
        return problem
    found: list[Finding] = []
    for name, value in filling.settings.items():
        if is_same_value(value, usual.get(name)):
            continue
        tried = replace(filling, settings={**usual, name: value})
        found += _build_setting_findings(
            name, value, await _find_content_problems(judge, workspace_id, package, tried)
        )
    if not found:
        return problem
    return Invalid(
        f"It cannot be installed like this: {found[0].detail}",
        code="bad_setting",
        findings=found,
        suggestion=found[0].suggestion,
    )


def _build_setting_findings(name: str, value: Any, wrong: Sequence[Finding]) -> list[Finding]:
    """One finding per setting: the same value is often used in several places."""
    if not wrong:
        return []
    first = wrong[0]
    text = str(value)
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    detail = f"{name}: {shown!r}, as it was filled in, does not do. {first.detail}"
    return [Finding(join_pointer(_AT, name), detail, first.code, first.suggestion)]


async def _find_content_problems(
    judge: WorkspaceValidator, workspace_id: UUID, package: RecipePackage, filling: ReferenceValues
) -> Sequence[Finding]:
    try:
        content: Mapping[str, Any] = build_content(package, filling, {})
    except Invalid as problem:
        return problem.findings or (Finding("", problem.detail, problem.code),)
    if "definition" not in content:
        return ()
    return (await judge.validate(workspace_id, content["definition"])).findings


def apply_handler(services: CodexServices) -> CapabilityHandler:
    async def apply(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_brain(ctx, arguments)
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_codex(tx, space)
        recipe = await services.catalog.find(tx, space, arguments)
        overrides = arguments.get("overrides", {})
        own_boards = recipe.kind != "board" and any(wish in overrides for wish in BOARD_WISHES)
        planner = InstallPlanner(
            services.catalog, tx, space, ctx.clock.now(), own_boards=own_boards
        )
        plan = await planner.plan_for(recipe)
        plan.check()
        wishes = distribute_overrides([*plan.fresh], recipe.slug, overrides)
        work = InstallExecution(services, ctx, await get_install_owner(ctx), plan)
        await work.execute(wishes)
        return work.describe(recipe)

    return apply


async def get_install_owner(ctx: CallContext) -> InstallOwner:
    return InstallOwner(str(ctx.actor.id), await ctx.owner_address() or "")


@dataclass(slots=True)
class InstallExecution:
    """Executes the stages of a plan in the caller's transaction."""

    services: CodexServices
    ctx: CallContext
    owner: InstallOwner
    plan: InstallPlan
    # The slug and install that the plan is for, if it already exists.
    target: tuple[str, UUID] | None = None
    # The install of each slug so far.
    installed: dict[str, RecipeInstall] = field(default_factory=dict)
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: list[dict[str, Any]] = field(default_factory=list)
    recovered: list[dict[str, Any]] = field(default_factory=list)

    async def execute(self, overrides: Mapping[str, Mapping[str, Any]]) -> None:
        for stage in self.plan.stages:
            if stage.recovers:
                assert stage.existing is not None
                back = await recover_install(self.services, self.ctx, stage.existing)
                self.recovered += [one.details for one in back]
                self.installed[stage.slug] = back[-1].install
            elif stage.existing is not None:
                self.installed[stage.slug] = stage.existing
                self.used.append(stage.existing.describe())
            else:
                await self._make(stage, overrides.get(stage.slug, {}))

    async def _make(self, stage: InstallStage, wishes: Mapping[str, Any]) -> None:
        assert stage.recipe is not None
        if stage.recipe.kind == "bundle":
            await self._keep_bundle(stage, stage.recipe, wishes)
            return
        entity_kind = get_entity_kind(stage.recipe.kind)
        package = stage.recipe.package
        filling = self.build_reference_values(package, wishes)
        try:
            content = build_content(package, filling, wishes)
            await check_filled(self.services, self.ctx, package, filling, "/overrides/settings")
            made = await self.services.kind(entity_kind).create(self.ctx, content)
        except Invalid as problem:
            space = self.ctx.actor.workspace_id
            raise await attribute_to_settings(
                self.services.validator, space, package, filling, problem
            ) from None
        await self._keep(stage, stage.recipe, wishes, made)
        self.descriptions[stage.slug] = {
            **describe_entity(made, entity_kind),
            **_build_provenance(stage.recipe),
        }

    def build_reference_values(
        self, package: RecipePackage, overrides: Mapping[str, Any]
    ) -> ReferenceValues:
        """The values for a recipe's references."""
        installs_here = {
            one.name: InstalledReference(
                str(self.installed[one.slug].entity_id), self.installed[one.slug].name
            )
            for one in package.dependencies
        }
        return ReferenceValues(self.owner, installs_here, overrides.get("settings", {}))

    def dependencies(self, package: RecipePackage) -> dict[str, str]:
        """The installs that a recipe was created with, by slug."""
        slugs = [one.slug for one in list_requirements(package)]
        return {slug: str(self.installed[slug].id) for slug in slugs}

    async def _keep_bundle(
        self, stage: InstallStage, recipe: Recipe, overrides: Mapping[str, Any]
    ) -> None:
        name = str(overrides.get("name", recipe.package.name))
        members = [self.installed[one.slug] for one in list_bundle_requirements(recipe.package)]
        base = {"members": {one.slug: one.version for one in members}}
        await self._add(stage, recipe, overrides, (stage.id, name, base))
        self.descriptions[stage.slug] = {
            "kind": "bundle",
            "id": str(stage.id),
            "name": name,
            **_build_provenance(recipe),
            "members": [self.descriptions.get(one.slug, one.describe()) for one in members],
        }

    async def _keep(
        self, stage: InstallStage, recipe: Recipe, overrides: Mapping[str, Any], made: RecipeEntity
    ) -> None:
        await self._add(stage, recipe, overrides, (made.id, made.name, made.content))

    async def _add(
        self,
        stage: InstallStage,
        recipe: Recipe,
        overrides: Mapping[str, Any],
        made: tuple[UUID, str, Mapping[str, Any]],
    ) -> None:
        entity_id, name, base = made
        owner = {"id": self.owner.id, "email": self.owner.email}
        install = RecipeInstall(
            stage.id,
            recipe.id,
            recipe.slug,
            recipe.version,
            recipe.package.digest,
            recipe.kind,
            get_entity_kind(recipe.kind),
            entity_id,
            name,
            self._brought_by(stage),
            {**overrides, "owner": owner},
            base,
            self.dependencies(recipe.package),
            (),
            self.ctx.actor.id,
            self.ctx.clock.now(),
            None,
            None,
        )
        await add_install(self.ctx.tx, self.ctx.actor.workspace_id, install)
        self.installed[stage.slug] = install

    def _brought_by(self, stage: InstallStage) -> UUID | None:
        if stage.needed_by is None:
            return None
        if self.target is not None and self.target[0] == stage.needed_by:
            return self.target[1]
        return self.plan.by_slug[stage.needed_by].id

    def describe(self, recipe: Recipe) -> dict[str, Any]:
        created = self.descriptions.pop(recipe.slug)
        return {
            "recipe": summarize_recipe(recipe),
            "created": created,
            **self.describe_dependencies(),
        }

    def describe_dependencies(self) -> dict[str, Any]:
        """What was reused, recovered and created along the way."""
        found = {
            "dependencies_used": self.used,
            "recovered": self.recovered,
            "cascade_installed": list(self.descriptions.values()),
        }
        return {name: entries for name, entries in found.items() if entries}


def _build_provenance(recipe: Recipe) -> dict[str, Any]:
    return {
        "source_recipe_slug": recipe.slug,
        "source_recipe_version": recipe.version,
    }


def build_dependencies_handler(services: CodexServices) -> CapabilityHandler:
    async def check(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_brain(ctx, arguments)
        space, tx = ctx.actor.workspace_id, ctx.tx
        recipe = await services.catalog.find(tx, space, arguments)
        plan = await InstallPlanner(services.catalog, tx, space, ctx.clock.now()).plan_for(recipe)
        return await _check_dependencies(services, ctx, recipe, plan)

    return check


async def _check_dependencies(
    services: CodexServices, ctx: CallContext, recipe: Recipe, plan: InstallPlan
) -> dict[str, Any]:
    declared, satisfied, missing = [], [], []
    for need in list_requirements(recipe.package):
        entry: dict[str, Any] = {"slug": need.slug, "min_version": str(need.lowest)}
        if need.reason:
            entry["reason"] = need.reason
        declared.append(entry)
        stage = plan.by_slug.get(need.slug)
        if stage is not None and stage.existing is not None and not stage.recovers:
            satisfied.append({**entry, "installed": stage.existing.describe()})
            continue
        found = await services.catalog.find_dependency(
            ctx.tx, ctx.actor.workspace_id, recipe, need.slug
        )
        latest = None if found is None else found.version
        missing.append(
            {**entry, "available": {"has_recipe": found is not None, "latest_version": latest}}
        )
    return {
        "recipe": summarize_recipe(recipe),
        "declared": declared,
        "satisfied": satisfied,
        "missing": missing,
        "chain": [_describe_stage(one) for one in plan.stages],
        "problems": [one.says for one in plan.unmet],
    }


def _describe_stage(stage: InstallStage) -> dict[str, Any]:
    way = "install" if stage.fresh else "recover" if stage.recovers else "use"
    version = stage.recipe.version if stage.existing is None and stage.recipe else None
    return {
        "slug": stage.slug,
        "version": version or (stage.existing.version if stage.existing else None),
        "needed_by": stage.needed_by,
        "way": way,
    }
