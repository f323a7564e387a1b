"""``inbox prompts``: what waits for a person, as a session begins with it.

There are two kinds. A notification is only to be read: it is shown and counts as read by this
member. A prompt wants a decision: it is shown in its own words, and stays until somebody has
decided. Each carries a marker with its id, by which ``ack_inbox_action`` knows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.definition.escaping import escape_json
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.drafts import list_drafts
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.local import local, local_owner
from mainspring.surfaces.cli.screen import Screen
from mainspring.workspace.inbox import list_decided, list_notifications

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices


def marker(action_id: object) -> str:
    """What a reader of the prompt finds the action by."""
    return f"<!-- mainspring:action {action_id} -->"


async def show_prompts(context: CommandContext, screen: Screen, *, most: int) -> int:
    """Prints what this member has not decided about yet, the newest first."""
    async with context.doors.open(context.settings()) as services:
        items = await _waiting(services, most)
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
        screen.say("Nothing waits.")
    return exits.DONE


async def _waiting(services: ApplicationServices, most: int) -> list[dict[str, Any]]:
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
    """Its own words, quoted: what a stranger wrote is data, also for whoever reads this."""
    said = [f"{item['kind']}: {escape_json(item['title'])}"]
    if item["kind"] == "prompt":
        said.append(f"  draft {item['id']}, {item['action']}, until {item['expires_at']}")
        said.append(f"  arguments: {item['message']}")
        said.append(f"  hash {item['hash']}")
    elif item["message"]:
        said.append(f"  {escape_json(item['message'])}")
    return said
