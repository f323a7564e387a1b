"""The fixtures of tests that ask every surface the same."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mainspring.store.embedded import EmbeddedServer
from tests.kit.access_matrix import AccessMatrix, two_workspaces
from tests.kit.postgres import fresh_database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[AccessMatrix]:
    """Two served workspaces, for all tests of a module."""
    async with (
        fresh_database(postgres_server, migrated_template) as url,
        two_workspaces(url, tmp_path_factory.mktemp("two")) as made,
    ):
        yield made
