"""Taking in new connections: many at each round of the event loop.

The fast event loop takes one at each of its rounds. Where many call, a round takes long, and
whoever is new would stand outside while the others call again and again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, Protocol

from mainspring.contracts.errors import describe_for_log

BACKLOG: Final = 4096
_AT_ONCE: Final = 64
# What a machine may run out of comes back when somebody leaves.
_PAUSE_SECONDS: Final = 0.1

log = logging.getLogger(__name__)


class ListeningSocket(Protocol):
    """A socket, as far as this room minds: it takes in, and opens nothing."""

    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def listen(self, backlog: int, /) -> None: ...
    def accept(self) -> tuple[Any, Any]: ...
    def close(self) -> None: ...


class SocketAcceptor:
    """A bound socket that is listened to until it is closed."""

    def __init__(self, bound: ListeningSocket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._bound = bound
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        bound.setblocking(False)
        bound.listen(BACKLOG)
        self._open()

    def close(self) -> None:
        """Nobody else comes in; who has come in stays."""
        if self._bound.fileno() >= 0:
            self._loop.remove_reader(self._bound.fileno())
            self._bound.close()

    def _open(self) -> None:
        if self._bound.fileno() >= 0:
            self._loop.add_reader(self._bound.fileno(), self._take)

    def _take(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _address = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("No connection can be taken in for now: %s", describe_for_log(error))
                self._loop.remove_reader(self._bound.fileno())
                self._loop.call_later(_PAUSE_SECONDS, self._open)
                return
            task = self._loop.create_task(self._welcome(accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _welcome(self, accepted: Any) -> None:
        accepted.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        except OSError:
            # It has left again.
            accepted.close()
