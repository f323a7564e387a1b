"""The session with which commands act at the server that is up on the data folder.

A user who may write to the data folder may open its database, and so acts as its owner at a
terminal.
A command that has opened the database keeps a session of the terminal kind for the commands after
it, in a file of the data folder with mode 0600.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from mainspring.contracts.roles import Role
from mainspring.contracts.terminal_session import is_terminal_session
from mainspring.workspace.private_file import InsecureFileError, read_private, write_private

if TYPE_CHECKING:
    from mainspring.surfaces.services import ApplicationServices

_FILE: Final = "terminal.session"
_LABEL: Final = "mainspring on the machine of the server"


def read_local_session(home: Path) -> str | None:
    """The session that was kept; None if there is none, or others could read it."""
    try:
        content = read_private(home / _FILE)
    except (InsecureFileError, OSError):
        return None
    text = (content or b"").decode("ascii", "replace").strip()
    return text if is_terminal_session(text) else None


async def ensure_local_session(services: ApplicationServices) -> None:
    """Begins a session when the server starts, unless the kept one still works.

    The first command of the local owner then needs no database connection of its own.
    """
    from mainspring.workspace.people.sessions import find_session

    plain = read_local_session(services.settings.home)
    if plain is not None:
        async with services.database.transaction() as tx:
            found = await find_session(tx, plain, kind="terminal")
        if found is not None and found.role is Role.OWNER and found.administrator:
            return
    await keep_local_session(services)


async def keep_local_session(services: ApplicationServices) -> None:
    """Begins a session of the local owner for the commands that come after this one.

    Somebody who is no longer the owner and an administrator gets none: their session would be
    smaller than what a command may do that opens the database itself.
    """
    import asyncio

    from mainspring.store.audit import AuditRecord, append_audit
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.people.sessions import end_session, find_session, start_session

    async with services.database.transaction() as tx:
        session_id, plain = await start_session(
            tx, FIRST_MEMBER, services.workspace_id, _LABEL, kind="terminal"
        )
        found = await find_session(tx, plain, kind="terminal")
        if found is None or found.role is not Role.OWNER or not found.administrator:
            await end_session(tx, FIRST_MEMBER, session_id)
            return
        detail = {"by": "data_folder"}
        entry = AuditRecord(
            services.workspace_id, "member", FIRST_MEMBER, "sign_in", str(session_id), detail
        )
        await append_audit(tx, [entry])
    try:
        await asyncio.to_thread(
            write_private, services.settings.home / _FILE, f"{plain}\n".encode()
        )
    except OSError:
        async with services.database.transaction() as tx:
            await end_session(tx, FIRST_MEMBER, session_id)
