"""Codes and renewal tokens work once, for whom they were made; what they gave can be ended."""

from __future__ import annotations

import base64
from typing import Any

import httpx2

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.mcp import RawMcpClient
from tests.kit.oauth import WEB, OAuthTestClient, register
from tests.kit.people import Browser

NO_GOOD = "invalid_grant"


async def _status(api: Api, token: str) -> int:
    return (await RawMcpClient(api.anonymous, api.address, token).send("tools/list")).status_code


def _refused(answer: httpx2.Response, error: str = NO_GOOD, status: int = 400) -> None:
    assert (answer.status_code, answer.json().get("error")) == (status, error), answer.text
    assert answer.json()["error_description"]
    assert "no-store" in answer.headers["cache-control"]


async def test_a_code_is_worth_nothing_to_anybody_else(people: Api, ada: Browser) -> None:
    database = people.application.database
    oauth_client, thief = await register(people), await register(people)
    code = await oauth_client.code(ada)
    # Another client has nothing of it, whatever it brings, and spoils nothing.
    thief.verifier = oauth_client.verifier
    _refused(await thief.exchange(code))
    _refused(
        await oauth_client.exchange(code, resource="https://evil.example/mcp"), "invalid_target"
    )
    _refused(await oauth_client.exchange(code, client_id=None), "invalid_client", 401)
    _refused(await oauth_client.exchange(code, client_id="nobody"), "invalid_client", 401)
    _refused(await oauth_client.exchange(code, client_secret="x"), "invalid_client", 401)
    _refused(await oauth_client.exchange(code, code_verifier=None), "invalid_request")
    _refused(await oauth_client.exchange(code, grant_type="password"), "unsupported_grant_type")
    _refused(await oauth_client.exchange(code, grant_type=None), "invalid_request")
    twice = f"grant_type=authorization_code&code={code}&code={code}&client_id={oauth_client.id}"
    form = {"content-type": "application/x-www-form-urlencoded"}
    _refused(
        await people.anonymous.post("/oauth/token", content=twice, headers=form), "invalid_request"
    )
    _refused(await people.anonymous.post("/oauth/token", json={"code": code}), "invalid_request")

    # Using the code without its verifier invalidates it.
    for changed in (
        {"code_verifier": "A" * 43},
        {"code_verifier": "short"},
        {"redirect_uri": WEB},
    ):
        spoilt = await oauth_client.code(ada)
        _refused(await oauth_client.exchange(spoilt, **changed))
        _refused(await oauth_client.exchange(spoilt))
    late = await oauth_client.code(ada)
    await database.execute("UPDATE client_codes SET expires_at = now() WHERE used_at IS NULL")
    _refused(await oauth_client.exchange(late))
    _refused(await oauth_client.exchange("msc_" + "A" * 43))
    assert (
        await database.fetchval("SELECT count(*) FROM access_tokens WHERE client_id IS NOT NULL")
        == 0
    )


async def test_a_token_works_at_the_mcp_server_alone_and_ends_with_a_second_exchange(
    people: Api, ada: Browser
) -> None:
    database = people.application.database
    oauth_client = await register(people)
    code = await oauth_client.code(ada, Role.VIEWER)
    answer = await oauth_client.exchange(code)
    given = answer.json()
    assert (given["token_type"], given["scope"], given["expires_in"]) == ("Bearer", "read", 3600)
    assert answer.headers["cache-control"] == "no-store"
    wire = RawMcpClient(people.anonymous, people.address, given["access_token"])
    tools = await wire.tools()
    assert tools
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())
    # A token for one resource is none for another: it could make tokens that outlive it.
    known = {"authorization": f"Bearer {given['access_token']}"}
    rest = await people.anonymous.post("/api/v1/tokens", json={"name": "x"}, headers=known)
    assert (rest.status_code, rest.json()["code"]) == (403, "token_for_mcp")
    assert (await people.anonymous.get("/api/v1/session", headers=known)).status_code == 403

    stored = await _everything(database)
    for secret in (code, given["access_token"], given["refresh_token"], oauth_client.verifier):
        assert secret not in stored
    _refused(await oauth_client.exchange(code))
    assert await _status(people, given["access_token"]) == 401
    _refused(await oauth_client.renew(given["refresh_token"]))


async def test_a_renewal_token_works_once_and_the_second_time_ends_everything(
    people: Api, ada: Browser
) -> None:
    database = people.application.database
    oauth_client, thief = await register(people), await register(people)
    first = await oauth_client.connect(ada)
    untouched = await oauth_client.connect(ada)
    _refused(await thief.renew(first["refresh_token"]))
    _refused(
        await oauth_client.renew(first["refresh_token"], resource="https://evil.example"),
        "invalid_target",
    )
    # What it asks for is passed over: it has what the person gave.
    second = (await oauth_client.renew(first["refresh_token"], scope="read edit")).json()
    assert second["scope"] == "read operate edit"
    assert await _status(people, first["access_token"]) == 401
    assert await _status(people, second["access_token"]) == 200
    _refused(await oauth_client.renew(first["refresh_token"]))
    assert await _status(people, second["access_token"]) == 401
    _refused(await oauth_client.renew(second["refresh_token"]))
    assert await _status(people, untouched["access_token"]) == 200
    result = await database.fetch(
        "SELECT action, detail FROM audit_log WHERE actor_kind = 'client'"
    )
    assert [(row["action"], row["detail"].get("why")) for row in result][-1] == (
        "client_cut_off",
        "renewal_again",
    )

    await database.execute(
        "UPDATE access_tokens SET expires_at = now() WHERE client_id IS NOT NULL"
    )
    answer = await RawMcpClient(people.anonymous, people.address, untouched["access_token"]).send(
        "ping"
    )
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    third = (await oauth_client.renew(untouched["refresh_token"])).json()
    assert await _status(people, third["access_token"]) == 200
    await database.execute("UPDATE client_renewals SET expires_at = now()")
    _refused(await oauth_client.renew(third["refresh_token"]))


