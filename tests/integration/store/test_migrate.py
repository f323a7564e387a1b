"""Migrations: each file once and whole, whatever happens in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, InternalError, UpstreamError
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.migrate import PACKAGED, migrate, read_migrations

FIRST = [
    "CREATE TABLE shelves (id integer PRIMARY KEY, label text NOT NULL)",
    "CREATE INDEX shelves_label ON shelves (label)",
    "INSERT INTO shelves VALUES (1, 'top'), (2, 'bottom')",
]
SECOND = [
    "CREATE TABLE jars (id integer PRIMARY KEY, shelf integer REFERENCES shelves)",
    "ALTER TABLE shelves ADD COLUMN width numeric NOT NULL DEFAULT 1.5",
    "UPDATE shelves SET width = 2 WHERE id = 1",
    "INSERT INTO jars SELECT id, id FROM shelves",
]
DIE = "SELECT pg_terminate_backend(pg_backend_pid())"
DIE_WHEN_RECORDED = """
    CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER die AFTER INSERT ON schema_migrations
        {when} FOR EACH ROW WHEN (NEW.version = 2) EXECUTE FUNCTION die()
"""
ALL = ["0001_shelves", "0002_jars"]
STATE = """
    SELECT (SELECT array_agg(label ORDER BY id) FROM shelves) AS labels,
           (SELECT array_agg(width::text ORDER BY id) FROM shelves) AS widths,
           (SELECT count(*) FROM jars) AS jars,
           (SELECT count(*) FROM pg_indexes WHERE tablename = 'shelves') AS indexes,
           (SELECT array_agg(version ORDER BY version) FROM schema_migrations) AS versions
