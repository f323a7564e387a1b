"""Runs the loops of all triggers concurrently in one process.

Any number of processes may run them; work done by one is skipped by the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

log = logging.getLogger(__name__)

Duty = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


async def run_loops(duties: Mapping[str, Duty], stop: asyncio.Event) -> None:
    """Run all loops until ``stop`` is set.

    A loop survives expected errors. One that ends anyway stops the others, so that the supervisor
    notices and restarts the process.
    """
    tasks = {asyncio.create_task(duty(stop), name=name) for name, duty in duties.items()}
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            for task in ended:
                log.error("The watcher of %s stopped unexpectedly.", task.get_name())
            stop.set()
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
