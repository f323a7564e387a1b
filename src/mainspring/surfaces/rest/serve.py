"""Listening: the application behind a socket, until somebody says stop."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mainspring.contracts.errors import Clash, Invalid, Problem, TooLarge
from mainspring.settings import Settings
from mainspring.surfaces.rest.accepting import Door
from mainspring.surfaces.rest.answers import as_json
from mainspring.surfaces.rest.problems import MEDIA_TYPE
from mainspring.surfaces.rest.turnstile import Turnstile

GRACE_SECONDS: Final = 10
HEADER_BYTES: Final = 32_768
HEADERS: Final = 100
HEADER_SECONDS: Final = 30.0
# How often it is looked whether the last request has ended.
_LOOK_SECONDS: Final = 0.01

_UNREADABLE: Final = {
    **Invalid("What was sent is not an HTTP request.", code="not_http").as_dict(),
    "status": 400,
    "instance": "",
}
_TOO_LARGE: Final = {
    **TooLarge(f"The headers are larger than {HEADER_BYTES:,} bytes.", code="headers").as_dict(),
    "status": 431,
    "instance": "",
}


async def serve(
    app: FastAPI,
    settings: Settings,
    *,
    ready: Callable[[int], None],
    stop: asyncio.Event,
) -> None:
    """Listens until ``stop`` is set; then requests under way may end, for a while.

    ``ready`` is told the port, which for port 0 only the system knows.
    """
    server = _Server(_config(app, settings), settings)
    watching = asyncio.create_task(_say_closing(app, stop))
    try:
        await server.run_until_told(ready, stop)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        Turnstile(app, app.state.requests),
        host=settings.host,
        port=settings.port,
        http=_Measured,
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


async def _say_closing(app: FastAPI, stop: asyncio.Event) -> None:
    await stop.wait()
    app.state.closing.set()


class _Server(uvicorn.Server):
    """uvicorn without its hands on signals, and with words for a port that is taken.

    It ends as soon as it is told to and nothing is under way, not at the next look.
    """

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings
        self._doors: list[Door] = []

    async def run_until_told(self, ready: Callable[[int], None], stop: asyncio.Event) -> None:
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise Problem("The server could not start; its log says why.", code="startup")
        try:
            await self._listen()
        except BaseException:
            await self.lifespan.shutdown()
            raise
        ready(self.servers[0].sockets[0].getsockname()[1])
        # It keeps the date that answers carry.
        ticking = asyncio.create_task(self.main_loop())
        try:
            await stop.wait()
            # It already says that it is not ready; whoever sends requests may take it in.
            await asyncio.sleep(self._settings.leave_seconds)
        finally:
            ticking.cancel()
        await self._close()

    async def _close(self) -> None:
        """Idle connections are closed at once; requests under way have their time."""
        for door in self._doors:
            door.close()
        for bound in self.servers:
            bound.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

    async def _listen(self) -> None:
        config = self.config
        state = self.lifespan.state

        def protocol() -> asyncio.Protocol:
            return _Measured(config, self.server_state, state)

        try:
            bound = await asyncio.get_running_loop().create_server(
                protocol, config.host, config.port, reuse_address=True, start_serving=False
            )
            self._doors = [Door(socket.dup(), protocol) for socket in bound.sockets]
        except OSError as error:
            raise _cannot_listen(error, self._settings) from None
        self.servers = [bound]
        self.started = True


class _Measured(HttpToolsProtocol):
    """The parser itself waits for headers of any size, for ever; here both have an end."""

    _timer: asyncio.TimerHandle | None = None
    _heading = False
    _fresh = False
    _waiting = 0
    _too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._fresh = False
        super().data_received(data)
        if not self._heading or self._fresh or self._too_large:
            return
        self._waiting += len(data)
        if self._waiting > HEADER_BYTES:
            self._too_large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        self._heading = self._fresh = True
        self._waiting = 0
        self._start_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._heading = False
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEADER_BYTES or len(self.headers) > HEADERS:
            self._too_large = True
            raise _TooManyHeaders  # the parser turns it into a refusal
        super().on_headers_complete()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def send_400_response(self, msg: str) -> None:
        """What cannot even be parsed is answered here, in the form of all other problems."""
        del msg
        content = as_json(_TOO_LARGE if self._too_large else _UNREADABLE)
        status = b"431 Request Header Fields Too Large" if self._too_large else b"400 Bad Request"
        self.transport.write(
            b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
            % (status, MEDIA_TYPE.encode(), len(content), content)
        )
        self.transport.close()


class _TooManyHeaders(Exception):
    """Raised through the parser, which then refuses the request."""


def _cannot_listen(error: OSError, settings: Settings) -> Problem:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return Clash(
            f"Another program already listens on {where}.",
            code="port_in_use",
            suggestion="Stop it, or set MAINSPRING_PORT to another port.",
        )
    return Invalid(
        f"This machine cannot listen on {where}.",
        code="cannot_listen",
        suggestion="Check MAINSPRING_HOST and MAINSPRING_PORT.",
    )
