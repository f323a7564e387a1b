"""The body of a poller process, made to be killed, with leases that expire soon."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from mainspring.app import Application
from mainspring.runs.rows import Hook
from mainspring.triggers.poller import Poller

POLL = 0.05


async def keep_looking(
    application: Application, hook: Hook, stop: asyncio.Event, lease: float
) -> None:
    """Looks at the sources of polls until it is stopped or killed."""
    poller = Poller(
        application.database,
        application.gate,
        application.versions,
        application.dispatcher,
        application.limits,
        mail=False,
        poll=POLL,
        lease=timedelta(seconds=lease),
        hook=hook,
    )
    await poller.run(stop)
