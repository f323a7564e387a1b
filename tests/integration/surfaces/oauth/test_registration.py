"""How a client finds its way, and what it may say of itself when it registers."""

from __future__ import annotations

from typing import Any

from mainspring.surfaces.rest.oauth import TOLD_REGISTRATIONS
from tests.kit.api import Api
from tests.kit.oauth import LOOPBACK, WEB, description, register

BAD: list[tuple[dict[str, Any], str]] = [
    ({"redirect_uris": uris}, "invalid_redirect_uri")
    for uris in (
        [],
        None,
        "https://a.example/cb",
        [f"https://a.example/{n}" for n in range(11)],
        [7],
        ["http://a.example/cb"],
        ["http://127.0.0.1.a.example/cb"],
        ["https://"],
        ["/cb"],
        ["https://a.example/cb#x"],
        ["https://u:p@a.example/cb"],
        ["https://a.example\\@b.example/"],
        ["javascript://a.example/%0aalert(1)"],
        ["JAVASCRIPT:alert(1)"],
        ["data:text/html,x"],
        ["app:callback"],
        ["file:///etc/passwd"],
        ["https://a.example/c b"],
        [WEB, "ftp://a.example/"],
        ["https://a.example/" + "x" * 2_000],
        ["https://a.example:port/cb"],
        ["HTTPS://a.example/cb"],
        ["https://a.example/\u00fc"],
        [WEB, "https://evil.example/cb"],
        ["app://x/cb"],
        ["https://a..b/"],
        ["https://a.example:/"],
    )
] + [
    ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
    ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
    ({"grant_types": "authorization_code"}, "invalid_client_metadata"),
    ({"response_types": ["token"]}, "invalid_client_metadata"),
]


async def test_a_client_gets_addresses_under_the_host_name_it_used(people: Api) -> None:
    port = people.address.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        for suffix in ("", "/mcp"):
            shown = {"host": host}
            resource = await people.anonymous.get(
                f"/.well-known/oauth-protected-resource{suffix}", headers=shown
            )
            issuer = await people.anonymous.get(
                f"/.well-known/oauth-authorization-server{suffix}", headers=shown
            )
            assert resource.json()["resource"] == f"http://{host}/mcp"
            assert resource.json()["authorization_servers"] == [issuer.json()["issuer"]]
            assert issuer.json()["issuer"] == f"http://{host}"
            assert issuer.json()["token_endpoint"] == f"http://{host}/oauth/token"
            assert issuer.json()["code_challenge_methods_supported"] == ["S256"]
            assert issuer.json()["scopes_supported"] == ["read", "operate", "edit"]
    # A request under a foreign host name does not get it back.
    foreign = await people.anonymous.get(
        "/.well-known/oauth-authorization-server", headers={"host": "evil.example"}
    )
    assert "evil.example" not in foreign.text

    nobody = await people.anonymous.post("/mcp", json={})
    stale = {"authorization": "Bearer msk_" + "A" * 43}
    unknown = await people.anonymous.post("/mcp", json={}, headers=stale)
    where = f'resource_metadata="{people.address}/.well-known/oauth-protected-resource/mcp"'
    where += ', scope="read"'
    assert (nobody.status_code, unknown.status_code) == (401, 401)
    assert nobody.headers["www-authenticate"] == f"Bearer {where}"
    assert unknown.headers["www-authenticate"] == f'Bearer {where}, error="invalid_token"'


async def test_what_a_client_says_of_itself_is_checked_and_little_of_it_is_kept(
    people: Api,
) -> None:
    database, send = people.application.database, people.anonymous.post
    for changed, error in BAD:
        answer = await send("/oauth/register", json=description(**changed))
        assert (answer.status_code, answer.json()["error"]) == (400, error), changed
        assert answer.json()["error_description"]
    large = await send("/oauth/register", json=description(client_name="x" * 20_000))
    text = await send("/oauth/register", content=b"client_name=x")
    broken = await send(
        "/oauth/register", content=b'{"a":1,"a":2}', headers={"content-type": "application/json"}
    )
    listed = await send("/oauth/register", json=[description()])
    for answer, status in ((large, 413), (text, 415), (broken, 400), (listed, 400)):
        assert (answer.status_code, answer.json()["error"]) == (status, "invalid_client_metadata")
    assert await database.fetchval("SELECT count(*) FROM mcp_clients") == 0

    app = "com.example.app:/callback"
    plain = await register(
        people,
        client_name="Assi\u202estant\n <b>",
        redirect_uris=[LOOPBACK, WEB, app],
        logo_uri="https://a.example/logo",
        nonsense={"a": 1},
    )
    assert plain.known["client_name"] == "Assi stant <b>"
    assert plain.known["redirect_uris"] == [LOOPBACK, WEB, app]
    assert plain.known["grant_types"] == ["authorization_code", "refresh_token"]
    assert "client_secret" not in plain.known
    assert "logo_uri" not in plain.known

    nameless = await register(
        people, client_name=None, token_endpoint_auth_method="client_secret_post"
    )
    assert nameless.known["client_name"] == "127.0.0.1"
    secret = nameless.known["client_secret"]
    rows = await database.fetch("SELECT c::text AS whole FROM mcp_clients c")
    result = await database.fetch("SELECT a::text AS whole, action FROM audit_log a")
    assert len(rows) == 2
    assert all(secret not in row["whole"] for row in (*rows, *result))
    assert [row["action"] for row in result].count("client_registered") == 2

    # Unknown clients cannot fill the audit log: beyond a limit they are not recorded.
    await database.execute(
        "UPDATE buckets SET level = $1, at = now() WHERE key = 'oauth/registrations told'",
        TOLD_REGISTRATIONS.most,
    )
    await register(people)
    counted = "SELECT count(*) FROM audit_log WHERE action = 'client_registered'"
    assert await database.fetchval(counted) == 2


async def test_registrations_are_counted_and_unused_ones_forgotten(people: Api) -> None:
    database = people.application.database
    first = await register(people)
    await database.execute("UPDATE mcp_clients SET created_at = now() - interval '31 days'")
    second = await register(people)
    stored = {str(row["id"]) for row in await database.fetch("SELECT id FROM mcp_clients")}
    assert stored == {second.id}
    assert (await first.authorize()).status_code == 400

    answers = [
        await people.anonymous.post("/oauth/register", json=description()) for _ in range(20)
    ]
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(201) in (18, 19)
    assert statuses[-1] == 429
    assert answers[-1].json()["error"] == "temporarily_unavailable"
