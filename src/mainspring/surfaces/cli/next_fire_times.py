"""``next``: the next fire times of an automation's schedules."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import format_in_zone
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import ListedTrigger, describe_trigger_summary

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_next_fire_times(context: CommandContext, screen: Screen, text: str) -> int:
    """Print the next fire times that the server computes, by trigger."""
    async with open_client(context) as client:
        found = await find_automation_at(client, text)
        listed = await client.request("GET", f"/automations/{found['id']}/triggers")
    schedules = [row for row in listed["items"] if row["type"] == "schedule"]
    if screen.for_programs:
        screen.answer({"items": [_describe(row) for row in schedules]})
        return exits.DONE
    for row in schedules:
        screen.say(*_lines(row))
    if not schedules:
        screen.say("It has no schedule.")
    return exits.DONE


def _describe(row: dict[str, Any]) -> dict[str, Any]:
    names = ("slug", "enabled", "armed_at", "next_due_at", "next_fires")
    return {name: row[name] for name in names}


def _lines(row: dict[str, Any]) -> list[str]:
    inactive = "" if row["armed_at"] or not row["enabled"] else ", once it is active"
    words = one_line(describe_trigger_summary(ListedTrigger.of(row)), 400)
    lines = [f"{words}{inactive}"]
    zone = row["config"].get("timezone")
    lines += [f"  {format_in_zone(datetime.fromisoformat(at), zone)}" for at in row["next_fires"]]
    return lines if row["next_fires"] else [*lines, "  It does not fire again."]
