"""What the crash tests share: one server with real durability, folders, a printed seed."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.store.embedded import EmbeddedServer
from tests.crash.fork_server import ForkServer
from tests.kit.postgres import data_home, open_folder, running_server

__all__ = ["data_home"]

SEED = "CRASH_SEED"


@pytest.fixture(scope="session")
def durable_server() -> Iterator[EmbeddedServer]:
    """Postgres as the product runs it: what was answered as committed is on disk."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Where all workers come from."""
    opened = ForkServer.open()
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for the ledger and the workers' logs."""
    with open_folder() as made:
        yield made


@pytest.fixture
def chance() -> random.Random:
    """Random instants; the seed is shown when a test fails and can be given back."""
    seed = int(os.environ.get(SEED) or random.randrange(1_000_000))
    sys.stdout.write(f"{SEED}={seed}\n")
    return random.Random(seed)
