"""``secrets``: names go in as words, values only by a pipe or a hidden prompt.

The commands call the same capabilities as every other surface, as the local owner.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import date_time, hint
from mainspring.surfaces.cli.member_lookup import find_member_id
from mainspring.surfaces.cli.screen import Screen, clean, one_line

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext


@dataclass(frozen=True, slots=True)
class SecretOwner:
    """Which secrets a command is about: one's own, another member's, the publisher's."""

    # A member's email or id.
    owner: str | None = None
    publisher: bool = False

    def capability(self, deed: str) -> str:
        return f"{'publisher' if self.publisher else 'automation'}_secret_{deed}"


def parse_secret_owner(owner: str | None, publisher: bool) -> SecretOwner:
    """Reads the two options, which do not go together."""
    if owner is not None and publisher:
        raise Invalid(
            "A publisher secret is a secret of the workspace, not of a member.", code="secret_owner"
        )
    return SecretOwner(owner, publisher)


def read_value(limits: Limits) -> str:
    """The value from the pipe, without the line end that a shell adds, or from a person."""
    if sys.stdin.isatty():
        import typer

        return str(typer.prompt("Value", hide_input=True, confirmation_prompt=True, err=True))
    data = sys.stdin.buffer.read(limits.secret_bytes + 3)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # The cause would quote the value.
        raise Invalid("The value is not UTF-8 text.", code="secret_value") from None
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise Invalid(
            "The value of the secret is empty.",
            code="secret_value",
            suggestion="Pipe the value in, or run the command in a terminal and type it.",
        )
    return value


async def set_secret(
    context: CommandContext,
    screen: Screen,
    about: SecretOwner,
    name: str,
    description: str,
    value: str,
) -> int:
    given = {"name": name, "value": value}
    if description:
        given["description"] = description
    stored = await _call(context, about, "set", given)
    if screen.for_programs:
        screen.answer(stored)
    else:
        screen.say(f"The secret {stored['name']} is in the vault.")
    return exits.DONE


async def list_secrets(
    context: CommandContext, screen: Screen, owner: str | None = None, publisher: bool = False
) -> int:
    about = parse_secret_owner(owner, publisher)
    found = await _call(context, about, "list", {})
    if screen.for_programs:
        screen.answer(found)
        return exits.DONE
    if not found["secrets"]:
        screen.say("There are no secrets yet.")
        return exits.DONE
    rows = [
        (
            stored["name"],
            date_time(datetime.fromisoformat(stored["updated_at"])),
            one_line(stored["description"]),
        )
        for stored in found["secrets"]
    ]
    screen.say(columns(("Name", "Set", "Description"), rows, whole=("Name", "Set")))
    return exits.DONE


async def delete_secret(
    context: CommandContext, screen: Screen, name: str, owner: str | None, publisher: bool
) -> int:
    about = parse_secret_owner(owner, publisher)
    gone = await _call(context, about, "delete", {"name": name})
    if not gone["deleted"]:
        raise NotFound(f"There is no secret called {name[:64]!r}.", code="secret_missing")
    if screen.for_programs:
        screen.answer({"name": name, "deleted": True})
    else:
        screen.say(f"Deleted the secret {name}.")
    return exits.DONE


async def rotate_key(context: CommandContext, screen: Screen, new_key_file: Path | None) -> int:
    """A new master key for every secret."""
    from mainspring.surfaces.cli.local import AuditedAction, local
    from mainspring.workspace.key_rotation import rotate

    async with context.doors.open(context.settings()) as services:
        done = await rotate(services.database, services.vault.keyring, new_key_file)
        deed = AuditedAction(
            "rotate_master_key", detail={"key": done.key_id, "secrets": done.resealed}
        )
        async with local(services, deed).transaction():
            pass  # The entry of the audit log is all there is to write.
    if screen.for_programs:
        screen.answer(
            {
                "key_id": done.key_id,
                "resealed": done.resealed,
                "retired_file": None if done.retired is None else str(done.retired),
                "command_is_behind": done.command_is_behind,
            }
        )
        return exits.DONE
    screen.say(
        f"All secrets are encrypted with the key {done.key_id}; {done.resealed} were re-encrypted."
    )
    if done.retired is not None:
        screen.say(f"The previous key is no longer used. Delete {clean(str(done.retired))}")
    if done.command_is_behind:
        screen.say(
            "Now make the key command print the new key, then finish with "
            f"{hint('secrets', 'rotate')}"
        )
    return exits.DONE


async def _call(
    context: CommandContext, about: SecretOwner, deed: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    async with open_client(context) as client:
        if about.owner is not None:
            owner = await find_member_id(client, about.owner)
            arguments = {**arguments, "owner_user_id": str(owner)}
        return await client.call(about.capability(deed), arguments)
