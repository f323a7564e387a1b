"""One application with two MCP servers for all tests of a module, reset before each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mainspring.store.embedded import EmbeddedServer
from tests.kit.postgres import fresh_database
from tests.kit.tool_servers import ToolServers, toolshop


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ToolServers]:
    async with (
        fresh_database(postgres_server, migrated_template) as url,
        toolshop(url, tmp_path_factory.mktemp("tools")) as made,
    ):
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def shop(shared: ToolServers) -> ToolServers:
    """The application without connections, and the servers as they were."""
    await shared.reset()
    return shared
