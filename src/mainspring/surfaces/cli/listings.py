"""``list`` and ``runs``: automations and runs in columns, as the server lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import check_text
from mainspring.surfaces.cli.formatting import duration, format_in_zone, hint, usd
from mainspring.surfaces.cli.pages_of_rows import list_automations_at, list_rows
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext

STATE_COLOURS = {"active": "green", "paused": "yellow", "archived": "bright_black"}
# From how many columns on a list shows ids, and everything.
_WITH_ID, _WITH_ALL = 110, 170
_STATUS_COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "timed_out": "red",
    "dead": "red",
    "cancelled": "yellow",
    "waiting": "yellow",
    "running": "cyan",
    "pending": "cyan",
}


async def show_list(
    context: CommandContext, screen: Screen, *, state: str | None, search: str | None, limit: int
) -> int:
    if search is not None:
        check_text(search, "search")
    async with open_client(context) as client:
        rows = await list_automations_at(client, state=state, search=search, most=limit)
    if screen.for_programs:
        for row in rows:
            row.pop("next_due_timezone", None)
        screen.answer({"automations": rows})
    elif rows:
        screen.say(_automation_table(rows, screen))
    elif state or search:
        screen.say("There are no such automations.")
    else:
        screen.say("There are no automations yet.", f"  {hint('new')}")
    return exits.DONE


def _automation_table(rows: list[dict[str, Any]], screen: Screen) -> Table:
    from rich.text import Text

    heads = _heads(screen.console.width)
    cells: Iterator[dict[str, str | Text]] = (
        {
            "Name": one_line(row["name"], 60),
            "State": Text(state_words(row), style=STATE_COLOURS[row["state"]]),
            "Version": str(row["version"]),
            "Last run": _last_run(row["last_run"], screen),
            "Next": _next(row["next_due_at"], row.get("next_due_timezone")),
            "Failures": str(row["failures"] or ""),
            "Id": short_id(row["id"], screen),
        }
        for row in rows
    )
    return columns(heads, ([cell[head] for head in heads] for cell in cells), whole=heads[1:])


def _heads(width: int) -> tuple[str, ...]:
    """As many columns as fit without a broken word."""
    if width < _WITH_ID:
        return ("Name", "State", "Last run", "Next")
    if width < _WITH_ALL:
        return ("Name", "State", "Last run", "Next", "Id")
    return ("Name", "State", "Version", "Last run", "Next", "Failures", "Id")


def _next(at: datetime | None, zone: str | None) -> str:
    return "" if at is None else format_in_zone(at, zone)


def _last_run(run: Mapping[str, Any] | None, screen: Screen) -> str:
    if run is None:
        return ""
    narrow = screen.console.width < _WITH_ALL
    return run["status"] if narrow else f"{run['status']} {format_time(run['at'], screen)}"


def state_words(row: Mapping[str, Any]) -> str:
    """The state, and why when nobody asked for it."""
    reason = row["paused_reason"]
    words = f"{row['state']} ({reason})" if reason and row["state"] == "paused" else row["state"]
    return f"{words}, halted" if row["halted"] is not None else words


async def show_runs(
    context: CommandContext,
    screen: Screen,
    *,
    status: str | None,
    automation: str | None,
    limit: int,
) -> int:
    async with open_client(context) as client:
        query = {"status": status}
        if automation is not None:
            from mainspring.surfaces.cli.lookup import find_automation_at

            query["automation_id"] = str((await find_automation_at(client, automation))["id"])
        runs = await list_rows(client, "/runs", limit, query)
    if screen.for_programs:
        screen.answer({"runs": runs})
    elif runs:
        screen.say(_run_table(runs, screen))
    else:
        screen.say("There are no such runs." if status or automation else "There are no runs yet.")
    return exits.DONE


def _run_table(runs: list[dict[str, Any]], screen: Screen) -> Table:
    from rich.text import Text

    heads = ("Run", "Automation", "Status", "Outcome", "By", "Started", "Took", "Cost")
    rows = (
        (
            short_id(run["id"], screen),
            f"{one_line(run['automation'], 40)} v{run['version']}",
            Text(_status(run), style=_STATUS_COLOURS.get(run["status"], "")),
            _outcome(run),
            started_by(run),
            format_time(run["started_at"] or run["created_at"], screen),
            _took(run),
            usd(run["cost_usd"]),
        )
        for run in runs
    )
    return columns(heads, rows, whole=("Run", "Status", "Started"))


def _status(run: Mapping[str, Any]) -> str:
    if run["halted"] is not None:
        return f"{run['status']} (held)"
    reason = f" ({run['reason']})" if run["reason"] and run["status"] == "skipped" else ""
    return f"{run['status']}{reason}"


def _outcome(run: Mapping[str, Any]) -> str:
    """What it came to; a run that a person ended came to that."""
    return "cancelled" if run["status"] == "cancelled" else run["outcome"] or ""


def started_by(run: Mapping[str, Any]) -> str:
    """What started it, and how much it may do if that is not everything."""
    kind = str(run["trigger_type"])
    if run["mode"] == "live":
        return kind
    from mainspring.runs.story import MODES

    return f"{kind}, {MODES[run['mode']]}"


def _took(run: Mapping[str, Any]) -> str:
    if run["started_at"] is None or run["finished_at"] is None:
        return ""
    return duration((run["finished_at"] - run["started_at"]).total_seconds())
