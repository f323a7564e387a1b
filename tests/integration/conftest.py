"""The fixtures every integration test may ask for."""

from __future__ import annotations

from tests.kit.house import bench
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

__all__ = [
    "bench",
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
