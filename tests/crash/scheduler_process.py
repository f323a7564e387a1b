"""The body of a scheduler process, made to be killed, in a time that may go faster."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from mainspring.app import Application
from mainspring.contracts.context import Transaction
from mainspring.runs.rows import Hook
from mainspring.triggers.scheduler import Scheduler, Time, database_time

POLL = 0.05


def paced(since: datetime, pace: float) -> Time:
    """The database's time, counted faster from a moment on; the same in every process."""

    async def time(tx: Transaction) -> datetime:
        return since + (await database_time(tx) - since) * pace

    return time


async def keep_schedules(
    application: Application, hook: Hook, stop: asyncio.Event, since: float, pace: float
) -> None:
    """Fires schedules until it is stopped or killed."""
    time = paced(datetime.fromtimestamp(since, UTC), pace)
    scheduler = Scheduler(
        application.database,
        application.dispatcher,
        application.limits,
        time=time,
        poll=POLL,
        hook=hook,
    )
    await scheduler.run(stop)
