"""Connections as a workspace keeps them: under one alias, without secrets, and gone whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, ensure_workspace
from mainspring.workspace.connections import rows
from mainspring.workspace.vault import Vault, connection_scope

URL = "https://tools.example/mcp"


@pytest.fixture
async def here(database: Database) -> WorkspaceDatabase:
    async with database.transaction() as tx:
        await ensure_workspace(tx, FIRST_WORKSPACE, "Home")
    return WorkspaceDatabase(database, FIRST_WORKSPACE)


async def test_an_alias_is_one_word_and_names_one_connection(here: WorkspaceDatabase) -> None:
    for alias in ("", "A", "1a", "a-b", "a.b", "a" * 33, "ä", "a\n"):
        async with here.transaction() as tx:
            with pytest.raises(Invalid) as refused:
                await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, alias, URL)
        assert refused.value.findings[0].pointer == "/alias"
    async with here.transaction() as tx:
        made = await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, "tools", URL, auth="oauth")
        with pytest.raises(Conflict) as accepted:
            await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, "tools", URL)

        assert accepted.value.code == "alias_taken"
        assert (made.state, made.command, made.oauth) == ("sign_in", (), {})
        assert await rows.find_named(tx, FIRST_WORKSPACE, "tools") == made
        assert await rows.list_connections(tx, FIRST_WORKSPACE) == (made,)


async def test_a_connection_is_seen_in_its_own_workspace_alone(
    database: Database, here: WorkspaceDatabase
) -> None:
    other = generate_id()
    async with database.transaction() as tx:
        await ensure_workspace(tx, other, "Other")
        made = await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, "tools", URL)
    async with WorkspaceDatabase(database, other).transaction() as tx:
        for workspace_id in (other, FIRST_WORKSPACE):
            with pytest.raises(NotFound):
                await rows.find(tx, workspace_id, made.id)
            assert await rows.list_connections(tx, workspace_id) == ()
            assert not await rows.remove(tx, workspace_id, made.id)
    async with here.acquire() as reading:
        assert await rows.find(reading, FIRST_WORKSPACE, made.id) == made


async def test_a_connection_is_deleted_with_its_credentials(
    database: Database, here: WorkspaceDatabase, tmp_path: Path
) -> None:
    vault = Vault(database, tmp_path / "master.key", Limits())
    async with here.transaction() as tx:
        made = [
            await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, alias, URL)
            for alias in ("one", "two")
        ]
    for connection in made:
        for name in ("access_token", "refresh_token", "client_secret"):
            await vault.set(connection_scope(FIRST_WORKSPACE, connection.id), name, "value")
    async with here.transaction() as tx:
        assert await rows.remove(tx, FIRST_WORKSPACE, made[0].id)
        assert not await rows.remove(tx, FIRST_WORKSPACE, made[0].id)

    left = await database.fetch("SELECT owner_id FROM secrets")
    assert [row["owner_id"] for row in left] == [made[1].id] * 3


async def test_health_counts_failures_until_the_server_answers_again(
    database: Database, here: WorkspaceDatabase
) -> None:
    async with here.transaction() as tx:
        made = await rows.add_http(tx, FIRST_WORKSPACE, FIRST_MEMBER, "tools", URL)
    whose = (FIRST_WORKSPACE, made.id)
    away = UpstreamError("It is away.", code="unreachable")
    async with here.acquire() as writing:
        await rows.mark_failed(writing, *whose, away)
        await rows.mark_failed(writing, *whose, away, sign_in=True)
        failed = await rows.find(writing, *whose)
        await rows.mark_ok(writing, *whose)
        good = await rows.find(writing, *whose)
        await rows.mark_ok(writing, *whose)

        assert (failed.failures_in_row, failed.state) == (2, "sign_in")
        assert failed.last_error == away.as_dict()
        assert (good.failures_in_row, good.state, good.last_error) == (0, "ready", None)
        # Of many answers within a minute one is written down.
        assert await rows.find(writing, *whose) == good
