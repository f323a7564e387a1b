"""A battery for sessions: other sites, planted cookies, guessers, races, and old cookies."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.surfaces.rest.auth import BrowserSessionPolicy
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.people.sign_in import (
    PER_ADDRESS,
    PER_EMAIL,
    PER_PAIR,
    SignInOrigin,
    build_email_address_key,
    build_email_key,
    count_try,
    sign_in,
)
from mainspring.workspace.people.sign_in_links import make_link
from mainspring.workspace.tokens import make_token
from tests.kit.api import PATIENCE, Api, served
from tests.kit.bench import Bench
from tests.kit.people import PASSWORD, ROOT, browser, cheap, make_person, people, token_of

__all__ = ["people"]

AN_ID = "01900000-0000-7000-8000-0000000000aa"
SESSION = f"{ROOT}/session"
OF_LINKS = ("/api/v1/forms/", "/api/v1/push-channels/")
READING = {"GET", "HEAD", "OPTIONS"}


def _changing(app: FastAPI) -> list[tuple[str, str]]:
    """Every route that may change something, with an id in each place of its path."""
    return [
        (method, "/".join(AN_ID if piece[:1] == "{" else piece for piece in path.split("/")))
        for route in iter_route_contexts(app.routes)
        for path in [route.path or ""]
        for method in sorted(route.methods or ())
        if method not in READING
    ]


async def _state(api: Api) -> dict[str, Any]:
    """How many rows every table has; reads are counted on their own account."""
    database = api.application.database
    names = await database.fetch(
        "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    )
    return {
        row["name"]: await database.fetchval(f'SELECT count(*) FROM "{row["name"]}"')
        for row in names
        if row["name"] not in {"buckets", "direct_calls"}
    }


async def test_no_route_lets_another_site_change_anything(people: Api) -> None:
    routes = _changing(people.app)
    assert len(routes) > 20
    async with browser(people, FIRST_MEMBER) as owner:
        token = owner.who["csrf_token"]
        asked: list[dict[str, str]] = [
            {},
            {"X-CSRF-Token": ""},
            {"X-CSRF-Token": token[:-1] + "x"},
            {"X-CSRF-Token": owner.cookie},
            {"X-CSRF-Token": token, "Origin": "https://evil.example"},
            {"X-CSRF-Token": token, "Origin": "null"},
            {"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site"},
            {"X-CSRF-Token": token, "Sec-Fetch-Site": "same-site"},
        ]
        before = await _state(people)
        passed = []
        for method, path in routes:
            for headers in asked:
                if "X-CSRF-Token" in headers and headers["X-CSRF-Token"] == token:
                    expected = {403}
                elif path.startswith(SESSION) and method == "POST":
                    # Public: there is no session yet to bind a token to.
                    expected = {403, 422, 415}
                else:
                    expected = {403}
                answer = await owner.client.request(method, path, headers=headers, json={})
                if answer.status_code not in expected and not _outside(path):
                    passed.append((method, path, headers, answer.status_code))
        assert passed == []
        after = await _state(people)
        assert {name for name in after if after[name] != before[name]} == set()
        assert (await owner.client.get(SESSION)).status_code == 200


def _outside(path: str) -> bool:
    """Webhooks, forms, providers and clients have credentials of their own, and use no cookie."""
    signed = "/hooks/" in path or "/slack/interactions/" in path or path.startswith(OF_LINKS)
    return signed or path.endswith("/fire") or path.startswith("/oauth/")


async def test_a_page_of_ours_may_change_what_its_person_may(people: Api) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        for headers in (
            {},
            {"Origin": people.address, "Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
        ):
            answer = await owner.ask("POST", "/workspaces", json={"name": "X"}, headers=headers)
            assert answer.status_code == 201, headers


async def test_a_page_changes_and_reads_only_the_workspace_that_it_shows(people: Api) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        first = owner.who["workspace"]["id"]
        made = (await owner.ask("POST", "/workspaces", json={"name": "Second"})).json()["id"]
        shows = {"X-Workspace": first}
        secret = {"name": "key", "value": "s3cret"}
        look = {"workspace_id": made}
        assert (await owner.ask("GET", "/automations", headers=shows)).status_code == 200
        # In another window they go to the second workspace.
        moved = await owner.ask("POST", "/session/workspace", json=look, headers=shows)
        assert moved.status_code == 200
        before = await _state(people)
        for method, path, more in (
            ("POST", "/secrets", {"json": secret}),
            ("PATCH", "/me", {"json": {"name": "X"}}),
            ("GET", "/automations", {}),
            ("GET", "/runs", {"headers": {"X-Workspace": "nonsense"}}),
            ("GET", f"/stream?workspace={first}", {"headers": {}}),
        ):
            request: dict[str, Any] = {"headers": shows, **more}
            answer = await owner.ask(method, path, **request)
            assert (answer.status_code, answer.json()["code"]) == (409, "other_workspace"), path
        assert await _state(people) == before
        # Where the session is can be asked and changed; without a word all is as before.
        seen = await owner.ask("GET", "/session", headers=shows)
        assert seen.json()["workspace"]["id"] == made
        for headers in ({}, {"X-Workspace": made}):
            assert (await owner.ask("GET", "/automations", headers=headers)).status_code == 200
        # A token has one workspace, whatever a program says next to it.
        other = await people.program.get(f"{ROOT}/automations", headers={"X-Workspace": made})
        assert other.status_code == 200
        back = {"workspace_id": first}
        returned = await owner.ask("POST", "/session/workspace", json=back, headers=shows)
        assert returned.status_code == 200


async def test_another_site_can_neither_sign_in_nor_read_an_answer(people: Api) -> None:
    await make_person(people.application.database, "ada@example.org")
    given = {"email": "ada@example.org", "password": PASSWORD}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = await people.anonymous.post(SESSION, json=given, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["code"] == "foreign_page"
        assert "set-cookie" not in answer.headers
    async with browser(people, FIRST_MEMBER) as owner:
        for method, path in [
            ("GET", SESSION),
            ("GET", "/"),
            ("GET", "/sign-in"),
            ("OPTIONS", SESSION),
            ("GET", f"{ROOT}/health"),
            ("POST", f"{ROOT}/tokens"),
            ("GET", f"{ROOT}/no-such"),
        ]:
            headers = {
                "Origin": "https://evil.example",
                "Access-Control-Request-Method": "POST",
            }
            answer = await owner.client.request(method, path, headers=headers)
            shown = [name for name in answer.headers if name.startswith("access-control")]
            assert shown == [], (method, path)


async def test_every_sign_in_is_a_new_session_whatever_was_planted_or_there_before(
    people: Api,
) -> None:
    await make_person(people.application.database, "ada@example.org")
    given = {"email": "ada@example.org", "password": PASSWORD}
    planted = "A" * 43
    answer = await people.anonymous.post(
        SESSION, json=given, headers={"Cookie": f"mainspring={planted}"}
    )
    assert answer.status_code == 200
    assert planted not in answer.headers["set-cookie"]
    people.anonymous.cookies.clear()
    refused = await people.anonymous.get(SESSION, headers={"Cookie": f"mainspring={planted}"})
    assert refused.status_code == 401

    client = people.anonymous
    await client.post(SESSION, json=given)
    first = client.cookies["mainspring"]
    await client.post(SESSION, json=given)
    second = client.cookies["mainspring"]

    assert first != second
    client.cookies.clear()
    for stored, expected in ((first, 401), (second, 200)):
        answer = await client.get(SESSION, headers={"Cookie": f"mainspring={stored}"})
        assert answer.status_code == expected


async def test_what_only_looks_like_a_session_is_nobodys(people: Api) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        good = owner.cookie
    for shown in (
        "mainspring=",
        f"mainspring={good}x",
        f"mainspring={good[:-1]}",
        f"Mainspring={good}",
        f"mainspring={good}; mainspring={good}",
        f"mainspring={'A' * 43}",
        f"x{good}",
        f'mainspring="{good}"',
        f"__Host-mainspring={good}",
        "mainspring=' OR 1=1 --",
    ):
        answer = await people.anonymous.get(SESSION, headers={"Cookie": shown})
        assert answer.status_code == 401, shown
    answer = await people.anonymous.get(SESSION, headers={"Cookie": f"a=b; mainspring={good}; c"})
    assert answer.status_code == 200


async def test_where_a_token_and_a_cookie_come_the_token_decides(people: Api) -> None:
    ada = await make_person(people.application.database, "ada@example.org")
    assert ada.default_workspace_id is not None
    header = await token_of(people.application.database, ada.default_workspace_id, ada.id)
    async with browser(people, FIRST_MEMBER) as owner:
        answer = await owner.client.get(SESSION, headers=header)
        assert answer.json()["user"]["id"] == str(ada.id)
        assert answer.json()["csrf_token"] is None
        bad = await owner.client.get(SESSION, headers={"Authorization": "Bearer nonsense"})
        assert bad.status_code == 401
        # A public route that still asks who is there takes either.
        file = f"{ROOT}/artifacts/{AN_ID}/content"
        assert (await owner.client.get(file)).status_code == 404
        assert (await people.anonymous.get(file)).status_code == 401


async def test_a_session_ends_by_itself_and_use_keeps_it_alive(people: Api) -> None:
    database = people.application.database
    for change in (
        "UPDATE sessions SET expires_at = now() - interval '1 second'",
        "UPDATE sessions SET seen_at = now() - interval '4 days'",
    ):
        async with browser(people, FIRST_MEMBER) as owner:
            assert (await owner.client.get(SESSION)).status_code == 200
            await database.execute(change)
            assert (await owner.client.get(SESSION)).status_code == 401
    await database.execute("DELETE FROM sessions")
    seen = "SELECT seen_at FROM sessions"
    async with browser(people, FIRST_MEMBER) as owner:
        fresh = await database.fetchval(seen)
        await owner.client.get(SESSION)
        assert await database.fetchval(seen) == fresh
        await database.execute("UPDATE sessions SET seen_at = now() - interval '2 days'")
        async with asyncio.timeout(PATIENCE):
            while await database.fetchval(seen) < fresh:
                await owner.client.get(SESSION)


async def test_a_password_change_ends_every_other_session_and_every_token(people: Api) -> None:
    database = people.application.database
    # Nobody keeps a token by giving it the name of the one in the file.
    _, plain = await make_token(database, FIRST_WORKSPACE, FIRST_MEMBER, "local owner")
    token = {"Authorization": f"Bearer {plain}"}
    async with browser(people, FIRST_MEMBER) as here, browser(people, FIRST_MEMBER) as there:
        short = await here.ask("POST", "/me/password", json={"password": "too short"})
        assert short.status_code == 422
        assert short.json()["errors"][0]["pointer"] == "/password"
        assert (await there.client.get(SESSION)).status_code == 200
        assert (await people.anonymous.get(SESSION, headers=token)).status_code == 200

        done = await here.ask("POST", "/me/password", json={"password": PASSWORD})

        assert done.status_code == 204
        assert (await here.client.get(SESSION)).json()["user"]["has_password"] is True
        assert (await there.client.get(SESSION)).status_code == 401
        assert (await people.anonymous.get(SESSION, headers=token)).status_code == 401
        # The token in the data folder of this machine still works.
        assert (await people.client.get(SESSION)).status_code == 200
        result = await database.fetchval("SELECT detail FROM audit_log WHERE action = 'end_tokens'")
        assert result == {"because": "password", "tokens": 1}
        wrong = {"password": "another good one", "current_password": "not the password"}
        for sent in ({"password": "another good one"}, wrong):
            refused = await here.ask("POST", "/me/password", json=sent)
            assert refused.status_code == 403
            assert refused.json()["errors"][0]["pointer"] == "/current_password"
        right = {"password": "another good one", "current_password": PASSWORD}
        assert (await here.ask("POST", "/me/password", json=right)).status_code == 204


async def test_a_token_cannot_replace_a_browser_session(people: Api) -> None:
    for method, path, sent in [
        ("POST", "/me/password", {"password": PASSWORD}),
        ("PATCH", "/me", {"email": "x@example.org"}),
        ("DELETE", "/session", None),
        ("GET", "/sessions", None),
        ("DELETE", f"/sessions/{AN_ID}", None),
        ("POST", "/session/workspace", {"workspace_id": AN_ID}),
    ]:
        answer = await people.program.request(method, ROOT + path, json=sent)
        assert answer.status_code == 409, path
        assert answer.json()["code"] == "needs_session"


async def test_one_link_raced_by_twenty_signs_in_once(people: Api) -> None:
    async with people.application.database.transaction() as tx:
        plain = await make_link(tx, FIRST_MEMBER, "first")

    async def come() -> int:
        async with httpx2.AsyncClient(base_url=people.address, timeout=PATIENCE) as client:
            answer = await client.post(f"{SESSION}/link", json={"token": plain})
            return answer.status_code

    statuses = Counter(await asyncio.gather(*(come() for _ in range(20))))

    assert statuses == {200: 1, 410: 19}
    assert await people.application.database.fetchval("SELECT count(*) FROM sessions") == 1


async def test_a_link_that_is_over_or_unknown_or_of_somebody_shut_out_does_nothing(
    people: Api,
) -> None:
    database = people.application.database
    ada = await make_person(database, "ada@example.org")
    async with database.transaction() as tx:
        over = await make_link(tx, FIRST_MEMBER, "first")
        shut = await make_link(tx, ada.id, "first")
    await database.execute(
        "UPDATE sign_in_links SET expires_at = now() WHERE user_id <> $1", ada.id
    )
    await database.execute("UPDATE users SET disabled_at = now() WHERE id = $1", ada.id)
    for token in (over, shut, "msl_" + "A" * 43, "msi_" + "A" * 43, "x", "msl_é"):
        answer = await people.anonymous.post(f"{SESSION}/link", json={"token": token})
        assert answer.status_code == 410, token
        assert answer.json()["code"] == "link_over"
    in_query = await people.anonymous.post(f"{SESSION}/link?token={over}")
    assert in_query.status_code == 415
    assert await database.fetchval("SELECT count(*) FROM sessions") == 0


async def test_ten_thousand_guesses_at_one_email_are_refused(people: Api) -> None:
    """The very decision that every guess passes, ten thousand times from many processes."""
    near, wide = (
        build_email_address_key("ada@example.org", "203.0.113.7"),
        build_email_key("ada@example.org"),
    )
    async with people.application.database.acquire() as connection:
        waits = [await count_try(connection, near) for _ in range(10_000)]
        from_everywhere = [await count_try(connection, wide) for _ in range(200)]

    assert PER_PAIR.most <= waits.count(None) <= PER_PAIR.most + 3
    assert all(0 < wait <= 60 for wait in waits if wait is not None)
    assert PER_EMAIL.most <= from_everywhere.count(None) <= PER_EMAIL.most + 20


async def test_guesses_over_http_are_limited_for_every_email_and_address(people: Api) -> None:
    await make_person(people.application.database, "ada@example.org")

    async def guess(email: str) -> httpx2.Response:
        return await people.anonymous.post(SESSION, json={"email": email, "password": "guess it"})

    one = [await guess(spelt) for spelt in ["ada@example.org", "ADA@example.org "] * 8]
    statuses = Counter(answer.status_code for answer in one)
    assert statuses == {401: PER_PAIR.most, 429: 16 - PER_PAIR.most}
    refused = one[-1]
    assert refused.json()["retry_after"] > 0
    assert int(refused.headers["Retry-After"]) >= 1
    right = await people.anonymous.post(
        SESSION, json={"email": "ada@example.org", "password": PASSWORD}
    )
    assert right.status_code == 429
    # A guesser locks out everyone at their address, and nobody else.
    elsewhere = SignInOrigin("203.0.113.7")
    await sign_in(people.application.database, cheap(), elsewhere, "ada@example.org", PASSWORD)
    assert await people.application.database.fetchval("SELECT count(*) FROM sessions") == 1
    await people.application.database.execute("DELETE FROM sessions")

    many = [await guess(f"person{number}@example.org") for number in range(40)]
    assert many[-1].status_code == 429
    let_in = sum(answer.status_code == 401 for answer in (*one, *many))
    assert let_in <= PER_ADDRESS.most + 3
    assert await people.application.database.fetchval("SELECT count(*) FROM sessions") == 0
    noted = "SELECT count(*) FROM audit_log WHERE action = 'sign_in_failed'"
    assert await people.application.database.fetchval(noted) == let_in
    # A link that works is taken whatever was tried before; what is none is refused.
    assert (await people.anonymous.post(f"{SESSION}/link", json={"token": "x"})).status_code == 429
    async with browser(people, FIRST_MEMBER) as owner:
        assert (await owner.client.get(SESSION)).status_code == 200


async def test_a_successful_sign_in_resets_failed_attempts(people: Api) -> None:
    await make_person(people.application.database, "ada@example.org")
    given = {"email": "ada@example.org", "password": PASSWORD}
    for _ in range(3):
        for _ in range(int(PER_PAIR.most) - 1):
            wrong = await people.anonymous.post(SESSION, json={**given, "password": "guess it"})
            assert wrong.status_code == 401
        assert (await people.anonymous.post(SESSION, json=given)).status_code == 200


async def test_somebody_removed_or_shut_out_is_refused_at_the_next_request(people: Api) -> None:
    database = people.application.database
    for number, change in enumerate(
        (
            "DELETE FROM members WHERE user_id = $1 AND role = 'editor'",
            "UPDATE users SET disabled_at = now() WHERE id = $1",
        )
    ):
        user = await make_person(
            database, f"p{number}@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
        )
        token = await token_of(database, FIRST_WORKSPACE, user.id)
        async with browser(people, user.id) as there:
            moved = await there.ask(
                "POST", "/session/workspace", json={"workspace_id": str(FIRST_WORKSPACE)}
            )
            assert moved.json()["role"] == "editor"
            assert (await there.client.get(f"{ROOT}/automations")).status_code == 200
            assert (await people.anonymous.get(SESSION, headers=token)).status_code == 200

            await database.execute(change, user.id)

            assert (await there.client.get(f"{ROOT}/automations")).status_code == 401
            assert (await people.anonymous.get(SESSION, headers=token)).status_code == 401


async def test_over_https_the_cookie_is_bound_to_this_host(bench: Bench) -> None:
    settings = replace(bench.application.settings, public_url="https://spring.example")
    application = replace(bench.application, settings=settings, passwords=cheap())
    await make_person(application.database, "ada@example.org")
    async with served(application) as api:
        given = {"email": "ada@example.org", "password": PASSWORD}
        answer = await api.anonymous.post(
            SESSION, json=given, headers={"Origin": "https://spring.example"}
        )
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-mainspring=")
        assert "Secure" in cookie
        assert "Domain" not in cookie
        plain = cookie.partition(";")[0].partition("=")[2]
        for name, expected in (("mainspring", 401), ("__Host-mainspring", 200)):
            shown = await api.anonymous.get(SESSION, headers={"Cookie": f"{name}={plain}"})
            assert shown.status_code == expected
        insecure = await api.anonymous.post(
            SESSION, json=given, headers={"Origin": "http://spring.example"}
        )
        assert insecure.status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:8420.evil.example", "http://evil@127.0.0.1:8420", "//", "http://["]
)
def test_an_origin_that_only_begins_like_ours_is_foreign(origin: str) -> None:
    with pytest.raises(PermissionDenied):
        BrowserSessionPolicy("http://127.0.0.1:8420").check_page(
            Headers({"origin": origin, "host": "127.0.0.1:8420"})
        )
