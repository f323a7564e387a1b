"""A person decides: what they read, what they may answer, and who else may not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api
from tests.kit.mcp import RawMcpClient
from tests.kit.oauth import (
    CONSENT,
    LOOPBACK,
    WEB,
    agreed,
    answer_request,
    challenge_of,
    query_of,
    read_request,
    register,
)
from tests.kit.people import Browser, browser, make_person, token_of


async def test_who_is_not_known_or_would_be_sent_astray_is_sent_nowhere(people: Api) -> None:
    oauth_client = await register(people)
    other = await register(people, redirect_uris=["https://other.example/cb"])
    astray: list[dict[str, str | None]] = [
        {"client_id": None},
        {"client_id": "nobody"},
        {"client_id": oauth_client.id.upper()},
        {"client_id": other.id},
        {"redirect_uri": None},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": WEB + "/"},
        {"redirect_uri": WEB + "?x=1"},
        {"redirect_uri": WEB + "#x"},
        {"redirect_uri": WEB.replace("https", "http")},
        {"redirect_uri": WEB + ".evil.example"},
        {"redirect_uri": WEB.replace("assistant", "ASSISTANT")},
        {"redirect_uri": LOOPBACK.replace("127.0.0.1", "localhost")},
        {"redirect_uri": LOOPBACK + "/more"},
        {"redirect_uri": "javascript:alert(1)"},
    ]
    for changed in astray:
        answer = await oauth_client.authorize(**changed)
        assert answer.status_code == 400, changed
        assert "location" not in answer.headers
        assert answer.headers["content-type"].startswith("text/html")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "evil.example" not in answer.text
    assert await people.application.database.fetchval("SELECT count(*) FROM client_requests") == 0


async def test_a_wrong_request_is_reported_to_the_client_with_its_state(
    people: Api, ada: Browser
) -> None:
    oauth_client = await register(people)
    # A client that nobody has agreed to has nobody sent anywhere.
    nobodys = await oauth_client.authorize(redirect_uri=WEB, scope="owner")
    assert (nobodys.status_code, "location" in nobodys.headers) == (400, False)
    assert "A scope is made of" in nobodys.text
    await agreed(ada, await oauth_client.ask(), Role.VIEWER)
    plain = challenge_of(oauth_client.verifier)
    wrong: list[tuple[dict[str, str | None], str]] = [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        (
            {"code_challenge_method": "plain", "code_challenge": oauth_client.verifier},
            "invalid_request",
        ),
        ({"code_challenge": plain + "="}, "invalid_request"),
        ({"scope": "read admin"}, "invalid_scope"),
        ({"scope": "edit approve"}, "invalid_scope"),
        ({"scope": "owner"}, "invalid_scope"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"resource": f"{people.address}/api/v1"}, "invalid_target"),
    ]
    # A loopback address may have any port, and what was in a query stays.
    where = LOOPBACK.replace("7777", "50123")
    for changed, error in wrong:
        answer = await oauth_client.authorize(redirect_uri=where, **changed)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith(where + "?"), changed
        result = query_of(answer.headers["location"])
        assert (result["error"], result["state"]) == (error, "st/ate+1 &ü"), changed
        assert result["iss"] == people.address
        assert "code" not in result
    twice = urlencode([*oauth_client.query().items(), ("scope", "read")])
    doubled = await people.anonymous.get("/oauth/authorize", params=twice)
    assert query_of(doubled.headers["location"])["error"] == "invalid_request"
    assert await people.application.database.fetchval("SELECT count(*) FROM client_requests") == 0


async def test_a_person_reads_what_is_asked_and_gives_no_more_than_they_have(
    people: Api, ada: Browser
) -> None:
    application = people.application
    oauth_client = await register(people)
    request_id = await oauth_client.ask()
    shown = await read_request(ada, request_id)

    assert shown["client"]["name"] == "Assistant"
    assert shown["redirect"] == {"kind": "loopback", "name": "127.0.0.1"}
    assert shown["workspace"]["id"] == str(application.workspace_id)
    assert (shown["asked"], shown["own_role"], shown["suggested"]) == ("editor",) * 3
    assert [choice["role"] for choice in shown["choices"]] == ["viewer", "operator", "editor"]
    assert shown["choices"][0]["allows"] == ["View the workspace and its runs."]
    assert (shown["agreed"], shown["passes"]) == (None, False)
    tools = {tool["id"]: tool for tool in shown["tools"]}
    assert tools["test.echo"]["role"] == "viewer"
    assert not any(tool["role"] in {"admin", "owner"} for tool in tools.values())

    # Nothing that was tampered with is taken, and the question is still there afterwards.
    # The 401 names read, so asking for it leaves more to the person, who is offered the least.
    viewer = await read_request(ada, await oauth_client.ask(scope="read"))
    assert (viewer["suggested"], len(viewer["choices"])) == ("viewer", 3)
    operator = await read_request(ada, await oauth_client.ask(scope="operate"))
    assert [choice["role"] for choice in operator["choices"]] == ["viewer", "operator"]
    small = await oauth_client.ask(scope="operate")
    await read_request(ada, small)
    for asked, role, status in (
        (request_id, "owner", 403),
        (request_id, "admin", 403),
        (request_id, None, 422),
        (request_id, "god", 422),
        (small, "editor", 422),
    ):
        answer = await answer_request(ada, asked, role=role)
        assert answer.status_code == status, (role, answer.text)
        assert answer.json()["errors"][0]["pointer"].endswith("/role")
    elsewhere = await answer_request(ada, request_id, workspace_id=str(FIRST_MEMBER))
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "other_workspace")
    assert (await read_request(ada, request_id))["expires_at"] == shown["expires_at"]

    refusal = await answer_request(ada, request_id, agree=False, role=None)
    result = query_of(refusal.json()["redirect"])
    assert (result["error"], result["state"]) == ("access_denied", "st/ate+1 &ü")
    assert (await answer_request(ada, request_id)).status_code == 410
    assert await application.database.fetchval("SELECT count(*) FROM client_consents") == 0

    # A client that asks for nothing is granted the least, unless the person says otherwise.
    open_one = await read_request(ada, await oauth_client.ask(scope=None))
    assert (open_one["asked"], open_one["suggested"], len(open_one["choices"])) == (
        None,
        "viewer",
        3,
    )


async def test_only_the_person_who_was_asked_answers_and_only_from_our_page(
    people: Api, ada: Browser
) -> None:
    application = people.application
    oauth_client = await register(people)
    request_id = await oauth_client.ask()
    path = f"/api/v1/oauth/requests/{request_id}"
    body = {"agree": True, "role": "viewer", "workspace_id": str(application.workspace_id)}
    bob = await make_person(application.database, "bob@example.org")

    assert (await people.anonymous.get(path)).status_code == 401
    token = await token_of(application.database, application.workspace_id, FIRST_MEMBER)
    for answer in (
        await people.anonymous.get(path, headers=token),
        await people.anonymous.post(f"{path}/answer", json=body, headers=token),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "needs_session")
    # Nobody answers what they have not opened.
    assert (await answer_request(ada, request_id)).status_code == 410
    await read_request(ada, request_id)
    async with browser(people, bob.id) as other_tenant:
        theirs = await other_tenant.ask("GET", f"/oauth/requests/{request_id}")
        nobodys = await other_tenant.ask("GET", f"/oauth/requests/{'A' * 43}")
        assert theirs.status_code == nobodys.status_code == 410
        assert theirs.json()["detail"] == nobodys.json()["detail"]
        assert (await answer_request(other_tenant, request_id)).status_code == 410
    without = await ada.client.post(f"{path}/answer", json=body)
    forged = await ada.ask(
        "POST",
        f"/oauth/requests/{request_id}/answer",
        json=body,
        headers={"origin": "https://evil.example"},
    )
    assert (without.json()["code"], forged.json()["code"]) == ("csrf", "foreign_page")
    page = await people.anonymous.get(CONSENT + request_id)
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    # The window of the question can tell the client that opened it; every other is apart.
    assert page.headers["cross-origin-opener-policy"] == "unsafe-none"
    entry_point = await people.anonymous.get("/sign-in")
    assert entry_point.headers["cross-origin-opener-policy"] == "same-origin"
    await application.database.execute("UPDATE client_requests SET expires_at = now()")
    assert (await answer_request(ada, request_id)).status_code == 410
    assert await application.database.fetchval("SELECT count(*) FROM client_codes") == 0


async def test_agreement_holds_for_the_address_it_was_given_for_and_for_no_other(
    people: Api, ada: Browser
) -> None:
    other = WEB.replace("/oauth/", "/other/")
    oauth_client = await register(people, redirect_uris=[LOOPBACK, WEB, other])

    async def passes(uri: str, scope: str = "read") -> bool:
        shown = await read_request(ada, await oauth_client.ask(redirect_uri=uri, scope=scope))
        return bool(shown["passes"])

    async def place() -> tuple[str, str]:
        listed = (await ada.ask("GET", "/oauth/clients")).json()["clients"]
        return next(
            (one["redirect"]["kind"], one["role"]) for one in listed if one["id"] == oauth_client.id
        )

    # What was given to a program on a machine is not passed on to a page of the same name.
    await agreed(ada, await oauth_client.ask(), Role.EDITOR)
    assert await place() == ("loopback", "editor")
    assert not await passes(WEB)
    await agreed(ada, await oauth_client.ask(redirect_uri=WEB, scope="read"), Role.VIEWER)
    assert not await passes(WEB, "edit")
    await agreed(ada, await oauth_client.ask(redirect_uri=WEB), Role.OPERATOR)
    assert await place() == ("web", "operator")
    assert await passes(WEB, "operate")
    assert not await passes(other)
    assert not await passes(LOOPBACK)


async def _last_use(browser: Browser) -> str | None:
    """When the client was last used; it is written down once the answer is out."""
    async with asyncio.timeout(60):
        while True:
            [one] = (await browser.ask("GET", "/oauth/clients")).json()["clients"]
            used: str | None = one["last_used_at"]
            if used is not None:
                return used
            await asyncio.sleep(0.02)


async def test_asking_for_read_does_not_lift_the_limit_of_the_registration(
    people: Api, ada: Browser
) -> None:
    oauth_client = await register(people, scope="operate")
    request_id = await oauth_client.ask(redirect_uri=WEB, scope="read")
    shown = await read_request(ada, request_id)

    assert [choice["role"] for choice in shown["choices"]] == ["viewer", "operator"]
    assert shown["suggested"] == "viewer"
    more = await answer_request(ada, request_id, role="editor")
    assert (more.status_code, more.json()["errors"][0]["pointer"]) == (422, "/role")
    await agreed(ada, request_id, Role.VIEWER)
    # The same request again needs no new answer, although the limit is higher.
    again = await read_request(ada, await oauth_client.ask(redirect_uri=WEB, scope="read"))
    assert (again["passes"], again["suggested"]) == (True, "viewer")
    # A registration for read alone repeats what the 401 names, so it is no limit.
    least = await register(people, scope="read")
    open_one = await read_request(ada, await least.ask(scope="read"))
    assert (open_one["suggested"], len(open_one["choices"])) == ("viewer", 3)


async def test_the_scope_of_a_registration_is_kept_and_bounds_what_is_asked(
    people: Api, ada: Browser
) -> None:
    oauth_client = await register(people, scope="read operate offline_access profile")
    assert oauth_client.known["scope"] == "read operate"
    # Nothing asked, and everything that the server has: both mean what it registered for.
    for scope in (None, "read operate edit"):
        shown = await read_request(ada, await oauth_client.ask(scope=scope))
        assert (shown["asked"], shown["suggested"]) == ("operator", "operator")
        assert [choice["role"] for choice in shown["choices"]] == ["viewer", "operator"]
    given = await oauth_client.connect(ada, Role.OPERATOR)
    assert given["scope"] == "read operate"
    least = await register(people, scope="read")
    shown = await read_request(ada, await least.ask(scope=None))
    assert shown["suggested"] == "viewer"
    unknown = replace(oauth_client, known={"client_id": f"{oauth_client.id}.edit"})
    assert (await unknown.authorize()).status_code == 400


async def test_agreement_is_remembered_a_wider_request_asks_again_and_less_applies_at_once(
    people: Api, ada: Browser
) -> None:
    oauth_client = await register(people)
    location = await agreed(ada, await oauth_client.ask(redirect_uri=WEB), Role.OPERATOR)
    result = query_of(location)
    assert urlsplit(location)._replace(query="").geturl() == WEB
    assert (result["state"], result["iss"]) == ("st/ate+1 &ü", people.address)
    given = (await oauth_client.exchange(result["code"], redirect_uri=WEB)).json()
    assert given["scope"] == "read operate"

    same = await read_request(ada, await oauth_client.ask(redirect_uri=WEB, scope="read operate"))
    assert (same["agreed"]["role"], same["passes"], same["suggested"]) == (
        "operator",
        True,
        "operator",
    )
    wider = await read_request(ada, await oauth_client.ask(redirect_uri=WEB, scope="edit"))
    assert (wider["passes"], wider["suggested"]) == (False, "editor")
    # On somebody's own machine any program may say that it is this client.
    local = await read_request(ada, await oauth_client.ask(scope="read"))
    assert (local["passes"], local["suggested"]) == (False, "operator")

    listed = (await ada.ask("GET", "/oauth/clients")).json()
    assert listed["address"] == f"{people.address}/mcp"
    assert [(one["name"], one["role"], one["active"]) for one in listed["clients"]] == [
        ("Assistant", "operator", True)
    ]
    assert listed["clients"][0]["last_used_at"] is None
    wire = RawMcpClient(people.anonymous, people.address, given["access_token"])
    before = (await wire.tools()).keys()
    assert (await _last_use(ada)) is not None
    # A client that asks for less on another day keeps what it holds.
    await agreed(ada, await oauth_client.ask(scope="read"), Role.OPERATOR)
    assert (await wire.tools()).keys() == before
    await agreed(ada, await oauth_client.ask(), Role.VIEWER)
    assert (await wire.tools()).keys() < before
    actions = await people.application.database.fetch(
        "SELECT action, detail FROM audit_log WHERE action = 'answer_client_request' ORDER BY id"
    )
    assert [row["detail"]["role"] for row in actions] == ["operator", "operator", "viewer"]