async def test_a_client_with_a_secret_must_show_it_as_it_said(people: Api, ada: Browser) -> None:
    basic = await register(
        people, token_endpoint_auth_method="client_secret_basic", grant_types=["authorization_code"]
    )
    post = await register(people, token_endpoint_auth_method="client_secret_post")
    code, other = await basic.code(ada), await post.code(ada)
    for wrong in (None, "mss_wrong", post.known["client_secret"]):
        _refused(await post.exchange(other, client_secret="no"), "invalid_client", 401)
        _refused(await _with_basic(basic, code, wrong), "invalid_client", 401)
    _refused(await basic.exchange(code), "invalid_client", 401)
    _refused(
        await basic.exchange(code, client_secret=basic.known["client_secret"]),
        "invalid_client",
        401,
    )
    one = await _with_basic(basic, code, basic.known["client_secret"])
    two = await post.exchange(other, client_secret=post.known["client_secret"])
    assert (one.status_code, two.status_code) == (200, 200)
    # Who did not ask to be renewed is not.
    assert "refresh_token" not in one.json()
    assert "refresh_token" in two.json()


async def test_whatever_ends_the_agreement_ends_what_the_client_holds(
    people: Api, ada: Browser
) -> None:
    database, me = people.application.database, ada.who["user"]["id"]
    oauth_client, other = await register(people), await register(people)
    held, another = await oauth_client.connect(ada), await other.connect(ada)
    waiting = await oauth_client.code(ada)
    revoke = people.anonymous.post
    # The client gives up what it holds; another's is not there for it.
    spare = await oauth_client.connect(ada)
    for client, status in ((other, 200), (oauth_client, 200)):
        form = {"client_id": client.id, "token": spare["refresh_token"]}
        assert await _status(people, spare["access_token"]) == status
        assert (await revoke("/oauth/revoke", data=form)).status_code == 200
    assert await _status(people, spare["access_token"]) == 401

    known = {"authorization": f"Bearer {people.token}"}
    path = f"/api/v1/oauth/clients/{oauth_client.id}"
    assert (await people.anonymous.delete(path, headers=known)).status_code == 409
    assert await _status(people, held["access_token"]) == 200
    assert (await ada.ask("DELETE", f"/oauth/clients/{oauth_client.id}")).status_code == 204
    assert (await ada.ask("DELETE", f"/oauth/clients/{oauth_client.id}")).status_code == 404
    assert await _status(people, held["access_token"]) == 401
    _refused(await oauth_client.renew(held["refresh_token"]))
    _refused(await oauth_client.exchange(waiting))
    listed = (await ada.ask("GET", "/oauth/clients")).json()["clients"]
    assert [one["id"] for one in listed] == [other.id]

    # A code that waits is worth no more than what is when it is exchanged.
    outstanding = await other.code(ada)
    narrowed = await other.connect(ada, Role.VIEWER)
    for given in (narrowed, (await other.exchange(outstanding)).json()):
        assert given["scope"] == "read"
    unbacked = await other.code(ada)
    await database.execute("DELETE FROM client_consents")
    _refused(await other.exchange(unbacked))

    # A smaller role counts at once; who is removed is nobody's client any more.
    late = await other.code(ada)
    await database.execute("UPDATE members SET role = 'viewer' WHERE user_id = $1::text::uuid", me)
    renewed = (await other.renew(another["refresh_token"])).json()
    assert renewed["scope"] == "read"
    gone = await people.client.delete(f"/api/v1/members/{me}")
    assert gone.status_code < 300, gone.text
    assert await _status(people, renewed["access_token"]) == 401
    _refused(await other.renew(renewed["refresh_token"]))
    _refused(await other.exchange(late))
    for table in ("client_consents", "client_codes"):
        left = f"SELECT count(*) FROM {table} WHERE member_id = $1::text::uuid"
        assert await database.fetchval(left, me) == 0


async def _with_basic(guest: OAuthTestClient, code: str, secret: str | None) -> httpx2.Response:
    shown = base64.b64encode(f"{guest.id}:{secret or ''}".encode()).decode()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": guest.verifier,
    }
    return await guest.http.post(
        "/oauth/token", data=form, headers={"authorization": f"Basic {shown}"}
    )


async def _everything(database: Any) -> str:
    """All that is kept about clients, as text."""
    tables = ("client_codes", "client_renewals", "access_tokens", "audit_log", "client_requests")
    rows = [row for name in tables for row in await database.fetch(f"SELECT t::text FROM {name} t")]
    return "\n".join(row[0] for row in rows)
