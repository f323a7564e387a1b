"""What has to be there before a recipe can be installed, and in which order it is made.

A need is met by what is installed already, by what was taken away a short while ago, or by a
recipe on the shelf, which is then installed first. What meets it never changes by surprise: an
install that is too old is named, and nobody gets a second board beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Clash, Finding
from mainspring.contracts.ids import new_id
from mainspring.recipes.codex import installs
from mainspring.recipes.codex.installs import Install
from mainspring.recipes.codex.shelf import Recipe, Shelf
from mainspring.recipes.package.contents import Package
from mainspring.recipes.package.semver import Semver

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_NO_VERSION = "0.0.0"
# Recipes that need one another in a row; more than that nobody looks through.
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Need:
    """Another recipe that must stand first."""

    slug: str
    lowest: Semver
    reason: str
    # A member of a bundle belongs to that bundle and is shared with nobody.
    member: bool = False


@dataclass(frozen=True, slots=True)
class Lack:
    """A need that nothing meets."""

    need: Need
    needed_by: str
    code: str
    says: str
    way_out: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One recipe on the way, and what meets it: an install, one to recover, or a new one."""

    slug: str
    # The id that the install has or will have.
    id: UUID
    recipe: Recipe | None = None
    there: Install | None = None
    recovers: bool = False
    # The slug of what brings it along; None for the target.
    needed_by: str | None = None

    @property
    def fresh(self) -> bool:
        return self.there is None


@dataclass(slots=True)
class Plan:
    """Everything that one install takes, what is needed first at the beginning."""

    stages: list[Stage] = field(default_factory=list)
    lacks: list[Lack] = field(default_factory=list)
    by_slug: dict[str, Stage] = field(default_factory=dict)

    def add(self, stage: Stage) -> None:
        self.stages.append(stage)
        self.by_slug[stage.slug] = stage

    @property
    def fresh(self) -> Iterator[Stage]:
        return (one for one in self.stages if one.fresh)

    def check(self) -> None:
        """Refuses what cannot be had, each by its name."""
        if self.lacks:
            names = ", ".join(dict.fromkeys(one.need.slug for one in self.lacks))
            raise Clash(
                f"Not everything that it needs can be had: {names}.",
                code="dependencies_missing",
                findings=[Finding("/slug", one.says, one.code, one.way_out) for one in self.lacks],
                suggestion=self.lacks[0].way_out,
            )


def needs_of(package: Package) -> tuple[Need, ...]:
    """What a recipe declares, and the members of a bundle."""
    declared = [Need(one.slug, one.min_version, one.reason) for one in package.dependencies]
    return (*declared, *members_of(package))


def members_of(package: Package) -> tuple[Need, ...]:
    if package.kind != "bundle":
        return ()
    entries: Sequence[Mapping[str, Any]] = package.template["members"]
    return tuple(
        Need(
            one["slug"],
            Semver.parse(one.get("min_version", _NO_VERSION)),
            one.get("reason", ""),
            member=True,
        )
        for one in entries
    )


