"""Definitions are compared with what the built-in integrations declare about their writes."""

from __future__ import annotations

import pytest

from tests.kit.declared_writes import declare_built_in_writes


@pytest.fixture(scope="session", autouse=True)
def declared_writes() -> None:
    declare_built_in_writes()
