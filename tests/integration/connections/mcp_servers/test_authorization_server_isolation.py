"""Servers of tokens are kept apart: what one hands out, or is given, never comes to another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from mainspring.connections.mcp_servers.oauth import _same_site
from mainspring.connections.oauth.authorization_server import OAuthTokenResponse
from mainspring.contracts.clock import SystemClock
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import NotFound, PermissionDenied, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.outbound.egress import parse_url
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.store.database import Database
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.workspace.connections import rows
from mainspring.workspace.connections.rows import McpConnection, store_oauth_metadata
from mainspring.workspace.vault import connection_scope
from tests.kit.mcp_server import McpDouble, Script, mcp_server
from tests.kit.tool_connections import BACK, HERE, OWNER, ConnectionBench, open_room

OTHER = Actor(HERE, "member", generate_id(), role=Role.OWNER)
SECRET = "Rk-client-secret-of-the-first"


def double(**script: Any) -> McpDouble:
    return McpDouble(Script(oauth=True, **script))


async def sent_away(room: ConnectionBench, connection: McpConnection, actor: Actor = OWNER) -> str:
    """Each connection has a place of its own to come back to."""
    back = f"{BACK}/{connection.id}"
    return await room.outside.begin_sign_in(actor, connection.id, back)


async def agreed(address: str) -> dict[str, str]:
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(address)
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


async def come_back(
    room: ConnectionBench, connection: McpConnection, brought: dict[str, str], actor: Actor = OWNER
) -> McpConnection:
    return await room.outside.finish_sign_in(
        actor,
        connection.id,
        state=brought["state"],
        code=brought.get("code"),
        iss=brought.get("iss"),
    )


async def test_what_was_handed_out_for_one_server_is_not_brought_to_another(
    database: Database, tmp_path: Path
) -> None:
    """The evil server leads on to the honest one, which sends back to its own place."""
    async with (
        mcp_server(double(send_iss=False)) as honest,
        mcp_server(double(send_iss=False)) as evil,
        open_room(database, tmp_path, [honest.pair, evil.pair]) as room,
    ):
        one = await room.connect(honest, "oauth", alias="honest")
        other = await room.connect(evil, "oauth", alias="evil")
        evils = dict(parse_qsl(urlsplit(await sent_away(room, other)).query))
        brought = await agreed(await sent_away(room, one))

        with pytest.raises(NotFound, match="not begun here"):
            await come_back(room, one, brought | {"state": evils["state"]})

        assert (honest.exchanges, evil.exchanges) == (0, 0)
        # It is used up, so it does not help at its own place either.
        with pytest.raises(NotFound):
            await come_back(room, other, brought | {"state": evils["state"]})
        assert evil.exchanges == 0


async def test_a_server_of_tokens_sends_people_to_itself_or_tells_its_name(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        mcp_server(double(send_iss=False)) as honest,
        mcp_server(double(send_iss=False)) as evil,
        open_room(database, tmp_path, [honest.pair, evil.pair]) as room,
    ):
        one = await room.connect(honest, "oauth", alias="honest")
        other = await room.connect(evil, "oauth", alias="evil")
        result, way_in = (
            McpDouble._metadata,
            {"authorization_endpoint": f"{honest.origin}/authorize"},
        )

        def metadata(self: McpDouble) -> dict[str, Any]:
            return result(self) | (way_in if self is evil else {})

        monkeypatch.setattr(McpDouble, "_metadata", metadata)
        with pytest.raises(PermissionDenied) as elsewhere:
            await sent_away(room, other)
        # One that says it tells its name must do so; the honest one does not know of that.
        evil.script.send_iss = True
        brought = await agreed(await sent_away(room, other))
        with pytest.raises(PermissionDenied) as nameless:
            await come_back(room, other, brought)

        assert (elsewhere.value.code, nameless.value.code) == ("issuer_mismatch",) * 2

        await come_back(room, one, await agreed(await sent_away(room, one)))
        with pytest.raises(PermissionDenied, match="of honest, and calls it by another name"):
            await sent_away(room, other)
        assert (honest.exchanges, evil.exchanges) == (1, 0)


@pytest.mark.parametrize(
    ("issuer", "way_in", "same"),
    [
        ("https://api.a.example", "https://www.a.example/authorize", True),
        ("https://a.example/tenant", "https://login.a.example/x", True),
        ("https://a.example", "https://a.example/x", True),
        ("https://a.example", "https://b.example/x", False),
        ("https://a.example", "https://aa.example/x", False),
        ("https://a.example", "http://a.example/x", False),
        ("https://a.example", "https://a.example:8443/x", False),
        ("https://203.0.113.1", "https://203.0.113.2/x", False),
        ("https://com", "https://evil.com/x", False),
    ],
)
def test_a_site_is_one_domain(issuer: str, way_in: str, same: bool) -> None:
    assert _same_site(parse_url(issuer), parse_url(way_in)) is same


async def test_a_client_secret_of_a_person_is_shown_to_one_server_of_tokens_only(
    database: Database, tmp_path: Path
) -> None:
    async with (
        mcp_server(double(registration=False)) as honest,
        mcp_server(double()) as evil,
        open_room(database, tmp_path, [honest.pair, evil.pair]) as room,
    ):
        one = await room.connect(honest, "oauth")
        async with database.transaction() as tx:
            await store_oauth_metadata(
                tx, HERE, one.id, {"client_id": "by-hand", "client_given": True}
            )
        await room.vault.set(connection_scope(HERE, one.id), "client_secret", SECRET)

        # Somebody else is on the way already, from the time of another server of tokens.
        honest.script.authorization_server = evil.origin
        late = await agreed(await sent_away(room, one, OTHER))
        honest.script.authorization_server = ""
        # The person who was shown it is bound by that, also if nothing came of it.
        honest.script.token_error = "invalid_grant"
        with pytest.raises(UpstreamError):
            await come_back(room, one, await agreed(await sent_away(room, one)))
        assert honest.exchanges == 1
        honest.script.authorization_server = evil.origin
        with pytest.raises(PermissionDenied) as changed:
            await sent_away(room, one)
        with pytest.raises(PermissionDenied) as too_late:
            await come_back(room, one, late, OTHER)

        assert changed.value.code == too_late.value.code == "issuer_changed"
        assert "connect it again" in str(changed.value.suggestion)
        assert SECRET not in str([(sent.headers, sent.body) for sent in evil.sent])
        assert evil.exchanges == 0

        honest.script = Script(oauth=True, registration=False)
        found = await come_back(room, one, await agreed(await sent_away(room, one)))
        assert found.state == "ready"


async def test_somebody_who_signs_in_while_a_token_is_renewed_keeps_what_they_signed_in_to(
    database: Database, tmp_path: Path
) -> None:
    async with mcp_server(double()) as server, open_room(database, tmp_path, [server.pair]) as room:
        for refuses in (False, True):
            connection = await room.signed_in(server, lasts=-5, alias=f"refuses_{refuses}".lower())
            brought = await agreed(await sent_away(room, connection))
            if refuses:
                server.renewal.clear()
            asked, server.script.token_delay = server.refreshes, 0.3
            late = asyncio.create_task(room.ask(connection))
            async with asyncio.timeout(60):
                while server.refreshes == asked:
                    await asyncio.sleep(0.005)
            server.script.token_delay = 0
            handed_out = len(server.every_token)
            await come_back(room, connection, brought)
            # They took their turn: the renewal had its answer before they were asked for theirs.
            assert len(server.every_token) - handed_out == (2 if refuses else 4)
            mine = await room.held(connection, "access_token")
            await asyncio.gather(late, return_exceptions=True)

            assert await room.held(connection, "access_token") == mine
            assert (await room.find(connection.id)).state == "ready"


async def test_what_a_renewal_of_earlier_tokens_brings_is_dropped(
    database: Database, tmp_path: Path
) -> None:
    """Also without its turn: a worker that lost its hold on the database goes on asking."""
    async with mcp_server(double()) as server, open_room(database, tmp_path, [server.pair]) as room:
        before = await room.signed_in(server)
        now = await come_back(room, before, await agreed(await sent_away(room, before)))
        mine = await room.held(now, "access_token")
        keeper = room.outside._tokens
        problem = UpstreamError("No.", code="sign_in_needed")

        stored = await keeper.keep(before, OAuthTokenResponse("old", "old", 60), {}, renewal=True)
        stays = await keeper._sign_out(before, problem)
        async with database.transaction() as tx:
            whose = (HERE, before.id)
            await rows.mark_failed(tx, *whose, problem, sign_in=True, seen_with=before.sign_in)

        found = await room.find(before.id)
        assert await room.held(now, "access_token") == mine
        assert stored == stays == found == now

        renewed = await keeper.keep(now, OAuthTokenResponse("new", None, 60), {}, renewal=True)
        assert await room.held(renewed, "access_token") == "new"
        assert await keeper._sign_out(renewed, problem) is None
        assert (await room.find(before.id)).state == "sign_in"


async def test_an_abandoned_sign_in_is_forgotten(database: Database, tmp_path: Path) -> None:
    async with mcp_server(double()) as server, open_room(database, tmp_path, [server.pair]) as room:
        connection = await room.connect(server, "oauth")
        await sent_away(room, connection)
        now = datetime.now(UTC)

        housekeeper = Housekeeper(database, FolderStore(tmp_path / "kept"), SystemClock(), Limits())

        assert (await housekeeper.once(now + timedelta(minutes=9))).sign_ins == 0
        assert (await housekeeper.once(now + timedelta(minutes=11))).sign_ins == 1
        assert await database.fetchval("SELECT count(*) FROM mcp_sign_ins") == 0
