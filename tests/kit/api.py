"""A running server on loopback over the test's own application, and clients for it.

Ask for the fixture ``api``. Its ``client`` is the owner with a browser session, a person; its
``program`` sends the owner's token with each request; its ``anonymous`` sends no credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import APIRouter, FastAPI

from mainspring.app import Application, application_services
from mainspring.surfaces.mcp.mount import PATH, McpMount
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.auth import BrowserSessionPolicy
from mainspring.surfaces.rest.serve import serve
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import ensure_owner_token
from tests.kit.bench import Bench
from tests.kit.cached_app import kept_app
from tests.kit.owner_session import session_headers

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Api:
    """A server that listens, and three who call it."""

    app: FastAPI
    address: str
    token: str
    # The owner, signed in with a browser: a person.
    client: httpx2.AsyncClient
    # The owner's token: a program.
    program: httpx2.AsyncClient
    anonymous: httpx2.AsyncClient
    application: Application


@asynccontextmanager
async def served(
    application: Application, more: Sequence[APIRouter] = (), *, own_app: bool = False
) -> AsyncIterator[Api]:
    """The application behind a port of its own, until the block ends."""
    application = replace(
        application, settings=replace(application.settings, host="127.0.0.1", port=0)
    )
    services = application_services(application)
    token_file = await ensure_owner_token(
        application.database, application.settings.home, application.workspace_id, FIRST_MEMBER
    )
    token = token_file.read_text().strip()
    with _app(services, more, own=own_app) as app:
        async with _listening(app, token, application) as made:
            yield made


@contextmanager
def _app(
    services: ApplicationServices, more: Sequence[APIRouter], *, own: bool
) -> Iterator[FastAPI]:
    if more or own:
        yield build_api(services, more=more, beside={PATH: McpMount(services)})
        return
    with kept_app(services) as app:
        yield app


@asynccontextmanager
async def _listening(app: FastAPI, token: str, application: Application) -> AsyncIterator[Api]:
    stop = asyncio.Event()
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(app, application.settings, ready=port.set_result, stop=stop)
    )
    # A server that cannot start ends before it is ready, with the reason.
    waited: list[asyncio.Future[Any]] = [serving, port]
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    address = f"http://127.0.0.1:{await port}"
    known = {"Authorization": f"Bearer {token}"}
    async with (
        # Plain HTTP on loopback: reading all authorities would take longer than the test.
        httpx2.AsyncClient(
            base_url=address, auth=OwnerSession(application), timeout=PATIENCE, verify=False
        ) as client,
        httpx2.AsyncClient(
            base_url=address, headers=known, timeout=PATIENCE, verify=False
        ) as program,
        httpx2.AsyncClient(base_url=address, timeout=PATIENCE, verify=False) as anonymous,
    ):
        try:
            yield Api(app, address, token, client, program, anonymous, application)
        finally:
            stop.set()
            await serving


class OwnerSession(httpx2.Auth):
    """Signs the owner in with the first request, and sends what their browser would send."""

    def __init__(self, house: Application) -> None:
        self._application = house
        self._headers: dict[str, str] = {}

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self._headers:
            self._headers = await owner_session(self._application)
        for name, value in self._headers.items():
            request.headers.setdefault(name, value)
        yield request


async def owner_session(application: Application) -> dict[str, str]:
    """The headers that a browser sends whose owner has signed in."""
    name = BrowserSessionPolicy(application.settings.address).name
    async with application.database.transaction() as tx:
        return await session_headers(tx, FIRST_MEMBER, application.workspace_id, name)


@pytest_asyncio.fixture
async def api(bench: Bench, request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """The bench's application with its REST surface listening."""
    own_app = request.node.get_closest_marker("own_app") is not None
    async with served(bench.application, own_app=own_app) as made:
        yield made
