"""The worker's end: messages of Celery become a nudge of our own claim loop.

Celery never awaits anything, so our event loop lives beside it in the same process, and the
task only says "look". What is said inside of the database, such as an answer to a question,
still comes through Postgres; so does every hint of a sender that was not moved over yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from mainspring.store.wakeups import HintListener

# How long a worker that is busy sits on a hint: one that waits for work gets the next.
_BUSY_SECONDS: Final = 0.5


class MessageSource(Protocol):
    """Where messages come in: a consumer of Celery, ours or one that was there before us."""

    def open(self, ear: CeleryHintListener) -> None: ...

    def close(self) -> None: ...

    async def closed(self) -> None: ...


class CeleryHintListener:
    """Hears the broker and Postgres. A hint goes to whoever has nothing to do."""

    def __init__(self, listener: HintListener, inlet: MessageSource) -> None:
        self._listener = listener
        self._inlet = inlet
        self._loop: asyncio.AbstractEventLoop | None = None
        # Of those that wait for work: set by the loop, cleared by the thread of the broker.
        self._idle = threading.Event()
        # What a worker does when Celery is told from afar to shut it down.
        self.on_shutdown: Callable[[], None] = self.hush

    async def wait(self, seconds: float) -> object:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._inlet.open(self)
        self._idle.set()
        try:
            return await self._listener.wait(seconds)
        finally:
            self._idle.clear()

    def nudge(self) -> None:
        self._listener.nudge()

    def hush(self) -> None:
        self._inlet.close()
        # Nobody waits for it any more.
        self._idle.set()
        self._listener.nudge()

    async def aclose(self) -> None:
        self.hush()
        await self._listener.aclose()
        await self._inlet.closed()

    # --- from the thread of the broker

    def hint(self, *_: object, **__: object) -> None:
        """The task. What the message says is not looked at: it may be old, or from anybody.

        A worker without room keeps the next message waiting for a moment, so that it is taken
        by another; its own claim loop looks again by itself as soon as there is room.
        """
        self._idle.wait(_BUSY_SECONDS)
        self._idle.clear()
        self.look()

    def look(self) -> None:
        """Hints may have been missed: look."""
        self._in_loop(self._listener.nudge)

    def shut_down(self) -> None:
        self._in_loop(self.on_shutdown)

    def _in_loop(self, act: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None:
            # The loop may be gone already, and then nobody looks for anything.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(act)
