"""``webhook``: the tokens with which outside systems call."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Clash, Missing
from mainspring.definition.words import did_you_mean
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.finding import find_in_use
from mainspring.surfaces.cli.presence import fire_url
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.words import hint
from mainspring.workspace.switches import read_triggers
from mainspring.workspace.webhooks import revoke, rotate

if TYPE_CHECKING:
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms


async def make_token(desk: Desk, screen: Screen, text: str, slug: str | None) -> int:
    """A new token in place of the old one, shown this once."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await find_in_use(rooms, text)
        slug = await _webhook(rooms, found, slug)
        async with rooms.database.transaction() as tx:
            ending, plain = await rotate(tx, rooms.workspace_id, found["id"], slug)
        url = fire_url(rooms.settings, found["id"])
    if screen.for_programs:
        screen.answer({"id": found["id"], "slug": slug, "token": plain, "hint": ending, "url": url})
        return exits.DONE
    screen.say(
        f"The new token of the webhook {slug}, which nobody will show again:",
        f"  {plain}",
        "Try it:",
        f"  curl -X POST {quote(url)} -H 'Authorization: Bearer {plain}'"
        " -H 'Content-Type: application/json' -d '{}'",
    )
    if found["state"] != "active":
        screen.say(
            f"{one_line(found['name'])} is {found['state']}: calls start nothing before",
            f"  {hint('activate', found['name'])}",
        )
    return exits.DONE


async def end_token(desk: Desk, screen: Screen, text: str, slug: str | None) -> int:
    """Nobody can call the webhook with a token until there is a new one."""
    async with desk.doors.open(desk.settings()) as rooms:
        found = await find_in_use(rooms, text)
        slug = await _webhook(rooms, found, slug)
        async with rooms.database.transaction() as tx:
            await revoke(tx, rooms.workspace_id, found["id"], slug)
    if screen.for_programs:
        screen.answer({"id": found["id"], "slug": slug, "revoked": True})
    else:
        screen.say(f"The webhook {slug} of {one_line(found['name'])} has no token any more.")
    return exits.DONE


async def _webhook(rooms: Rooms, found: Mapping[str, Any], slug: str | None) -> str:
    """The slug that is meant; it need not be said when there is one webhook only."""
    async with rooms.database.acquire() as connection:
        rows = await read_triggers(connection, rooms.workspace_id, found["id"])
    hooks = [str(row["slug"]) for row in rows if row["type"] == "webhook"]
    if slug is None and len(hooks) == 1:
        return hooks[0]
    if not hooks:
        raise Clash(
            f"{found['name'][:60]!r} has no webhook.",
            code="not_a_webhook",
            suggestion="Add a trigger of the type webhook to its definition and save it.",
        )
    if slug in hooks:
        return slug
    known = ", ".join(hooks)
    if slug is None:
        raise Clash(
            f"{found['name'][:60]!r} has {len(hooks)} webhooks.",
            code="several_webhooks",
            suggestion=f"Say which one: {known}.",
        )
    raise Missing(
        f"{found['name'][:60]!r} has no webhook called {slug[:60]!r}.",
        code="no_trigger",
        suggestion=did_you_mean(slug, hooks) or f"It has {known}.",
    )
