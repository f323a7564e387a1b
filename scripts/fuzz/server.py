"""A server of its own over a temporary folder, which counts what it answers."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from mainspring.app import (
    Application,
    application_services,
    build_worker,
    open_application,
    run_background_loops,
)
from mainspring.settings import Settings
from mainspring.surfaces.mcp.mount import PATH, McpMount
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.serve import serve
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.tokens import ensure_owner_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(slots=True)
class Tally:
    """How often each status was answered, and by which routes a 2xx was."""

    statuses: Counter[int] = field(default_factory=Counter)
    answered: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)


class Counting:
    """Stands before everything and writes down what is answered."""

    def __init__(self, app: ASGIApp, tally: Tally) -> None:
        self._app = app
        self._tally = tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(scope, int(message["status"]))
            await send(message)

        await self._app(scope, receive, counted)

    def _count(self, scope: Scope, status: int) -> None:
        name = getattr(scope.get("route"), "name", None)
        self._tally.statuses[status] += 1
        if name is not None:
            self._tally.answered.add(str(name))
            if status < 300:
                self._tally.reached.add(str(name))


@dataclass(frozen=True, slots=True)
class Server:
    """A listening application; the token is that of its owner and administrator."""

    application: Application
    app: FastAPI
    address: str
    token: str
    tally: Tally


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-fuzz-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def open_server(home: Path, **settings: Any) -> AsyncIterator[Server]:
    """The whole product behind a port, with a worker, until the block ends."""
    async with open_application(
        Settings(home=home, lease_seconds=600.0, **settings)
    ) as application:
        services = application_services(application)
        file = await ensure_owner_token(
            application.database, home, application.workspace_id, FIRST_MEMBER
        )
        stop, tally = asyncio.Event(), Tally()
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        app, worker = (
            build_api(services, beside={PATH: McpMount(services)}),
            build_worker(application),
        )
        app.add_middleware(Counting, tally=tally)
        working = asyncio.create_task(worker.run())
        watching = asyncio.create_task(run_background_loops(application, stop))
        listening = Settings(home=home, port=0)
        serving = asyncio.create_task(serve(app, listening, ready=port.set_result, stop=stop))
        try:
            address = f"http://127.0.0.1:{await port}"
            yield Server(application, app, address, file.read_text().strip(), tally)
        finally:
            stop.set()
            worker.stop()
            await asyncio.gather(serving, working, watching)
