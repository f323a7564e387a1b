"""``codex``: recipes on the shelf, what is installed from them, and taking it back.

The commands call the same capabilities as every other surface, as the local owner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.recipes.package.loader import read_place
from mainspring.surfaces.cli import codex_view as view
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.person_prompt import offer_consents
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask, TerminalPrompt, at_terminal

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext

Row = Mapping[str, Any]
# Where a thing is looked at that runs nothing by itself.
_PLACES: Final = {"board": "boards", "workflow": "workflows"}
# How capabilities name the settings of a recipe.
_SETTING: Final = re.compile(r"/(?:overrides/)?settings/([^/]+)")


async def list_recipes(
    context: CommandContext, screen: Screen, arguments: Mapping[str, Any]
) -> int:
    found = await _call(context, "list_starter_recipes", arguments)
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    rows = [
        (
            one["slug"],
            one["kind"],
            one["category"],
            view.standing(one),
            one_line(one["name"], 40),
            one_line(one["description_excerpt"], 90),
        )
        for one in found["recipes"]
    ]
    if not rows:
        screen.say("Nothing on the codex is like that.")
        return exits.DONE
    screen.say(
        columns(
            ("Recipe", "Kind", "Category", "Here", "Name", "What it does"), rows, whole=("Recipe",)
        )
    )
    screen.say(f"  {hint('codex', 'show', 'RECIPE')}")
    return exits.DONE


async def show_recipe(context: CommandContext, screen: Screen, slug: str) -> int:
    found = (await _call(context, "get_starter_recipe", {"slug": slug}))["recipe"]
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    needed = view.required_settings(found)
    screen.say(*view.recipe_lines(found), f"  {hint('codex', 'apply', slug)}{needed}")
    return exits.DONE


async def show_needs(context: CommandContext, screen: Screen, slug: str) -> int:
    found = await _call(context, "check_recipe_dependencies", {"slug": slug})
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*view.needs_lines(found))
    return exits.FAILED if found["problems"] else exits.DONE


async def apply_recipe(
    context: CommandContext,
    screen: Screen,
    slug: str,
    name: str | None,
    settings: Sequence[str],
    ask: Ask | None = None,
) -> int:
    recipe = (await _call(context, "get_starter_recipe", {"slug": slug}))["recipe"]
    overrides: dict[str, Any] = {} if name is None else {"name": name}
    said = _settings(recipe.get("settings", ()), settings)
    if said:
        overrides["settings"] = said
    given = {"slug": slug, **({"overrides": overrides} if overrides else {})}
    made = await _with_settings(context, screen, "apply_starter_recipe", given)
    if screen.for_programs:
        screen.answer(made)
        return exits.DONE
    screen.say(*view.applied_lines(made))
    automations = [one for one in view.all_made(made) if one["kind"] == "automation"]
    if automations:
        screen.say("Nothing of it runs yet: see what it may do, agree, and activate it.")
        await _offer(context, screen, [one["id"] for one in automations], ask)
        screen.say(*(f"  {hint('activate', one['name'])}" for one in automations))
    for one in view.all_made(made):
        if one["kind"] in _PLACES:
            screen.say(f"  {hint(_PLACES[one['kind']], 'show', one['name'])}")
    return exits.DONE


async def list_installs(context: CommandContext, screen: Screen) -> int:
    found = await _call(context, "list_installs", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    rows = [
        (
            one_line(one["name"], 60),
            one["kind"],
            one["source_recipe_slug"],
            one["source_recipe_version"],
            view.newer(one),
            short_id(one["id"], screen),
        )
        for one in found["installs"]
    ]
    if not rows:
        screen.say("Nothing is installed.", f"  {hint('codex')}")
        return exits.DONE
    screen.say(columns(("Name", "Kind", "Recipe", "Version", "", "Id"), rows, whole=("Id",)))
    return exits.DONE


async def check_upgrade(context: CommandContext, screen: Screen, text: str) -> int:
    one = await _installed(context, text)
    found = await _call(context, "check_recipe_upgrade", _entity(one))
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    screen.say(*view.check_lines(one["name"], found))
    if found["has_upgrade"]:
        force = ("--force",) if found["has_user_changes"] else ()
        screen.say(f"  {hint('codex', 'upgrade', one['name'], *force)}")
        if one["kind"] == "automation":
            screen.say(
                "What it would have done with earlier events:",
                f"  {hint('rehearse', one['name'], '--upgrade')}",
            )
    return exits.DONE


async def upgrade(
    context: CommandContext, screen: Screen, text: str, settings: Sequence[str] = (), *, force: bool
) -> int:
    one = await _installed(context, text)
    given = {**_entity(one), "force": force}
    if settings:
        recipe = await _call(context, "get_starter_recipe", {"slug": one["source_recipe_slug"]})
        given["settings"] = _settings(recipe["recipe"].get("settings", ()), settings)
    try:
        made = await _with_settings(context, screen, "upgrade_recipe", given)
    except Conflict as problem:
        if problem.code == "user_changes":
            problem.suggestion = "Keep the version that is there, or upgrade with --force."
        raise
    version = made["upgraded_to_version"]
    if screen.for_programs:
        screen.answer(made)
    elif made["upgraded_from_version"] == version and not force and not settings:
        screen.say(f"{one_line(made['name'])} is version {version}, which is the newest already.")
    else:
        screen.say(*view.upgraded_lines(made))
        if made.get("asks_for"):
            await _offer(context, screen, [one["id"]])
    return exits.DONE


async def _offer(
    context: CommandContext, screen: Screen, automations: Sequence[str], ask: Ask | None = None
) -> None:
    """Asks a person about what waits for consent since a recipe was applied or upgraded."""
    async with open_client(context) as client:
        consents: list[str] = []
        for one in automations:
            found = await client.call("list_consents", {"automation_id": str(one)})
            consents += [each["consent_id"] for each in found["consents"]]
        await offer_consents(client, screen, consents, ask)


async def uninstall(
    context: CommandContext, screen: Screen, text: str, *, cascade: bool, sure: bool = False
) -> int:
    one = await _installed(context, text)
    arguments: dict[str, Any] = {"entity_id": one["id"]}
    if not cascade:
        arguments["cascade"] = False
    if not sure and not await _agreed(context, screen, one, arguments):
        return exits.FAILED
    gone = await _call(context, "uninstall_recipe", arguments)
    if screen.for_programs:
        screen.answer(gone)
    else:
        screen.say(
            *view.format_uninstalled(gone, screen), f"  {hint('codex', 'recover', one['name'])}"
        )
    return exits.DONE


async def _agreed(
    context: CommandContext, screen: Screen, one: Row, arguments: Mapping[str, Any]
) -> bool:
    """Whether somebody wants it gone who knows what here uses it; nobody is asked for nothing."""
    found = await _call(context, "uninstall_recipe", {**arguments, "dry_run": True})
    users = found.get("still_needed_by") or ()
    if not users:
        return True
    names = ", ".join(one_line(user["name"], 60) for user in users)
    used = f"{one_line(one['name'], 60)} is used by {names}."
    if not at_terminal(screen):
        raise Conflict(
            f"{used} What uses it cannot work without it.",
            code="still_needed",
            suggestion=f"{hint('codex', 'uninstall', one['name'], '--yes')} takes it away.",
        )
    screen.say(f"{used} What uses it cannot work without it.")
    said = await TerminalPrompt(screen)("Uninstall it all the same? (yes or no)")
    return (said or "").lower() in ("y", "yes")


async def list_uninstalled(context: CommandContext, screen: Screen) -> int:
    found = await _call(context, "list_uninstalled", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    rows = [
        (
            one_line(one["name"], 60),
            one["kind"],
            one["source_recipe_slug"],
            view.until(one["expires_at"], screen),
            short_id(one["id"], screen),
        )
        for one in found["uninstalled"]
    ]
    if not rows:
        screen.say("There is nothing to recover.")
        return exits.DONE
    heads = ("Name", "Kind", "Recipe", "Can be recovered until", "Id")
    screen.say(columns(heads, rows, whole=("Id",)))
    return exits.DONE


async def recover(context: CommandContext, screen: Screen, text: str) -> int:
    rows = (await _call(context, "list_uninstalled", {"limit": 500}))["uninstalled"]
    one = _find_install(rows, text, "Nothing of this name can be recovered.")
    back = await _call(context, "recover_recipe", {"entity_id": one["id"]})
    if screen.for_programs:
        screen.answer(back)
    else:
        screen.say(*view.recovered_lines(back))
    return exits.DONE


async def publish(context: CommandContext, screen: Screen, place: Path, *, shared: bool) -> int:
    arguments: dict[str, Any] = {"package": read_place(place)}
    if shared:
        arguments["shared"] = True
    made = await _call(context, "publish_recipe", arguments)
    if screen.for_programs:
        screen.answer(made)
    else:
        whom = "every workspace here" if made["shared"] else "this workspace"
        signed = ", signed" if made["signed"] else ""
        screen.say(f"{made['slug']} {made['version']} is on the codex for {whom}{signed}.")
    return exits.DONE


async def _call(context: CommandContext, capability: str, given: Mapping[str, Any]) -> Any:
    async with open_client(context) as client:
        try:
            return await client.call(capability, given)
        except NotFound as problem:
            if problem.code == "no_recipe":
                near = (problem.suggestion or "").startswith("Did you mean")
                prefix = f"{hint('codex')} shows what there is."
                problem.suggestion = f"{problem.suggestion} {prefix}" if near else prefix
                problem.findings = ()
            raise


async def _with_settings(
    context: CommandContext, screen: Screen, capability: str, arguments: Mapping[str, Any]
) -> Any:
    """A call whose settings were words of the command: what is wrong is said in those words."""
    try:
        return await _call(context, capability, arguments)
    except Invalid as problem:
        if not screen.for_programs:
            problem.findings = tuple(_in_words(one) for one in problem.findings)
            problem.suggestion = next((one.suggestion for one in problem.findings), None)
        raise


def _in_words(finding: Finding) -> Finding:
    found = _SETTING.fullmatch(finding.pointer)
    if found is None:
        return finding
    word = f"--set {found[1]}=…"
    hint_here = f"Give {word}" if finding.code == "setting_needed" else finding.suggestion
    return replace(finding, pointer=word, suggestion=hint_here)


async def _installed(context: CommandContext, text: str) -> Row:
    rows = (await _call(context, "list_installs", {"limit": 500}))["installs"]
    return _find_install(rows, text, "Nothing of this name is installed.")


def _find_install(rows: Sequence[Row], text: str, missing: str) -> Row:
    """The one install with this name, this recipe or an id that begins so."""
    ways = (
        lambda one: one["name"] == text,
        lambda one: one["source_recipe_slug"] == text,
        lambda one: len(text) >= 4 and _plain_id(one["id"]).startswith(_plain_id(text)),
    )
    for way in ways:
        found = [one for one in rows if way(one)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(str(one["id"]) for one in found[:5])
            raise Conflict(
                f"{len(found)} installs are called that: {ids}.",
                code="ambiguous",
                suggestion="Say which by its id.",
            )
    names = ", ".join(sorted({one["name"] for one in rows})[:8])
    raise NotFound(missing, code="no_install", suggestion=f"There is: {names}." if names else None)


def _plain_id(text: str | UUID) -> str:
    return str(text).lower().replace("-", "")


def _entity(one: Row) -> dict[str, Any]:
    return {"entity_id": one["id"], "entity_kind": one["kind"]}


def _settings(known: Sequence[Row], words: Sequence[str]) -> dict[str, Any]:
    """Settings as words of the command; what does not fit is judged like any other."""
    kinds = {one["name"]: one["type"] for one in known}
    answer: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in kinds:
            raise Invalid(
                f"{name[:64]!r} is no setting of this recipe, written as NAME=VALUE.",
                code="bad_setting",
                suggestion=f"There is: {', '.join(kinds) or 'none'}.",
            )
        answer[name] = _typed(kinds[name], value)
    return answer


def _typed(kind: str, value: str) -> Any:
    if kind == "boolean" and value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    if kind == "number":
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            return value
    return value
