"""Accepts many new connections per iteration of the event loop.

uvloop accepts one connection per iteration. Under load an iteration takes long, and new clients
would starve while established connections keep sending.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from mainspring.contracts.errors import describe_for_log

BACKLOG: Final = 4096
_BATCH: Final = 64
# Exhausted resources (file descriptors, memory) come back when a connection closes.
_PAUSE_SECONDS: Final = 0.1
_HANDSHAKE_SECONDS: Final = 10.0

# Chooses the TLS context of an accepted connection.
ChooseContext = Callable[[Any], Awaitable[ssl.SSLContext]]

log = logging.getLogger(__name__)


class ListeningSocket(Protocol):
    """The methods of a listening socket that are used here."""

    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def listen(self, backlog: int, /) -> None: ...
    def accept(self) -> tuple[Any, Any]: ...
    def close(self) -> None: ...


class SocketAcceptor:
    """Accepts connections on a bound socket until it is closed."""

    def __init__(
        self,
        bound: ListeningSocket,
        protocol: Callable[[], asyncio.Protocol],
        choose_context: ChooseContext | None = None,
    ) -> None:
        self._bound = bound
        self._protocol = protocol
        self._choose_context = choose_context
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        bound.setblocking(False)
        bound.listen(BACKLOG)
        self._resume()

    def close(self) -> None:
        """Stops accepting; open connections stay."""
        if self._bound.fileno() >= 0:
            self._loop.remove_reader(self._bound.fileno())
            self._bound.close()

    def _resume(self) -> None:
        if self._bound.fileno() >= 0:
            self._loop.add_reader(self._bound.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_BATCH):
            try:
                accepted, _address = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("No connection can be taken in for now: %s", describe_for_log(error))
                self._loop.remove_reader(self._bound.fileno())
                self._loop.call_later(_PAUSE_SECONDS, self._resume)
                return
            task = self._loop.create_task(self._connect(accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted: Any) -> None:
        accepted.setblocking(False)
        try:
            if self._choose_context is None:
                await self._loop.connect_accepted_socket(self._protocol, accepted)
                return
            context = await self._choose_context(accepted)
            await self._loop.connect_accepted_socket(
                self._protocol,
                accepted,
                ssl=context,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
            )
        except OSError:
            # The client has already disconnected, or does not accept the certificate.
            accepted.close()
