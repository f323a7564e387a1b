"""Signing in to a server of tools: the whole way, and every way of being led astray."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import (
    Conflict,
    Expired,
    NotFound,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.store.database import Database
from mainspring.workspace.connections.rows import McpConnection, store_oauth_metadata
from mainspring.workspace.vault import connection_scope
from tests.kit.leaks import Haystack, add_tables
from tests.kit.mcp_server import McpDouble, Script, mcp_server
from tests.kit.tool_connections import BACK, HERE, OWNER, ConnectionBench, open_room

OTHER = Actor(HERE, "member", generate_id(), role=Role.OWNER)


@asynccontextmanager
async def ready(
    database: Database, folder: Path
) -> AsyncIterator[tuple[McpDouble, ConnectionBench, McpConnection]]:
    """A server that wants to be signed in to, and a connection that waits for that."""
    async with mcp_server() as double, open_room(database, folder, [double.pair]) as room:
        double.script.oauth = True
        yield double, room, await room.connect(double, "oauth")


async def sent_away(room: ConnectionBench, connection: McpConnection) -> str:
    return await room.outside.begin_sign_in(OWNER, connection.id, BACK)


async def agreed(address: str) -> dict[str, str]:
    """What a browser brings back from a server that agrees at once."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(address)
    assert answer.status_code == 302
    where = answer.headers["location"]
    assert where.startswith(BACK + "?")
    return dict(parse_qsl(urlsplit(where).query))


async def come_back(
    room: ConnectionBench, connection: McpConnection, brought: dict[str, str], actor: Actor = OWNER
) -> McpConnection:
    return await room.outside.finish_sign_in(
        actor,
        connection.id,
        state=brought["state"],
        code=brought.get("code"),
        iss=brought.get("iss"),
        error=brought.get("error"),
    )


