"""Only ``up`` and ``migrate`` change the tables; every other command says what to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from mainspring.__main__ import command_line
from mainspring.contracts.errors import Conflict
from mainspring.settings import Settings
from mainspring.store.application_name import hash_host_name
from mainspring.store.database import Database
from mainspring.store.downgrade import downgrade, plan_downgrade
from mainspring.store.migrate import (
    PACKAGED,
    migrate,
    read_migrations,
    read_schema_version,
    require_tables,
)
from mainspring.surfaces.cli import run_cli
from mainspring.surfaces.cli.migrate import bring_up_to_date
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench

OLDER, NEWEST = 11, len(read_migrations(PACKAGED))
# Reading, writing, parts of the server, and the examination of the machine.
COMMANDS = [
    ["list"],
    ["runs"],
    ["new", "every weekday at 9 remind me to plan the day"],
    ["token"],
    ["worker"],
    ["scheduler"],
    ["api", "--port", "0"],
    ["doctor"],
]


async def go_back(database: Database) -> None:
    await downgrade(database, plan_downgrade(await read_schema_version(database), OLDER))


@asynccontextmanager
async def older_server(database: Database) -> AsyncIterator[None]:
    """A session that names itself as a part of another version does."""
    name = f"mainspring:4242:{hash_host_name('elsewhere')}:0.0.1"
    session = await database.dedicated(settings={"application_name": name})
    try:
        yield
    finally:
        await session.close()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
async def test_a_command_does_not_migrate_an_older_database(
    words: list[str], bench: Bench, command: Command
) -> None:
    database = bench.application.database
    await go_back(database)

    code, output = await command(*words)

    assert code == 1
    output = " ".join(output.split())
    assert "an older Mainspring" in output
    assert " migrate`" in output
    assert "Traceback" not in output
    assert await read_schema_version(database) == OLDER


async def test_a_command_with_an_older_server_running_says_to_stop_it_first(
    bench: Bench, command: Command
) -> None:
    database = bench.application.database
    await go_back(database)
    async with older_server(database):
        code, output = await command("list", "--json")
        problem = json.loads(output)
        assert (code, problem["code"], problem["status"]) == (1, "database_older", 409)
        assert problem["suggestion"].startswith("Stop")

        code, output = await command("migrate")
        assert code == 1
        assert "still open on this database" in " ".join(output.split())
    assert await read_schema_version(database) == OLDER


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """The database, open no longer than the block: ``migrate`` wants to be alone with it."""
    database = await Database.open(Settings(database_url=url))
    try:
        yield database
    finally:
        await database.close()


@pytest_asyncio.fixture
async def older_url(empty_database_url: str) -> str:
    """A database of an older version that nobody has open."""
    async with opened(empty_database_url) as database:
        await migrate(database, upto=OLDER)
    return empty_database_url


async def test_migrate_applies_what_is_missing_and_then_nothing(
    older_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", older_url)
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))

    async def run(*text: str) -> tuple[int, str]:
        code = await asyncio.to_thread(run_cli, command_line(), list(text))
        output = capsys.readouterr()
        return code, output.out + output.err

    code, output = await run("migrate", "--json")
    result = json.loads(output)
    assert (code, result["tables"], len(result["applied"])) == (0, NEWEST, NEWEST - OLDER)
    async with opened(older_url) as database:
        assert await read_schema_version(database) == NEWEST

    code, output = await run("migrate")
    assert (code, "up to date" in output) == (0, True)
    assert (await run("list"))[0] == 0


async def test_what_up_does_first_brings_the_tables_up_to_date(older_url: str) -> None:
    settings = Settings(database_url=older_url)
    async with opened(older_url) as database, older_server(database):
        with pytest.raises(Conflict, match="still open on this database"):
            await bring_up_to_date(settings, alone=False)
        assert await read_schema_version(database) == OLDER
    applied, number = await bring_up_to_date(settings, alone=False)
    assert (len(applied), number) == (NEWEST - OLDER, NEWEST)


async def test_processes_that_start_together_on_an_empty_database_wait_for_its_tables(
    empty_database_url: str,
) -> None:
    """One of them makes the tables; the others must not find half of them and refuse."""
    settings = Settings(database_url=empty_database_url)
    databases = [await Database.open(settings) for _ in range(4)]
    try:
        await asyncio.gather(*(require_tables(one) for one in databases))
        assert await read_schema_version(databases[0]) == NEWEST
    finally:
        for one in databases:
            await one.close()
