"""What an install needs: its dependencies, their order, and the values that are filled in.

A requirement is met by an existing install, by one that was recently uninstalled, or by a recipe of
the catalog, which is then installed first. Existing installs are never changed implicitly: a too
old one is reported, and no second board is created next to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.codex.catalog import (
    RECOVERY,
    Recipe,
    RecipeCatalog,
    RecipeInstall,
    list_installs_by_slug,
    load_install,
)
from mainspring.recipes.package import (
    RecipePackage,
    ReferenceValues,
    compile_definition,
    fill,
    find_faulty_settings,
    validate_filled,
    validate_setting,
)
from mainspring.recipes.package.references import Semver
from mainspring.recipes.package.validation import ASKS_MORE

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.recipes.codex.catalog import CodexServices


_NO_VERSION = "0.0.0"
# The limit of a dependency chain.
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class RecipeRequirement:
    """A recipe that must be installed first."""

    slug: str
    lowest: Semver
    reason: str
    # Members of a bundle are not shared with other installs.
    member: bool = False


@dataclass(frozen=True, slots=True)
class UnmetRequirement:
    """A requirement that nothing meets."""

    need: RecipeRequirement
    needed_by: str
    code: str
    says: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class InstallStage:
    """A recipe of the plan, and what provides it: an install, a recovered one, or a new one."""

    slug: str
    # The id of the install, existing or new.
    id: UUID
    recipe: Recipe | None = None
    existing: RecipeInstall | None = None
    recovers: bool = False
    # The slug of the recipe that requires it; None for the target.
    needed_by: str | None = None

    @property
    def fresh(self) -> bool:
        return self.existing is None


@dataclass(slots=True)
class InstallPlan:
    """All stages of an install, dependencies first."""

    stages: list[InstallStage] = field(default_factory=list)
    unmet: list[UnmetRequirement] = field(default_factory=list)
    by_slug: dict[str, InstallStage] = field(default_factory=dict)

    def add(self, stage: InstallStage) -> None:
        self.stages.append(stage)
        self.by_slug[stage.slug] = stage

    @property
    def fresh(self) -> Iterator[InstallStage]:
        return (one for one in self.stages if one.fresh)

    def check(self) -> None:
        """Reject unmet requirements, each by name."""
        if self.unmet:
            names = ", ".join(dict.fromkeys(one.need.slug for one in self.unmet))
            raise Conflict(
                f"Not everything that it needs can be had: {names}.",
                code="dependencies_missing",
                findings=[Finding("/slug", one.says, one.code, one.remedy) for one in self.unmet],
                suggestion=self.unmet[0].remedy,
            )


def list_requirements(package: RecipePackage) -> tuple[RecipeRequirement, ...]:
    """List a recipe's declared requirements and bundle members."""
    declared = [
        RecipeRequirement(one.slug, one.min_version, one.reason) for one in package.dependencies
    ]
    return (*declared, *list_bundle_requirements(package))


def list_bundle_requirements(package: RecipePackage) -> tuple[RecipeRequirement, ...]:
    if package.kind != "bundle":
        return ()
    entries: Sequence[Mapping[str, Any]] = package.template["members"]
    return tuple(
        RecipeRequirement(
            one["slug"],
            Semver.parse(one.get("min_version", _NO_VERSION)),
            one.get("reason", ""),
            member=True,
        )
        for one in entries
    )


