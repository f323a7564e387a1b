"""``halt``, ``release``, ``halts`` and ``workers``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import duration, hint
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


@dataclass(frozen=True, slots=True)
class HaltSelection:
    """What to halt: an automation, a recipe or the workspace."""

    automation: str | None = None
    recipe: str | None = None
    whole: bool = False
    everywhere: bool = False

    def check(self) -> None:
        """Requires exactly one of the three."""
        named = [self.automation is not None, self.recipe is not None, self.whole]
        if sum(named) != 1:
            raise _invalid("/automation", "Name exactly one of: an automation, --recipe, or --all.")
        if self.everywhere and self.recipe is None:
            raise _invalid("/everywhere", "--everywhere needs --recipe.")


async def halt_selected(
    context: CommandContext,
    screen: Screen,
    *,
    reason: str | None,
    cancel: bool,
    **selected: Any,
) -> int:
    return await halt(context, screen, HaltSelection(**selected), reason, cancel=cancel)


async def release_selected(context: CommandContext, screen: Screen, **selected: Any) -> int:
    return await release(context, screen, HaltSelection(**selected))


async def halt(
    context: CommandContext,
    screen: Screen,
    selection: HaltSelection,
    reason: str | None,
    *,
    cancel: bool,
) -> int:
    """Halts it, and prints how many runs are held."""
    selection.check()
    if not reason:
        raise _invalid(
            "/reason", "Give a reason with --reason. It is shown wherever the halt is listed."
        )
    arguments: dict[str, Any] = {"reason": reason, **({"cancel": True} if cancel else {})}
    async with open_client(context) as client:
        name = "admin_halt_recipe" if selection.everywhere else "halt_work"
        told = await client.call(name, {**await _build_arguments(client, selection), **arguments})
    return _answer(screen, told, hint("halts"))


async def release(context: CommandContext, screen: Screen, selection: HaltSelection) -> int:
    """Releases a halt."""
    selection.check()
    async with open_client(context) as client:
        name = "admin_release_recipe" if selection.everywhere else "release_work"
        try:
            told = await client.call(name, await _build_arguments(client, selection))
        except NotFound as problem:
            if problem.code != "not_halted" or selection.automation is None:
                raise
            detail = f"{selection.automation!r} is not halted by itself."
            suggestion = f"{hint('halts')} lists what is halted."
            raise NotFound(detail, code="not_halted", suggestion=suggestion) from problem
    return _answer(screen, told)


async def show_halts(context: CommandContext, screen: Screen) -> int:
    """Lists halts, newest first."""
    async with open_client(context) as client:
        found = await client.call("list_halts", {})
    if screen.for_programs:
        screen.answer(found)
    elif found["halts"]:
        heads = ("Halted", "Since", "By", "Held", "Running", "Reason")
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


async def _build_arguments(client: ApiClient, selection: HaltSelection) -> dict[str, Any]:
    if selection.everywhere:
        return {"recipe": selection.recipe}
    if selection.recipe is not None:
        return {"scope": "recipe", "recipe": selection.recipe}
    if selection.automation is None:
        return {"scope": "workspace"}
    found = await find_automation_at(client, selection.automation)
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


# --- workers


async def show_workers(context: CommandContext, screen: Screen) -> int:
    """The workers with a living lease, then the numbers of the queues."""
    async with open_client(context) as client:
        found = await client.call("admin_list_workers", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    if not found["workers"]:
        screen.say(f"No worker is alive. {hint('worker')} starts one here.")
    else:
        titles = ("Worker", "Name", "Queues", "Slots", "In flight", "Since", "Lease until", "")
        rows = [_row(one, screen) for one in found["workers"]]
        screen.say(columns(titles, rows, whole=("Worker", "Since", "Lease until")))
    heads = ("Queue", "Due", "Oldest", "In flight", "Held", "Slots", "Workers")
    numbers = [
        (
            one["queue"],
            str(one["due_runs"]),
            duration(one["oldest_seconds"]),
            str(one["in_flight"]),
            str(one["held_runs"]),
            str(one["slots"]),
            str(one["workers"]),
        )
        for one in found["queues"]
    ]
    screen.say("", columns(heads, numbers))
    return exits.DONE


async def drain_workers(
    context: CommandContext, screen: Screen, worker: str | None, host: str | None
) -> int:
    """Takes nothing new from the moment of the answer on; it leaves at its next heartbeat."""
    if (worker is None) == (host is None):
        detail = "Name one worker, or a machine with --host."
        suggestion = f"{hint('workers')} lists them."
        finding = Finding("/worker", detail, "worker_or_host", suggestion)
        raise Invalid(detail, code="not_named", suggestion=suggestion, findings=[finding])
    given = {"worker": worker, "host": host}
    async with open_client(context) as client:
        named = {name: value for name, value in given.items() if value is not None}
        found = await client.call("admin_drain_workers", named)
    if screen.for_programs:
        screen.answer(found)
    else:
        # There is no way back from here, and nobody should look for one.
        screen.say(
            found["says"],
            "  Running steps may finish for MAINSPRING_STOP_SECONDS; the rest is requeued.",
            "  This cannot be undone: start a new worker. A worker of `up` stays down until that "
            "server is restarted.",
            f"  {hint('workers')}",
        )
    return exits.DONE


def _row(one: dict[str, Any], screen: Screen) -> tuple[str, ...]:
    def at(name: str) -> str:
        return format_time(datetime.fromisoformat(one[name]), screen)

    return (
        str(one["worker_id"]),
        one_line(one["name"], 60),
        ", ".join(one["queues"]),
        str(one["slots"]),
        str(one["in_flight"]),
        at("started_at"),
        at("lease_until"),
        "" if one["drain_at"] is None else "draining",
    )
