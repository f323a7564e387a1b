"""``workers``: who works where, what each queue asks, and sending a worker away."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Finding, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.formatting import duration, hint
from mainspring.surfaces.cli.proposals import call
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_workers(context: CommandContext, screen: Screen) -> int:
    """The workers with a living lease, then the numbers of the queues."""
    async with context.doors.open(context.settings()) as services:
        found = await call(services, "admin_list_workers", {})
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
    async with context.doors.open(context.settings()) as services:
        named = {name: value for name, value in given.items() if value is not None}
        found = await call(services, "admin_drain_workers", named)
    if screen.for_programs:
        screen.answer(found)
    else:
        # There is no way back from here, and nobody should look for one.
        screen.say(
            found["says"],
            "  What is under way may finish for MAINSPRING_STOP_SECONDS; the rest is handed back.",
            "  It is not called back: start a worker anew. One of `up` stays down until that "
            "server is started anew.",
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