class InstallPlanner:
    """Resolves a recipe's requirements recursively; the codex lock is held."""

    def __init__(
        self,
        shelf: RecipeCatalog,
        tx: Transaction,
        workspace_id: UUID,
        now: datetime,
        *,
        known: Mapping[str, RecipeInstall] | None = None,
        own_boards: bool = False,
    ) -> None:
        self._catalog = shelf
        self._tx = tx
        self._space = workspace_id
        self._since = now - RECOVERY
        # What an install was made with before stays what it is made with.
        self._known = known or {}
        # Boards are created and not shared, because they were requested by name.
        self._own_boards = own_boards
        self.plan = InstallPlan()

    async def plan_for(self, recipe: Recipe) -> InstallPlan:
        """Plan the stages up to a recipe, itself last."""
        await self._below(recipe, (recipe.slug,), _index_bundle_members(recipe))
        self.plan.add(InstallStage(recipe.slug, generate_id(), recipe))
        return self.plan

    async def plan_below(self, recipe: Recipe) -> InstallPlan:
        """Plan the stages of a recipe's requirements, without itself."""
        await self._below(recipe, (recipe.slug,), _index_bundle_members(recipe))
        return self.plan

    async def _below(self, recipe: Recipe, path: tuple[str, ...], own: Mapping[str, str]) -> None:
        for need in list_requirements(recipe.package):
            if need.slug in path:
                raise _dependency_cycle_error((*path[path.index(need.slug) :], need.slug))
            if len(path) >= _DEEPEST:
                raise _too_deep_error(path)
            settled = self.plan.by_slug.get(need.slug)
            found = await self._catalog.find_dependency(self._tx, self._space, recipe, need.slug)
            if settled is None:
                await self._meet(need, found, recipe, path, own)
            elif found and settled.recipe and settled.recipe.id != found.id:
                self._lack(need, recipe, "dependency_ambiguous", *_explain_name_conflict(need))
            else:
                self._check_enough(need, settled, recipe)

    async def _meet(
        self,
        need: RecipeRequirement,
        found: Recipe | None,
        recipe: Recipe,
        path: tuple[str, ...],
        own: Mapping[str, str],
    ) -> None:
        there = await self._there(need, found, own)
        if there is not None:
            if there.semver < need.lowest:
                self._lack(need, recipe, "dependency_too_old", *_upgrade_first(need, there))
                return
            self.plan.add(
                InstallStage(
                    need.slug,
                    there.id,
                    found,
                    there,
                    there.uninstalled_at is not None,
                    recipe.slug,
                )
            )
            return
        if found is None:
            says = f"{recipe.slug!r} needs {need.slug!r}, and there is no such recipe."
            self._lack(need, recipe, "dependency_missing", says, None)
            return
        if found.semver < need.lowest:
            says = (
                f"{recipe.slug!r} needs {need.slug!r} {need.lowest} or newer; the newest is "
                f"{found.version}."
            )
            self._lack(need, recipe, "dependency_too_old", says, None)
            return
        await self._below(found, (*path, need.slug), {**own, **_index_bundle_members(found)})
        brought_by = own.get(need.slug, recipe.slug)
        self.plan.add(InstallStage(need.slug, generate_id(), found, needed_by=brought_by))

    async def _there(
        self, need: RecipeRequirement, found: Recipe | None, own: Mapping[str, str]
    ) -> RecipeInstall | None:
        """Find the install that meets a requirement: the newest outside any bundle.

        The recipe's id must match, not only its slug.
        """
        known = self._known.get(need.slug)
        if known is not None and known.uninstalled_at is None:
            return known
        if need.slug in own or (self._own_boards and found is not None and found.kind == "board"):
            return None
        candidates = [
            one
            for one in await list_installs_by_slug(self._tx, self._space, need.slug)
            if (found is None or one.recipe_id == found.id) and not await self._of_bundle(one)
        ]
        live = [one for one in candidates if one.uninstalled_at is None]
        gone = [
            one
            for one in candidates
            if one.uninstalled_at is not None and one.uninstalled_at > self._since
        ]
        enough = [one for one in (*live, *gone) if one.semver >= need.lowest]
        return next(iter((*enough, *live)), None)

    async def _of_bundle(self, install: RecipeInstall) -> bool:
        if install.bundle_id is None:
            return False
        parent = await load_install(self._tx, self._space, install.bundle_id)
        return parent is not None and parent.kind == "bundle"

    def _check_enough(self, need: RecipeRequirement, settled: InstallStage, recipe: Recipe) -> None:
        if settled.existing is not None:
            if settled.existing.semver < need.lowest:
                self._lack(
                    need, recipe, "dependency_too_old", *_upgrade_first(need, settled.existing)
                )
        elif settled.recipe is not None and settled.recipe.semver < need.lowest:
            says = f"{recipe.slug!r} needs {need.slug!r} {need.lowest} or newer."
            self._lack(need, recipe, "dependency_too_old", says, None)

    def _lack(
        self, need: RecipeRequirement, recipe: Recipe, code: str, says: str, way_out: str | None
    ) -> None:
        self.plan.unmet.append(UnmetRequirement(need, recipe.slug, code, says, way_out))


