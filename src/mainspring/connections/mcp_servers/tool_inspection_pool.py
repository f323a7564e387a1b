"""Who looks at tools when, and where the work of it is done.

Judging what a server says takes the processor, and whoever connects decides how much of it. So
it is done in threads of its own, of which there are few: nobody else's calls wait for them. A
workspace looks at one server at a time, and a process at a few.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from mainspring.contracts.errors import LimitExceeded

Made = TypeVar("Made")

_AT_ONCE: Final = 8
_THREADS: Final = 1


class ToolInspectionPool:
    """Turns at harvesting, and the threads for it, of one process."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._threads = ThreadPoolExecutor(_THREADS, "looking")
        self._free = asyncio.Semaphore(_AT_ONCE)
        # One for each workspace, for as long as somebody holds it or waits for it.
        self._of: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, workspace_id: UUID) -> AsyncIterator[None]:
        """A turn of a workspace; whoever waits too long for it is told to come again."""
        mine = self._of.setdefault(workspace_id, asyncio.Lock())
        waiting = asyncio.timeout(self._patience)
        try:
            async with waiting, mine, self._free:
                waiting.reschedule(None)
                yield
        except TimeoutError:
            if not waiting.expired():
                raise
            raise LimitExceeded(
                "Other MCP servers are being checked.",
                code="looking_elsewhere",
                retry_after=30,
            ) from None

    async def apart(self, work: Callable[[], Made]) -> Made:
        """Does work away from the loop, and away from everybody else's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
