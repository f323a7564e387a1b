"""One application for all starters of a module; each test finds nothing active in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mainspring.store.embedded import EmbeddedServer
from tests.kit.postgres import fresh_database
from tests.kit.starters import StarterBench, open_shop


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def open_house_of_starters(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[StarterBench]:
    async with (
        fresh_database(postgres_server, migrated_template) as url,
        open_shop(url, tmp_path_factory.mktemp("starters")) as made,
    ):
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def shop(open_house_of_starters: StarterBench) -> AsyncIterator[StarterBench]:
    yield open_house_of_starters
    await open_house_of_starters.put_away()
