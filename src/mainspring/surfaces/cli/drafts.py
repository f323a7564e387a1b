"""``drafts``: the outside writes that were held for a person, shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.gate.drafts import list_drafts
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.closing import output_lines
from mainspring.surfaces.cli.columns import columns, moment, short_id
from mainspring.surfaces.cli.finding import find_one
from mainspring.surfaces.cli.local import local
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.words import date_time, hint

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.desk import Desk

NOT_YET: Final = "This version shows drafts and cannot send them yet; they run out."


async def show_drafts(desk: Desk, screen: Screen, status: str | None, *, most: int) -> int:
    async with desk.doors.open(desk.settings()) as rooms, local(rooms).acquire() as connection:
        found = await list_drafts(
            connection, rooms.workspace_id, rooms.registry, status=status, most=most
        )
    if screen.for_programs:
        screen.answer({"drafts": found})
    elif found:
        screen.say(_table(found, screen), "", NOT_YET, f"  {hint('drafts', 'show', 'DRAFT')}")
    else:
        screen.say("There are no such drafts." if status else "There are no drafts.")
    return exits.DONE


async def show_draft(desk: Desk, screen: Screen, text: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms, local(rooms).acquire() as connection:

        async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
            return await list_drafts(
                connection, rooms.workspace_id, rooms.registry, after=before, most=2
            )

        draft = await find_one(text, page, _id_of, kind="draft")
    if screen.for_programs:
        screen.answer(draft)
    else:
        screen.say(*_lines(draft))
    return exits.DONE


def _table(drafts: Sequence[Mapping[str, Any]], screen: Screen) -> Table:
    heads = ("Draft", "Status", "Capability", "What would happen", "Until")
    rows = (
        (
            short_id(draft["id"], screen), draft["status"], draft["capability"],
            one_line(draft["preview"], 200), moment(draft["expires_at"], screen),
        )
        for draft in drafts
    )  # fmt: skip
    return columns(heads, rows, whole=("Draft", "Status", "Until"))


def _lines(draft: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    until = "ran out" if draft["status"] == "expired" else "runs out"
    by = f"{draft['actor_kind']} {draft['actor_id'] or ''}".rstrip()
    if draft["run_id"] is not None:
        by = f"step {one_line(draft['step'])} of run {draft['run_id']}"
    facts = [
        f"{draft['status']}; {until} {date_time(draft['expires_at'])}",
        f"{draft['capability']}, asked for by {by} {date_time(draft['created_at'])}",
        f"draft {draft['id']}",
    ]
    head = Text(one_line(draft["preview"], 400), style="bold")
    shown = output_lines("arguments", draft["arguments"])
    return [head, *(Text(f"  {fact}") for fact in facts), *shown, Text(), Text(NOT_YET)]


def _id_of(draft: dict[str, Any]) -> UUID:
    return UUID(str(draft["id"]))
