"""Signing in at a provider: the whole way, by the one who began it, once, and kept if it works."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.consent_rows import hold_accounts
from mainspring.workspace.sealing import connection_scope
from tests.kit.accounts import SCOPES, Accounts
from tests.kit.doubles.oauth_provider import ACCOUNT, CLIENT, CLIENT_SECRET
from tests.kit.people import browser, make_person

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def connected(here: Accounts, name: str = "notebook") -> httpx2.Response:
    """Somebody has gone the whole way, and this is the page they see."""
    path, query = await here.left(name)
    async with browser(here.api, FIRST_MEMBER) as mine:
        return await mine.client.get(path, params={**query, "again": "1"})


async def _row(here: Accounts) -> Mapping[str, Any]:
    found = await here.application.database.fetchrow(
        "SELECT workspace_id, id, account FROM integration_connections "
        "WHERE integration = 'notebook'"
    )
    assert found is not None
    return dict(found)


async def test_bad_input_is_named_and_connects_nothing(here: Accounts) -> None:
    unknown = await here.refused("POST", "/integrations/no_such/connect", {})
    no_key = await here.refused("POST", "/integrations/keyed/connect", {})
    stray = await here.refused(
        "POST", "/integrations/keyed/connect", {"fields": {"key-0123456789": "x", "token": "y"}}
    )
    wrong = await here.refused("POST", "/integrations/keyed/connect", {"fields": {"token": 7}})
    refused = await here.refused(
        "POST", "/integrations/keyed/connect", {"fields": {"token": "key-that-is-wrong"}}
    )
    no_sign_in = await here.refused("POST", "/integrations/keyed/sign-in")
    no_client = await here.refused("PUT", "/oauth-clients/nobody", {"client_id": "x"})
    plain = await here.call("notebook.read")
    stored = await here.application.database.fetchval(
        "SELECT count(*) FROM integration_connections WHERE state <> 'sign_in'"
    )

    assert (unknown["status"], unknown["code"]) == (404, "unknown_integration")
    assert "notebook" in unknown["suggestion"]
    assert no_key["errors"][0]["pointer"] == "/fields/token"
    assert stray["errors"][0]["pointer"] == "/fields"
    assert "key-0123456789" not in str(stray)
    assert wrong["errors"][0]["pointer"] == "/fields/token"
    assert (refused["code"], "key-that-is-wrong" in str(refused)) == ("not_let_in", False)
    assert "Make a key" in refused["suggestion"]
    assert (no_sign_in["code"], no_client["code"]) == ("no_sign_in", "unknown_provider")
    assert (plain.status_code, plain.json()["code"]) == (404, "not_connected")
    assert "/integrations/notebook" in plain.json()["suggestion"]
    assert stored == 0


async def test_the_whole_way_connects_and_the_call_goes_over_it(here: Accounts) -> None:
    before = await here.shown("notebook")
    follow = {"fields": {"shelves": "a, b"}}
    early = await here.ask("POST", "/integrations/notebook/connect", follow)
    path, query = await here.left()
    # As a browser comes from another site: without its cookie.
    first = await here.api.anonymous.get(path, params=query)
    unknown = await here.api.anonymous.get(path, params={**query, "again": "1"})
    async with browser(here.api, FIRST_MEMBER) as mine:
        back = await mine.client.get(path, params={**query, "again": "1"})
        twice = await mine.client.get(path, params={**query, "again": "1"})
    read = (await here.call("notebook.read")).json()
    after = await here.shown("notebook")
    stray = await here.refused("POST", "/integrations/notebook/connect", {"fields": {"x": "y"}})
    stored = await here.ask("POST", "/integrations/notebook/connect", follow)
    only = await here.ask("GET", "/integrations?include_unconnected=false")

    assert (before["connected"], before["state"]) == (False, "not_connected")
    assert "Sign in first" in early["note"]
    assert early["sign_in_url"]
    assert stray["errors"][0]["pointer"] == "/fields"
    assert (stored["sign_in_url"], stored["integration"]["state"]) == (None, "ready")
    assert stored["integration"]["connection"]["settings"] == {"shelves": "a, b"}
    assert (first.status_code, "refresh" in first.text) == (200, True)
    assert unknown.status_code == 401
    assert (back.status_code, "Notebook is connected" in back.text) == (200, True)
    assert ACCOUNT in back.text
    assert twice.status_code == 404
    assert (read["notes"], read["who"]) == (["one", "two"], ACCOUNT)
    assert read["echo"] == "[secret connection.token]"
    assert (after["connected"], after["state"], after["account"]) == (True, "ready", ACCOUNT)
    assert after["connection"]["scopes"] == sorted(SCOPES)
    names = {one["name"] for one in only["integrations"]}
    assert {"notebook", "open_data"} <= names
    assert "keyed" not in names


async def test_somebody_else_cannot_finish_what_was_begun(here: Accounts) -> None:
    other = await make_person(
        here.application.database, "eve@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    path, query = await here.left()
    async with browser(here.api, other.id) as theirs, browser(here.api, FIRST_MEMBER) as mine:
        foreign = await theirs.client.get(path, params={**query, "again": "1"})
        made_up = await mine.client.get(path, params={**query, "state": "x" * 43, "again": "1"})
        elsewhere = await mine.client.get(
            path.replace("/acme", "/other"), params={**query, "again": "1"}
        )
        # The state was shown at another provider's place, so it is used up.
        late = await mine.client.get(path, params={**query, "again": "1"})
        nonsense = await mine.client.get(f"{path}?state=a&state=b&code=<b>c</b>")
        # A code that was made for somebody else's signing in does not fit ours.
        _, theirs_query = await here.left()
        path, own = await here.left()
        injected = await mine.client.get(
            path, params={"state": own["state"], "code": theirs_query["code"], "again": "1"}
        )
        refused = await mine.client.get(
            path, params={"state": own["state"], "error": "access_denied"}
        )

    assert [answer.status_code for answer in (foreign, made_up, elsewhere, late, nonsense)] == [
        404
    ] * 5
    assert "<b>c" not in nonsense.text
    assert injected.status_code == 502
    assert refused.status_code == 404
    assert (await here.shown("notebook"))["connected"] is False
    assert not here.provider.calls


async def test_too_little_agreed_to_is_reported_and_changes_nothing(here: Accounts) -> None:
    here.provider.agreed = SCOPES[0]
    some = await connected(here)
    here.provider.agreed = None
    here.provider.shut = True
    broken = await connected(here)
    here.provider.shut = False
    state = (await here.shown("notebook"))["state"]
    here.provider.gives_refresh = False
    short = await connected(here)

    assert (some.status_code, SCOPES[1] in some.text) == (403, True)
    assert broken.status_code == 422
    # That would end whatever else the person has agreed to for this client.
    assert here.provider.asked_for("revoke") == []
    assert state == "not_connected"
    assert (short.status_code, "nothing to renew" in short.text) == (200, True)


async def test_a_token_without_scopes_of_its_own_is_taken(here: Accounts) -> None:
    """GitHub gives the user tokens of its Apps an empty scope."""
    here.provider.agreed = ""
    back = await connected(here)
    shown = await here.shown("notebook")

    assert (back.status_code, "Notebook is connected" in back.text) == (200, True)
    assert (shown["state"], shown["connection"]["scopes"]) == ("ready", [])


@pytest.mark.parametrize("errors_are_200", [False, True])
async def test_a_redirect_address_that_is_not_registered_is_named(
    here: Accounts, errors_are_200: bool
) -> None:
    registered = here.provider.redirect_uri
    here.provider.errors_are_200 = errors_are_200
    path, query = await here.left()
    # Somebody has changed it at the provider since.
    here.provider.redirect_uri = "https://elsewhere.example/callback"
    async with browser(here.api, FIRST_MEMBER) as mine:
        at_the_tokens = await mine.client.get(path, params={**query, "again": "1"})
        here.provider.leads_back = True
        path_elsewhere, error = await here.left()
        at_the_start = await mine.client.get(path, params={**error, "again": "1"})
    here.provider.redirect_uri = registered

    assert (path_elsewhere, error["error"]) == ("/callback", "redirect_uri_mismatch")
    for answer in (at_the_tokens, at_the_start):
        assert answer.status_code == 502
        assert "redirect_uri_mismatch" in answer.text
        assert registered in answer.text


async def test_a_failed_sign_in_leaves_what_was_connected_before_at_work(here: Accounts) -> None:
    await connected(here)
    await connected(here, "diary")
    here.provider.agreed = SCOPES[0]
    less = [await connected(here), await connected(here, "diary")]
    here.provider.agreed = None
    reads = [await here.call(f"{name}.read") for name in ("notebook", "diary")]

    assert [one.status_code for one in less] == [403, 403]
    assert [one.status_code for one in reads] == [200, 200], reads[0].text
    assert here.provider.asked_for("revoke") == []


async def test_another_account_is_not_signed_in_to_while_a_person_agrees(here: Accounts) -> None:
    assert (await connected(here)).status_code == 200
    row = await _row(here)
    scope = connection_scope(row["workspace_id"], row["id"])
    vault, database = here.application.vault, here.application.database
    token = await vault.reveal(scope, ["token"])
    here.provider.account = "other@example.org"
    async with database.transaction() as tx:
        # As an agreement does that has shown the account by its name.
        await hold_accounts(tx, row["workspace_id"])
        signing_in = asyncio.create_task(connected(here))
        async with asyncio.timeout(60):
            while not signing_in.done() and not await database.fetchval(WAITING):
                await asyncio.sleep(0.02)
        assert not signing_in.done()
        assert await vault.reveal(scope, ["token"]) == token
        assert (await _row(here))["account"] == ACCOUNT
    assert (await signing_in).status_code == 200
    assert await vault.reveal(scope, ["token"]) != token
    assert (await _row(here))["account"] == "other@example.org"


async def test_disconnecting_waits_for_a_renewal_and_revokes_its_token(here: Accounts) -> None:
    assert (await connected(here)).status_code == 200
    row = await _row(here)
    scope = connection_scope(row["workspace_id"], row["id"])
    vault, database = here.application.vault, here.application.database
    async with database.transaction() as tx:
        # As a renewal in another process does.
        await tx.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('renew ' || $1, 0))", str(row["id"])
        )
        leaving = asyncio.create_task(here.ask("DELETE", "/integrations/notebook/connection"))
        async with asyncio.timeout(60):
            while not leaving.done() and not await database.fetchval(WAITING):
                await asyncio.sleep(0.02)
        assert not leaving.done()
        await vault.put(tx, scope, "refresh_token", "rotated-0123456789")
    assert await leaving == {"disconnected": True}
    (revoked,) = here.provider.asked_for("revoke")
    assert revoked["token"] == "rotated-0123456789"


async def test_a_grant_is_revoked_with_the_last_connection_that_uses_it(here: Accounts) -> None:
    """Revoking ends all that an account has agreed to for a client, as at Google."""
    await connected(here)
    await connected(here, "diary")
    first = await here.ask("DELETE", "/integrations/notebook/connection")
    read = await here.call("diary.read")
    early = here.provider.asked_for("revoke")
    stored = await here.application.database.fetchval(
        "SELECT count(*) FROM secrets WHERE kind = 'connection' AND name = 'token'"
    )
    last = await here.ask("DELETE", "/integrations/diary/connection")

    assert (first["disconnected"], "last" in first["note"]) == (True, True)
    assert (read.status_code, early) == (200, [])
    # What let the first one in is gone all the same.
    assert stored == 1
    assert last == {"disconnected": True}
    assert len(here.provider.asked_for("revoke")) == 1
    assert all(one.ended for one in here.provider.families)


async def test_the_grant_of_another_account_is_revoked_by_itself(here: Accounts) -> None:
    await connected(here)
    here.provider.account = "bo@example.org"
    await connected(here, "diary")
    gone = await here.ask("DELETE", "/integrations/notebook/connection")
    read = await here.call("diary.read")

    assert gone == {"disconnected": True}
    assert len(here.provider.asked_for("revoke")) == 1
    assert (read.status_code, read.json()["who"]) == (200, "bo@example.org")


async def test_a_grant_that_another_member_uses_is_not_revoked(here: Accounts) -> None:
    """Two members have connected one account, over one client that is kept in two places."""
    other = await make_person(
        here.application.database, "ivo@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    await connected(here)
    await connected(here, "diary")
    database = here.application.database
    everybodys = await database.fetchval(
        "INSERT INTO oauth_clients (id, provider, client_id, has_secret) "
        "VALUES (gen_random_uuid(), 'acme', $1, false) RETURNING id",
        CLIENT,
    )
    diary = "SELECT client_id FROM integration_connections WHERE integration = 'diary'"
    own = await database.fetchval(diary)
    give = (
        "UPDATE integration_connections SET owner_id = $1, client_id = $2 "
        "WHERE integration = 'diary'"
    )
    await database.execute(give, other.id, everybodys)
    gone = await here.ask("DELETE", "/integrations/notebook/connection")
    await database.execute(give, FIRST_MEMBER, own)
    await database.execute("DELETE FROM oauth_clients WHERE id = $1", everybodys)

    assert gone["disconnected"] is True
    assert here.provider.asked_for("revoke") == []


async def test_a_client_is_set_listed_and_removed_and_its_secret_never_shown(
    here: Accounts,
) -> None:
    listed = await here.ask("GET", "/oauth-clients")
    link = (await here.ask("POST", "/integrations/notebook/connect", {}))["sign_in_url"]
    asked = dict(parse_qsl(urlsplit(link).query))
    gone = await here.ask("DELETE", "/oauth-clients/acme")
    without = await here.refused("POST", "/integrations/notebook/sign-in")
    again = await here.be_client()

    assert listed["clients"][0]["client_id"] == CLIENT
    assert CLIENT_SECRET not in str(listed)
    acme = next(one for one in listed["providers"] if one["provider"] == "acme")
    assert (acme["redirect_url"], acme["integrations"]) == (again, ["diary", "notebook"])
    assert (asked["client_id"], asked["access_type"]) == (CLIENT, "offline")
    assert (asked["scope"], asked["code_challenge_method"]) == (" ".join(SCOPES), "S256")
    assert gone == {"removed": True}
    assert (without["status"], without["code"]) == (409, "no_oauth_client")


async def test_a_key_connects_and_disconnecting_forgets_it(here: Accounts) -> None:
    made = await here.ask(
        "POST",
        "/integrations/keyed/connect",
        {"fields": {"token": "key-0123456789"}, "label": "Our notes"},
    )
    read = (await here.call("keyed.read")).json()
    tested = await here.ask("POST", "/integrations/keyed/test")
    free = await here.ask("POST", "/integrations/open_data/connect", {})
    gone = await here.ask("DELETE", "/integrations/keyed/connection")
    left = await here.application.database.fetchval(
        "SELECT count(*) FROM secrets WHERE kind = 'connection' AND name = 'token'"
    )

    assert made["integration"]["connection"]["settings"] == {"team": "ours"}
    assert (made["integration"]["connection"]["label"], made["integration"]["account"]) == (
        "Our notes",
        ACCOUNT,
    )
    assert read["who"] == ACCOUNT
    assert (tested["works"], tested["problem"]) == (True, None)
    assert (free["integration"]["state"], free["sign_in_url"]) == ("not_needed", None)
    assert (gone, left) == ({"disconnected": True}, 0)
    assert (await here.call("keyed.read")).json()["code"] == "not_connected"
