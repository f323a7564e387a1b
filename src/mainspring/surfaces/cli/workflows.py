"""``workflows``: made, listed, shown, switched and deleted, through the gate like every call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.boards import board_id_of
from mainspring.surfaces.cli.columns import columns, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


def read_kpi(text: str) -> dict[str, Any]:
    """A name and the number to reach, as in Sales=100."""
    name, sign, number = text.rpartition("=")
    if not sign or not name.strip():
        raise Invalid(f"{text!r} is no KPI.", code="usage", suggestion="As in --kpi Sales=100.")
    return {"name": name.strip(), "target": read_number(number, name)}


def read_deadline(text: str) -> dict[str, str]:
    """A label and a day, as in Beta=2026-12-31."""
    label, sign, day = text.rpartition("=")
    if not sign or not label.strip():
        raise Invalid(
            f"{text!r} is no deadline.",
            code="usage",
            suggestion="As in --deadline Beta=2026-12-31.",
        )
    try:
        date.fromisoformat(day.strip())
    except ValueError:
        raise Invalid(
            f"--deadline {one_line(text, 80)}: {one_line(day.strip(), 40)!r} is no day.",
            code="usage",
            suggestion="As in --deadline Beta=2026-12-31.",
        ) from None
    return {"label": label.strip(), "date": day.strip()}


def read_number(text: str, name: str) -> float:
    """A KPI is a number; whole ones stay whole."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise Invalid(
            f"{text!r} is no number, and the KPI {name.strip()!r} is one.",
            code="usage",
            suggestion="As in 12 or 12.5.",
        )
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


async def list_workflows(context: CommandContext, screen: Screen, status: str | None) -> int:
    async with open_client(context) as client:
        found = await _all(client, status)
    if screen.for_programs:
        screen.answer({"workflows": found})
    elif not found:
        screen.say("There are no workflows yet.", f"  {hint('workflows', 'create', 'TITLE')}")
    else:
        rows = [
            (
                short_id(one["id"], screen),
                one_line(one["title"], 60),
                one["status"],
                str(len(one["kpis"])),
                str(len(one["automations"])),
            )
            for one in found
        ]
        heads = ("Id", "Title", "Status", "KPIs", "Automations")
        screen.say(columns(heads, rows, whole=("Id",)))
    return exits.DONE


async def show_workflow(context: CommandContext, screen: Screen, workflow: str) -> int:
    async with open_client(context) as client:
        workflow_id = await _id_of(client, workflow)
        found = await _call(client, "get_workflow", workflow_id=workflow_id, standing=True)
        people = (await client.request("GET", "/members"))["members"]
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    screen.say(f"{one_line(found['title'])}  {found['id']}  {found['status']}")
    if found["charter"]:
        screen.say(one_line(found["charter"], 400))
    for score in found["standing"]["scores"]:
        screen.say(f"  {_score(score)}")
    for deadline in found["deadlines"]:
        screen.say(f"  {deadline['date']}  {one_line(deadline['label'])}")
    names = {str(one["id"]): one["name"] or one["email"] for one in people}
    for one in found["roster"]:
        name = one_line(names.get(one["user_id"]) or one["user_id"], 80)
        screen.say(f"  {name}  {one['role']}")
    for one in found["automations"]:
        screen.say(f"  {one['automation_id']}  {one_line(one['name'], 80)}  {one['state']}")
    if found["board_id"]:
        screen.say(f"  {hint('boards', 'show', found['board_id'], '--dataset', 'tasks')}")
    return exits.DONE


def _score(score: Mapping[str, Any]) -> str:
    now = "not known" if score["current"] is None else f"{score['current']:g}"
    passed = "" if score["elapsed"] is None else f", {score['elapsed']:.0%} of the time passed"
    slips = ", slipping" if score["slipping"] == "yes" else ""
    unit = f" {one_line(score['unit'])}" if score["unit"] else ""
    return f"{one_line(score['kpi'])}: {now} of {score['target']:g}{unit}{passed}{slips}"


