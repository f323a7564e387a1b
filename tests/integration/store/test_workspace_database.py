"""The database as one workspace sees it: what a transaction returns, retries and records."""

from __future__ import annotations

import asyncio
from inspect import signature
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.store.audit import build_audit_record
from mainspring.store.database import Connection, Database, WorkspaceDatabase
from tests.kit.tenants import add_workspace

ONE, TWO = generate_id(), generate_id()


async def _spaces(database: Database) -> None:
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")


async def test_a_transaction_without_anything_to_record_is_committed(database: Database) -> None:
    await _spaces(database)
    async with WorkspaceDatabase(database, ONE).transaction() as tx:
        await tx.execute("UPDATE workspaces SET name = 'renamed'")
    rows = await database.fetch("SELECT workspace_id, name FROM workspaces")
    assert {row["workspace_id"]: row["name"] for row in rows} == {
        ONE: "renamed",
        TWO: "one of two",
    }
    assert await database.fetchval("SELECT count(*) FROM audit_log") == 0


async def test_work_is_done_again_after_a_collision_and_its_result_returned(
    database: Database,
) -> None:
    await _spaces(database)
    actor = Actor(ONE, "member", generate_id(), role=Role.OWNER)
    attempts = 0

    async def work(tx: Connection) -> list[str]:
        nonlocal attempts
        attempts += 1
        await tx.execute("UPDATE workspaces SET name = name || '!'")
        if attempts == 1:
            raise asyncpg.DeadlockDetectedError("two transactions wait for each other")
        return [row["name"] for row in await tx.fetch("SELECT name FROM workspaces")]

    side = WorkspaceDatabase(database, ONE, tell=lambda: [build_audit_record(actor, "try", 1, {})])
    assert await side.run_retrying(work) == ["one of two!"]
    assert attempts == 2
    assert await database.fetchval("SELECT count(*) FROM audit_log") == 1
    await side.note()
    assert await database.fetchval("SELECT count(*) FROM audit_log") == 2


async def test_an_error_of_the_work_itself_is_not_retried(database: Database) -> None:
    await _spaces(database)
    attempts = 0

    async def work(tx: Connection) -> None:
        nonlocal attempts
        attempts += 1
        await tx.execute("SELECT 1 / 0")

    with pytest.raises(asyncpg.DivisionByZeroError):
        await WorkspaceDatabase(database, ONE).run_retrying(work)
    assert attempts == 1


def test_work_for_a_workspace_is_retried_as_long_as_any_other() -> None:
    limits = {
        signature(work).parameters["seconds"].default
        for work in (WorkspaceDatabase.run_retrying, Database.run_retrying, Database.retrying)
    }
    assert limits == {30.0}


async def test_a_change_of_workspace_whose_answer_is_lost_is_made_again(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(Settings(home=tmp_path, database_url=database_url), pool_size=1)
    plain = asyncpg.Connection.execute

    async def interrupted(self: Any, query: str, *values: Any, **options: Any) -> str:
        status = await plain(self, query, *values, **options)
        if str(TWO) in values:
            raise asyncio.CancelledError
        return status

    try:
        await _spaces(database)
        names = "SELECT workspace_id FROM workspaces"
        assert await WorkspaceDatabase(database, ONE).fetchval(names) == ONE
        with monkeypatch.context() as patch:
            patch.setattr(asyncpg.Connection, "execute", interrupted)
            with pytest.raises(asyncio.CancelledError):
                await WorkspaceDatabase(database, TWO).fetch(names)
        assert [
            row["workspace_id"] for row in await WorkspaceDatabase(database, ONE).fetch(names)
        ] == [ONE]
    finally:
        await database.close()
