"""Serves the application on a socket until it is stopped."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import uvicorn
from fastapi import FastAPI

from mainspring.contracts.errors import Conflict, Invalid, Problem
from mainspring.settings import Settings
from mainspring.surfaces.rest.accepting import ChooseContext, SocketAcceptor
from mainspring.surfaces.rest.http_challenge import HttpChallengeApp
from mainspring.surfaces.rest.http_protocol import BoundedHttpProtocol
from mainspring.surfaces.rest.middleware import WebhookThrottleMiddleware

if TYPE_CHECKING:
    from mainspring.surfaces.rest.certificates import CertificateManager

GRACE_SECONDS: Final = 10
# Longer than clients and load balancers keep an idle connection (60 seconds is usual): they close
# it first, so a request never meets a connection that the server is just closing.
KEEP_ALIVE_SECONDS: Final = 75
# The polling interval for the end of the last request.
_POLL_SECONDS: Final = 0.01


async def serve(
    app: FastAPI,
    settings: Settings,
    *,
    ready: Callable[[int], None],
    stop: asyncio.Event,
) -> None:
    """Listens until ``stop`` is set; then requests in progress have a grace period.

    ``ready`` is called with the port, which for port 0 is chosen by the system.
    """
    server = _UvicornServer(_config(app, settings), settings, app.state.certificates)
    closing = asyncio.create_task(_set_closing(app, stop))
    try:
        await server.run_until_stopped(ready, stop)
    finally:
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)


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


async def _set_closing(app: FastAPI, stop: asyncio.Event) -> None:
    await stop.wait()
    app.state.closing.set()


class _UvicornServer(uvicorn.Server):
    """A uvicorn server without signal handlers, and with a clear error for a port in use.

    It stops as soon as no request is in progress, not at the next tick.
    """

    def __init__(
        self, config: uvicorn.Config, settings: Settings, certificates: CertificateManager | None
    ) -> None:
        super().__init__(config)
        self._settings = settings
        self._certificates = certificates
        self._acceptors: list[SocketAcceptor] = []

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
        # The first updates the Date header.
        tasks = [asyncio.create_task(self.main_loop())]
        if self._certificates is not None:
            tasks.append(asyncio.create_task(self._certificates.run(stop), name="certificates"))
        try:
            await stop.wait()
            # Readiness already fails; this gives load balancers time to notice.
            await asyncio.sleep(self._settings.leave_seconds)
        finally:
            for task in tasks:
                task.cancel()
        await self._close()

    async def _close(self) -> None:
        """Closes idle connections at once; requests in progress have a grace period."""
        for acceptor in self._acceptors:
            acceptor.close()
        for bound in self.servers:
            bound.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

    async def _listen(self) -> None:
        settings, certificates = self._settings, self._certificates
        await self._bind(self.config, settings.host, settings.port, "PORT")
        if certificates is not None:
            host = settings.https_host
            await self._bind(
                self.config, host, settings.https_port, "HTTPS_PORT", certificates.choose_context
            )
            if settings.acme_challenge == "http-01":
                config = _config_challenges(self.config, certificates, settings)
                await self._bind(config, host, settings.acme_http_port, "ACME_HTTP_PORT")
        self.started = True

    async def _bind(
        self,
        config: uvicorn.Config,
        host: str,
        port: int,
        setting: str,
        choose_context: ChooseContext | None = None,
    ) -> None:
        state = self.lifespan.state

        def protocol() -> asyncio.Protocol:
            return BoundedHttpProtocol(config, self.server_state, state)

        try:
            bound = await asyncio.get_running_loop().create_server(
                protocol, host or None, port, reuse_address=True, start_serving=False
            )
            self.servers = [*getattr(self, "servers", ()), bound]
            self._acceptors += [
                SocketAcceptor(socket.dup(), protocol, choose_context) for socket in bound.sockets
            ]
        except OSError as error:
            for acceptor in self._acceptors:
                acceptor.close()
            for other in getattr(self, "servers", ()):
                other.close()
            raise _cannot_listen(error, host, port, setting) from None


def _config_challenges(
    base: uvicorn.Config, certificates: CertificateManager, settings: Settings
) -> uvicorn.Config:
    config = uvicorn.Config(
        HttpChallengeApp(certificates, settings.acme_domains, settings.address),
        http=BoundedHttpProtocol,
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=base.timeout_keep_alive,
    )
    config.load()
    return config


def _cannot_listen(error: OSError, host: str, port: int, setting: str) -> Problem:
    where = f"{host or 'port'}{':' if host else ' '}{port}"
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Another program already listens on {where}.",
            code="port_in_use",
            suggestion=f"Stop it, or set MAINSPRING_{setting} to another port.",
        )
    if error.errno == errno.EACCES:
        return Conflict(
            f"This user may not listen on {where}.",
            code="port_not_allowed",
            suggestion="Give the service the capability CAP_NET_BIND_SERVICE, or set "
            f"MAINSPRING_{setting} to a port from 1024 and forward {port} to it.",
        )
    return Invalid(
        f"This machine cannot listen on {where}.",
        code="cannot_listen",
        suggestion=f"Check MAINSPRING_{'' if setting == 'PORT' else 'HTTPS_'}HOST and "
        f"MAINSPRING_{setting}.",
    )
