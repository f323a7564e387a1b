"""The owner of a started server, signed in: what their browser sends with each request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import asyncpg

from mainspring.contracts.context import Transaction
from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import build_dsn
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.people.sessions import build_csrf_token, start_session


async def session_headers(
    tx: Transaction,
    user_id: UUID = FIRST_MEMBER,
    workspace_id: UUID = FIRST_WORKSPACE,
    cookie: str = "mainspring",
) -> dict[str, str]:
    """The headers of a new session."""
    _, plain = await start_session(tx, user_id, workspace_id, "a test")
    return {"Cookie": f"{cookie}={plain}", "X-CSRF-Token": build_csrf_token(plain)}


async def owner_of(home: Path) -> dict[str, str]:
    """The headers of the owner of a data folder whose own database is up."""
    owner = read_owner(home)
    assert owner is not None
    connection = await asyncpg.connect(build_dsn(owner.socket))
    try:
        return await session_headers(connection)
    finally:
        await connection.close()


def owner_of_now(home: Path) -> dict[str, str]:
    """The same for a caller that does not wait."""
    return asyncio.run(owner_of(home))
