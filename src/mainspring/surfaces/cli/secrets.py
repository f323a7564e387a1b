"""``secrets``: names go in as words, values only by a pipe or a hidden prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from mainspring.contracts.errors import Invalid, Missing
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.words import date_time

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.workspace.vault import StoredSecret


def read_value(limits: Limits) -> str:
    """The value from the pipe, without the line end that a shell adds, or from a person."""
    if sys.stdin.isatty():
        return str(typer.prompt("Value", hide_input=True, confirmation_prompt=True, err=True))
    data = sys.stdin.buffer.read(limits.secret_bytes + 3)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # The cause would quote the value.
        raise Invalid("The value is not UTF-8 text.", code="secret_value") from None
    return text.removesuffix("\n").removesuffix("\r")


async def set_secret(desk: Desk, screen: Screen, name: str, description: str, value: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        stored = await rooms.vault.set(rooms.workspace_id, name, value, description)
    if screen.for_programs:
        screen.answer(_told(stored))
    else:
        screen.say(f"The secret {stored.name} is in the vault.")
    return exits.DONE


async def list_secrets(desk: Desk, screen: Screen) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        found = await rooms.vault.names(rooms.workspace_id)
    if screen.for_programs:
        screen.answer({"secrets": [_told(stored) for stored in found]})
        return exits.DONE
    if not found:
        screen.say("There are no secrets yet.")
    for stored in found:
        screen.say(f"{stored.name}  {date_time(stored.updated_at)}  {one_line(stored.description)}")
    return exits.DONE


async def delete_secret(desk: Desk, screen: Screen, name: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        if not await rooms.vault.delete(rooms.workspace_id, name):
            raise Missing(f"There is no secret called {name[:64]!r}.", code="secret_missing")
    if screen.for_programs:
        screen.answer({"name": name, "deleted": True})
    else:
        screen.say(f"The secret {name} is forgotten.")
    return exits.DONE


def _told(stored: StoredSecret) -> dict[str, object]:
    """Everything about a secret but its value."""
    return {
        "name": stored.name,
        "description": stored.description,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }
