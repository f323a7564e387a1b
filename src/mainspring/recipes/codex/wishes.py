"""What whoever installs asks for: names, a charter, a roster, and the settings of a recipe.

Each wish is for one thing that is made. One that nothing is made for is refused at its place,
so that nobody believes in a name that no board has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.pointers import join_pointer
from mainspring.definition.words import suggest_nearest
from mainspring.recipes.codex.needs import InstallStage
from mainspring.recipes.package import RecipePackage, validate_setting

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
    stages: Sequence[InstallStage], given: Mapping[str, Any], shared: dict[str, dict[str, Any]]
) -> Iterator[Finding]:
    packages = [one.recipe.package for one in stages if one.recipe is not None]
    known = {setting.name for package in packages for setting in package.settings}
    for name in given:
        if name not in known:
            detail = f"There is no setting {name[:64]!r}."
            hint = suggest_nearest(name, known)
            yield Finding(join_pointer(_AT, "settings", name), detail, "unknown_setting", hint)
    for package in packages:
        values, wrong = resolve_settings(package, given)
        yield from wrong
        shared[package.slug]["settings"] = values


def resolve_settings(
    package: RecipePackage, given: Mapping[str, Any], at: str = f"{_AT}/settings"
) -> tuple[dict[str, Any], list[Finding]]:
    """The value of each setting, and what is wrong with those that are given or not given."""
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for setting in package.settings:
        pointer = join_pointer(at, setting.name)
        if setting.name in given:
            wrong = validate_setting(setting.type, given[setting.name], pointer)
            if wrong is not None:
                findings.append(wrong)
            values[setting.name] = given[setting.name]
        elif setting.has_default:
            values[setting.name] = setting.default
        elif setting.required:
            detail = f"{package.name!r} needs to know: {setting.label}."
            hint = f"Give overrides.settings.{setting.name}."
            findings.append(Finding(pointer, detail, "setting_needed", hint))
    return values, findings
