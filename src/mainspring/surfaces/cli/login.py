"""``login`` and ``logout``: a person signs this terminal in to a server, in their browser."""

from __future__ import annotations

import asyncio
import getpass
import platform
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Expired, PermissionDenied, Unauthenticated
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.http_client import ServerClient
from mainspring.surfaces.cli.logins import (
    SavedLogin,
    find_login,
    forget_login,
    keep_login,
    read_address,
)
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.surfaces.cli.server_presence import server_address

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def log_in(context: CommandContext, screen: Screen, text: str | None) -> int:
    """Prints a link and a code, and waits until a person has confirmed the code there."""
    address = read_address(text or server_address(context.settings()))
    if screen.for_programs:
        raise PermissionDenied(
            "A person signs in; a program uses a token.",
            code="person_needed",
            suggestion=f"{hint('tokens', 'create', 'NAME')} makes one.",
        )
    async with ServerClient(address) as remote:
        begun = await remote.request("POST", "/session/terminal", {"label": _label()})
        screen.say(
            "Open this page in your browser, and type this code there:",
            f"  {clean(begun['url'])}",
            f"  {clean(begun['code'])}",
            "Waiting for you to confirm it. The code works for ten minutes.",
        )
        found = await _collected(remote, begun)
    kept = keep_login(SavedLogin(address, found["session"]))
    screen.say(
        f"You are signed in to {clean(address)} as {one_line(found['email'])}, in the workspace "
        f"{one_line(found['workspace'])}, until {one_line(found['expires_at'])}.",
        f"  The session is in {clean(str(kept))}",
        f"  {hint('--server', address, 'consents')}",
    )
    return exits.DONE


async def log_out(context: CommandContext, screen: Screen, text: str | None) -> int:
    """Ends the session at the server and removes its file."""
    address = read_address(text or server_address(context.settings()))
    login = find_login(address)
    try:
        async with ServerClient(address, login.session) as remote:
            await remote.request("DELETE", "/session")
    except Unauthenticated:
        pass  # It had ended there already.
    finally:
        forget_login(address)
    if screen.for_programs:
        screen.answer({"address": address, "signed_in": False})
    else:
        screen.say(f"You are signed out of {clean(address)}.")
    return exits.DONE


async def _collected(remote: ServerClient, begun: dict[str, Any]) -> dict[str, Any]:
    while True:
        found: dict[str, Any] = await remote.request(
            "POST", "/session/terminal/collect", {"device_code": begun["device_code"]}
        )
        if found["status"] == "signed_in":
            return found
        if found["status"] != "waiting":
            raise Expired("The server gave up the sign-in.", code="code_over")
        await asyncio.sleep(begun["interval_seconds"])


def _label() -> str:
    """What the page calls this terminal."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return f"mainspring login by {user} on {platform.node() or 'this machine'}"
