"""Tokens that end: renewed once for everybody, kept before they are used, and given up honestly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict, UpstreamError
from mainspring.settings import Settings
from mainspring.store.database import Database
from tests.kit.mcp_server import McpDouble, mcp_server
from tests.kit.tool_connections import HERE, ConnectionBench, open_room


@asynccontextmanager
async def one_room(
    database: Database, folder: Path
) -> AsyncIterator[tuple[McpDouble, ConnectionBench]]:
    async with mcp_server() as double, open_room(database, folder, [double.pair]) as room:
        yield double, room


async def until_asked(double: McpDouble) -> None:
    async with asyncio.timeout(60):
        while not double.refreshes:
            await asyncio.sleep(0.005)


async def test_an_expired_token_that_two_workers_want_at_once_is_renewed_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    other = await Database.open(Settings(database_url=database_url))
    try:
        async with (
            one_room(database, tmp_path) as (double, here),
            open_room(other, tmp_path, [double.pair]) as there,
        ):
            connection = await here.signed_in(double, lasts=-5)
            before = await here.held(connection, "access_token")
            double.script.token_delay = 0.3

            answers = await asyncio.gather(
                *(room.ask(connection, text="x") for room in (here, there) for _ in range(10))
            )

            after = await here.held(connection, "access_token")
            assert len(answers) == 20
            assert double.refreshes == 1
            assert before != after
            assert {one.token for one in double.calls()} == {after}
            found = await there.find(connection.id)
            assert found.state == "ready"
            assert found.expires_at is not None
            assert found.oauth["renewing"] is None
    finally:
        await other.close()


async def test_a_renewal_token_that_is_replaced_is_used_for_the_next_renewal(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double, lasts=30)
        double.script.lifetime = 30
        seen = {await room.held(connection, "refresh_token")}
        for count in (1, 2, 3):
            await room.ask(connection)
            seen.add(await room.held(connection, "refresh_token"))

            assert double.refreshes == count
        assert len(seen) == 4

        double.script.rotate = False
        await room.ask(connection)
        await room.ask(connection)

        assert double.refreshes == 5
        sent = [one for one in double.sent if one.path == "/token"]
        assert {one.body["resource"] for one in sent} == {double.url}
        assert all("authorization" not in one.headers for one in sent)


async def test_a_token_that_is_refused_midway_is_renewed_and_the_call_goes_on(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double)
        async with room.outside.session(HERE, connection.id) as session:
            await session.tools()
            double.access.clear()
            answer = await session.call("echo", {"text": "again"}, key="k")

        assert answer.value["json"]["arguments"] == {"text": "again"}
        assert double.refreshes == 1
        assert [one.token in double.access for one in double.calls()] == [False, True]


async def test_a_server_that_refuses_the_new_token_too_is_asked_twice_and_no_more(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double)
        double.script.oauth, double.script.tokens = False, []

        with pytest.raises(Conflict) as refused:
            await room.ask(connection)

        assert refused.value.code == "sign_in_needed"
        assert (double.refreshes, len([one for one in double.sent if one.rpc])) == (1, 2)
        assert (await room.find(connection.id)).state == "sign_in"


async def test_a_renewal_that_is_refused_waits_for_a_person_and_nothing_is_asked_again(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double, lasts=-5)
        double.script.token_error = "invalid_grant"
        problems = await asyncio.gather(
            *(room.ask(connection) for _ in range(5)), return_exceptions=True
        )

        assert {type(problem) for problem in problems} == {Conflict}
        assert {str(problem) for problem in problems} == {
            "The server of tools has ended what was signed in to."
        }
        with pytest.raises(Conflict, match="has ended what was signed in to"):
            await room.ask(connection)
        assert (double.refreshes, double.calls()) == (1, [])
        found = await room.find(connection.id)
        assert found.state == "sign_in"
        assert found.failures_in_row == 1
        assert found.last_error is not None
        assert found.last_error["code"] == "sign_in_needed"


async def test_a_server_of_tokens_that_is_away_matters_only_once_the_token_has_ended(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        soon = await room.signed_in(double, lasts=30)
        ended = await room.signed_in(double, lasts=-5, alias="ended")
        double.script.token_error, double.script.token_status = "server_error", 503

        assert (await room.ask(soon))["json"]["tool"] == "echo"
        with pytest.raises(UpstreamError) as away:
            await room.ask(ended)

        assert (away.value.code, away.value.retryable) == ("tokens_failed", True)
        assert (await room.find(ended.id)).state == "ready"

        double.script.token_error = ""
        await room.ask(ended)


async def test_a_worker_lost_after_the_answer_is_reported(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double, lasts=-5)
        double.script.token_delay = 60
        lost = asyncio.create_task(room.ask(connection))
        await until_asked(double)
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
        double.script.token_delay = 0

        with pytest.raises(Conflict, match="was being renewed when a worker was lost"):
            await room.ask(connection)

        assert (await room.find(connection.id)).state == "sign_in"


async def test_a_connection_without_a_renewal_token_waits_for_a_person_when_its_token_ends(
    database: Database, tmp_path: Path
) -> None:
    async with one_room(database, tmp_path) as (double, room):
        connection = await room.signed_in(double, lasts=-5)
        await database.execute("DELETE FROM secrets WHERE name = 'refresh_token'")

        with pytest.raises(Conflict) as waits:
            await room.ask(connection)

        assert waits.value.code == "sign_in_needed"
        assert double.refreshes == 0
        assert (await room.find(connection.id)).state == "sign_in"