def _index_bundle_members(recipe: Recipe) -> dict[str, str]:
    """Map the members of a bundle to the bundle that includes them."""
    return {one.slug: recipe.slug for one in list_bundle_requirements(recipe.package)}


def _upgrade_first(need: RecipeRequirement, there: RecipeInstall) -> tuple[str, str]:
    says = (
        f"{there.name!r} ({need.slug}) is installed in version {there.version}, and "
        f"{need.lowest} or newer is needed."
    )
    return says, f"Upgrade it first: upgrade_recipe with entity_id {there.entity_id}."


def _explain_name_conflict(need: RecipeRequirement) -> tuple[str, str]:
    says = f"Two different recipes called {need.slug!r} are needed here, by different publishers."
    return says, "Install one of those that need it by itself."


def _too_deep_error(path: Sequence[str]) -> Conflict:
    shown = " → ".join(path[:4])
    detail = f"More than {_DEEPEST} recipes in a row need one another: {shown} → …"
    return Conflict(
        detail,
        code="dependency_chain_long",
        findings=[Finding("/slug", detail, "dependency_chain_long")],
        suggestion="Install one from the middle of the row first, or ask its publisher for a "
        "bundle.",
    )


def _dependency_cycle_error(chain: Sequence[str]) -> Conflict:
    shown = " → ".join(chain)
    detail = f"These recipes need each other in a circle: {shown}."
    return Conflict(
        detail,
        code="dependency_cycle",
        findings=[Finding("/slug", detail, "dependency_cycle")],
        suggestion="The publisher has to remove one of the dependencies.",
    )


# The options of an install: names, a charter, a roster, and the settings of a recipe.
#
# Each wish is for one thing that is made. One that nothing is made for is refused at its place,
# so that nobody believes in a name that no board has.


# What a recipe makes in one workspace: its template with everything filled in.

_WISHES: Mapping[str, Mapping[str, str]] = {
    "board": {"board_name": "name", "name": "name", "board_description": "description"},
    "workflow": {"title": "title", "name": "title", "charter": "charter", "roster": "roster"},
}


