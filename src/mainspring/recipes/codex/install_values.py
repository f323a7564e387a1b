"""What whoever installs asks for: names, a charter, a roster, and the settings of a recipe.

Each wish is for one thing that is made. One that nothing is made for is refused at its place,
so that nobody believes in a name that no board has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.codex.dependencies import InstallStage
from mainspring.recipes.package import (
    RecipePackage,
    ReferenceValues,
    compile_definition,
    fill,
    find_faulty_settings,
    judge_filled,
    validate_setting,
)
from mainspring.recipes.package.validation import ASKS_MORE

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.recipes.codex.services import CodexServices


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
    words = await services.words.words(ctx.actor.workspace_id, package.template)
    wrong = await asyncio.to_thread(judge_filled, package, filling, words, services.limits)
    if not wrong:
        return
    names = await asyncio.to_thread(find_faulty_settings, package, filling, words, services.limits)
    if not names:
        more = [one for one in wrong if one.code in ASKS_MORE]
        if not more:
            # Whoever makes it says what is wrong with it, as with any other automation.
            return
        detail = f"{package.name!r} asks for more than it says: {more[0].detail}"
        raise Invalid(detail, code=more[0].code, findings=more)
    shown = " and ".join(names)
    detail = f"This value of {shown} leads the recipe elsewhere than it says: {wrong[0].detail}"
    hint: str | None = "Give the name alone, such as www.example.com: no https:// and no /."
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
