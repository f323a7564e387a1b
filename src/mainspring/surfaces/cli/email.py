"""``email``: the local owner's address, and its verification."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import PermissionDenied
from mainspring.store.audit import append_audit, build_audit_record
from mainspring.surfaces import email_verification as verification
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local_owner
from mainspring.surfaces.cli.person_prompt import has_person
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.email_addresses import (
    VerificationCode,
    count_code,
    load_member_mail_address,
    load_pending_email,
    mail_code,
    request_change,
)
from mainspring.workspace.people.users import read_user

if TYPE_CHECKING:
    from mainspring.store.database import Connection
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices


async def show_email(context: CommandContext, screen: Screen) -> int:
    """Where the owner's mail goes, and what is still to be done."""
    settings = context.settings()
    async with context.doors.open(settings) as services:
        user = await read_user(services.database, FIRST_MEMBER)
        pending = await load_pending_email(services.database, FIRST_MEMBER)
        found = await load_member_mail_address(
            services.database, services.workspace_id, FIRST_MEMBER, settings.owner_mail
        )
        has_mail = services.mailer is not None
    if screen.for_programs:
        screen.answer(
            {
                "email": user.email,
                "state": user.email_state,
                "pending": pending,
                "mail_goes_to": None if found is None else found.email,
                "mail_server": has_mail,
            }
        )
        return exits.DONE
    if found is None:
        screen.say(f"Mail to you goes nowhere yet. Set an address: {hint('email', 'set')}")
    else:
        state = "verified" if found.verified else "not verified yet"
        screen.say(f"Mail to you goes to {one_line(found.email)} ({state}).")
        if not found.verified:
            screen.say(f"  {hint('email', 'code')}")
    if pending is not None:
        screen.say(f"A code was mailed to {one_line(pending)}: {hint('email', 'verify')}")
    if not has_mail:
        screen.say("No mail server is set, so no mail leaves: set MAINSPRING_SMTP_URL.")
    return exits.DONE


async def set_email(context: CommandContext, screen: Screen, email: str) -> int:
    """Sets the owner's address, and mails a code to it where mail can be sent."""
    async with context.doors.open(context.settings()) as services:
        _check_person(services, screen)
        has_mail = services.mailer is not None
        if has_mail:
            await count_code(services.database, FIRST_MEMBER)
        async with services.database.transaction() as tx:
            code = await request_change(tx, FIRST_MEMBER, email, has_mail=has_mail)
            await _note(tx, services, "change_person", {"changed": ["email"]})
        if code is not None:
            address = server_address(services.settings)
            await mail_code(verification.mailer_of(services), address, code)
    if code is not None:
        _say_mailed(screen, code)
    elif has_mail:
        screen.say("That address is in force already.")
    else:
        screen.say(
            "Your email was saved. No mail server is set, so it cannot be verified and gets no "
            "mail: set MAINSPRING_SMTP_URL."
        )
    return exits.DONE


async def send_code(context: CommandContext, screen: Screen) -> int:
    """Mails a new code to the address that is not verified yet."""
    async with context.doors.open(context.settings()) as services:
        _check_person(services, screen)
        note = partial(_note, rooms=services, action="send_email_code")
        # The server may be up at another address than the settings say.
        address = server_address(services.settings)
        code, _ = await verification.send_code(services, FIRST_MEMBER, address, note)
    _say_mailed(screen, code)
    return exits.DONE


async def verify_email(context: CommandContext, screen: Screen, code: str) -> int:
    """Takes the code that was mailed."""
    async with context.doors.open(context.settings()) as services:
        _check_person(services, screen)
        note = partial(_note, rooms=services, action="verify_email")
        done = await verification.verify_code(services, FIRST_MEMBER, code, note)
    screen.say(f"{one_line(done.user.email)} is verified; mail to you goes there.")
    return exits.DONE


async def _note(
    tx: Connection, rooms: ApplicationServices, action: str, detail: Mapping[str, Any] | None = None
) -> None:
    entry = build_audit_record(local_owner(rooms), action, FIRST_MEMBER, dict(detail or {}))
    await append_audit(tx, [entry])


def _say_mailed(screen: Screen, code: VerificationCode) -> None:
    screen.say(
        f"A code was mailed to {one_line(code.email)}. It works once, within an hour:",
        f"  {hint('email', 'verify', 'CODE')}",
    )


def _check_person(services: ApplicationServices, screen: Screen) -> None:
    """A program that set the address could aim the owner's mail at somebody else."""
    if not has_person(services, screen):
        raise PermissionDenied(
            "A person sets and verifies an address; a program cannot.",
            code="person_needed",
            suggestion="Use a terminal, without --json and MAINSPRING_TOKEN, or the page under "
            "Settings.",
        )
