"""The body of a matcher process, made to be killed."""

from __future__ import annotations

import asyncio

from mainspring.runs.watch import Hook
from mainspring.store.events import EVENTS_CHANNEL, EventTable
from mainspring.store.wake import WakeupListener
from mainspring.triggers.matcher import EventMatcher
from mainspring.wiring import Application


async def follow_log(house: Application, hook: Hook, stop: asyncio.Event) -> None:
    """Matches events until it is stopped or killed."""
    listener = WakeupListener(house.database, EVENTS_CHANNEL)
    matcher = EventMatcher(
        house.database,
        EventTable(house.limits),
        house.dispatcher,
        house.limits,
        listener=listener,
        hook=hook,
    )
    await matcher.reader.run(stop)
