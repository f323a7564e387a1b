"""``prompts``: requests to begin with, those of everybody and those that are kept here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.proposals import call
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.terminal_prompt import Ask
    from mainspring.surfaces.services import ApplicationServices


async def show_prompts(services: ApplicationServices, screen: Screen) -> int:
    """All of them, and how one is used."""
    found = await call(services, "list_prompts", {})
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*prompt_lines(found, screen))
        screen.say("", "Say what should happen by itself, and when:")
        screen.say(f"  {hint('new', 'every weekday at 9 remind me to plan the day')}")
    return exits.DONE


def prompt_lines(found: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Those that are kept first, all with numbers."""
    lines: list[Text] = []
    number = 0
    parts = (("Kept here", found["prompts"]), ("To begin with", found["starters"]))
    for title, entries in parts:
        lines += heading(title) if entries else []
        for entry in entries:
            number += 1
            text = f"{one_line(entry['name'], 60)}: {entry['text']}"
            lines += paragraph(screen, text, lead=f"  {number:>2}. ", lead_style="bright_black")
    return lines


async def choose_request(services: ApplicationServices, screen: Screen, ask: Ask) -> str | None:
    """The words of a person: their own, or those with a number."""
    found = await call(services, "list_prompts", {})
    entries = [*found["prompts"], *found["starters"]]
    screen.say(*prompt_lines(found, screen), "")
    while True:
        said = await ask("What should happen by itself, and when? (words, or a number)")
        if not said or not said.isdecimal():
            return said
        if len(said) < 6 and 1 <= int(said) <= len(entries):
            chosen: str = entries[int(said) - 1]["text"]
            screen.say(*paragraph(screen, chosen))
            return chosen
        screen.say(f"There is no number {said[:10]}.")


async def list_prompts(context: CommandContext, screen: Screen) -> int:
    async with context.doors.open(context.settings()) as services:
        return await show_prompts(services, screen)


async def save_prompt(context: CommandContext, screen: Screen, name: str, text: str) -> int:
    """Keeps words under a name."""
    async with context.doors.open(context.settings()) as services:
        kept = await call(services, "save_prompt", {"name": name, "text": text})
    if screen.for_programs:
        screen.answer(kept)
    else:
        screen.say(f"{one_line(kept['name'], 60)} is kept.", f"  {hint('new')}")
    return exits.DONE


async def forget_prompt(context: CommandContext, screen: Screen, name: str) -> int:
    """Forgets the one with this name, or this id."""
    async with context.doors.open(context.settings()) as services:
        found = await call(services, "list_prompts", {})
        named = [one for one in found["prompts"] if name in (one["name"], one["id"])]
        if not named:
            names = [one["name"] for one in found["prompts"]]
            raise NotFound(
                f"No request is kept under {name[:60]!r}.",
                code="no_prompt",
                suggestion=suggest_nearest(name, names) or f"{hint('prompts', 'list')} shows them.",
            )
        done = await call(services, "forget_prompt", {"id": named[0]["id"]})
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say(f"{one_line(named[0]['name'], 60)} is forgotten.")
    return exits.DONE
