"""An application over a server of its own, for checks that kill nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mainspring.app import Application, build_registry, open_application
from mainspring.contracts.capability import Capability
from mainspring.contracts.limits import Limits
from mainspring.settings import Settings
from mainspring.store.embedded import EmbeddedServer
from tests.kit.postgres import open_folder


@asynccontextmanager
async def house_alone(capabilities: Sequence[Capability] = ()) -> AsyncIterator[Application]:
    """The application, until the block ends."""
    with open_folder() as folder:
        server = EmbeddedServer(folder / "home")
        await server.start_async()
        try:
            settings = Settings(home=folder, database_url=server.dsn, poll_seconds=0.1)
            registry = build_registry(Limits(), capabilities=capabilities)
            async with open_application(settings, registry=registry) as application:
                yield application
        finally:
            await server.stop_async()
