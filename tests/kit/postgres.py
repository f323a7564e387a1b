"""A real Postgres for tests: one server per test process, one fresh database per test.

The server is our own embedded one, with its flushes to disk switched off and its files in
memory where it fits: what survives a power cut is not what these tests are about.
Tests about the server itself start their own, in a folder from ``data_home``. Each worker of
a parallel run has its own server.

A program that starts many short test processes starts one server for all of them with
``python -m tests.kit.postgres``, and gives them its socket in ``MAINSPRING_TEST_POSTGRES``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio

from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer, build_dsn
from mainspring.store.migrate import PACKAGED, migrate
from mainspring.store.partitions import ensure_partitions

# How many wait for a lock that somebody else holds.
LOCK_WAITS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""

TEMPLATE = "template_of_tests"
# The same with the partitions of today, which an application would make at its first start.
LIVED_IN = "template_of_houses"
_FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "128MB"}
_DISK, _MEMORY, _ROOM_BYTES = "/tmp", "/dev/shm", 4 * 1024**3
_numbers = itertools.count(1)
SHARED = "MAINSPRING_TEST_POSTGRES"


class SharedServer(EmbeddedServer):
    """A server that another process has started, with its templates."""

    def __init__(self, socket: Path) -> None:
        super().__init__(socket.parent)
        self._socket = socket

    def dsn_for(self, database: str) -> str:
        return build_dsn(self._socket, database)


@contextlib.contextmanager
def open_folder(place: str = _DISK) -> Iterator[Path]:
    """A temporary folder that every user may pass through.

    pytest's own folders are closed to the user the server runs as when root tests.
    """
    folder = Path(tempfile.mkdtemp(prefix="mainspring-", dir=place))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def quickest_place() -> str:
    """Memory, if it can hold all that is written and programs may be started there."""
    try:
        system = os.statvfs(_MEMORY)
    except OSError:
        return _DISK
    roomy = system.f_bavail * system.f_frsize >= _ROOM_BYTES
    return _MEMORY if roomy and not system.f_flag & os.ST_NOEXEC else _DISK


@contextlib.contextmanager
def running_server(
    settings: Mapping[str, str] = MappingProxyType({}), place: str = _DISK
) -> Iterator[EmbeddedServer]:
    """A server in a folder of its own, until the block ends."""
    with open_folder(place) as folder:
        server = EmbeddedServer(folder / "home", extra_settings=settings)
        server.start()
        try:
            yield server
        finally:
            # Nobody reads these files again, so they need not be brought to the disk.
            if server.pid is not None and server.alive():
                os.kill(server.pid, signal.SIGQUIT)
            server.stop()


@pytest.fixture
def data_home() -> Iterator[Path]:
    """A data folder that is not there yet, for a server of the test's own."""
    with open_folder() as folder:
        yield folder / "home"


@pytest.fixture(scope="session")
def made_home() -> Iterator[Path]:
    """A data folder that was started and stopped once, to be copied."""
    with open_folder() as folder:
        server = EmbeddedServer(folder / "home", extra_settings=_FAST)
        server.start()
        server.stop()
        yield folder / "home"


@pytest.fixture
def used_home(made_home: Path, data_home: Path) -> Path:
    """A data folder as an earlier life has left it; quicker than a first start."""
    subprocess.run(["cp", "-a", made_home, data_home], check=True)
    return data_home


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedServer]:
    if SHARED in os.environ:
        yield SharedServer(Path(os.environ[SHARED]))
        return
    with running_server(_FAST, quickest_place()) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgres_server: EmbeddedServer) -> str:
    """A database with all migrations in it, for others to be made from."""
    if not isinstance(postgres_server, SharedServer):
        _finish(_make_templates(postgres_server))
    return TEMPLATE


@pytest_asyncio.fixture
async def database_url(
    request: pytest.FixtureRequest, postgres_server: EmbeddedServer, migrated_template: str
) -> AsyncIterator[str]:
    """The address of a fresh, migrated database; it is gone after the test.

    For a test with an application it has the partitions of today already: creating them is most of
    the time that an application takes to start.
    """
    template = LIVED_IN if "bench" in request.fixturenames else migrated_template
    async with fresh_database(postgres_server, template) as url:
        yield url


@pytest_asyncio.fixture
async def empty_database_url(postgres_server: EmbeddedServer) -> AsyncIterator[str]:
    """The address of a fresh database with nothing in it."""
    async with fresh_database(postgres_server, "template1") as url:
        yield url


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(Settings(database_url=database_url))
    try:
        yield opened
    finally:
        await opened.close()


@contextlib.asynccontextmanager
async def fresh_database(server: EmbeddedServer, template: str) -> AsyncIterator[str]:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    await _copy(server, name, template)
    try:
        yield server.dsn_for(name)
    finally:
        await _as_admin(server, f"DROP DATABASE {name} WITH (FORCE)")


async def _make_templates(server: EmbeddedServer) -> None:
    await _as_admin(server, f"CREATE DATABASE {TEMPLATE}")
    async with _opened(server, TEMPLATE) as database:
        await migrate(database, PACKAGED)
    await _copy(server, LIVED_IN, TEMPLATE)
    async with _opened(server, LIVED_IN) as database, database.transaction() as tx:
        await ensure_partitions(tx, await tx.fetchval("SELECT now()"))


@contextlib.asynccontextmanager
async def _opened(server: EmbeddedServer, name: str) -> AsyncIterator[Database]:
    """A database that nobody is connected to afterwards: another one cannot be copied."""
    database = await Database.open(Settings(database_url=server.dsn_for(name)))
    try:
        yield database
        await database.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await database.close()


async def _copy(server: EmbeddedServer, name: str, template: str) -> None:
    # Copied file by file: a log of every page would be written for nothing.
    await _as_admin(server, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")


async def _as_admin(server: EmbeddedServer, statement: str) -> None:
    connection = await asyncpg.connect(server.dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _finish(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(work)


def _share() -> None:
    """Prints the socket of a server with its templates, and keeps it until stdin ends."""
    with running_server(_FAST, quickest_place()) as server:
        _finish(_make_templates(server))
        (socket,) = parse_qs(urlsplit(server.dsn).query)["host"]
        sys.stdout.write(f"{socket}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _share()
