"""``members``, ``workspaces`` and ``sign-in``.

A link that signs somebody in, and a larger role, are given by the owner of the data folder also
without a terminal. The API gives them to persons only, so these commands open the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import NotFound
from mainspring.contracts.roles import Role
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.member_lookup import find_member, member_called
from mainspring.surfaces.cli.pages_of_rows import restore_values
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.server_presence import expected_address

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_members(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        listed = await client.request("GET", "/members")
    if screen.for_programs:
        screen.answer(listed)
        return exits.DONE
    members, invited = (
        [restore_values(row) for row in listed[name]] for name in ("members", "invitations")
    )
    rows = [
        (one_line(row["email"]), row["role"], one_line(row["name"]), date_time(row["joined_at"]))
        for row in members
    ]
    rows += [
        (one_line(row["email"]), row["role"], "invited", f"until {date_time(row['expires_at'])}")
        for row in invited
    ]
    screen.say(columns(("Email", "Role", "Name", "Since"), rows, whole=("Email",)))
    for row in listed["left"]:
        _tell_left(screen, row)
    return exits.DONE


def _tell_left(screen: Screen, row: Mapping[str, Any]) -> None:
    what = (
        f"{count(row['automations'], 'automation')} and {count(row['webhooks'], 'webhook token')}"
    )
    email = one_line(row["email"] or str(row["id"]))
    screen.say(f"{email} left {what}:", f"  {hint('members', 'takeover', email)}")


async def invite_member(context: CommandContext, screen: Screen, email: str, role: str) -> int:
    from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
    from mainspring.workspace.people.invitations import invite, is_unsettled
    from mainspring.workspace.people.sign_in_links import link_address

    settings = context.settings()
    async with context.doors.open(settings) as services:
        deed = AuditedAction("invite_member", detail={"role": role})
        again = await is_unsettled(services.database, services.workspace_id, email)
        async with local(services, deed).transaction() as tx:
            invitation, plain = await invite(
                tx, local_owner(services), email, Role(role), again=again
            )
            deed.subject = invitation["id"]
    link = link_address(expected_address(settings), plain)
    if screen.for_programs:
        screen.answer({"invitation": invitation, "link": link})
    else:
        screen.say(
            f"Send this link to {one_line(invitation['email'])}. It works once, expires in 7 days "
            "and is not shown again. Earlier links for this address no longer work:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def set_role(context: CommandContext, screen: Screen, email: str, role: str) -> int:
    from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
    from mainspring.workspace.people.members import change_role

    async with context.doors.open(context.settings()) as services:
        deed = AuditedAction("change_member", detail={"to": role})
        async with local(services, deed).transaction() as tx:
            found = await member_called(tx, services.workspace_id, email)
            deed.subject = found["id"]
            before = await change_role(tx, local_owner(services), found["id"], Role(role))
    if screen.for_programs:
        screen.answer({**found, "role": role})
    else:
        screen.say(f"{one_line(found['email'])} is now {role} (was {before.value}).")
    return exits.DONE


async def drop_member(context: CommandContext, screen: Screen, email: str) -> int:
    async with open_client(context) as client:
        found = await find_member(client, email)
        await client.request("DELETE", f"/members/{found['id']}")
        left = (await client.request("GET", "/members"))["left"]
    if screen.for_programs:
        screen.answer({"id": found["id"], "removed": True})
    else:
        screen.say(f"Removed {one_line(found['email'])}. Their tokens are revoked.")
        for row in (one for one in left if one["id"] == found["id"]):
            _tell_left(screen, row)
    return exits.DONE


async def make_sign_in_link(
    context: CommandContext, screen: Screen, *, forget_password: bool, for_whom: str | None
) -> int:
    if for_whom is not None:
        return await show_link_for(context, screen, for_whom)
    return await show_link(context, screen, forget=forget_password)


async def show_link(context: CommandContext, screen: Screen, *, forget: bool) -> int:
    """Creates a sign-in link for the local owner; an earlier link stops working."""
    from mainspring.store.audit import append_audit, build_audit_record
    from mainspring.surfaces.cli.local import local_owner
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.people.sign_in_links import LinkPurpose, link_address, make_link

    settings = context.settings()
    purpose: LinkPurpose = "reset" if forget else "first"
    async with context.doors.open(settings) as services, services.database.transaction() as tx:
        plain = await make_link(tx, FIRST_MEMBER, purpose, FIRST_MEMBER)
        deed = build_audit_record(
            local_owner(services), "make_link", FIRST_MEMBER, {"purpose": purpose}
        )
        await append_audit(tx, [deed])
    link = link_address(expected_address(settings), plain)
    if screen.for_programs:
        screen.answer({"link": link})
    else:
        screen.say(
            "Open this link to sign in as the owner. It works once and expires in an hour:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def show_link_for(context: CommandContext, screen: Screen, email: str) -> int:
    """Creates a link for another user; using it deletes their password."""
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.cli.local import local_owner
    from mainspring.workspace.people.sign_in_links import link_address
    from mainspring.workspace.people.users import clean_email, find_user

    settings = context.settings()
    async with context.doors.open(settings) as services:
        found = await find_user(services.database, clean_email(email))
        if found is None:
            raise NotFound(
                f"There is no user with the email {email[:254]!r}.",
                code="no_user",
                suggestion=f"{hint('members', 'invite')} invites a new member.",
            )
        # Who reads this data folder can make any link: no terminal is asked for.
        caller = CapabilityCaller(replace(local_owner(services), by_program=False))
        given = {"user_id": str(found.id)}
        made = await services.gate.direct(caller, "admin_reset_password", given)
    # The server may be up at another address than the settings say.
    link = link_address(expected_address(settings), made["link"].partition("#")[2])
    if screen.for_programs:
        screen.answer({"link": link})
    else:
        screen.say(
            f"Send this link to {one_line(found.email)}. It works once, expires in an hour and "
            "deletes their password:",
            f"  {clean(link)}",
        )
    return exits.DONE


async def show_workspaces(context: CommandContext, screen: Screen) -> int:
    async with open_client(context) as client:
        session = await client.request("GET", "/session")
    found, current = session["workspaces"], session["workspace"]["id"]
    if screen.for_programs:
        marked = [{**row, "current": row["id"] == current} for row in found]
        screen.answer({"workspaces": marked})
        return exits.DONE
    rows = [
        (
            row["id"],
            one_line(row["name"]),
            row["role"],
            "current" if row["id"] == current else "",
        )
        for row in found
    ]
    screen.say(columns(("Id", "Name", "Role", ""), rows, whole=("Id",)))
    return exits.DONE


async def create_workspace(context: CommandContext, screen: Screen, name: str) -> int:
    async with open_client(context) as client:
        made = await client.request("POST", "/workspaces", {"name": name})
    if screen.for_programs:
        screen.answer(made)
    else:
        screen.say(
            f"Created the workspace {one_line(made['name'])}. To use it in commands, set",
            f"  MAINSPRING_WORKSPACE={made['id']}",
        )
    return exits.DONE
