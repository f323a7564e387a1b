"""``token``: the local owner's token, for whoever calls the API from this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import ensure_owner_token, read_owner_token

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def show_token(context: CommandContext, screen: Screen, *, plain: bool) -> int:
    """Where it is kept; its text only when that is asked for."""
    settings = context.settings()
    async with context.doors.open(settings) as services:
        path = await ensure_owner_token(
            services.database, settings.home, services.workspace_id, FIRST_MEMBER
        )
        text = await asyncio.to_thread(read_owner_token, settings.home) if plain else None
    if screen.for_programs:
        result: dict[str, Any] = {"file": str(path), "address": server_address(settings)}
        screen.answer(result if text is None else {**result, "token": text})
    elif text is not None:
        # Alone on its line, so that a shell can take it as it is.
        screen.say(text)
    else:
        reveal = hint("token", "--show")
        screen.say(
            f"The owner's token is in {clean(str(path))}",
            f"  {reveal}",
            f'  curl -H "Authorization: Bearer $({reveal})" '
            f"{server_address(settings)}/api/v1/automations",
        )
    return exits.DONE
