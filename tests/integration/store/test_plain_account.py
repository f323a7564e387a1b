"""An outside Postgres whose account may do little: what it needs is said, and is enough."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from mainspring.contracts.errors import InternalError
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.migrate import migrate

PLAIN = "an_account_without_privileges"
# A database of the same server may have made the role for another test.
MAKE_ROLE = """
    DO $$ BEGIN CREATE ROLE mainspring_inside NOLOGIN;
    EXCEPTION WHEN duplicate_object THEN NULL; END $$
"""


@dataclass(frozen=True, slots=True)
class Plain:
    """A database owned by an account that may not make roles, and its administrator."""

    database: Database
    admin: asyncpg.Connection[asyncpg.Record]


@pytest_asyncio.fixture
async def plain(empty_database_url: str) -> AsyncIterator[Plain]:
    admin = await asyncpg.connect(empty_database_url)
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute(f"CREATE ROLE {PLAIN} LOGIN")
    await admin.execute(f"ALTER DATABASE {name} OWNER TO {PLAIN}")
    await admin.execute(f"ALTER SCHEMA public OWNER TO {PLAIN}")
    url = re.sub(r"//[^/@]*@", f"//{PLAIN}@", empty_database_url)
    database = await Database.open(Settings(database_url=url))
    try:
        yield Plain(database, admin)
    finally:
        await database.close()
        await admin.execute(f"REASSIGN OWNED BY {PLAIN} TO CURRENT_USER")
        await admin.execute(f"DROP OWNED BY {PLAIN}")
        await admin.execute(f"DROP ROLE {PLAIN}")
        await admin.close()


async def test_an_account_that_may_not_create_roles_is_refused_with_the_administrators_steps(
    plain: Plain,
) -> None:
    with pytest.raises(InternalError, match="0003_door could not be applied") as refused:
        await migrate(plain.database)
    assert "GRANT mainspring_inside TO" in (refused.value.suggestion or "")

    await plain.admin.execute(MAKE_ROLE)
    await plain.admin.execute(f"GRANT mainspring_inside TO {PLAIN}")
    assert (await migrate(plain.database))[0] == "0003_door"
    async with plain.database.inside(uuid4()) as connection:
        assert await connection.fetchval("SELECT current_user") == "mainspring_inside"
        assert await connection.fetch("SELECT id FROM automations") == []
