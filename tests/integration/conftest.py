"""The fixtures every integration test may ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_asyncio

from mainspring.store.database import Database
from tests.kit.postgres import (
    data_home,
    database,
    database_url,
    empty_database_url,
    made_home,
    migrated_template,
    postgres_server,
    used_home,
)
from tests.kit.rolled_back import file_database, rolled_back

if TYPE_CHECKING:
    from tests.kit.bench import Bench

__all__ = [
    "data_home",
    "database",
    "database_url",
    "empty_database_url",
    "file_database",
    "made_home",
    "migrated_template",
    "postgres_server",
    "rolled_back",
    "used_home",
]


@pytest_asyncio.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    """The whole product over the test's own database."""
    # Imported here, so that tests of single modules import no more than those.
    from tests.kit.bench import open_bench

    async with open_bench(database, database_url, tmp_path) as made:
        yield made