async def create_workflow(
    context: CommandContext,
    screen: Screen,
    title: str,
    charter: str,
    kpis: Sequence[str] | None,
    deadlines: Sequence[str] | None,
    templates: Sequence[str] | None,
    board: str | None,
    status: str,
    timezone: str | None,
) -> int:
    arguments: dict[str, Any] = {
        "title": title,
        "charter": charter,
        "kpis": [read_kpi(one) for one in kpis or ()],
        "deadlines": [read_deadline(one) for one in deadlines or ()],
        "templates": list(templates or ()),
        "status": status,
    }
    if timezone is not None:
        arguments["timezone"] = timezone
    async with open_client(context) as client:
        if board is not None:
            arguments["board_id"] = await board_id_of(client, board)
        made = await _call(client, "create_workflow", **arguments)
    if screen.for_programs:
        screen.answer(made)
        return exits.DONE
    screen.say(f"The workflow {one_line(made['title'])} is {made['id']}: {made['status']}.")
    _say_waiting(screen, made)
    if made["status"] != "active":
        screen.say(f"  {hint('workflows', 'status', made['id'], 'active')}")
    return exits.DONE


async def set_status(context: CommandContext, screen: Screen, workflow: str, status: str) -> int:
    async with open_client(context) as client:
        workflow_id = await _id_of(client, workflow)
        told = await _call(client, "set_workflow_status", workflow_id=workflow_id, status=status)
    if screen.for_programs:
        screen.answer(told)
        return exits.DONE
    moved, word = (
        told["activated"] or told["paused"],
        "activated" if status == "active" else "paused",
    )
    screen.say(f"The workflow is {status}; {count(len(moved), 'automation')} {word}.")
    _say_waiting(screen, told)
    return exits.DONE


async def delete_workflow(
    context: CommandContext, screen: Screen, workflow: str, *, board: bool
) -> int:
    async with open_client(context) as client:
        workflow_id = await _id_of(client, workflow)
        gone = await _call(client, "delete_workflow", workflow_id=workflow_id, delete_board=board)
    if screen.for_programs:
        screen.answer(gone)
        return exits.DONE
    archived = count(len(gone["automations_archived"]), "automation")
    left = "" if gone["board_id"] is None else " Its board stays."
    screen.say(
        f"The workflow is deleted; {archived} archived."
        + (" Its board is archived." if gone["board_archived"] else left)
    )
    return exits.DONE


async def set_kpi(
    context: CommandContext, screen: Screen, workflow: str, name: str, value: str
) -> int:
    current = read_number(value, name)
    async with open_client(context) as client:
        workflow_id = await _id_of(client, workflow)
        told = await _call(
            client, "set_workflow_kpi", workflow_id=workflow_id, name=name, current=current
        )
    if screen.for_programs:
        screen.answer(told)
    else:
        screen.say(f"{one_line(name)}: {told['current']:g} of {told['target']:g}.")
    return exits.DONE


def _say_waiting(screen: Screen, result: Mapping[str, Any]) -> None:
    for one in result["waiting"]:
        screen.say(f"  {one_line(one['name'], 80)} is not active: {one_line(one['detail'], 300)}")


async def _all(client: ApiClient, status: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {} if status is None else {"status": status}
    while True:
        page = await _call(client, "list_workflows", limit=200, **more)
        found += page["workflows"]
        if page["next"] is None:
            return found
        more["after"] = page["next"]


async def _id_of(client: ApiClient, named: str) -> str:
    """The id of a workflow that is given by it, by its beginning, or by its title."""
    try:
        return str(UUID(named))
    except ValueError:
        pass
    known = await _all(client)
    found = [one["id"] for one in known if one["title"] == named]
    found = found or [one["id"] for one in known if len(named) > 7 and one["id"].startswith(named)]
    if not found:
        raise NotFound(
            f"There is no workflow called {named[:200]!r}.",
            code="no_workflow",
            suggestion=f"See what there is: {hint('workflows', 'list')}",
        )
    if len(found) > 1:
        raise Conflict(
            f"{len(found)} workflows are called {named[:200]!r}: {', '.join(found[:20])}.",
            code="ambiguous_name",
            suggestion="Name the one you mean by its id.",
        )
    return str(found[0])


async def _call(client: ApiClient, capability: str, **arguments: Any) -> dict[str, Any]:
    try:
        answer = await client.call(capability, arguments)
    except Problem as problem:
        if problem.code == "no_workflow":
            problem.suggestion = f"See what there is: {hint('workflows', 'list')}"
        if capability == "set_workflow_kpi" and [one.pointer for one in problem.findings] == [
            "/name"
        ]:
            # The sentence says it all, and what the way out names is no command.
            problem.findings, problem.suggestion = (), None
        raise
    return answer
