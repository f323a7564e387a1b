"""``halt``, ``release`` and ``halts``: the kill switch at the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.proposals import call
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices


@dataclass(frozen=True, slots=True)
class HaltSelection:
    """What somebody named at the command line: one of the three."""

    automation: str | None = None
    recipe: str | None = None
    whole: bool = False
    everywhere: bool = False

    def check(self) -> None:
        """Refuses two things at once, and nothing at all."""
        named = [self.automation is not None, self.recipe is not None, self.whole]
        if sum(named) != 1:
            raise _invalid("/automation", "Name one of these: an automation, a --recipe, or --all.")
        if self.everywhere and self.recipe is None:
            raise _invalid("/everywhere", "Only a --recipe can be meant --everywhere.")


async def halt(
    context: CommandContext,
    screen: Screen,
    selection: HaltSelection,
    reason: str | None,
    *,
    cancel: bool,
) -> int:
    """Makes it stand still, and says how many runs that holds."""
    selection.check()
    if not reason:
        raise _invalid("/reason", "Say why, with --reason: others will find it standing still.")
    arguments: dict[str, Any] = {"reason": reason, **({"cancel": True} if cancel else {})}
    async with context.doors.open(context.settings()) as services:
        name = "admin_halt_recipe" if selection.everywhere else "halt_work"
        told = await call(
            services, name, {**await _build_arguments(services, selection), **arguments}
        )
    return _answer(screen, told, hint("halts"))


async def release(context: CommandContext, screen: Screen, selection: HaltSelection) -> int:
    """Lets it go on."""
    selection.check()
    async with context.doors.open(context.settings()) as services:
        name = "admin_release_recipe" if selection.everywhere else "release_work"
        try:
            told = await call(services, name, await _build_arguments(services, selection))
        except NotFound as problem:
            if problem.code != "not_halted" or selection.automation is None:
                raise
            detail = f"{selection.automation!r} is not halted by itself."
            suggestion = f"{hint('halts')} lists what stands still."
            raise NotFound(detail, code="not_halted", suggestion=suggestion) from problem
    return _answer(screen, told)


async def show_halts(context: CommandContext, screen: Screen) -> int:
    """What stands still, the newest first."""
    async with context.doors.open(context.settings()) as services:
        found = await call(services, "list_halts", {})
    if screen.for_programs:
        screen.answer(found)
    elif found["halts"]:
        heads = ("Halted", "Since", "By", "Held", "Under way", "Reason")
        rows = (
            (
                one_line(_what(one), 60),
                format_time(datetime.fromisoformat(one["halted_at"]), screen),
                one_line(one["halted_by"] or "", 40),
                str(one["held"]),
                str(one["under_way"]),
                one_line(one["reason"], 80),
            )
            for one in found["halts"]
        )
        screen.say(columns(heads, rows, whole=("Since", "Held")))
    else:
        screen.say("Nothing is halted.")
    return exits.DONE


async def _build_arguments(
    services: ApplicationServices, selection: HaltSelection
) -> dict[str, Any]:
    if selection.everywhere:
        return {"recipe": selection.recipe}
    if selection.recipe is not None:
        return {"scope": "recipe", "recipe": selection.recipe}
    if selection.automation is None:
        return {"scope": "workspace"}
    found = await find_automation(services, selection.automation)
    return {"scope": "automation", "automation_id": str(found["id"])}


def _what(one: Mapping[str, Any]) -> str:
    if one["scope"] == "workspace":
        return "the workspace"
    if one["scope"] == "automation":
        return str(one["automation"])
    return f"recipe {one['recipe']}{' everywhere' if one['everywhere'] else ''}"


def _answer(screen: Screen, result: Mapping[str, Any], *hints: str) -> int:
    if screen.for_programs:
        screen.answer(result)
    else:
        screen.say(result["says"], *(f"  {one}" for one in hints))
    return exits.DONE


def _invalid(pointer: str, detail: str) -> Invalid:
    return Invalid(detail, code="not_named", findings=[Finding(pointer, detail, "not_named")])