async def test_a_member_signs_in_and_the_tools_can_be_called(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with ready(database, tmp_path) as (double, room, connection):
        with pytest.raises(Conflict, match="signed in"):
            await room.ask(connection)
        address = await sent_away(room, connection)
        asked = dict(parse_qsl(urlsplit(address).query))

        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == double.url
        assert asked["redirect_uri"] == BACK
        assert asked["scope"] == "tools offline_access"
        assert (await room.find(connection.id)).state == "sign_in"

        hay = Haystack()
        hay.add("log", caplog.text)
        brought = await agreed(address)
        # What the browser itself has logged is not ours.
        caplog.clear()
        found = await come_back(room, connection, brought)

        assert (found.state, found.oauth["issuer"]) == ("ready", double.origin)
        assert found.expires_at is not None
        assert (await room.ask(connection, text="hi"))["json"]["arguments"] == {"text": "hi"}
        assert {one.token for one in double.calls()} <= double.access

        hay.add("log", caplog.text)
        hay.add("row", repr(found))
        await add_tables(hay, database)
        secret = {token: token for token in double.every_token}
        verifiers = {one.body["code_verifier"] for one in double.sent if one.path == "/token"}
        assert len(verifiers) == 1
        assert hay.found(secret | {"verifier": verifiers.pop(), "state": asked["state"]}) == []


async def test_signing_in_again_reuses_the_registered_client(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        for _ in range(2):
            await come_back(room, connection, await agreed(await sent_away(room, connection)))

        assert (len(double.registered), double.exchanges) == (1, 2)


async def test_a_redirect_works_once_for_the_person_who_started_it_and_for_ten_minutes(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        brought = await agreed(await sent_away(room, connection))
        elsewhere = Actor(generate_id(), "member", OWNER.id, role=Role.OWNER)
        for actor, shown in (
            (OTHER, brought),
            (elsewhere, brought),
            (OWNER, brought | {"state": "made-up"}),
            (OWNER, brought | {"state": ""}),
            (OWNER, brought | {"state": "\ud800"}),
        ):
            with pytest.raises(NotFound, match="not begun here by you"):
                await come_back(room, connection, shown, actor)
        assert double.exchanges == 0

        await come_back(room, connection, brought)
        with pytest.raises(NotFound, match="used already"):
            await come_back(room, connection, brought)
        assert double.exchanges == 1

        late = await agreed(await sent_away(room, connection))
        await database.execute("UPDATE mcp_sign_ins SET expires_at = now() - interval '1 second'")
        with pytest.raises(Expired, match="took too long"):
            await come_back(room, connection, late)
        with pytest.raises(NotFound):
            await come_back(room, connection, late)

        first = await agreed(await sent_away(room, connection))
        await sent_away(room, connection)
        with pytest.raises(NotFound):
            await come_back(room, connection, first)
        assert double.exchanges == 1


async def test_an_answer_of_another_issuer_is_refused_and_its_code_goes_nowhere(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        for change in ({"iss": "https://evil.example"}, {"iss": f"{double.origin}/x"}, None):
            brought = await agreed(await sent_away(room, connection))
            if change is None:
                del brought["iss"]
            with pytest.raises(PermissionDenied) as mixed:
                await come_back(room, connection, brought | (change or {}))

            assert mixed.value.code == "issuer_mismatch"
        assert double.exchanges == 0

        double.script.send_iss = False
        await come_back(room, connection, await agreed(await sent_away(room, connection)))


async def test_a_code_is_brought_only_to_the_server_at_which_signing_in_was_begun(
    database: Database, tmp_path: Path
) -> None:
    """The server of tools may name another server of tokens while somebody is away."""
    async with (
        mcp_server() as evil,
        ready(database, tmp_path) as (double, _, connection),
        open_room(database, tmp_path, [double.pair, evil.pair]) as wide,
    ):
        brought = await agreed(await sent_away(wide, connection))
        double.script.authorization_server = evil.origin

        await come_back(wide, connection, brought)

        assert (double.exchanges, evil.exchanges, evil.sent) == (1, 0, [])


ASTRAY: tuple[tuple[dict[str, Any], str], ...] = (
    ({"metadata_issuer": "https://other.example"}, "issuer_mismatch"),
    ({"resource": "https://other.example/mcp"}, "resource_mismatch"),
    ({"pkce": False}, "no_pkce"),
    ({"registration": False}, "client_id_needed"),
    ({"authorization_server": "http://127.0.0.1:1"}, "https_needed"),
    ({"authorization_server": "https://127.0.0.1:1"}, "address_not_public"),
    ({"authorization_server": "https://169.254.169.254"}, "address_not_public"),
    ({"authorization_server": "https://[::ffff:10.0.0.1]"}, "address_not_public"),
    ({"authorization_server": "https://localhost"}, "address_not_public"),
)


async def test_a_server_that_leads_astray_is_not_followed(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        for change, code in ASTRAY:
            double.script = Script(oauth=True, **change)

            with pytest.raises(Problem) as refused:
                await sent_away(room, connection)

            assert refused.value.code == code, change
        assert double.registered == {}
        assert await database.fetchval("SELECT count(*) FROM mcp_sign_ins") == 0


async def test_a_server_of_tokens_on_a_private_address_is_never_dialled(
    database: Database, tmp_path: Path
) -> None:
    async with (
        mcp_server() as private,
        ready(database, tmp_path) as (double, room, connection),
    ):
        double.script.authorization_server = private.origin.replace("http:", "https:")

        with pytest.raises(PermissionDenied) as refused:
            await sent_away(room, connection)

        assert refused.value.code == "address_not_public"
        assert private.dialled == 0


async def test_a_refusal_is_reported_in_a_word_of_the_standard_and_changes_nothing(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        brought = await agreed(await sent_away(room, connection))
        for error, result in (
            ("access_denied", "not agreed to"),
            ("<script>alert(1)</script>", "rejected the sign-in."),
        ):
            with pytest.raises(UpstreamError, match=result):
                await come_back(room, connection, brought | {"error": error})
            brought = await agreed(await sent_away(room, connection))
        double.script.token_error = "invalid_client"
        with pytest.raises(UpstreamError, match="rejected the sign-in: invalid_client"):
            await come_back(room, connection, brought)

        assert (await room.find(connection.id)).state == "sign_in"
        assert await database.fetchval("SELECT count(*) FROM secrets") == 0


NO_TOKENS: tuple[Any, ...] = (
    [],
    {},
    {"access_token": 1},
    {"access_token": ""},
    {"access_token": "two words"},
    {"access_token": "a\r\nHost: evil"},
    {"access_token": "x" * 9_000},
    {"access_token": "good", "refresh_token": "b\nad"},
    {"access_token": "good", "token_type": "mac"},
)


async def test_tokens_that_are_none_are_not_kept(database: Database, tmp_path: Path) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        for output in NO_TOKENS:
            double.script.token_answer = output
            brought = await agreed(await sent_away(room, connection))
            with pytest.raises(UpstreamError) as refused:
                await come_back(room, connection, brought)

            assert refused.value.code in {"bad_response", "token_kind"}
        assert await database.fetchval("SELECT count(*) FROM secrets") == 0

        for lasts, known in (("3600", True), (10**400, True), (-1, False), ("soon", False)):
            double.script.token_answer = {"access_token": "good", "expires_in": str(lasts)}
            found = await come_back(
                room, connection, await agreed(await sent_away(room, connection))
            )

            assert (found.expires_at is not None) is known


async def test_a_client_that_a_person_made_there_is_used_with_its_secret(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, connection):
        double.script.registration = False
        async with database.transaction() as tx:
            known = {"client_id": "by-hand", "client_given": True}
            await store_oauth_metadata(tx, HERE, connection.id, known)
        scope = connection_scope(HERE, connection.id)
        await room.vault.set(scope, "client_secret", "Qy-client-secret")

        await come_back(room, connection, await agreed(await sent_away(room, connection)))

        sent = next(one for one in double.sent if one.path == "/token")
        assert sent.body["client_id"] == "by-hand"
        assert sent.body["client_secret"] == "Qy-client-secret"
        assert await room.held(connection, "client_secret") == "Qy-client-secret"
        assert "Qy-client-secret" not in repr(await room.find(connection.id))


async def test_nobody_signs_in_to_a_connection_that_has_a_token_or_needs_none(
    database: Database, tmp_path: Path
) -> None:
    async with ready(database, tmp_path) as (double, room, _):
        bearer = await room.connect(double, "bearer", "token", alias="bearer")

        with pytest.raises(Conflict, match="connect it in another way"):
            await sent_away(room, bearer)
        assert double.sent == []
