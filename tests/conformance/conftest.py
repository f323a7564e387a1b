"""The fixtures of conformance tests that need an application."""

from __future__ import annotations

from tests.kit.bench import bench
from tests.kit.postgres import database, database_url, migrated_template, postgres_server

__all__ = ["bench", "database", "database_url", "migrated_template", "postgres_server"]
