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
    desk: CommandContext, screen: Screen, wish: HaltSelection, reason: str | None, *, cancel: bool
) -> int:
    """Makes it stand still, and says how many runs that holds."""
    wish.check()
    if not reason:
        raise _invalid("/reason", "Say why, with --reason: others will find it standing still.")
    given: dict[str, Any] = {"reason": reason, **({"cancel": True} if cancel else {})}
    async with desk.doors.open(desk.settings()) as rooms:
        name = "admin_halt_recipe" if wish.everywhere else "halt_work"
        told = await call(rooms, name, {**await _named(rooms, wish), **given})
    return _answer(screen, told, hint("halts"))


async def release(desk: CommandContext, screen: Screen, wish: HaltSelection) -> int:
    """Lets it go on."""
    wish.check()
    async with desk.doors.open(desk.settings()) as rooms:
        name = "admin_release_recipe" if wish.everywhere else "release_work"
        try:
            told = await call(rooms, name, await _named(rooms, wish))
        except NotFound as problem:
            if problem.code != "not_halted" or wish.automation is None:
                raise
            detail = f"{wish.automation!r} is not halted by itself."
            suggestion = f"{hint('halts')} lists what stands still."
            raise NotFound(detail, code="not_halted", suggestion=suggestion) from problem
    return _answer(screen, told)


async def show_halts(desk: CommandContext, screen: Screen) -> int:
    """What stands still, the newest first."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await call(rooms, "list_halts", {})
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


async def _named(rooms: ApplicationServices, wish: HaltSelection) -> dict[str, Any]:
    if wish.everywhere:
        return {"recipe": wish.recipe}
    if wish.recipe is not None:
        return {"scope": "recipe", "recipe": wish.recipe}
    if wish.automation is None:
        return {"scope": "workspace"}
    found = await find_automation(rooms, wish.automation)
    return {"scope": "automation", "automation_id": str(found["id"])}


def _what(one: Mapping[str, Any]) -> str:
    if one["scope"] == "workspace":
        return "the workspace"
    if one["scope"] == "automation":
        return str(one["automation"])
    return f"recipe {one['recipe']}{' everywhere' if one['everywhere'] else ''}"


def _answer(screen: Screen, told: Mapping[str, Any], *hints: str) -> int:
    if screen.for_programs:
        screen.answer(told)
    else:
        screen.say(told["says"], *(f"  {one}" for one in hints))
    return exits.DONE


def _invalid(pointer: str, detail: str) -> Invalid:
    return Invalid(detail, code="not_named", findings=[Finding(pointer, detail, "not_named")])