class Planner:
    """Walks from one recipe to all that it needs; the codex of the workspace is held."""

    def __init__(
        self,
        shelf: Shelf,
        tx: Transaction,
        workspace_id: UUID,
        now: datetime,
        *,
        known: Mapping[str, Install] | None = None,
        own_boards: bool = False,
    ) -> None:
        self._shelf = shelf
        self._tx = tx
        self._space = workspace_id
        self._since = now - installs.RECOVERY
        # What an install was made with before stays what it is made with.
        self._known = known or {}
        # Boards are made anew and not shared, because they were asked for by a name.
        self._own_boards = own_boards
        self.plan = Plan()

    async def plan_for(self, recipe: Recipe) -> Plan:
        """The stages to a recipe, itself the last."""
        await self._below(recipe, (recipe.slug,), _own(recipe))
        self.plan.add(Stage(recipe.slug, new_id(), recipe))
        return self.plan

    async def plan_below(self, recipe: Recipe) -> Plan:
        """The stages to what a recipe needs, without itself."""
        await self._below(recipe, (recipe.slug,), _own(recipe))
        return self.plan

    async def _below(self, recipe: Recipe, path: tuple[str, ...], own: Mapping[str, str]) -> None:
        for need in needs_of(recipe.package):
            if need.slug in path:
                raise _cycle((*path[path.index(need.slug) :], need.slug))
            if len(path) >= _DEEPEST:
                raise _too_deep(path)
            settled = self.plan.by_slug.get(need.slug)
            found = await self._shelf.needed(self._tx, self._space, recipe, need.slug)
            if settled is None:
                await self._meet(need, found, recipe, path, own)
            elif found and settled.recipe and settled.recipe.id != found.id:
                self._lack(need, recipe, "dependency_ambiguous", *_two_of_a_name(need))
            else:
                self._check_enough(need, settled, recipe)

    async def _meet(
        self,
        need: Need,
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
                Stage(
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
        await self._below(found, (*path, need.slug), {**own, **_own(found)})
        brought_by = own.get(need.slug, recipe.slug)
        self.plan.add(Stage(need.slug, new_id(), found, needed_by=brought_by))

    async def _there(
        self, need: Need, found: Recipe | None, own: Mapping[str, str]
    ) -> Install | None:
        """The install that meets a need: the newest that is not part of somebody's bundle.

        A slug alone says little: it is the very recipe that is needed, and not a namesake.
        """
        known = self._known.get(need.slug)
        if known is not None and known.uninstalled_at is None:
            return known
        if need.slug in own or (self._own_boards and found is not None and found.kind == "board"):
            return None
        candidates = [
            one
            for one in await installs.of_slug(self._tx, self._space, need.slug)
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

    async def _of_bundle(self, install: Install) -> bool:
        if install.bundle_id is None:
            return False
        parent = await installs.by_id(self._tx, self._space, install.bundle_id)
        return parent is not None and parent.kind == "bundle"

    def _check_enough(self, need: Need, settled: Stage, recipe: Recipe) -> None:
        if settled.there is not None:
            if settled.there.semver < need.lowest:
                self._lack(need, recipe, "dependency_too_old", *_upgrade_first(need, settled.there))
        elif settled.recipe is not None and settled.recipe.semver < need.lowest:
            says = f"{recipe.slug!r} needs {need.slug!r} {need.lowest} or newer."
            self._lack(need, recipe, "dependency_too_old", says, None)

    def _lack(self, need: Need, recipe: Recipe, code: str, says: str, way_out: str | None) -> None:
        self.plan.lacks.append(Lack(need, recipe.slug, code, says, way_out))


def _own(recipe: Recipe) -> dict[str, str]:
    """The members of a bundle, each with the bundle that brings it."""
    return {one.slug: recipe.slug for one in members_of(recipe.package)}


def _upgrade_first(need: Need, there: Install) -> tuple[str, str]:
    says = (
        f"{there.name!r} ({need.slug}) is installed in version {there.version}, and "
        f"{need.lowest} or newer is needed."
    )
    return says, f"Upgrade it first: upgrade_recipe with entity_id {there.entity_id}."


def _two_of_a_name(need: Need) -> tuple[str, str]:
    says = f"Two different recipes called {need.slug!r} are needed here, by different publishers."
    return says, "Install one of those that need it by itself."


def _too_deep(path: Sequence[str]) -> Clash:
    shown = " → ".join(path[:4])
    detail = f"More than {_DEEPEST} recipes in a row need one another: {shown} → …"
    return Clash(
        detail,
        code="dependency_chain_long",
        findings=[Finding("/slug", detail, "dependency_chain_long")],
        suggestion="Install one from the middle of the row first, or ask its publisher for a "
        "bundle.",
    )


def _cycle(chain: Sequence[str]) -> Clash:
    shown = " → ".join(chain)
    detail = f"These recipes need each other in a circle: {shown}."
    return Clash(
        detail,
        code="dependency_cycle",
        findings=[Finding("/slug", detail, "dependency_cycle")],
        suggestion="Whoever publishes them has to take one of the dependencies out.",
    )
