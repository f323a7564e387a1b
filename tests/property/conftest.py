"""The one property test that needs a database finds it here."""

from __future__ import annotations

import pytest

from tests.kit.declared_writes import declare_built_in_writes
from tests.kit.postgres import migrated_template, postgres_server

__all__ = ["migrated_template", "postgres_server"]


@pytest.fixture(scope="session", autouse=True)
def declared_writes() -> None:
    """Definitions are compared with what the built-in integrations declare."""
    declare_built_in_writes()
