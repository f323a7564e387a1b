"""Row-level security of a workspace, attacked with plain SQL: whatever a query says, it holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.store.audit import build_audit_record
from mainspring.store.database import INSIDE, Connection, Database, WorkspaceDatabase
from mainspring.store.partitions import ensure_partitions
from mainspring.workspace.automations import FIRST_WORKSPACE
from tests.kit.tenants import (
    NEIGHBOUR,
    add_person,
    add_workspace,
    columns,
    fingerprint,
    furnish,
    walled_tables,
)

# A member may see who the others are; nothing else without a workspace is theirs to read.
SHARED = {"users"}
# Recipes that their workspace shares.
LENT = {"recipes", "recipe_versions", "halts"}
REFUSED = (asyncpg.InsufficientPrivilegeError,)


@dataclass(frozen=True, slots=True)
class Two:
    """A workspace, another tenant, and every table that either has rows in."""

    database: Database
    tables: list[str]
    own: UUID = FIRST_WORKSPACE
    other: UUID = NEIGHBOUR

    @asynccontextmanager
    async def trying(self, workspace_id: UUID) -> AsyncIterator[Connection]:
        """A connection inside, whose doings are undone."""
        async with self.database.inside(workspace_id) as connection:
            attempt = connection.transaction()
            await attempt.start()
            try:
                yield connection
            finally:
                await attempt.rollback()


@pytest_asyncio.fixture
async def two(database: Database) -> Two:
    async with database.transaction() as tx:
        await ensure_partitions(tx, await tx.fetchval("SELECT now()"))
    for workspace_id in (FIRST_WORKSPACE, NEIGHBOUR):
        await add_workspace(database, workspace_id, "one of two")
        await add_person(database, workspace_id, Role.OWNER)
        await furnish(database, workspace_id)
    return Two(database, await walled_tables(database))


async def _own_count(two: Two, table: str, workspace_id: UUID) -> int:
    counted: int = await two.database.fetchval(
        f"SELECT count(*) FROM {table} WHERE workspace_id = $1", workspace_id
    )
    return counted


async def test_every_table_of_a_workspace_has_row_level_security(database: Database) -> None:
    tables = await walled_tables(database)
    rows = await database.fetch(
        "SELECT c.relname, c.relrowsecurity, p.polname, p.polroles, p.polcmd, p.polpermissive, "
        "pg_get_expr(p.polqual, c.oid) AS shown, pg_get_expr(p.polwithcheck, c.oid) AS taken "
        "FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid "
        "WHERE c.relname = ANY($1::text[]) AND c.relnamespace = 'public'::regnamespace",
        tables,
    )
    inside = await database.fetchval("SELECT oid FROM pg_roles WHERE rolname = $1", INSIDE)
    rule = "(workspace_id = ( SELECT inside_workspace() AS inside_workspace))"

    assert len(tables) > 20
    # What a workspace shares is read by others, and so is what an administrator halts everywhere;
    # by no other leave.
    lent = [row for row in rows if row["polname"] in ("shared", "everywhere")]
    rows = [row for row in rows if row not in lent]
    leaves = {row["relname"]: (row["polcmd"], row["taken"]) for row in lent}
    assert leaves == dict.fromkeys(LENT, (b"r", None))
    # One policy for each, and that one: a second would allow what this one refuses.
    assert sorted(row["relname"] for row in rows) == tables
    assert [
        row["relname"]
        for row in rows
        if not row["relrowsecurity"]
        or (row["shown"], row["taken"], row["polcmd"]) != (rule, rule, b"*")
        or row["polroles"] != [inside]
    ] == []


async def test_the_workspace_role_has_no_other_privileges(two: Two) -> None:
    rows = await two.database.fetch(
        "SELECT c.relname, c.relispartition FROM pg_class c "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') "
        "AND (has_table_privilege($1, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') "
        "OR has_any_column_privilege($1, c.oid, 'SELECT, INSERT, UPDATE'))",
        INSIDE,
    )
    role = await two.database.fetchrow(
        "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole FROM pg_roles "
        "WHERE rolname = $1",
        INSIDE,
    )

    # A partition that could be read by its own name would bypass row-level security.
    assert [row["relname"] for row in rows if row["relispartition"]] == []
    assert {row["relname"] for row in rows} - set(two.tables) == SHARED
    assert role is not None
    assert set(dict(role).values()) == {False}


async def test_a_function_that_bypasses_row_security_checks_the_workspace(
    database: Database,
) -> None:
    rows = await database.fetch(
        "SELECT proname, proconfig, pg_get_functiondef(oid) AS text FROM pg_proc "
        "WHERE prosecdef AND pronamespace = 'public'::regnamespace"
    )

    assert [
        row["proname"]
        for row in rows
        if "inside_workspace()" not in row["text"]
        or not any(entry.startswith("search_path=") for entry in row["proconfig"] or ())
    ] == []


async def test_nothing_of_another_tenant_is_visible(two: Two) -> None:
    for table in two.tables:
        owned = await _own_count(two, table, two.own)
        assert owned > 0, table
        assert await _own_count(two, table, two.other) > 0, table
        async with two.trying(two.own) as connection:
            try:
                seen = await connection.fetchval(f"SELECT count(*) FROM {table}")
            except REFUSED:
                continue
            other = await connection.fetchval(
                f"SELECT count(*) FROM {table} WHERE workspace_id = $1", two.other
            )
        assert (table, seen, other) == (table, owned, 0)


async def test_nothing_of_another_tenant_is_changed_or_removed(two: Two) -> None:
    before = await fingerprint(two.database, two.other)
    for table in two.tables:
        for statement, untouched in (
            (f"UPDATE {table} SET workspace_id = workspace_id WHERE workspace_id = $1", "UPDATE 0"),
            (f"DELETE FROM {table} WHERE workspace_id = $1", "DELETE 0"),
        ):
            try:
                # Committed, if it were let through: this is the attack itself.
                async with two.database.inside(two.own) as connection:
                    assert await connection.execute(statement, two.other) == untouched, table
            except REFUSED:
                pass
        with pytest.raises(REFUSED):
            async with two.trying(two.own) as connection:
                await connection.execute(f"TRUNCATE {table} CASCADE")

    assert await fingerprint(two.database, two.other) == before


async def test_nothing_is_inserted_into_another_tenants_workspace(two: Two) -> None:
    before = await fingerprint(two.database, two.other)
    for table in two.tables:
        async with two.database.acquire() as connection:
            names = ", ".join(f'"{name}"' for name in await columns(connection, table))
            row = await connection.fetchval(
                f"SELECT row_to_json(t)::text FROM {table} t WHERE workspace_id = $1 LIMIT 1",
                two.other,
            )
        insert = (
            f"INSERT INTO {table} ({names}) "
            f"SELECT {names} FROM jsonb_populate_record(NULL::{table}, $1::text::jsonb)"
        )
        for refused in (insert, f"{insert} ON CONFLICT DO NOTHING"):
            with pytest.raises(REFUSED):
                async with two.trying(two.own) as connection:
                    await connection.execute(refused, row)
        # A row of one's own cannot be moved there either.
        with pytest.raises(REFUSED):
            async with two.trying(two.own) as connection:
                await connection.execute(f"UPDATE {table} SET workspace_id = $1", two.other)

    assert await fingerprint(two.database, two.other) == before


async def test_a_connection_without_a_workspace_sees_nothing(two: Two) -> None:
    for setting in ({}, {"mainspring.workspace": ""}):
        connection = await two.database.dedicated(settings={"role": INSIDE, **setting})
        try:
            for table in [*two.tables, *SHARED]:
                try:
                    seen = await connection.fetchval(f"SELECT count(id) FROM {table}")
                except (*REFUSED, asyncpg.UndefinedColumnError):
                    try:
                        seen = await connection.fetchval(f"SELECT count(*) FROM {table}")
                    except REFUSED:
                        continue
                assert (table, seen) == (table, 0)
        finally:
            await connection.close()


async def test_a_connection_handed_on_sees_its_new_workspace_only(
    two: Two, database_url: str
) -> None:
    narrow = await Database.open(Settings(database_url=database_url), pool_size=1)
    seen: list[tuple[int, list[UUID]]] = []
    try:
        for workspace_id in (two.own, two.other, two.own, two.own, two.other):
            async with narrow.inside(workspace_id) as connection:
                rows = await connection.fetch("SELECT DISTINCT workspace_id FROM members")
                seen.append((connection.get_server_pid(), [row["workspace_id"] for row in rows]))
                assert [row["workspace_id"] for row in rows] == [workspace_id]
    finally:
        await narrow.close()

    assert len({number for number, _ in seen}) == 1


async def test_an_error_leaves_no_workspace_behind(two: Two, database_url: str) -> None:
    narrow = await Database.open(Settings(database_url=database_url), pool_size=1)
    try:
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with WorkspaceDatabase(narrow, two.own).transaction() as tx:
                await tx.execute("SELECT 1 / 0")
        rows = await WorkspaceDatabase(narrow, two.other).fetch(
            "SELECT DISTINCT workspace_id FROM members"
        )
    finally:
        await narrow.close()

    assert [row["workspace_id"] for row in rows] == [two.other]


async def test_many_at_once_never_see_each_other(two: Two, database_url: str) -> None:
    """More askers than connections, some of whom give up in the middle."""
    shared = await Database.open(Settings(database_url=database_url), pool_size=3)
    spaces = [two.own, two.other, *(generate_id() for _ in range(3))]
    wrong: list[Any] = []

    async def ask(number: int) -> None:
        mine = spaces[number % len(spaces)]
        side = WorkspaceDatabase(shared, mine)
        for _ in range(4):
            async with side.acquire() as connection:
                rows = await connection.fetch("SELECT DISTINCT workspace_id FROM members")
                await asyncio.sleep(0)
                rows += await connection.fetch("SELECT DISTINCT workspace_id FROM access_tokens")
            if any(row["workspace_id"] != mine for row in rows):
                wrong.append((mine, rows))

    try:
        asking = [asyncio.create_task(ask(number)) for number in range(60)]
        for task in asking[::7]:
            await asyncio.sleep(0.001)
            task.cancel()
        done = await asyncio.gather(*asking, return_exceptions=True)
    finally:
        await shared.close()

    assert wrong == []
    assert [one for one in done if isinstance(one, Exception)] == []
    assert sum(one is None for one in done) >= 50


async def test_credentials_cannot_be_read(two: Two) -> None:
    for query in (
        "SELECT * FROM sessions",
        "SELECT password_hash FROM users",
        "SELECT * FROM users",
        "SELECT * FROM sign_in_links",
        "SELECT * FROM terminal_sign_ins",
        "SELECT * FROM email_verifications",
        "SELECT * FROM push_subscriptions",
        "SELECT * FROM push_messages",
        "SELECT * FROM buckets",
    ):
        with pytest.raises(REFUSED):
            async with two.trying(two.own) as connection:
                await connection.fetch(query)


async def test_of_other_people_only_members_are_seen(two: Two) -> None:
    async with two.trying(two.own) as connection:
        people = {row["id"] for row in await connection.fetch("SELECT id FROM users")}
    members = await two.database.fetch(
        "SELECT user_id FROM members JOIN users ON users.id = user_id WHERE workspace_id = $1",
        two.own,
    )

    assert people == {row["user_id"] for row in members}
    assert people


async def test_the_audit_log_is_only_added_to(two: Two) -> None:
    before = await two.database.fetchval("SELECT count(*) FROM audit_log")
    for statement in (
        "UPDATE audit_log SET action = 'nothing'",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
    ):
        with pytest.raises(asyncpg.RaiseError, match="only ever added to"):
            await two.database.execute(statement)
        with pytest.raises(REFUSED):
            async with two.trying(two.own) as connection:
                await connection.execute(statement)

    assert before > 1
    assert await two.database.fetchval("SELECT count(*) FROM audit_log") == before


async def test_an_audit_entry_commits_or_rolls_back_with_its_change(two: Two) -> None:
    actor = Actor(two.own, "member", generate_id(), role=Role.OWNER)
    side = WorkspaceDatabase(
        two.database, two.own, tell=lambda: [build_audit_record(actor, "try", 1, {"a": 1})]
    )
    message = "SELECT count(*) FROM audit_log WHERE action = 'try'"

    with pytest.raises(ZeroDivisionError):
        async with side.transaction():
            raise ZeroDivisionError
    assert await two.database.fetchval(message) == 0

    async with side.transaction() as tx:
        await tx.execute("UPDATE workspaces SET name = 'renamed'")
    row = await two.database.fetchrow("SELECT * FROM audit_log WHERE action = 'try'")

    assert row is not None
    assert (row["actor_id"], row["subject"], row["detail"]) == (actor.id, "1", {"a": 1})
    names = await two.database.fetch("SELECT workspace_id, name FROM workspaces")
    assert {row["workspace_id"]: row["name"] for row in names}[two.other] == "one of two"
