"""Verifying an address with a mailed code, as the page and the CLI do it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Conflict
from mainspring.workspace.people.email_addresses import (
    VerificationCode,
    VerifiedUser,
    count_code,
    count_try,
    mail_change,
    mail_code,
    request_code,
    verify,
)
from mainspring.workspace.people.users import User, read_user

if TYPE_CHECKING:
    from mainspring.contracts.context import Mailer
    from mainspring.store.database import Connection
    from mainspring.surfaces.services import ApplicationServices

# Writes the entry of the audit log in the transaction of the change.
Note = Callable[["Connection"], Awaitable[None]]


async def send_code(
    services: ApplicationServices, user_id: UUID, address: str, note: Note
) -> tuple[VerificationCode, User]:
    """Mails a new code to the address that is not verified yet; ``address`` is the server's."""
    mailer = mailer_of(services)
    await count_code(services.database, user_id)
    async with services.database.transaction() as tx:
        code = await request_code(tx, user_id)
        user = await read_user(tx, user_id)
        await note(tx)
    await mail_code(mailer, address, code)
    return code, user


async def verify_code(
    services: ApplicationServices, user_id: UUID, code: str, note: Note
) -> VerifiedUser:
    """Verifies the address that the code was mailed to, and notifies the one it replaces."""
    await count_try(services.database, user_id)
    async with services.database.transaction() as tx:
        done = await verify(tx, user_id, code)
        await note(tx)
    if services.mailer is not None:
        await mail_change(services.mailer, done)
    return done


def mailer_of(services: ApplicationServices) -> Mailer:
    """What sends mail here; refuses where no mail server is set."""
    if services.mailer is None:
        raise Conflict(
            "Mail is not set up here, so no address can be verified.",
            code="mail_not_set_up",
            suggestion="An operator sets MAINSPRING_SMTP_URL to smtp://user:password@host:587.",
        )
    return services.mailer
