"""Recipes and installs in words, for the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli.columns import format_time
from mainspring.surfaces.cli.formatting import count
from mainspring.surfaces.cli.screen import as_json, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen

Row = Mapping[str, Any]

_REFERENCE: Final = re.compile(r"\{\{\s*install\.([a-z0-9_.]+)\s*\}\}")
# Of a line of Markdown: what it begins with, a line below the heads of a table, and emphasis.
_LEADS: Final = re.compile(r"^(?:>\s?)?(?:#{1,6}\s+)?")
_RULE: Final = re.compile(r"\|\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_LONGEST: Final = 1_000
_MARKS: Final = re.compile(r"(\*\*|`|\*)(\S(?:.*?\S)?)\1")
_CHANGES: Final = {
    "added": "is new",
    "removed": "goes",
    "changed": "changes",
    "reordered": "is in another order",
}
_WAYS: Final = {
    "install": "would be installed",
    "recover": "would be restored",
    "use": "is here, and would be used",
}


def standing(one: Row) -> str:
    """How a recipe stands here."""
    if one["update_available"]:
        return "update available"
    return "installed" if one["installed"] else ""


def newer(one: Row) -> str:
    """What is said of the version of an install."""
    if one["bundle"] is not None:
        return f"comes with {one_line(one['bundle']['name'], 40)}"
    return f"update available: {one['latest_version']}" if one["update_available"] else ""


def until(text: str, screen: Screen) -> str:
    return format_time(datetime.fromisoformat(text), screen)


def recipe_lines(recipe: Row) -> Iterator[str]:
    """Everything that a person looks at before an install."""
    yield f"{one_line(recipe['name'])}: {recipe['kind']}, {recipe['version']}"
    yield one_line(recipe["description"], 1_000)
    yield f"By {one_line(recipe['publisher'])}."
    for text in plain_preview(str(recipe.get("preview") or "")):
        yield f"  {one_line(text, 1_000)}" if text.strip() else ""
    needs = recipe.get("requires") or {}
    yield from _listed("What it may do, once you agree:", _once(recipe.get("may") or ()))
    yield from _listed("It may go to:", recipe.get("hosts") or ())
    yield from _listed(
        "It uses accounts:", map(_reasoned("integration"), needs.get("connections") or ())
    )
    secrets = [*(needs.get("secrets") or ()), *(needs.get("publisher_secrets") or ())]
    yield from _listed("It uses secrets:", map(_reasoned("name"), secrets))
    yield from _listed("It needs:", map(_reasoned("slug"), recipe.get("dependencies") or ()))
    yield from _listed("Settings:", map(_setting, recipe.get("settings") or ()))


def _once(texts: Sequence[str]) -> Iterator[str]:
    return (one_line(one, 600) for one in texts)


def plain_preview(text: str) -> Iterator[str]:
    """A preview without the marks of its Markdown, which a terminal does not read."""
    for line in text.splitlines():
        bare = _LEADS.sub("", line[:_LONGEST])
        if _RULE.fullmatch(bare.strip()):
            continue
        if bare.startswith("|"):
            bare = "  ".join(cell.strip() for cell in bare.strip().strip("|").split("|"))
        bare = _MARKS.sub(lambda found: found[2], bare)
        yield f"| {bare}".rstrip() if line.startswith(">") else bare


def required_settings(recipe: Row) -> str:
    """The settings that an install cannot do without, as words of its command."""
    return "".join(
        f" --set {one['name']}=…" for one in recipe.get("settings") or () if _required(one)
    )


def needs_lines(found: Row) -> Iterator[str]:
    yield from (one_line(text, 400) for text in found["problems"])
    for one in found["chain"]:
        why = "" if one["needed_by"] is None else f", for {one['needed_by']}"
        yield f"{one['slug']} {one['version'] or ''} {_WAYS[one['way']]}{why}."


def all_made(made: Row) -> list[Row]:
    return [*(made.get("cascade_installed") or ()), made["created"]]


def applied_lines(made: Row) -> Iterator[str]:
    for one in made.get("dependencies_used") or ():
        yield f"{one_line(one['name'])} is here already, and is used."
    for one in made.get("recovered") or ():
        yield f"{one_line(one['name'])} is back."
    for one in all_made(made):
        yield f"{one_line(one['name'])} is installed: {one['kind']}."


def check_lines(name: str, found: Row) -> Iterator[str]:
    if not found["has_upgrade"]:
        yield f"{one_line(name)} is version {found['installed']}, and there is no newer one."
        return
    what = found["change_summary"]
    yield f"{one_line(name)} is version {found['installed']}; {found['latest']} is there."
    yield from _listed("The newer version:", map(_placed, what["recipe"]))
    yield from _listed("It also installs:", what["new_dependencies"])
    yield from _listed("It gives up these datasets, which stay:", what["orphaned_datasets"])
    yield from _listed(
        "It waits for your consent, because it asks for more:",
        (one_line(one["says"], 400) for one in found["asks_for"]),
    )
    yield from _listed("You have changed this yourself:", map(_placed, what["yours"]))


def upgraded_lines(made: Row) -> Iterator[str]:
    name, version = one_line(made["name"]), made["upgraded_to_version"]
    if made["upgraded_from_version"] == version:
        yield f"{name} is regenerated; it stays version {version}."
    else:
        yield f"{name} is version {version} now; it was {made['upgraded_from_version']}."
    yield from _listed("Thrown away:", map(_placed, made.get("discarded") or ()))
    yield from _listed("Kept and orphaned:", made.get("orphaned_datasets") or ())
    yield from _listed(
        "It is paused until you agree to this:",
        (one_line(one["says"], 400) for one in made.get("asks_for") or ()),
    )


def format_uninstalled(gone: Row, screen: Screen) -> Iterator[str]:
    for one in gone["uninstalled"]:
        yield (
            f"{one_line(one['name'])} is taken away; it can be recovered until "
            f"{until(one['recoverable_until'], screen)}."
        )
    names = [one_line(one["name"]) for one in gone.get("still_needed_by") or ()]
    if names:
        yield f"{count(len(names), 'install')} used it: {', '.join(names)}."


def recovered_lines(back: Row) -> Iterator[str]:
    for one in (back, *(back.get("recovered") or ())):
        paused = ", paused" if one["kind"] == "automation" else ""
        yield f"{one_line(one['name'])} is back{paused}."
    if back.get("renamed_from"):
        yield f"It was called {one_line(back['renamed_from'])}; that name was given out meanwhile."


def _listed(title: str, held: Any) -> Iterator[str]:
    lines = [f"  {_REFERENCE.sub(_spelt, str(one))}" for one in held]
    if lines:
        yield title
        yield from lines


def _spelt(found: re.Match[str]) -> str:
    """What is filled in at the install, as a word: a setting by its name."""
    return f"<{found[1].removeprefix('settings.').replace('.', ' ')}>"


def _reasoned(name: str) -> Any:
    def line(one: Row) -> str:
        reason = one.get("reason")
        return f"{one[name]}: {one_line(reason, 300)}" if reason else str(one[name])

    return line


def _setting(one: Row) -> str:
    held = f" ({as_json(one['default'], indent=None)})" if "default" in one else ""
    must = " (required)" if _required(one) else ""
    return f"{one['name']}{must}: {one_line(one.get('label') or one['type'], 200)}{held}"


def _required(one: Row) -> bool:
    return bool(one.get("required", True)) and "default" not in one


def _placed(one: Row) -> str:
    place = one_line(one["place"] or "all of it", 200)
    if one.get("was") is not None:
        return f"{place}: {one_line(one['was'], 100)} → {one_line(one['becomes'], 100)}"
    return f"{place} {_CHANGES[one['change']]}"
