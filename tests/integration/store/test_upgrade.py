"""Upgrades and downgrades of a database that is in use: killed anywhere, nothing is lost.

The migrations are those of the package. A database of the landing before is made with the files
up to its last one.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, Invalid, UpstreamError
from mainspring.settings import Settings
from mainspring.store.application_name import hash_host_name
from mainspring.store.database import Database
from mainspring.store.downgrade import describe_losses, downgrade, plan_downgrade
from mainspring.store.migrate import DOWN, PACKAGED, migrate, read_migrations, read_schema_version
from mainspring.store.snapshot import refuse_at_work
from tests.kit.catalogs import catalog, statements

# From here on every migration has a way back.
BEFORE = 11
DIE = "SELECT pg_terminate_backend(pg_backend_pid());\n"


@pytest_asyncio.fixture
async def empty(empty_database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(Settings(database_url=empty_database_url))
    try:
        yield opened
    finally:
        await opened.close()


async def made_of(database: Database) -> dict[str, str]:
    async with database.acquire() as connection:
        return await catalog(connection)


def broken(folder: Path, version: int, after: int) -> Path:
    """The files up to one, which dies after some of its statements."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for migration in read_migrations(PACKAGED)[:version]:
        text = migration.sql
        if migration.version == version:
            cut = statements(text)
            text = "".join([*cut[:after], DIE, *cut[after:]])
        (folder / f"{migration.label}.sql").write_text(text, encoding="utf-8")
    return folder


def test_the_files_are_cut_where_statements_end() -> None:
    for migration in read_migrations(PACKAGED):
        found = statements(migration.sql)
        assert len(found) > 1
        assert "".join(found) == migration.sql


async def test_an_upgrade_may_be_killed_at_any_statement(empty: Database, tmp_path: Path) -> None:
    """Each time nothing of the file is left, and the same command goes on from there."""
    folder = tmp_path / "broken"
    for migration in read_migrations(PACKAGED):
        before = await made_of(empty)
        count = len(statements(migration.sql))
        # Every statement of the newest; of the others the first, the middle and the last.
        every = migration.version > BEFORE
        for after in range(count + 1) if every else {0, 1, count // 2, count}:
            with pytest.raises(UpstreamError):
                await migrate(empty, broken(folder, migration.version, after))
            assert await read_schema_version(empty) == migration.version - 1
            if every or after == count:
                assert await made_of(empty) == before or migration.version == 1
        assert await migrate(empty, upto=migration.version) == [migration.label]


async def test_every_new_migration_has_a_way_back_that_leaves_no_trace(empty: Database) -> None:
    await migrate(empty, upto=BEFORE)
    before = await made_of(empty)
    for migration in read_migrations(PACKAGED)[BEFORE:]:
        assert (PACKAGED / f"{migration.label}{DOWN}").is_file()
    with pytest.raises(Invalid, match="smaller"):
        plan_downgrade(BEFORE, BEFORE)
    with pytest.raises(Conflict, match="cannot be reversed"):
        plan_downgrade(BEFORE, BEFORE - 1)
    await migrate(empty)
    after = await made_of(empty)
    assert after != before

    ways = plan_downgrade(await read_schema_version(empty), BEFORE)
    assert await describe_losses(empty, ways) == []
    await downgrade(empty, ways)

    assert await read_schema_version(empty) == BEFORE
    assert await made_of(empty) == before
    with pytest.raises(Conflict, match="meanwhile"):
        await downgrade(empty, ways)
    await migrate(empty)
    assert await made_of(empty) == after


SPACE, OWNER, MAKER = uuid4(), uuid4(), uuid4()
_OLD_TOKENS = f"""
    INSERT INTO workspaces (workspace_id, name) VALUES ('{SPACE}', 'Home');
    INSERT INTO automations (workspace_id, id, name, version, created_by)
    VALUES ('{SPACE}', '{SPACE}', 'hooked', 1, '{OWNER}');
    INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config, secret_hash,
        secret_hint, secret_made_at)
    SELECT '{SPACE}', gen_random_uuid(), '{SPACE}', t.slug, 'webhook', '{{}}', t.hash::bytea,
        t.hint, t.at
    FROM (VALUES
        ('logged', 'one', 'abcd', timestamptz '2026-01-01 00:00+00'),
        ('older', 'two', 'efgh', timestamptz '2026-01-02 00:00+00'),
        ('none', NULL, NULL, NULL)) AS t(slug, hash, hint, at);
    INSERT INTO audit_log (workspace_id, id, at, actor_kind, actor_id, action, detail)
    VALUES ('{SPACE}', gen_random_uuid(), '2026-01-01 00:00+00', 'member', '{MAKER}',
        'make_webhook_token', '{{"hint": "abcd"}}')
"""


async def test_the_makers_of_tokens_are_taken_over_from_the_audit_log(empty: Database) -> None:
    """A token that the log does not know counts as made by the owner of its automation."""
    await migrate(empty, upto=14)
    await empty.execute(_OLD_TOKENS)
    await migrate(empty)
    rows = await empty.fetch("SELECT slug, secret_made_by FROM triggers")
    assert {row["slug"]: row["secret_made_by"] for row in rows} == {
        "logged": MAKER,
        "older": OWNER,
        "none": None,
    }


async def test_the_ground_is_not_changed_under_a_process_that_has_the_database_open(
    empty: Database, empty_database_url: str
) -> None:
    """A scheduler or an API is no worker, and loses as much."""
    settings = Settings(database_url=empty_database_url)
    await migrate(empty)
    await refuse_at_work(empty)
    elsewhere = {"application_name": f"mainspring:4242:{hash_host_name('elsewhere')}"}
    other = await empty.dedicated(settings=elsewhere)
    try:
        with pytest.raises(Conflict, match="1 Mainspring process") as refused:
            await refuse_at_work(empty)
        assert refused.value.code == "still_at_work"
    finally:
        await other.close()
    # Two pools of one process are one process, and it asks for itself.
    second = await Database.open(settings)
    try:
        await refuse_at_work(second)
    finally:
        await second.close()
