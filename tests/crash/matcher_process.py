"""The body of a matcher process, made to be killed."""

from __future__ import annotations

import asyncio

from mainspring.runs.watch import Hook
from mainspring.store.events import EVENTS_CHANNEL, EventTable
from mainspring.store.wake import Listener
from mainspring.triggers.matcher import Matcher
from mainspring.wiring import House


async def follow_log(house: House, hook: Hook, stop: asyncio.Event) -> None:
    """Matches events until it is stopped or killed."""
    listener = Listener(house.database, EVENTS_CHANNEL)
    matcher = Matcher(
        house.database,
        EventTable(house.limits),
        house.dispatcher,
        house.limits,
        listener=listener,
        hook=hook,
    )
    await matcher.reader.run(stop)
