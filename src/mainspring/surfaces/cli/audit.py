"""``audit``: what was done in the workspace and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, is_narrow
from mainspring.surfaces.cli.documents import check_text
from mainspring.surfaces.cli.local import local
from mainspring.surfaces.cli.member_lookup import id_of
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.workspace.audit import AuditQuery, read_audit

if TYPE_CHECKING:
    from rich.table import Table

    from mainspring.surfaces.cli.context import CommandContext

_DETAIL_WIDE = 100
# What a decision came through; any other channel is a messaging integration, by its id.
_CHANNELS = {
    "page": "the page",
    "terminal": "a terminal",
    "token": "a token that may approve",
}


def read_sought(action: str | None, since: str | None, before: str | None) -> AuditQuery:
    """What the words of the command ask for."""
    if action is not None:
        check_text(action, "action")
    return AuditQuery(action, None, _moment("since", since), _moment("before", before))


async def show_audit(
    context: CommandContext,
    screen: Screen,
    sought: AuditQuery,
    *,
    most: int,
    actor: str | None = None,
) -> int:
    async with (
        context.doors.open(context.settings()) as services,
        local(services).acquire() as connection,
    ):
        if actor is not None:
            whose = await id_of(connection, services.workspace_id, actor)
            sought = replace(sought, actor=whose)
        rows = await read_audit(connection, services.workspace_id, sought, most=most)
    if screen.for_programs:
        screen.answer({"entries": rows})
    elif rows:
        screen.say(_table(rows, screen))
    else:
        screen.say("There are no such entries.")
    return exits.DONE


def _table(rows: Sequence[Mapping[str, Any]], screen: Screen) -> Table:
    heads: tuple[str, ...] = ("When", "Who", "Action", "Subject")
    cells = [
        [
            format_time(row["at"], screen),
            _who(row),
            row["action"],
            one_line(row["subject"] or "", 80),
        ]
        for row in rows
    ]
    if not is_narrow(screen):
        heads = (*heads, "Detail")
        for cell, row in zip(cells, rows, strict=True):
            shown = as_json(row["detail"], indent=None) if row["detail"] else ""
            cell.append(one_line(shown, _DETAIL_WIDE))
    return columns(heads, cells, whole=("When", "Action"))


def _who(row: Mapping[str, Any]) -> str:
    name = row["actor_name"] or row["actor_id"] or ""
    channel = row["detail"].get("channel")
    through = f" (through {_CHANNELS.get(channel, channel.capitalize())})" if channel else ""
    return one_line(f"{row['actor_kind']} {name}".strip(), 60) + through


def _moment(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    # The first and the last years cannot be written in UTC from every zone.
    if found is None or found.tzinfo is None or not 1 < found.year < 9999:
        raise Invalid(
            f"--{name} is a moment with its zone, such as 2026-03-01T09:00:00Z.", code="usage"
        )
    return found
