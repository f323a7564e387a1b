"""``members``, ``workspaces`` and ``sign-in``: people of this house, as its local owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import NotFound
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.member_lookup import member_called
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.departed_members import list_leavers
from mainspring.workspace.people.invitations import invite, is_unsettled, list_invitations
from mainspring.workspace.people.members import change_role, list_members, remove_member
from mainspring.workspace.people.sign_in_links import LinkPurpose, link_address, make_link
from mainspring.workspace.people.users import clean_email, find_user
from mainspring.workspace.people.workspaces import (
    add_workspace,
    list_user_workspaces,
    read_workspace,
)

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_members(context: CommandContext, screen: Screen) -> int:
    async with (
        context.doors.open(context.settings()) as services,
        local(services).acquire() as connection,
    ):
        members = await list_members(connection, services.workspace_id)
        invited = await list_invitations(connection, services.workspace_id)
        left = await list_leavers(connection, services.workspace_id)
    if screen.for_programs:
        screen.answer({"members": members, "invitations": invited, "left": left})
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
    for row in left:
        _tell_left(screen, row)
    return exits.DONE


def _tell_left(screen: Screen, row: Mapping[str, Any]) -> None:
    what = (
        f"{count(row['automations'], 'automation')} and {count(row['webhooks'], 'webhook token')}"
    )
    email = one_line(row["email"] or str(row["id"]))
    screen.say(f"{email} left {what} behind:", f"  {hint('members', 'takeover', email)}")


async def invite_member(context: CommandContext, screen: Screen, email: str, role: Role) -> int:
    settings = context.settings()
    async with context.doors.open(settings) as services:
        deed = AuditedAction("invite_member", detail={"role": role.value})
        again = await is_unsettled(services.database, services.workspace_id, email)
        async with local(services, deed).transaction() as tx:
            invitation, plain = await invite(tx, local_owner(services), email, role, again=again)
            deed.subject = invitation["id"]
    link = link_address(server_address(settings), plain)
    if screen.for_programs:
        screen.answer({"invitation": invitation, "link": link})
    else:
        screen.say(
            f"Give {one_line(invitation['email'])} this link. It works once, within 7 days, and "
            "is not shown again; a link made for them before has ended:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def set_role(context: CommandContext, screen: Screen, email: str, role: Role) -> int:
    async with context.doors.open(context.settings()) as services:
        deed = AuditedAction("change_member", detail={"to": role.value})
        async with local(services, deed).transaction() as tx:
            found = await member_called(tx, services.workspace_id, email)
            deed.subject = found["id"]
            before = await change_role(tx, local_owner(services), found["id"], role)
    if screen.for_programs:
        screen.answer({**found, "role": role.value})
    else:
        screen.say(f"{one_line(found['email'])} is {role.value} now and was {before.value}.")
    return exits.DONE


async def drop_member(context: CommandContext, screen: Screen, email: str) -> int:
    async with context.doors.open(context.settings()) as services:
        deed = AuditedAction("delete_member")
        async with local(services, deed).transaction() as tx:
            found = await member_called(tx, services.workspace_id, email)
            deed.subject = found["id"]
            await remove_member(tx, local_owner(services), found["id"])
            left = await list_leavers(tx, services.workspace_id)
    if screen.for_programs:
        screen.answer({"id": found["id"], "removed": True})
    else:
        screen.say(f"{one_line(found['email'])} is no member any more; their tokens have ended.")
        for row in (one for one in left if one["id"] == found["id"]):
            _tell_left(screen, row)
    return exits.DONE


async def show_link(context: CommandContext, screen: Screen, *, forget: bool) -> int:
    """A new link for the local owner; the one before it ends."""
    settings = context.settings()
    purpose: LinkPurpose = "reset" if forget else "first"
    async with context.doors.open(settings) as services, services.database.transaction() as tx:
        plain = await make_link(tx, FIRST_MEMBER, purpose, FIRST_MEMBER)
        deed = build_audit_record(
            local_owner(services), "make_link", FIRST_MEMBER, {"purpose": purpose}
        )
        await append_audit(tx, [deed])
    link = link_address(server_address(settings), plain)
    if screen.for_programs:
        screen.answer({"link": link})
    else:
        screen.say("Open this within an hour. It signs the owner in, once:", f"  {clean(link)}")
    return exits.DONE


async def show_link_for(context: CommandContext, screen: Screen, email: str) -> int:
    """A link for somebody else who lost their way in: using it forgets their password."""
    settings = context.settings()
    async with context.doors.open(settings) as services:
        found = await find_user(services.database, clean_email(email))
        if found is None:
            raise NotFound(
                f"Nobody here has the email {email[:254]!r}.",
                code="no_user",
                suggestion="`members invite` asks somebody new in.",
            )
        # Who reads this data folder can make any link: no terminal is asked for.
        caller = CapabilityCaller(replace(local_owner(services), by_program=False))
        given = {"user_id": str(found.id)}
        made = await services.gate.direct(caller, "admin_reset_password", given)
    # The server may be up at another address than the settings say.
    link = link_address(server_address(settings), made["link"].partition("#")[2])
    if screen.for_programs:
        screen.answer({"link": link})
    else:
        screen.say(
            f"Give {one_line(found.email)} this link. It works once, within an hour, and forgets "
            "the password they had:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def show_workspaces(context: CommandContext, screen: Screen) -> int:
    async with context.doors.open(context.settings()) as services:
        found = await list_user_workspaces(services.database, FIRST_MEMBER)
    if screen.for_programs:
        screen.answer(
            {
                "workspaces": [
                    {**row, "current": row["id"] == services.workspace_id} for row in found
                ]
            }
        )
        return exits.DONE
    rows = [
        (
            str(row["id"]),
            one_line(row["name"]),
            row["role"],
            "commands work here" if row["id"] == services.workspace_id else "",
        )
        for row in found
    ]
    screen.say(columns(("Id", "Name", "Role", ""), rows, whole=("Id",)))
    return exits.DONE


async def create_workspace(context: CommandContext, screen: Screen, name: str) -> int:
    async with (
        context.doors.open(context.settings()) as services,
        services.database.transaction() as tx,
    ):
        added = await add_workspace(tx, FIRST_MEMBER, name, Role.OWNER)
        await append_audit(
            tx, [build_audit_record(local_owner(services), "create_workspace", added)]
        )
        made = await read_workspace(tx, added)
    if screen.for_programs:
        screen.answer({**made, "role": Role.OWNER.value})
    else:
        screen.say(
            f"The workspace {one_line(made['name'])} is there. Commands work in it with",
            f"  MAINSPRING_WORKSPACE={added}",
        )
    return exits.DONE
