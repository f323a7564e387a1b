"""``audit``: what was done in the workspace and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, is_narrow
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.documents import check_text
from mainspring.surfaces.cli.member_lookup import find_member_id
from mainspring.surfaces.cli.pages_of_rows import list_rows
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

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


async def show_audit(
    context: CommandContext,
    screen: Screen,
    *,
    action: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    before: str | None = None,
    limit: int,
) -> int:
    query: dict[str, Any] = read_query(action, since, before)
    async with open_client(context) as client:
        if actor is not None:
            query["actor"] = str(await find_member_id(client, actor))
        rows = await list_rows(client, "/audit", limit, query)
    if screen.for_programs:
        screen.answer({"entries": rows})
    elif rows:
        screen.say(_table(rows, screen))
    else:
        screen.say("There are no such entries.")
    return exits.DONE


def read_query(action: str | None, since: str | None, before: str | None) -> dict[str, str | None]:
    """What the words of the command ask for."""
    if action is not None:
        check_text(action, "action")
    return {
        "action": action,
        "since": _read_time("since", since),
        "before": _read_time("before", before),
    }


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


def _read_time(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    # The first and the last years cannot be written in UTC from every zone.
    if found is None or found.tzinfo is None or not 1 < found.year < 9999:
        raise Invalid(
            f"--{name} needs a time with a zone, such as 2026-03-01T09:00:00Z.", code="usage"
        )
    return found.isoformat()
