"""``events`` and ``publish``: the log of facts, and telling one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.event import Event, EventQuery
from mainspring.store.events import EventNotifier, EventTable
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, is_narrow, short_id
from mainspring.surfaces.cli.documents import check_text, read_object
from mainspring.surfaces.cli.formatting import date_time, hint
from mainspring.surfaces.cli.local import AuditedAction, local
from mainspring.surfaces.cli.lookup import find_one
from mainspring.surfaces.cli.run_result import output_lines
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.triggers.event_consumers import list_event_consumers
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.events import PublishedEvent, publish, republish

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.contracts.context import Transaction
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

_PAYLOAD_WIDE, _PAYLOAD_NARROW = 120, 24


async def show_events(
    context: CommandContext, screen: Screen, *, kind: str | None, most: int
) -> int:
    if kind is not None:
        check_text(kind, "type")
    async with (
        context.doors.open(context.settings()) as services,
        local(services).acquire() as connection,
    ):
        log = EventTable(services.limits)
        found = await log.list(connection, services.workspace_id, EventQuery(type=kind), most)
    if screen.for_programs:
        screen.answer({"events": [_describe_event(event) for event in found]})
    elif found:
        screen.say(_table(found, screen))
    else:
        screen.say("There are no such events." if kind else "There are no events yet.")
    return exits.DONE


def _table(found: Sequence[Event], screen: Screen) -> Table:
    width = _PAYLOAD_NARROW if is_narrow(screen) else _PAYLOAD_WIDE
    rows = (
        (
            short_id(event.id, screen),
            event.type,
            one_line(event.source_id, 40),
            format_time(event.created_at, screen),
            one_line(as_json(event.payload, indent=None), width),
        )
        for event in found
    )
    return columns(("Event", "Type", "Source", "Told", "Payload"), rows, whole=("Event", "Told"))


async def show_event(context: CommandContext, screen: Screen, text: str) -> int:
    """One event, and what it set off."""
    async with (
        context.doors.open(context.settings()) as services,
        local(services).acquire() as connection,
    ):
        event = await _find(connection, services, text)
        consumed = await list_event_consumers(connection, services.workspace_id, event.id)
        names = await _names(connection, services, consumed)
    if screen.for_programs:
        screen.answer({**_describe_event(event), "consumed_by": consumed})
    else:
        screen.say(*_lines(event, consumed, names))
    return exits.DONE


async def _names(
    tx: Transaction, services: ApplicationServices, consumed: Sequence[Mapping[str, Any]]
) -> dict[UUID, str]:
    wanted = {row["automation_id"] for row in consumed if row["automation_id"] is not None}
    return {
        one: (await read_automation(tx, services.workspace_id, one))["name"]
        for one in sorted(wanted)
    }


def _lines(
    event: Event, consumed: Sequence[Mapping[str, Any]], names: Mapping[UUID, str]
) -> list[Text]:
    from rich.text import Text

    lines = [
        Text(event.type, style="bold"),
        Text(f"  id {event.id}"),
        Text(f"  told {date_time(event.created_at)} of {one_line(event.source_id)}"),
    ]
    if event.run_id is not None:
        lines.append(Text(f"  by the run {event.run_id}"))
    if event.replay_of is not None:
        lines.append(Text(f"  repeats {event.replay_of}"))
    lines += output_lines("payload", event.payload)
    for row in consumed:
        who = one_line(names.get(row["automation_id"], "an automation that is gone"))
        why = f" ({row['reason']})" if row["reason"] else ""
        run = f", run {row['run_id']}" if row["run_id"] else ""
        lines.append(Text(f"  set off {who}: {row['status'] or 'no run'}{why}{run}"))
    if not consumed:
        lines.append(Text("  set nothing off"))
    return lines


async def tell(
    context: CommandContext, screen: Screen, kind: str, payload: str | None, source: str
) -> int:
    """Puts a fact into the log, where the triggers of all automations see it."""
    limits = context.limits()
    told = {} if payload is None else read_object(payload, limits, "payload")
    check_text(source, "source")
    async with context.doors.open(context.settings()) as services:
        deed = AuditedAction("post_event")
        async with local(services, deed).transaction() as tx:
            event_id = await publish(
                tx,
                services.workspace_id,
                PublishedEvent(kind, told, source),
                limits,
                services.registry.events,
            )
            deed.detail = {"event_id": str(event_id), "type": kind}
        EventNotifier(services.wakeup_sender).tell()
    _say_told(screen, event_id, kind)
    return exits.DONE


async def tell_once_more(context: CommandContext, screen: Screen, text: str) -> int:
    """A copy of an event, for the triggers of today."""
    async with context.doors.open(context.settings()) as services:
        deed = AuditedAction("replay_event")
        async with local(services, deed).transaction() as tx:
            event = await _find(tx, services, text)
            event_id = await republish(tx, event)
            deed.subject = event.id
            deed.detail = {"event_id": str(event_id), "type": event.type}
        EventNotifier(services.wakeup_sender).tell()
    _say_told(screen, event_id, event.type, event.id)
    return exits.DONE


def _say_told(screen: Screen, event_id: UUID, kind: str, again: UUID | None = None) -> None:
    if screen.for_programs:
        screen.answer({"id": event_id, "type": kind, "replay_of": again})
        return
    screen.say(f"The event {event_id} ({kind}) is in the log.")
    screen.say(f"  {hint('events', 'show', event_id)}")


async def _find(tx: Transaction, services: ApplicationServices, text: str) -> Event:
    log = EventTable(services.limits)

    async def page(before: UUID | None) -> Sequence[Event]:
        return await log.list(tx, services.workspace_id, EventQuery(before=before), 2)

    return await find_one(text, page, _id_of, kind="event")


def _id_of(event: Event) -> UUID:
    return event.id


def _describe_event(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "source_id": event.source_id,
        "payload": event.payload,
        "created_at": event.created_at,
        "run_id": event.run_id,
        "replay_of": event.replay_of,
    }
