"""``runs``, ``logs``, ``cancel`` and ``inbox``: what is recorded, shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, Missing
from mainspring.runs.history import find_run, list_runs, read_run
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.closing import error_lines, output_lines, verdict
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.timeline import Line, paint
from mainspring.surfaces.cli.words import clock_time, count, date_time, duration, usd

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms

LAST = "last"
# An id begins with its time: fewer characters than this name a stretch of days.
_SHORTEST_PREFIX = 4
_WIDE_COLUMNS = 120
# The part of an id that is its time, to the millisecond: enough to find the run again.
_TIME_OF_ID = 13
_LEVELS = {"info": "told", "warning": "warning", "error": "failed"}
_STATUS_COLOURS = {
    "succeeded": "green", "failed": "red", "timed_out": "red", "dead": "red",
    "cancelled": "yellow", "waiting": "yellow", "running": "cyan", "pending": "cyan",
}  # fmt: skip


async def find(rooms: Rooms, text: str) -> UUID:
    """The run that a person means: an id, the beginning of one, or the last run."""
    async with rooms.database.acquire() as connection:
        if text == LAST:
            newest = await list_runs(connection, rooms.workspace_id, most=1)
            if not newest:
                raise Missing("There are no runs yet.", code="no_run")
            return UUID(str(newest[0]["id"]))
        if len(text) < _SHORTEST_PREFIX:
            raise Invalid(
                f"At least {_SHORTEST_PREFIX} characters of a run's id are needed.",
                code="run_id_short",
                suggestion="`mainspring runs` lists the ids; `last` means the newest run.",
            )
        return await find_run(connection, rooms.workspace_id, text)


async def show_runs(
    desk: Desk, screen: Screen, *, status: str | None, automation: str | None, most: int
) -> int:
    async with desk.doors.open(desk.settings()) as rooms, rooms.database.acquire() as connection:
        runs = await list_runs(
            connection, rooms.workspace_id, status=status, automation=automation, most=most
        )
    if screen.for_programs:
        screen.answer({"runs": runs})
    elif runs:
        screen.say(_table(runs, screen))
    else:
        screen.say("There are no such runs." if status or automation else "There are no runs yet.")
    return exits.DONE


def _table(runs: list[dict[str, Any]], screen: Screen) -> Table:
    from rich.table import Table
    from rich.text import Text

    narrow = screen.console.width < _WIDE_COLUMNS
    table = Table(box=None, pad_edge=False)
    for head in ("Run", "Automation", "Status", "Outcome", "Started", "Took", "Cost"):
        table.add_column(head, no_wrap=head in ("Run", "Status", "Started"), overflow="fold")
    for run in runs:
        reason = f" ({run['reason']})" if run["reason"] and run["status"] == "skipped" else ""
        table.add_row(
            str(run["id"])[: _TIME_OF_ID if narrow else None],
            Text(f"{one_line(run['automation'], 40)} v{run['version']}"),
            Text(f"{run['status']}{reason}", style=_STATUS_COLOURS.get(run["status"], "")),
            run["outcome"] or "",
            (clock_time if narrow else date_time)(run["started_at"] or run["created_at"]),
            _took(run),
            usd(run["cost_usd"]),
        )
    return table


def _took(run: Mapping[str, Any]) -> str:
    if run["started_at"] is None or run["finished_at"] is None:
        return ""
    return duration((run["finished_at"] - run["started_at"]).total_seconds())


async def show_logs(desk: Desk, screen: Screen, text: str, *, calls: bool) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        run_id = await find(rooms, text)
        async with rooms.database.acquire() as connection:
            run = await read_run(connection, rooms.workspace_id, run_id)
    if screen.for_programs:
        screen.answer(run)
        return exits.DONE
    screen.say(*_head(run, screen), "")
    for row in run["steps"]:
        screen.say(paint(_line(row), screen))
        if calls:
            screen.say(*_call_lines(run, row))
    screen.say("", *verdict(run, screen), *error_lines(run))
    if run["output"] is not None:
        screen.say(*output_lines("output", run["output"]))
    return exits.DONE


def _head(run: Mapping[str, Any], screen: Screen) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("told")
    facts = [
        f"{run['trigger_type']} run {run['id']}",
        f"started {date_time(run['started_at'] or run['created_at'])}",
        f"queue {run['queue']}, cost {usd(run['cost_usd'])}",
    ]
    if run["attempt"] > 1:
        facts.append(f"round {run['attempt']}")
    if run["takeovers"]:
        facts.append(f"lost its worker {count(run['takeovers'], 'time')}")
    name = Text(f"{one_line(run['automation'])} (version {run['version']})", style="bold")
    lines = [name, *(Text.assemble("  ", (sign, colour), f" {fact}") for fact in facts)]
    return lines + (output_lines("inputs", run["inputs"]) if run["inputs"] else [])


def _line(row: Mapping[str, Any]) -> Line:
    """One recorded attempt at a step."""
    at = clock_time(row["finished_at"])
    match row["status"]:
        case "waiting":
            words = f"{at}  waiting until {clock_time(row['until'])}"
        case "skipped":
            words = f"{at}  skipped"
        case "succeeded":
            words = f"{at}  {duration(row['ms'] / 1000)}"
            words += f", attempt {row['attempt']}" if row["attempt"] > 1 else ""
        case _:
            reason = (row["error"] or {}).get("detail", "")
            words = f"{at}  attempt {row['attempt']} failed after "
            words += f"{duration(row['ms'] / 1000)}: {reason}"
    return Line(row["status"], row["step"], row["item"], words, row["output"])


def _call_lines(run: Mapping[str, Any], row: Mapping[str, Any]) -> list[Text]:
    """The calls of one attempt, with what was redacted when they were recorded."""
    from rich.text import Text

    place = ("step", "item", "attempt")
    found = [call for call in run["calls"] if all(call[key] == row[key] for key in place)]
    lines = []
    for call in found:
        took = duration(call["ms"] / 1000)
        said = one_line(as_json(call["arguments"], indent=None), 300)
        lines.append(
            Text(f"      {call['capability']}: {call['outcome']}, {took}  {said}", "bright_black")
        )
        if call["error"]:
            lines.append(Text(f"        {one_line(str(call['error'].get('detail', '')), 300)}"))
    return lines


async def cancel(desk: Desk, screen: Screen, text: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        run_id = await find(rooms, text)
        said = await rooms.control.cancel(rooms.workspace_id, run_id)
    if screen.for_programs:
        screen.answer({"id": str(run_id), "status": said})
    elif said == "cancelling":
        screen.say(f"The worker of {run_id} is asked to stop; the run ends when it does.")
    else:
        screen.say(f"The run {run_id} is cancelled.")
    return exits.DONE


async def show_inbox(desk: Desk, screen: Screen, *, most: int) -> int:
    from mainspring.workspace.inbox import notifications

    async with desk.doors.open(desk.settings()) as rooms, rooms.database.acquire() as connection:
        found = await notifications(connection, rooms.workspace_id, most)
    if screen.for_programs:
        screen.answer({"notifications": found})
        return exits.DONE
    if not found:
        screen.say("The inbox is empty.")
    for entry in found:
        screen.say(*_message_lines(entry, screen))
    return exits.DONE


def _message_lines(entry: Mapping[str, Any], screen: Screen) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark(_LEVELS[entry["level"]])
    head = Text.assemble((sign, colour), " ", (one_line(entry["title"]), "bold"))
    head.append(f"  {date_time(entry['created_at'])}", style="bright_black")
    body = [Text(f"  {one_line(line, 400)}") for line in entry["message"].splitlines()]
    if entry["run_id"] is not None:
        body.append(Text(f"  run {entry['run_id']}", style="bright_black"))
    return [head, *body]
