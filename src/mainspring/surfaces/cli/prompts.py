"""``prompts``: saved prompts and examples for ``new``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mainspring.contracts.errors import NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.terminal_prompt import Ask


class PromptClient(Protocol):
    """Calls capabilities, over HTTP or in this process."""

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> dict[str, Any]: ...


async def show_prompts(client: PromptClient, screen: Screen) -> int:
    """Lists all prompts, and how to use one."""
    found = await client.call("list_prompts", {})
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*prompt_lines(found, screen))
        screen.say("", "Describe what to automate, and when it runs:")
        screen.say(f"  {hint('new', 'every weekday at 9 remind me to plan the day')}")
    return exits.DONE


def prompt_lines(found: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Those that are kept first, all with numbers."""
    lines: list[Text] = []
    number = 0
    parts = (("Saved prompts", found["prompts"]), ("Examples", found["starters"]))
    for title, entries in parts:
        lines += heading(title) if entries else []
        for entry in entries:
            number += 1
            text = f"{one_line(entry['name'], 60)}: {entry['text']}"
            lines += paragraph(screen, text, lead=f"  {number:>2}. ", lead_style="bright_black")
    return lines


async def choose_request(client: PromptClient, screen: Screen, ask: Ask) -> str | None:
    """Asks for a prompt: its text, or the number of a listed one."""
    found = await client.call("list_prompts", {})
    entries = [*found["prompts"], *found["starters"]]
    screen.say(*prompt_lines(found, screen), "")
    while True:
        said = await ask("What do you want to automate, and when? (text, or a number)")
        if not said or not said.isdecimal():
            return said
        if len(said) < 6 and 1 <= int(said) <= len(entries):
            chosen: str = entries[int(said) - 1]["text"]
            screen.say(*paragraph(screen, chosen))
            return chosen
        screen.say(f"There is no number {said[:10]}.")


async def list_prompts(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        return await show_prompts(client, screen)


async def save_words(
    context: CommandContext, screen: Screen, name: str, words: Sequence[str]
) -> int:
    return await save_prompt(context, screen, name, " ".join(words))


async def save_prompt(context: CommandContext, screen: Screen, name: str, text: str) -> int:
    """Saves a prompt under a name."""
    async with open_client(context) as client:
        kept = await client.call("save_prompt", {"name": name, "text": text})
    if screen.for_programs:
        screen.answer(kept)
    else:
        screen.say(f"Saved the prompt {one_line(kept['name'], 60)}.", f"  {hint('new')}")
    return exits.DONE


async def forget_prompt(context: CommandContext, screen: Screen, name: str) -> int:
    """Deletes the prompt with this name, or this id."""
    async with open_client(context) as client:
        found = await client.call("list_prompts", {})
        named = [one for one in found["prompts"] if name in (one["name"], one["id"])]
        if not named:
            names = [one["name"] for one in found["prompts"]]
            raise NotFound(
                f"There is no saved prompt {name[:60]!r}.",
                code="no_prompt",
                suggestion=suggest_nearest(name, names) or f"{hint('prompts', 'list')} lists them.",
            )
        done = await client.call("forget_prompt", {"id": named[0]["id"]})
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say(f"Deleted the prompt {one_line(named[0]['name'], 60)}.")
    return exits.DONE
