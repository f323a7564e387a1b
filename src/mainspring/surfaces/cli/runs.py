"""``logs`` and ``cancel``: what is recorded of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import enter_event_loop, open_client
from mainspring.surfaces.cli.formatting import count, date_time, duration, hint, usd
from mainspring.surfaces.cli.ledger import usage_lines
from mainspring.surfaces.cli.listings import started_by
from mainspring.surfaces.cli.lookup import SHORTEST_PREFIX, beginning_with
from mainspring.surfaces.cli.pages_of_rows import FINAL, list_rows, read_run_at
from mainspring.surfaces.cli.run_result import error_lines, move_lines, output_lines, verdict
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.timeline import paint, step_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.services import ApplicationServices

LAST = "last"


async def find(services: ApplicationServices, text: str) -> UUID:
    """The run that a person means, in this process."""
    from mainspring.runs.history import find_run, list_runs
    from mainspring.surfaces.cli.local import local

    async with local(services).acquire() as connection:
        if text == LAST:
            newest = await list_runs(connection, services.workspace_id, most=1)
            return UUID(str(_newest(newest)))
        _check_length(text)
        return await find_run(connection, services.workspace_id, text)


async def find_run_at(client: ApiClient, text: str) -> str:
    """The id of a run: an id, the beginning of one, or the newest run."""
    if text == LAST:
        return _newest(await list_rows(client, "/runs", 1, {}))
    _check_length(text)

    async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
        return await list_rows(client, "/runs", 2, {}, after=before)

    found = await beginning_with(text, page, lambda row: UUID(row["id"]))
    if not found:
        raise NotFound(f"There is no run whose id begins with {text[:40]!r}.", code="no_run")
    if len(found) > 1:
        raise Conflict(
            f"There are several runs whose id begins with {text[:40]!r}.",
            code="ambiguous_run",
            suggestion="Give more characters of the id.",
        )
    return str(found[0]["id"])


def _newest(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        raise NotFound("There are no runs yet.", code="no_run")
    return str(rows[0]["id"])


def _check_length(text: str) -> None:
    if len(text) < SHORTEST_PREFIX:
        raise Invalid(
            f"Give at least {SHORTEST_PREFIX} characters of a run's id.",
            code="run_id_short",
            suggestion=f"{hint('runs')} lists the ids; `last` is the newest run.",
        )


async def show_logs(
    context: CommandContext, screen: Screen, text: str, *, calls: bool, follow: bool = False
) -> int:
    """What is recorded of a run; with ``follow`` also what is still to come."""
    async with open_client(context) as client:
        run_id = await find_run_at(client, text)
        run = await read_run_at(client, run_id)
        screen.say(*_head(run, screen), "")
        if follow:
            from mainspring.surfaces.cli.run_watcher import RunWatcher

            await enter_event_loop()
            await RunWatcher(client, run_id, screen).until_end()
            run = await read_run_at(client, run_id)
        in_force = (await client.request("GET", f"/automations/{run['automation_id']}"))["version"]
    if screen.for_programs:
        screen.answer(run)
    else:
        _say_rest(screen, run, calls=calls, steps=not follow)
        if run["usage"]:
            screen.say("", "model calls:", *usage_lines(run["usage"]))
        if run["transcripts"]:
            screen.say("", "agent transcripts:", *_format_transcripts(run_id, run["transcripts"]))
        if run["status"] in FINAL:
            screen.say(*move_lines(run, in_force=in_force))
    return exits.UNFINISHED if follow and run["status"] not in FINAL else exits.DONE


def _say_rest(screen: Screen, run: Mapping[str, Any], *, calls: bool, steps: bool) -> None:
    """Each step with its calls, and what became of the whole."""
    for row in run["steps"]:
        if steps:
            screen.say(paint(step_line(row), screen), *_format_process(run, row))
        if calls:
            screen.say(*_call_lines(run, row))
    screen.say("", *verdict(run, screen), *error_lines(run))
    if run["output"] is not None:
        screen.say(*output_lines("output", run["output"]))


def _head(run: Mapping[str, Any], screen: Screen) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("told")
    facts = [
        f"{started_by(run)} run {run['id']}",
        f"started {date_time(run['started_at'] or run['created_at'])}",
        f"queue {run['queue']}, cost {usd(run['cost_usd'])}",
    ]
    if run["attempt"] > 1:
        facts.append(f"attempt {run['attempt']}")
    if run["takeovers"]:
        facts.append(f"lost its worker {count(run['takeovers'], 'time')}")
    if run["halted"] is not None:
        facts.append(f"held by a halt: {one_line(run['halted'], 300)}")
    name = Text(f"{one_line(run['automation'])} (version {run['version']})", style="bold")
    lines = [name, *(Text.assemble("  ", (sign, colour), f" {fact}") for fact in facts)]
    return lines + (output_lines("inputs", run["inputs"]) if run["inputs"] else [])


def _format_process(run: Mapping[str, Any], row: Mapping[str, Any]) -> list[Text]:
    """How the process of a step ended, and where what it said can be read."""
    from rich.text import Text

    end = row["process"]
    if end is None:
        return []
    code = end.get("exit_code")
    facts = ["killed" if code is None else f"exit code {code}"]
    if end.get("reason"):
        facts.append(one_line(str(end["reason"]), 60))
    said = int(end.get("out_bytes") or 0) + int(end.get("err_bytes") or 0)
    if said:
        where = hint("runs", "output", str(run["id"]), "--step", row["step"])
        facts.append(f"{count(said, 'byte')} of output: {where}")
    return [Text(f"      {', '.join(facts)}", "bright_black")]


def _format_transcripts(run_id: str, kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which conversations are kept, and the command that shows them."""
    lines = [f"  {row['step']}: artifact {row['artifact_id']}" for row in kept]
    return [*lines, f"  {hint('runs', 'transcript', run_id)}"]


def _call_lines(run: Mapping[str, Any], row: Mapping[str, Any]) -> list[Text]:
    """The calls of one attempt, with what was redacted when they were recorded."""
    from rich.text import Text

    place = ("step", "item", "attempt")
    found = [call for call in run["calls"] if all(call[key] == row[key] for key in place)]
    lines = []
    for call in found:
        took = duration(call["ms"] / 1000)
        text = one_line(as_json(call["arguments"], indent=None), 300)
        lines.append(
            Text(f"      {call['capability']}: {call['outcome']}, {took}  {text}", "bright_black")
        )
        if call["error"]:
            lines.append(Text(f"        {one_line(str(call['error'].get('detail', '')), 300)}"))
    return lines


async def cancel(context: CommandContext, screen: Screen, text: str) -> int:
    async with open_client(context) as client:
        run_id = await find_run_at(client, text)
        said = (await client.request("POST", f"/runs/{run_id}/cancel"))["status"]
    if screen.for_programs:
        screen.answer({"id": run_id, "status": said})
    elif said == "cancelling":
        screen.say(f"Cancelling {run_id}. It ends when its worker stops it.")
    else:
        screen.say(f"Cancelled {run_id}.")
    return exits.DONE
