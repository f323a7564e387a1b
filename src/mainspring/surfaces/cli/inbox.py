"""``inbox``: the messages that automations left, and having read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.gate.drafts import count_pending_drafts
from mainspring.runs.questions import count_open_questions
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.local import AuditedAction, local
from mainspring.surfaces.cli.lookup import find_one
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.workspace.inbox import list_notifications, mark_all_read, mark_read

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext

_LEVELS = {"info": "told", "warning": "warning", "error": "failed"}


async def show_inbox(context: CommandContext, screen: Screen, *, unread: bool, most: int) -> int:
    async with (
        context.doors.open(context.settings()) as services,
        local(services).acquire() as connection,
    ):
        found = await list_notifications(connection, services.workspace_id, most, unread=unread)
        drafts = await count_pending_drafts(connection, services.workspace_id)
        asked = await count_open_questions(connection, services.workspace_id)
    if screen.for_programs:
        screen.answer({"notifications": found, "drafts": drafts, "questions": asked})
        return exits.DONE
    if not found:
        screen.say("There is nothing unread." if unread else "The inbox is empty.")
    for entry in found:
        screen.say(*_message_lines(entry, screen))
    if drafts:
        screen.say("", f"{count(drafts, 'draft waits', 'drafts wait')} for a person.")
        screen.say(f"  {hint('drafts')}")
    if asked:
        screen.say("", f"{count(asked, 'question waits', 'questions wait')} for an answer.")
        screen.say(f"  {hint('approvals')}")
    return exits.DONE


def _message_lines(entry: Mapping[str, Any], screen: Screen) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark(_LEVELS[entry["level"]])
    style = "bold" if entry["read_at"] is None else ""
    head = Text.assemble((sign, colour), " ", (one_line(entry["title"]), style))
    unread = ", unread" if entry["read_at"] is None else ""
    head.append(f"  {date_time(entry['created_at'])}{unread}", style="bright_black")
    body = [Text(f"  {one_line(line, 400)}") for line in entry["message"].splitlines()]
    ids = f"  message {entry['id']}"
    if entry["run_id"] is not None:
        ids += f", run {entry['run_id']}"
    return [head, *body, Text(ids, style="bright_black")]


async def read_messages(
    context: CommandContext, screen: Screen, text: str | None, *, everything: bool
) -> int:
    """One message, or all that are there."""
    if (text is None) != everything:
        raise Invalid(
            "Name one message by its id, or all of them with --all.",
            code="usage",
            suggestion=f"{hint('inbox')} shows the ids.",
        )
    async with context.doors.open(context.settings()) as services:

        async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
            return await list_notifications(tx, services.workspace_id, 2, after=before)

        deed = AuditedAction("read_all_messages" if text is None else "read_message")
        async with local(services, deed).transaction() as tx:
            if text is None:
                marked = await mark_all_read(tx, services.workspace_id)
            else:
                entry = await find_one(text, page, _id_of, kind="message")
                marked = int(entry["read_at"] is None)
                deed.subject = entry["id"]
                await mark_read(tx, services.workspace_id, entry["id"])
    if screen.for_programs:
        screen.answer({"marked": marked})
    elif marked:
        screen.say(f"{count(marked, 'message is', 'messages are')} marked as read.")
    else:
        screen.say("It was read before." if text else "There was nothing unread.")
    return exits.DONE


def _id_of(entry: dict[str, Any]) -> UUID:
    return UUID(str(entry["id"]))
