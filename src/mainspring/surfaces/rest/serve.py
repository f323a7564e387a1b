"""Listening: the application behind a socket, until somebody says stop."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI

from mainspring.contracts.errors import Conflict, Invalid, Problem
from mainspring.settings import Settings
from mainspring.surfaces.rest.accepting import SocketAcceptor
from mainspring.surfaces.rest.http_protocol import BoundedHttpProtocol
from mainspring.surfaces.rest.middleware import WebhookThrottleMiddleware

GRACE_SECONDS: Final = 10
# Longer than clients and load balancers keep an idle connection (60 seconds is usual): they close
# it first, so a request never meets a connection that the server is just closing.
KEEP_ALIVE_SECONDS: Final = 75
# How often it is looked whether the last request has ended.
_LOOK_SECONDS: Final = 0.01


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
    server = _UvicornServer(_config(app, settings), settings)
    watching = asyncio.create_task(_say_closing(app, stop))
    try:
        await server.run_until_stopped(ready, stop)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        WebhookThrottleMiddleware(app, app.state.requests),
        host=settings.host,
        port=settings.port,
        http=BoundedHttpProtocol,
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


async def _say_closing(app: FastAPI, stop: asyncio.Event) -> None:
    await stop.wait()
    app.state.closing.set()


class _UvicornServer(uvicorn.Server):
    """uvicorn without its hands on signals, and with words for a port that is taken.

    It ends as soon as it is told to and nothing is under way, not at the next look.
    """

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings
        self._doors: list[SocketAcceptor] = []

    async def run_until_stopped(self, ready: Callable[[int], None], stop: asyncio.Event) -> None:
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
            return BoundedHttpProtocol(config, self.server_state, state)

        try:
            bound = await asyncio.get_running_loop().create_server(
                protocol, config.host, config.port, reuse_address=True, start_serving=False
            )
            self._doors = [SocketAcceptor(socket.dup(), protocol) for socket in bound.sockets]
        except OSError as error:
            raise _cannot_listen(error, self._settings) from None
        self.servers = [bound]
        self.started = True


def _cannot_listen(error: OSError, settings: Settings) -> Problem:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Another program already listens on {where}.",
            code="port_in_use",
            suggestion="Stop it, or set MAINSPRING_PORT to another port.",
        )
    return Invalid(
        f"This machine cannot listen on {where}.",
        code="cannot_listen",
        suggestion="Check MAINSPRING_HOST and MAINSPRING_PORT.",
    )
