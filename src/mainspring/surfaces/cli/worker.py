"""``worker``: takes runs from the queues until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Finding, Invalid
from mainspring.runs.rows import RunEvent
from mainspring.settings import QUEUES
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.gc_tuning import tune_gc
from mainspring.surfaces.cli.log_format import keep_logbook
from mainspring.surfaces.cli.supervisor import TOGETHER_SECONDS

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

_ENDS = {"succeeded": "succeeded", "waiting": "waiting", "pending": "told", "lost": "told"}


async def work(
    context: CommandContext, screen: Screen, *, queues: str | None, slots: int | None
) -> int:
    """Runs a worker; the first signal lets its steps finish, and a second one ends it at once."""
    settings = _settings(context.settings(), queues, slots)
    keep_logbook("worker", settings.log)
    async with context.doors.open(settings) as services:
        await services.vault.check_readable()
        worker = services.hire(lambda moment: _tell(moment, screen))
        loop = asyncio.get_running_loop()
        stopping = _StopSignals(worker.stop)
        for sign in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sign, stopping.asked)
        tune_gc()
        screen.say(
            f"Working on {', '.join(settings.queues)} with {settings.slots} slots. "
            "Ctrl-C stops it; what cannot be finished is handed back."
        )
        try:
            await worker.run()
        finally:
            for sign in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(sign)
    screen.say("The worker has stopped.")
    return exits.DONE


@dataclass(slots=True)
class _StopSignals:
    """Counts the signals; those that were sent together, to a process and its group, are one."""

    stop: Callable[[], None]
    first: float | None = None

    def asked(self) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = now
            self.stop()
        elif now - self.first > TOGETHER_SECONDS:
            # The lease gives back what is under way.
            os._exit(exits.INTERRUPTED)


def _settings(settings: Settings, queues: str | None, slots: int | None) -> Settings:
    if queues is not None:
        named = tuple(word.strip() for word in queues.split(",") if word.strip())
        unknown = [word for word in named if word not in QUEUES]
        if unknown or not named:
            detail = (
                f"There is no queue called {unknown[0]!r}." if unknown else "No queue is named."
            )
            suggestion = f"The queues are {', '.join(QUEUES)}."
            finding = Finding("/queues", detail, "unknown_queue", suggestion)
            raise Invalid(detail, code="unknown_queue", suggestion=suggestion, findings=[finding])
        settings = replace(settings, queues=named)
    return settings if slots is None else replace(settings, slots=slots)


def _tell(event: RunEvent, screen: Screen) -> None:
    """One line when a run begins and one when it leaves."""
    if event.kind in ("run_started", "run_resumed"):
        words = "started" if event.kind == "run_started" else "resumed"
        screen.note(f"{screen.mark('started')[0]} {event.run_id} {words}")
    elif event.kind == "run_ended":
        sign, _ = screen.mark(_ENDS.get(event.status, "failed"))
        screen.note(f"{sign} {event.run_id} {event.status}")
