"""The worker's end: Celery messages wake our own claim loop.

Celery is not async, so our event loop runs next to it in the same process, and the task only says
"look". Hints from inside the database, such as an answer to a question, still come through
Postgres; so does every hint of a sender that does not use Celery yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from mainspring.store.wakeups import HintListener

# How long a busy worker delays a hint, so that an idle worker gets the next one.
_BUSY_SECONDS: Final = 0.5


class MessageSource(Protocol):
    """Where messages come from: our Celery consumer, or an existing one."""

    def open(self, ear: CeleryHintListener) -> None: ...

    def close(self) -> None: ...

    async def closed(self) -> None: ...


class CeleryHintListener:
    """Listens to the broker and Postgres. A hint goes to an idle worker."""

    def __init__(self, listener: HintListener, inlet: MessageSource) -> None:
        self._listener = listener
        self._inlet = inlet
        self._loop: asyncio.AbstractEventLoop | None = None
        # For idle workers: set by the loop, cleared by the broker's thread.
        self._idle = threading.Event()
        # What a worker does when Celery receives a remote shutdown.
        self.on_shutdown: Callable[[], None] = self.stop_waiting

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

    def stop_waiting(self) -> None:
        self._inlet.close()
        # No task waits for it any more.
        self._idle.set()
        self._listener.nudge()

    async def aclose(self) -> None:
        self.stop_waiting()
        await self._listener.aclose()
        await self._inlet.closed()

    # --- from the broker's thread

    def hint(self, *_: object, **__: object) -> None:
        """The task. The message content is ignored: it may be old, or forged.

        A worker without free slots delays the next message briefly, so that another one takes it;
        its own claim loop looks again as soon as it has slots.
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
            # The loop may have ended already.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(act)
