"""The watch: every loop that turns moments into firings, side by side in one process.

Any number of processes may keep watch; what one does, the others find done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

log = logging.getLogger(__name__)

Duty = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


async def keep_watch(duties: Mapping[str, Duty], stop: asyncio.Event) -> None:
    """Runs all duties until ``stop`` is set.

    A duty lives through what it expects to go wrong. One that ends all the same takes the
    others with it, so that whoever started the process sees it and starts it again.
    """
    tasks = {asyncio.create_task(duty(stop), name=name) for name, duty in duties.items()}
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            for task in ended:
                log.error("The watch over %s ended by itself.", task.get_name())
            stop.set()
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
