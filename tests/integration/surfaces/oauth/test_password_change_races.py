"""A new password ends whatever lets anybody in, also what is on its way at that moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.surfaces.rest.routes import tokens
from mainspring.workspace.tokens import make_token
from tests.kit.api import Api
from tests.kit.lock_waits import until_in_line
from tests.kit.oauth import register
from tests.kit.people import PASSWORD, ROOT, Browser

NEW = {"current_password": PASSWORD, "password": "some other little words"}


async def test_a_code_does_not_outlive_the_password(people: Api, ada: Browser) -> None:
    oauth_client = await register(people)
    # An intruder in the account authorizes a program of theirs, which keeps its code for a minute.
    code = await oauth_client.code(ada)
    assert (await ada.ask("POST", "/me/password", json=NEW)).status_code == 204
    answer = await oauth_client.exchange(code)
    assert (answer.status_code, answer.json().get("error")) == (400, "invalid_grant")


async def test_a_token_that_is_being_made_does_not_outlive_the_password(
    people: Api, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def held_up(*value: Any, **more: Any) -> Any:
        began.set()
        await goes_on.wait()
        return await make_token(*value, **more)

    monkeypatch.setattr(tokens, "make_token", held_up)
    making = asyncio.create_task(ada.ask("POST", "/tokens", json={"name": "mine, too"}))
    await began.wait()
    changing = asyncio.create_task(ada.ask("POST", "/me/password", json=NEW))
    # It comes to its end, or waits in the queue behind the making.
    in_line = asyncio.create_task(until_in_line(people.application.database))
    await asyncio.wait({changing, in_line}, return_when=asyncio.FIRST_COMPLETED)
    in_line.cancel()
    goes_on.set()
    assert (await changing).status_code == 204
    made = await making
    assert made.status_code == 201
    headers = {"Authorization": f"Bearer {made.json()['text']}"}
    used = await people.anonymous.get(f"{ROOT}/session", headers=headers)
    assert used.status_code == 401, used.json()


async def test_a_session_from_before_the_new_password_makes_no_token(
    people: Api, ada: Browser
) -> None:
    database = people.application.database
    me = await database.fetchval("SELECT id FROM users WHERE email = 'ada@example.org'")
    async with database.transaction() as tx:
        # As a password change from another session does it.
        await tx.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('ways in ' || $1, 0))", str(me)
        )
        making = asyncio.create_task(ada.ask("POST", "/tokens", json={"name": "mine, too"}))
        await until_in_line(database)
        await tx.execute("DELETE FROM sessions WHERE user_id = $1", me)
    assert (await making).status_code == 401
    assert (
        await database.fetchval("SELECT count(*) FROM access_tokens WHERE member_id = $1", me) == 0
    )
