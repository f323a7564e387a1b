"""``inbox``: list messages, mark them as read, and print what is waiting for a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid
from mainspring.definition.escaping import escape_json
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.lookup import find_row_at
from mainspring.surfaces.cli.pages_of_rows import list_rows
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

# How many drafts and questions are counted at most.
_MOST_COUNTED = 1_000
_MOST_ASKED = 100
_LEVELS = {"info": "told", "warning": "warning", "error": "failed"}


async def show_inbox(context: CommandContext, screen: Screen, *, unread: bool, most: int) -> int:
    async with open_client(context) as client:
        query = {"unread": "true"} if unread else {}
        found = await list_rows(client, "/inbox", most, query)
        drafts = len(await list_rows(client, "/drafts", _MOST_COUNTED, {"status": "pending"}))
        asked = len((await client.call("list_approvals", {"limit": _MOST_ASKED}))["approvals"])
    if screen.for_programs:
        screen.answer({"notifications": found, "drafts": drafts, "questions": asked})
        return exits.DONE
    if not found:
        screen.say("No unread messages." if unread else "The inbox is empty.")
    for entry in found:
        screen.say(*_message_lines(entry, screen))
    if drafts:
        screen.say("", f"{count(drafts, 'draft waits', 'drafts wait')} for approval.")
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
            "Give the id of a message, or --all.",
            code="usage",
            suggestion=f"{hint('inbox')} shows the ids.",
        )
    async with open_client(context) as client:
        if text is None:
            marked = (await client.request("POST", "/inbox/read-all"))["marked"]
        else:
            entry = await find_row_at(client, "/inbox", text, kind="message")
            marked = int(entry["read_at"] is None)
            await client.request("POST", f"/inbox/{entry['id']}/read")
    if screen.for_programs:
        screen.answer({"marked": marked})
    elif marked:
        screen.say(f"{count(marked, 'message is', 'messages are')} marked as read.")
    else:
        screen.say("It was already read." if text else "There were no unread messages.")
    return exits.DONE


# --- prompts


def marker(action_id: object) -> str:
    """What a reader of the prompt finds the action by."""
    return f"<!-- mainspring:action {action_id} -->"


async def show_prompts(context: CommandContext, screen: Screen, *, most: int) -> int:
    """Prints what this member has not decided about yet, the newest first."""
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.cli.local import local_owner

    async with context.doors.open(context.settings()) as services:
        items = await _list_undecided(services, most)
        for item in items:
            if item["kind"] == "notification":
                given = {"id": item["id"], "decision": "auto"}
                await services.gate.direct(
                    CapabilityCaller(local_owner(services)), "ack_inbox_action", given
                )
    if screen.for_programs:
        screen.answer({"items": items})
        return exits.DONE
    for item in items:
        screen.say(item["marker"], *_words(item), "")
    if not items:
        screen.say("Nothing is waiting.")
    return exits.DONE


async def _list_undecided(services: ApplicationServices, most: int) -> list[dict[str, Any]]:
    from mainspring.gate.drafts import list_drafts
    from mainspring.surfaces.cli.local import local, local_owner
    from mainspring.workspace.inbox import list_decided, list_notifications

    space, owner = services.workspace_id, local_owner(services)
    words = await services.registry.of(space)
    async with local(services).acquire() as connection:
        drafts = await list_drafts(connection, space, words, status="pending", most=most)
        entries = await list_notifications(connection, space, most, unread=True)
        ids = [one["id"] for one in (*drafts, *entries)]
        known = await list_decided(connection, space, owner.id, ids)
    items = [_prompt(one) for one in drafts if one["id"] not in known]
    return items + [_notification(one) for one in entries if one["id"] not in known]


def _prompt(draft: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "prompt",
        "id": str(draft["id"]),
        "marker": marker(draft["id"]),
        "title": draft["preview"],
        "message": escape_json(draft["arguments"]),
        "action": draft["action"],
        "hash": draft["hash"],
        "expires_at": draft["expires_at"].isoformat(),
    }


def _notification(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "notification",
        "id": str(entry["id"]),
        "marker": marker(entry["id"]),
        "title": entry["title"],
        "message": entry["message"],
    }


def _words(item: Mapping[str, Any]) -> list[str]:
    """Its own words, quoted: what a stranger wrote is data, also for the reader."""
    said = [f"{item['kind']}: {escape_json(item['title'])}"]
    if item["kind"] == "prompt":
        said.append(f"  draft {item['id']}, {item['action']}, until {item['expires_at']}")
        said.append(f"  arguments: {item['message']}")
        said.append(f"  hash {item['hash']}")
    elif item["message"]:
        said.append(f"  {escape_json(item['message'])}")
    return said
