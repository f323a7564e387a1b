"""Who is there: the address of the server that is up, and whether a worker is alive."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.surfaces.cli.running_server import find_last_address, find_running_server

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices

# A worker that has just been started needs a moment to be seen.
_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.1


def with_running_server(settings: Settings) -> Settings:
    """The settings with what a running server has recorded: its address, and what it may reach.

    A public address that is set here wins.
    """
    server = find_running_server(settings.home)
    if server is None:
        return settings
    allow = settings.egress_allow if server.egress_allow is None else server.egress_allow
    address = settings.public_url or server.address or None
    return replace(settings, public_url=address, egress_allow=allow)


def server_address(settings: Settings) -> str:
    """Where the server is reached: as the operator says, else where it is up."""
    return with_running_server(settings).address


def expected_address(settings: Settings) -> str:
    """Where the server is reached, or will be once it is started.

    Without a running server this is the configured address. If no address is configured, it is
    the one of the last server on the data folder, which may have been given with `up --port`.
    """
    if find_running_server(settings.home) is not None or _is_configured(settings):
        return server_address(settings)
    return (find_last_address(settings.home) or settings.address).rstrip("/")


def _is_configured(settings: Settings) -> bool:
    defaults = {one.name: one.default for one in fields(settings)}
    names = ("public_url", "host", "port")
    return any(getattr(settings, name) != defaults[name] for name in names)


def fire_url(settings: Settings, automation_id: UUID) -> str:
    """Where a webhook is called with its token."""
    return f"{server_address(settings)}/api/v1/automations/{automation_id}/fire"


async def is_watched(services: ApplicationServices) -> bool:
    """Whether a server or a worker is there, so that what is due will happen."""
    return find_running_server(services.settings.home) is not None or await has_worker(services)


async def has_worker(services: ApplicationServices, *, patient: bool = False) -> bool:
    """Whether a worker is alive, as far as the database knows."""
    import asyncio

    from mainspring.runs.health import read_health_signals

    may_come = patient and find_running_server(services.settings.home) is not None
    deadline = time.monotonic() + (_PATIENCE_SECONDS if may_come else 0.0)
    while True:
        async with services.database.acquire() as connection:
            vitals = await read_health_signals(connection)
        if vitals.workers > 0 or time.monotonic() >= deadline:
            return vitals.workers > 0
        await asyncio.sleep(_PAUSE_SECONDS)