def build_content(
    package: RecipePackage, filling: ReferenceValues, overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of a board, an automation or a workflow, as its kind takes it.

    An integration is an automation by now.
    """
    template = fill(package.template, filling, "/template")
    if package.kind in ("automation", "integration"):
        document = compile_definition(package, template)
        if "name" in overrides:
            document["name"] = overrides["name"]
        return {"definition": document}
    for wish, key in _WISHES.get(package.kind, {}).items():
        if wish in overrides:
            template[key] = overrides[wish]
    if package.kind == "workflow":
        _resolve(package, template, filling)
    return template


def _resolve(package: RecipePackage, template: dict[str, Any], filling: ReferenceValues) -> None:
    """Dependencies that a workflow names by their slugs become what they are here."""
    known = {one.slug: filling.installs[one.name] for one in package.dependencies}
    if template.get("board") in known:
        template["board"] = known[template["board"]].id
    template["automations"] = [
        known[one].id if one in known else one for one in template.get("automations", [])
    ]


def name_of(kind: str, content: Mapping[str, Any]) -> str:
    """What a thing is called in its content."""
    if kind == "automation":
        return str(content["definition"]["name"])
    return str(content["title" if kind == "workflow" else "name"])


def rename_content(kind: str, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The same under another name: what something is called here is nobody else's to change."""
    if kind == "automation":
        return {**content, "definition": {**content["definition"], "name": name}}
    return {**content, "title" if kind == "workflow" else "name": name}


# A recipe with its real values is judged once more, before anything is made of it.


async def check_filled(
    services: CodexServices,
    ctx: CallContext,
    package: RecipePackage,
    filling: ReferenceValues,
    at: str,
) -> None:
    """Refuses values that would lead a recipe elsewhere than it says, each at its setting."""
    if package.kind not in ("automation", "integration"):
        return
    words = await services.validator.load_vocabulary(ctx.actor.workspace_id, package.template)
    wrong = await asyncio.to_thread(validate_filled, package, filling, words, services.limits)
    if not wrong:
        return
    names = await asyncio.to_thread(find_faulty_settings, package, filling, words, services.limits)
    if not names:
        more = [one for one in wrong if one.code in ASKS_MORE]
        if not more:
            # Creating it reports what is wrong with it, as with any other automation.
            return
        detail = f"{package.name!r} requests more than it declares: {more[0].detail}"
        raise Invalid(detail, code=more[0].code, findings=more)
    shown = " and ".join(names)
    detail = f"This value of {shown} is not what the recipe declares: {wrong[0].detail}"
    hint: str | None = "Give only the host name, such as www.example.com, without https:// and /."
    if not any(one.code in ASKS_MORE for one in wrong):
        # It leads nowhere at all, and the sentence about the place says why.
        detail = f"This value of {shown}, as it was filled in, does not do: {wrong[0].detail}"
        hint = wrong[0].suggestion
    raise Invalid(
        detail,
        code="setting_leads_elsewhere",
        findings=[
            Finding(join_pointer(at, one), detail, "setting_leads_elsewhere", hint) for one in names
        ],
        suggestion=hint,
    )


# Which kind of thing each wish is about; None: whatever the recipe itself makes.
ABOUT: Final[Mapping[str, str | None]] = {
    "board_name": "board",
    "board_description": "board",
    "title": "workflow",
    "charter": "workflow",
    "roster": "workflow",
    "name": None,
}
BOARD_WISHES: Final = ("board_name", "board_description")
_AT: Final = "/overrides"


def distribute_overrides(
    stages: Sequence[InstallStage], target: str, overrides: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The wishes of each recipe that is made now, by its slug."""
    shared: dict[str, dict[str, Any]] = {one.slug: {} for one in stages}
    findings: list[Finding] = []
    for wish, kind in ABOUT.items():
        if wish not in overrides:
            continue
        slugs = [target] if kind is None else _select_by_kind(stages, target, kind)
        if len(slugs) == 1:
            shared[slugs[0]][wish] = overrides[wish]
            continue
        detail = (
            f"Nothing is made here that this is for: it is for a {kind}."
            if not slugs
            else f"Several are made here: {', '.join(slugs)}. Install the one you mean by itself."
        )
        findings.append(Finding(join_pointer(_AT, wish), detail, "override_unused"))
    findings += _find_unknown_settings(stages, overrides.get("settings", {}), shared)
    if findings:
        raise Invalid(
            f"It cannot be installed like this: {findings[0].detail}",
            code=findings[0].code,
            findings=findings,
            suggestion=findings[0].suggestion,
        )
    return shared


def _select_by_kind(stages: Sequence[InstallStage], target: str, kind: str) -> list[str]:
    found = [one.slug for one in stages if one.recipe is not None and one.recipe.kind == kind]
    return [target] if target in found else found


def _find_unknown_settings(
    stages: Sequence[InstallStage], arguments: Mapping[str, Any], shared: dict[str, dict[str, Any]]
) -> Iterator[Finding]:
    packages = [one.recipe.package for one in stages if one.recipe is not None]
    known = {setting.name for package in packages for setting in package.settings}
    for name in arguments:
        if name not in known:
            detail = f"There is no setting {name[:64]!r}."
            hint = suggest_nearest(name, known)
            yield Finding(join_pointer(_AT, "settings", name), detail, "unknown_setting", hint)
    for package in packages:
        values, wrong = resolve_settings(package, arguments)
        yield from wrong
        shared[package.slug]["settings"] = values


def resolve_settings(
    package: RecipePackage, arguments: Mapping[str, Any], at: str = f"{_AT}/settings"
) -> tuple[dict[str, Any], list[Finding]]:
    """The value of each setting, and what is wrong with those that are given or not given."""
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for setting in package.settings:
        pointer = join_pointer(at, setting.name)
        if setting.name in arguments:
            wrong = validate_setting(setting.type, arguments[setting.name], pointer)
            if wrong is not None:
                findings.append(wrong)
            values[setting.name] = arguments[setting.name]
        elif setting.has_default:
            values[setting.name] = setting.default
        elif setting.required:
            detail = f"{package.name!r} needs to know: {setting.label}."
            hint = f"Give overrides.settings.{setting.name}."
            findings.append(Finding(pointer, detail, "setting_needed", hint))
    return values, findings
