"""A terminal that polls twice at the same moment is signed in once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.contracts.errors import Expired
from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database
from mainspring.workspace.people import device_login
from mainspring.workspace.people.sign_in import SignInOrigin
from tests.kit.lock_waits import until_in_line
from tests.kit.tenants import add_person, add_workspace

HERE = generate_id()


async def test_of_two_polls_at_the_same_moment_one_gets_the_session(database: Database) -> None:
    await add_workspace(database, HERE, "polled twice")
    ann = (await add_person(database, HERE)).id
    async with database.transaction() as tx:
        made = await device_login.begin_device_login(tx, SignInOrigin("192.0.2.2", "box"))
        await device_login.answer_login(tx, ann, HERE, made.code, confirm=True)

    async def poll() -> Any:
        async with database.transaction() as tx:
            return await device_login.collect(tx, made.device_code)

    async with database.transaction() as tx:
        assert await device_login.collect(tx, made.device_code) is not None
        second = asyncio.create_task(poll())
        await until_in_line(database)
    with pytest.raises(Expired):
        await second
    assert await database.fetchval("SELECT count(*) FROM sessions") == 1
