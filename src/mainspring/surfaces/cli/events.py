"""``events`` and ``publish``: list, show, replay and publish events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, is_narrow, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import check_text, read_object
from mainspring.surfaces.cli.formatting import date_time, hint
from mainspring.surfaces.cli.lookup import find_row_at
from mainspring.surfaces.cli.pages_of_rows import list_rows
from mainspring.surfaces.cli.run_result import output_lines
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

# The longest type that the API accepts.
_LONGEST_TYPE = 200
_PAYLOAD_WIDE, _PAYLOAD_NARROW = 120, 24


async def show_events(
    context: CommandContext, screen: Screen, *, kind: str | None, most: int
) -> int:
    if kind is not None:
        check_text(kind, "type")
    async with open_client(context) as client:
        query = {"type": kind}
        found = [] if _is_too_long(kind) else await list_rows(client, "/events", most, query)
    if screen.for_programs:
        screen.answer({"events": found})
    elif found:
        screen.say(_table(found, screen))
    else:
        screen.say("There are no such events." if kind else "There are no events yet.")
    return exits.DONE


def _is_too_long(kind: str | None) -> bool:
    return kind is not None and len(kind) > _LONGEST_TYPE


def _table(found: Sequence[Mapping[str, Any]], screen: Screen) -> Table:
    width = _PAYLOAD_NARROW if is_narrow(screen) else _PAYLOAD_WIDE
    rows = (
        (
            short_id(event["id"], screen),
            event["type"],
            one_line(event["source_id"], 40),
            format_time(event["created_at"], screen),
            one_line(as_json(event["payload"], indent=None), width),
        )
        for event in found
    )
    heads = ("Event", "Type", "Source", "Published", "Payload")
    return columns(heads, rows, whole=("Event", "Published"))


async def show_event(context: CommandContext, screen: Screen, text: str) -> int:
    """One event, and the runs that it started."""
    async with open_client(context) as client:
        event = await find_row_at(client, "/events", text, kind="event")
        consumed = (await client.request("GET", f"/events/{event['id']}"))["consumed_by"]
        names = await _names(client, consumed) if not screen.for_programs else {}
    if screen.for_programs:
        screen.answer({**event, "consumed_by": consumed})
    else:
        screen.say(*_lines(event, consumed, names))
    return exits.DONE


async def _names(client: ApiClient, consumed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    wanted = {row["automation_id"] for row in consumed if row["automation_id"] is not None}
    return {
        one: (await client.request("GET", f"/automations/{one}"))["name"] for one in sorted(wanted)
    }


def _lines(
    event: Mapping[str, Any], consumed: Sequence[Mapping[str, Any]], names: Mapping[str, str]
) -> list[Text]:
    from rich.text import Text

    lines = [
        Text(event["type"], style="bold"),
        Text(f"  id {event['id']}"),
        Text(
            f"  published {date_time(event['created_at'])}, source {one_line(event['source_id'])}"
        ),
    ]
    if event["run_id"] is not None:
        lines.append(Text(f"  by the run {event['run_id']}"))
    if event["replay_of"] is not None:
        lines.append(Text(f"  replay of {event['replay_of']}"))
    lines += output_lines("payload", event["payload"])
    for row in consumed:
        who = one_line(names.get(row["automation_id"], "a deleted automation"))
        why = f" ({row['reason']})" if row["reason"] else ""
        run = f", run {row['run_id']}" if row["run_id"] else ""
        lines.append(Text(f"  started {who}: {row['status'] or 'no run'}{why}{run}"))
    if not consumed:
        lines.append(Text("  started nothing"))
    return lines


async def tell(
    context: CommandContext, screen: Screen, kind: str, payload: str | None, source: str
) -> int:
    """Publishes an event, which the triggers of all automations receive."""
    given = {} if payload is None else read_object(payload, context.limits(), "payload")
    check_text(source, "source")
    async with open_client(context) as client:
        body = {"type": kind, "payload": given, "source_id": source}
        made = await client.request("POST", "/events", body)
    _say_published(screen, made["event_id"], kind)
    return exits.DONE


async def tell_once_more(context: CommandContext, screen: Screen, text: str) -> int:
    """Publishes a copy of an event, for the triggers that exist now."""
    async with open_client(context) as client:
        event = await find_row_at(client, "/events", text, kind="event")
        made = await client.request("POST", f"/events/{event['id']}/replay")
    _say_published(screen, made["event_id"], event["type"], event["id"])
    return exits.DONE


def _say_published(screen: Screen, event_id: str, kind: str, again: str | None = None) -> None:
    if screen.for_programs:
        screen.answer({"id": event_id, "type": kind, "replay_of": again})
        return
    screen.say(f"Published event {event_id} ({kind}).")
    screen.say(f"  {hint('events', 'show', event_id)}")
