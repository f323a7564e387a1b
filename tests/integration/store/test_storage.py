"""Whether the database has space to write: the probe and what it remembers."""

from __future__ import annotations

import asyncio
import logging

import asyncpg
import pytest

from mainspring.contracts.errors import StorageFull
from mainspring.settings import Settings
from mainspring.store import disk_space
from mainspring.store.database import Database

# The probe finds this function instead of its own.
_NO_SPACE = """
    CREATE FUNCTION public.md5(text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        RAISE 'could not write to file "base/pgsql_tmp/pgsql_tmp1.0": No space left on device'
            USING ERRCODE = '53100';
    END $$
"""
_SHADOW = """
    DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog',
                       current_database());
    END $$
"""


async def test_the_probe_makes_the_database_write_to_its_disk(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute(disk_space._LITTLE_MEMORY)
        rows = await tx.fetch(f"EXPLAIN (ANALYZE) {disk_space._PROBE}")
    assert any("Sort Method: external" in row[0] for row in rows), [row[0] for row in rows]


async def test_a_full_disk_is_noticed_without_any_write_and_so_is_its_end(
    database: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mainspring.store.disk_space")
    await database.execute(_SHADOW)
    await database.execute(_NO_SPACE)
    opened = await Database.open(Settings(database_url=database_url))
    try:
        assert await opened.storage.is_full(opened)
        assert await opened.storage.is_full(opened)
        await database.execute("DROP FUNCTION public.md5(text)")
        async with asyncio.timeout(60):
            while await opened.storage.is_full(opened):
                await asyncio.sleep(0.1)
    finally:
        await opened.close()
    output = [record.getMessage() for record in caplog.records]
    assert [("no disk space left" in line, "space again" in line) for line in output] == [
        (True, False),
        (False, True),
    ]


async def test_the_database_is_not_asked_by_everybody_who_wants_to_know(
    database: Database,
) -> None:
    assert not await database.storage.is_full(database)
    await database.close()
    # It could not be asked any more.
    assert not await database.storage.is_full(database)


async def test_callers_at_the_same_time_share_one_probe(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.execute("CREATE SEQUENCE probes")
    monkeypatch.setattr(disk_space, "_PROBE", "SELECT nextval('probes')")
    found = await asyncio.gather(*(database.storage.is_full(database) for _ in range(8)))
    assert found == [False] * 8
    assert await database.fetchval("SELECT last_value FROM probes") == 1


async def test_a_cancelled_probe_does_not_stop_the_next_caller(database: Database) -> None:
    asking = asyncio.create_task(database.storage.is_full(database))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(database.storage.is_full(database))
    await asyncio.sleep(0)
    asking.cancel()
    async with asyncio.timeout(60):
        assert not await waiting
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize(
    "text", ["No space left on device", "Disk quota exceeded"], ids=["space", "quota"]
)
async def test_a_write_without_space_is_one_problem(database: Database, text: str) -> None:
    state = asyncpg.DiskFullError.sqlstate if "space" in text else "XX000"
    with pytest.raises(StorageFull) as caught:
        await database.execute(
            f"DO $$ BEGIN RAISE 'could not extend file: {text}' USING ERRCODE = '{state}'; END $$"
        )
    assert (caught.value.code, caught.value.status) == ("storage_full", 507)
    assert text not in str(caught.value.as_dict())
    assert await database.storage.is_full(database)
