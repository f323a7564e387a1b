"""``members``, ``tokens`` and ``sign-in``: people of this house, as its local owner."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, Missing
from mainspring.contracts.roles import Role
from mainspring.store.audit import append_audit, entry_by
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.local import Deed, local, local_owner
from mainspring.surfaces.cli.presence import server_address
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.words import date_time
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.invitations import invite, list_invitations
from mainspring.workspace.people.links import Purpose, link_address, make_link
from mainspring.workspace.people.members import change_role, list_members, remove_member
from mainspring.workspace.tokens import (
    Bounds,
    StoredToken,
    check_bounds,
    list_tokens,
    make_token,
    revoke_token,
)

if TYPE_CHECKING:
    from mainspring.store.database import Connection
    from mainspring.surfaces.cli.desk import Desk
    from mainspring.surfaces.rooms import Rooms


async def show_members(desk: Desk, screen: Screen) -> int:
    async with desk.doors.open(desk.settings()) as rooms, local(rooms).acquire() as connection:
        members = await list_members(connection, rooms.workspace_id)
        invited = await list_invitations(connection, rooms.workspace_id)
    if screen.for_programs:
        screen.answer({"members": members, "invitations": invited})
        return exits.DONE
    rows = [
        (one_line(row["email"]), row["role"], one_line(row["name"]), date_time(row["joined_at"]))
        for row in members
    ]
    rows += [
        (one_line(row["email"]), row["role"], "invited", f"until {date_time(row['expires_at'])}")
        for row in invited
    ]
    screen.say(columns(("Email", "Role", "Name", "Since"), rows, whole=("Email",)))
    return exits.DONE


async def invite_member(desk: Desk, screen: Screen, email: str, role: Role) -> int:
    settings = desk.settings()
    async with desk.doors.open(settings) as rooms:
        deed = Deed("invite_member", detail={"role": role.value})
        async with local(rooms, deed).transaction() as tx:
            invitation, plain = await invite(tx, local_owner(rooms), email, role)
            deed.subject = invitation["id"]
    link = link_address(server_address(settings), plain)
    if screen.for_programs:
        screen.answer({"invitation": invitation, "link": link})
    else:
        screen.say(
            f"Give {one_line(invitation['email'])} this link. It works once, within 7 days, and "
            "is not shown again:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def set_role(desk: Desk, screen: Screen, email: str, role: Role) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        deed = Deed("change_member", detail={"to": role.value})
        async with local(rooms, deed).transaction() as tx:
            found = await _member(tx, rooms, email)
            deed.subject = found["id"]
            before = await change_role(tx, local_owner(rooms), found["id"], role)
    if screen.for_programs:
        screen.answer({**found, "role": role.value})
    else:
        screen.say(f"{one_line(found['email'])} is {role.value} now and was {before.value}.")
    return exits.DONE


async def drop_member(desk: Desk, screen: Screen, email: str) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        deed = Deed("delete_member")
        async with local(rooms, deed).transaction() as tx:
            found = await _member(tx, rooms, email)
            deed.subject = found["id"]
            await remove_member(tx, local_owner(rooms), found["id"])
    if screen.for_programs:
        screen.answer({"id": found["id"], "removed": True})
    else:
        screen.say(f"{one_line(found['email'])} is no member any more; their tokens have ended.")
    return exits.DONE


async def show_tokens(desk: Desk, screen: Screen) -> int:
    async with desk.doors.open(desk.settings()) as rooms, local(rooms).acquire() as connection:
        found = await list_tokens(connection, rooms.workspace_id)
    if screen.for_programs:
        screen.answer({"tokens": [_told(stored) for stored in found]})
        return exits.DONE
    rows = [
        (
            str(stored.id), one_line(stored.name), f"…{stored.hint}", stored.role.value,
            date_time(stored.last_used_at) or "never", _state(stored),
        )
        for stored in found
    ]  # fmt: skip
    heads = ("Id", "Name", "Ends in", "Role", "Last used", "State")
    screen.say(columns(heads, rows, whole=("Id",)))
    return exits.DONE


async def create_token(
    desk: Desk, screen: Screen, name: str, role: Role, named: list[str] | None, days: int | None
) -> int:
    async with desk.doors.open(desk.settings()) as rooms:
        now = rooms.clock.now()
        expires = None if days is None else now + timedelta(days=days)
        bounds = Bounds(role, None if named is None else tuple(named), expires)
        check_bounds(bounds, local_owner(rooms), rooms.registry.capabilities.keys(), now, None)
        deed = Deed("create_token", detail={"role": role.value})
        async with local(rooms, deed).transaction() as tx:
            stored, plain = await make_token(tx, rooms.workspace_id, FIRST_MEMBER, name, bounds)
            deed.subject = stored.id
    if screen.for_programs:
        screen.answer({"token": _told(stored), "text": plain})
    else:
        # Alone on its line, so that a shell can take it as it is.
        screen.say(plain)
    return exits.DONE


async def end_token(desk: Desk, screen: Screen, text: str) -> int:
    try:
        token_id = UUID(text)
    except ValueError:
        raise Invalid(
            "A token is revoked by its id, never by its text.",
            code="usage",
            suggestion="`tokens list` shows the ids.",
        ) from None
    deed = Deed("delete_token", token_id)
    async with (
        desk.doors.open(desk.settings()) as rooms,
        local(rooms, deed).transaction() as tx,
    ):
        stored = await revoke_token(tx, rooms.workspace_id, token_id)
    if screen.for_programs:
        screen.answer(_told(stored))
    else:
        screen.say(f"The token {one_line(stored.name)} has ended.")
    return exits.DONE


async def show_link(desk: Desk, screen: Screen, *, forget: bool) -> int:
    """A new link for the local owner; the one before it ends."""
    settings = desk.settings()
    purpose: Purpose = "reset" if forget else "first"
    async with desk.doors.open(settings) as rooms, rooms.database.transaction() as tx:
        plain = await make_link(tx, FIRST_MEMBER, purpose, FIRST_MEMBER)
        deed = entry_by(local_owner(rooms), "make_link", FIRST_MEMBER, {"purpose": purpose})
        await append_audit(tx, [deed])
    link = link_address(server_address(settings), plain)
    if screen.for_programs:
        screen.answer({"link": link})
    else:
        screen.say("Open this within an hour. It signs the owner in, once:", f"  {clean(link)}")
    return exits.DONE


async def _member(tx: Connection, rooms: Rooms, email: str) -> dict[str, Any]:
    for row in await list_members(tx, rooms.workspace_id):
        if row["email"].lower() == email.strip().lower():
            return row
    raise Missing(
        f"There is no member with the email {email[:254]!r}.",
        code="no_member",
        suggestion="`members list` shows them.",
    )


def _state(stored: StoredToken) -> str:
    if stored.revoked_at is not None:
        return f"revoked {date_time(stored.revoked_at)}"
    return "" if stored.expires_at is None else f"until {date_time(stored.expires_at)}"


def _told(stored: StoredToken) -> dict[str, Any]:
    """Everything about a token but its text."""
    return {
        "id": stored.id,
        "name": stored.name,
        "hint": stored.hint,
        "role": stored.role.value,
        "capabilities": stored.capabilities,
        "created_at": stored.created_at,
        "expires_at": stored.expires_at,
        "last_used_at": stored.last_used_at,
        "revoked_at": stored.revoked_at,
    }
