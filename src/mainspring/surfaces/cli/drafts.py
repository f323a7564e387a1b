"""``drafts``: the outside writes that were held for a person: shown, confirmed, discarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.gate.direct import Visitor
from mainspring.gate.drafts import list_drafts
from mainspring.gate.outside.quoted import quoted
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, moment, short_id
from mainspring.surfaces.cli.finding import find_one
from mainspring.surfaces.cli.local import local, local_owner
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.words import date_time, hint

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms

# What became of one that was confirmed, in a sentence.
_CAME_TO: Final = {
    "sent": "It was sent.",
    "not_sent": "Nothing was sent.",
    "unknown": "It is not known whether it was sent. It is not sent again by itself.",
}


async def show_drafts(desk: Desk, screen: Screen, status: str | None, *, most: int) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        words = await rooms.registry.of(rooms.workspace_id)
        async with local(rooms).acquire() as connection:
            found = await list_drafts(
                connection, rooms.workspace_id, words, status=status, most=most
            )
    if screen.for_programs:
        screen.answer({"drafts": found})
    elif found:
        ways = (f"  {hint('drafts', way, 'DRAFT')}" for way in ("show", "confirm", "discard"))
        screen.say(_table(found, screen), "", *ways)
    else:
        screen.say("There are no such drafts." if status else "There are no drafts.")
    return exits.DONE


async def show_draft(desk: Desk, screen: Screen, text: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        draft = await _found(rooms, text)
    if screen.for_programs:
        screen.answer(draft)
    else:
        screen.say(*_lines(draft))
    return exits.DONE


async def confirm_draft(desk: Desk, screen: Screen, text: str) -> int:
    """Sends what a draft shows, or says what came of it before."""
    async with desk.doors.open(desk.settings()) as rooms:
        draft = await _found(rooms, text)
        given = {"draft_id": str(draft["id"])}
        answer = await rooms.gate.direct(Visitor(local_owner(rooms)), "confirm_action", given)
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say(*_answered(draft, answer))
    return exits.DONE if answer["status"] == "confirmed" else exits.FAILED


async def discard_draft(desk: Desk, screen: Screen, text: str, reason: str | None) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        draft = await _found(rooms, text)
        given = {"draft_id": str(draft["id"])} | ({} if reason is None else {"reason": reason})
        answer = await rooms.gate.direct(Visitor(local_owner(rooms)), "discard_action", given)
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say("It is discarded; nothing was sent.")
    return exits.DONE


async def _found(rooms: Rooms, text: str) -> dict[str, Any]:
    words = await rooms.registry.of(rooms.workspace_id)
    async with local(rooms).acquire() as connection:

        async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
            return await list_drafts(connection, rooms.workspace_id, words, after=before, most=2)

        return await find_one(text, page, _id_of, kind="draft")


def _answered(draft: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    said = [Text(one_line(draft["preview"], 400), style="bold")]
    said.append(Text(f"  {_CAME_TO[answer['outcome']]}"))
    if answer.get("error"):
        said.append(Text(f"  {one_line(str(answer['error'].get('detail', '')), 400)}"))
    return said


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

    until = "runs out" if draft["status"] == "pending" else "ran out"
    by = f"{draft['actor_kind']} {draft['actor_id'] or ''}".rstrip()
    if draft["run_id"] is not None:
        by = f"step {one_line(draft['step'])} of run {draft['run_id']}"
    facts = [
        f"{draft['status']}; {until} {date_time(draft['expires_at'])}",
        f"{draft['capability']}, asked for by {by} {date_time(draft['created_at'])}",
        f"draft {draft['id']}",
    ]
    head = Text(one_line(draft["preview"], 400), style="bold")
    # Whole, however long: this is what somebody agrees to.
    given = quoted(draft["arguments"], indent=2).splitlines()
    shown = [Text("  arguments"), *(Text(f"    {line}") for line in given)]
    return [head, *(Text(f"  {fact}") for fact in facts), *shown, *_next(draft)]


def _next(draft: Mapping[str, Any]) -> list[Text]:
    """What can be done about a draft, or what has been."""
    from rich.text import Text

    if draft["status"] == "pending":
        ways = (hint("drafts", way, str(draft["id"])) for way in ("confirm", "discard"))
        return [Text(), *(Text(f"  {way}") for way in ways)]
    if draft["outcome"] is None:
        return []
    return [Text(), Text(f"  {_CAME_TO[draft['outcome']]}")]


def _id_of(draft: dict[str, Any]) -> UUID:
    return UUID(str(draft["id"]))
