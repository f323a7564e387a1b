"""Who is there: the address of the server that is up, and whether a worker is alive."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.surfaces.cli.standing import who_is_up

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.rooms import Rooms

# A worker that has just been started needs a moment to be seen.
_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.1


def server_address(settings: Settings) -> str:
    """Where the server is reached: as the operator says, else where it is up."""
    standing = None if settings.public_url else who_is_up(settings.home)
    return standing.address if standing and standing.address else settings.address


def fire_url(settings: Settings, automation_id: UUID) -> str:
    """Where a webhook is called with its token."""
    return f"{server_address(settings)}/api/v1/automations/{automation_id}/fire"


async def is_watched(rooms: Rooms) -> bool:
    """Whether a server or a worker is there, so that what is due will happen."""
    return who_is_up(rooms.settings.home) is not None or await has_worker(rooms)


async def has_worker(rooms: Rooms, *, patient: bool = False) -> bool:
    """Whether a worker is alive, as far as the database knows."""
    from mainspring.runs.health import read_vitals

    may_come = patient and who_is_up(rooms.settings.home) is not None
    deadline = time.monotonic() + (_PATIENCE_SECONDS if may_come else 0.0)
    while True:
        async with rooms.database.acquire() as connection:
            vitals = await read_vitals(connection)
        if vitals.workers > 0 or time.monotonic() >= deadline:
            return vitals.workers > 0
        await asyncio.sleep(_PAUSE_SECONDS)
