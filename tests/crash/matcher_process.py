"""The body of a matcher process, made to be killed."""

from __future__ import annotations

import asyncio

from mainspring.app import Application
from mainspring.runs.rows import Hook
from mainspring.store.events import EVENTS_CHANNEL, EventTable
from mainspring.store.wakeups import WakeupListener
from mainspring.triggers.matcher import EventMatcher


async def follow_log(application: Application, hook: Hook, stop: asyncio.Event) -> None:
    """Matches events until it is stopped or killed."""
    listener = WakeupListener(application.database, EVENTS_CHANNEL)
    matcher = EventMatcher(
        application.database,
        EventTable(application.limits),
        application.dispatcher,
        application.limits,
        listener=listener,
        hook=hook,
    )
    await matcher.reader.run(stop)