"""


@pytest_asyncio.fixture
async def empty(empty_database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(Settings(database_url=empty_database_url))
    try:
        yield opened
    finally:
        await opened.close()


def write(folder: Path, name: str, statements: list[str]) -> None:
    (folder / name).write_text(";\n".join(statements) + ";\n", encoding="utf-8")


def sample(folder: Path) -> Path:
    write(folder, "0001_shelves.sql", FIRST)
    write(folder, "0002_jars.sql", SECOND)
    return folder


def with_other_line_ends(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


async def assert_complete(database: Database) -> None:
    row = await database.fetchrow(STATE)
    assert row is not None
    assert dict(row) == {
        "labels": ["top", "bottom"],
        "widths": ["2", "1.5"],
        "jars": 2,
        "indexes": 2,
        "versions": [1, 2],
    }


async def tables(database: Database) -> set[str]:
    rows = await database.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row["tablename"] for row in rows}


async def test_each_file_is_applied_once_and_in_order(empty: Database, tmp_path: Path) -> None:
    folder = sample(tmp_path)

    assert await migrate(empty, folder) == ALL
    assert await migrate(empty, folder) == []
    await assert_complete(empty)


async def test_an_empty_folder_is_nothing_to_do(empty: Database, tmp_path: Path) -> None:
    assert await migrate(empty, tmp_path) == []


async def test_what_the_package_brings_can_be_applied_and_is_then_up_to_date(
    empty: Database,
) -> None:
    expected = [migration.label for migration in read_migrations(PACKAGED)]

    assert await migrate(empty) == expected
    assert await migrate(empty) == []


@pytest.mark.parametrize("boundary", range(len(FIRST) + 1))
async def test_a_kill_at_any_statement_of_the_first_file_leaves_nothing_of_it(
    empty: Database, tmp_path: Path, boundary: int
) -> None:
    write(tmp_path, "0001_shelves.sql", [*FIRST[:boundary], DIE, *FIRST[boundary:]])

    with pytest.raises(UpstreamError) as caught:
        await migrate(empty, tmp_path)

    assert caught.value.code == "database_unavailable"
    assert await tables(empty) == {"schema_migrations"}
    assert await migrate(empty, sample(tmp_path)) == ALL
    await assert_complete(empty)


@pytest.mark.parametrize("boundary", range(len(SECOND) + 1))
async def test_a_kill_at_any_statement_of_a_later_file_keeps_the_files_before_it(
    empty: Database, tmp_path: Path, boundary: int
) -> None:
    sample(tmp_path)
    write(tmp_path, "0002_jars.sql", [*SECOND[:boundary], DIE, *SECOND[boundary:]])

    with pytest.raises(UpstreamError):
        await migrate(empty, tmp_path)

    assert await tables(empty) == {"schema_migrations", "shelves"}
    assert await migrate(empty, sample(tmp_path)) == ALL[1:]
    await assert_complete(empty)


@pytest.mark.parametrize("when", ["", "DEFERRABLE INITIALLY DEFERRED"])
async def test_a_kill_between_the_record_and_the_commit_leaves_neither(
    empty: Database, tmp_path: Path, when: str
) -> None:
    write(tmp_path, "0001_shelves.sql", FIRST)
    await migrate(empty, tmp_path)
    await empty.execute(DIE_WHEN_RECORDED.format(when=when))

    with pytest.raises(UpstreamError):
        await migrate(empty, sample(tmp_path))

    assert await tables(empty) == {"schema_migrations", "shelves"}
    await empty.execute("DROP TRIGGER die ON schema_migrations")
    assert await migrate(empty, tmp_path) == ALL[1:]
    await assert_complete(empty)


async def test_processes_that_start_at_once_apply_each_file_once(
    empty: Database, empty_database_url: str, tmp_path: Path
) -> None:
    folder = sample(tmp_path)
    others = [await Database.open(Settings(database_url=empty_database_url)) for _ in range(4)]
    try:
        applied = await asyncio.gather(*(migrate(other, folder) for other in others))
    finally:
        await asyncio.gather(*(other.close() for other in others))

    assert sorted(applied, key=len) == [[], [], [], ALL]
    await assert_complete(empty)


async def test_a_file_that_was_changed_after_it_was_applied_is_refused(
    empty: Database, tmp_path: Path
) -> None:
    await migrate(empty, sample(tmp_path))
    write(tmp_path, "0001_shelves.sql", [*FIRST, "SELECT 1"])

    with pytest.raises(Conflict, match="0001_shelves") as caught:
        await migrate(empty, tmp_path)

    assert caught.value.code == "migration_changed"


async def test_line_ends_are_not_a_change(empty: Database, tmp_path: Path) -> None:
    await migrate(empty, sample(tmp_path))
    with_other_line_ends(tmp_path)

    assert await migrate(empty, tmp_path) == []


async def test_a_database_of_a_newer_program_is_refused(empty: Database, tmp_path: Path) -> None:
    await migrate(empty, sample(tmp_path))
    (tmp_path / "0002_jars.sql").unlink()

    with pytest.raises(Conflict, match="newer") as caught:
        await migrate(empty, tmp_path)

    assert caught.value.code == "database_newer"
    await assert_complete(empty)


async def test_a_wrong_statement_undoes_its_file_and_is_not_quoted(
    empty: Database, tmp_path: Path
) -> None:
    sample(tmp_path)
    write(tmp_path, "0002_jars.sql", [*SECOND, "INSERT INTO nowhere VALUES ('hidden')"])

    with pytest.raises(InternalError, match="0002_jars") as caught:
        await migrate(empty, tmp_path)

    assert caught.value.code == "migration_failed"
    assert "nowhere" not in str(caught.value.as_dict())
    assert await tables(empty) == {"schema_migrations", "shelves"}


async def test_a_file_may_not_end_its_transaction_itself(empty: Database, tmp_path: Path) -> None:
    write(tmp_path, "0001_shelves.sql", [*FIRST, "COMMIT", "BEGIN"])

    with pytest.raises(InternalError, match="its own transaction"):
        await migrate(empty, tmp_path)


async def test_the_lock_is_free_again_after_a_failure(
    empty: Database, empty_database_url: str, tmp_path: Path
) -> None:
    write(tmp_path, "0001_shelves.sql", ["SELECT 1 / 0"])
    with pytest.raises(InternalError):
        await migrate(empty, tmp_path)

    connection = await asyncpg.connect(empty_database_url)
    try:
        async with asyncio.timeout(60):
            await connection.execute("SELECT pg_advisory_lock(7311, 0)")
    finally:
        await connection.close()
