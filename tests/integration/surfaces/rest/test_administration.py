"""What an administrator may do, over REST; nobody else sees that it is there."""

from __future__ import annotations

import httpx2

from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.store.audit import INSTALLATION
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.api import PATIENCE, Api
from tests.kit.bench import document, step
from tests.kit.people import PASSWORD, ROOT, browser, make_person, people, token_of

__all__ = ["people"]

USERS = f"{ROOT}/admin/users"
SESSION = f"{ROOT}/session"
AN_ID = "01900000-0000-7000-8000-0000000000aa"


async def test_bad_input_is_named_and_adds_nobody(people: Api) -> None:
    for path, sent, status, pointer in [
        ("", {}, 422, "/email"),
        ("", {"email": "no email"}, 422, "/email"),
        ("", {"email": "a@b.example", "administrator": "yes"}, 422, "/administrator"),
        ("", {"email": "a@b.example", "password": PASSWORD}, 422, "/password"),
        (f"/{'x' * 36}/disable", {}, 422, "/user_id"),
        (f"/{AN_ID}/disable", {}, 404, None),
        (f"/{AN_ID}/enable", {}, 404, None),
        (f"/{AN_ID}/reset-password", {}, 404, None),
    ]:
        answer = await people.client.post(USERS + path, json=sent)
        assert answer.status_code == status, (path, sent, answer.text)
        if pointer is not None:
            assert answer.json()["errors"][0]["pointer"] == pointer
    accepted = await people.client.post(USERS, json={"email": "OWNER@localhost"})
    assert (accepted.status_code, accepted.json()["code"]) == (409, "email_taken")
    for asked in ("limit=0", "limit=x", "after=7", "name=ada"):
        assert (await people.client.get(f"{USERS}?{asked}")).status_code == 422, asked
    assert await people.application.database.fetchval("SELECT count(*) FROM users") == 1


async def test_a_person_is_added_suspended_restored_and_recovered(people: Api) -> None:
    database = people.application.database
    made = await people.client.post(USERS, json={"email": "ada@example.org", "name": "Ada"})
    assert made.status_code == 201
    user, link = made.json()["user"], made.json()["link"]
    async with httpx2.AsyncClient(base_url=people.address, timeout=PATIENCE) as ada:
        who = await ada.post(f"{SESSION}/link", json={"token": link.partition("#")[2]})
        assert who.json()["workspace"]["name"] == "Ada's workspace"
        token = await token_of(database, who.json()["workspace"]["id"], user["id"])

        shut = await people.client.post(f"{USERS}/{user['id']}/disable", json={})
        assert shut.json()["user"]["disabled_at"] is not None
        assert (await ada.get(SESSION)).status_code == 401
        assert (await ada.get(SESSION, headers=token)).status_code == 401

        await people.client.post(f"{USERS}/{user['id']}/enable", json={})
        assert (await ada.get(SESSION)).status_code == 401
        assert (await ada.get(SESSION, headers=token)).status_code == 200

    listed = (await people.client.get(USERS, params={"limit": 1})).json()
    assert listed["users"][0]["id"] == str(FIRST_MEMBER)
    rest = (await people.client.get(USERS, params={"after": listed["next"]})).json()
    assert ([entry["email"] for entry in rest["users"]], rest["next"]) == (
        ["ada@example.org"],
        None,
    )
    services = (await people.client.get(f"{ROOT}/admin/workspaces")).json()["workspaces"]
    assert [room["members"] for room in services] == [1, 1]

    result = await database.fetch(
        "SELECT action, subject FROM audit_log WHERE workspace_id = $1 ORDER BY id", INSTALLATION
    )
    assert [tuple(row.values()) for row in result] == [
        (f"admin_{deed}_user", user["id"]) for deed in ("create", "disable", "enable")
    ]


async def test_a_link_is_in_no_record_of_the_call_that_made_it(people: Api) -> None:
    made = await people.client.post(USERS, json={"email": "ada@example.org"})
    plain = made.json()["link"].partition("#")[2]
    assert plain.startswith("msl_")
    rows = await people.application.database.fetch("SELECT c::text AS whole FROM direct_calls c")
    assert [row["whole"] for row in rows if "admin_create_user" in row["whole"]]
    assert not [row["whole"] for row in rows if plain in row["whole"]]


async def test_a_lost_password_is_forgotten_when_its_link_is_used_and_not_before(
    people: Api,
) -> None:
    ada = await make_person(people.application.database, "ada@example.org")
    given = {"email": "ada@example.org", "password": PASSWORD}
    assert ada.default_workspace_id is not None
    header = await token_of(people.application.database, ada.default_workspace_id, ada.id)
    async with browser(people, ada.id) as there:
        # Nothing has to be said, so nothing may be sent, whatever it is said to be.
        place, output = f"{USERS}/{ada.id}/reset-password", {"Content-Type": "application/json"}
        assert (await people.client.post(place, headers=output, content=b"")).status_code == 200
        made = await people.client.post(place)
        assert (await people.anonymous.post(SESSION, json=given)).status_code == 200
        assert (await there.client.get(SESSION)).status_code == 200
        people.anonymous.cookies.clear()
        assert (await people.anonymous.get(SESSION, headers=header)).status_code == 200

        token = made.json()["link"].partition("#")[2]
        who = await people.anonymous.post(f"{SESSION}/link", json={"token": token})

        assert who.json()["user"]["has_password"] is False
        assert (await there.client.get(SESSION)).status_code == 401
        people.anonymous.cookies.clear()
        assert (await people.anonymous.post(SESSION, json=given)).status_code == 401
        # An earlier intruder has left no way back.
        assert (await people.anonymous.get(SESSION, headers=header)).status_code == 401
    message = "SELECT detail FROM audit_log WHERE workspace_id = $1 AND action = 'end_tokens'"
    ended = await people.application.database.fetchval(message, ada.default_workspace_id)
    assert ended == {"because": "password", "tokens": 1}


async def test_the_last_administrator_cannot_be_shut_out(people: Api) -> None:
    refused = await people.client.post(f"{USERS}/{FIRST_MEMBER}/disable", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "last_administrator")
    second = {"email": "ada@example.org", "administrator": True}
    assert (await people.client.post(USERS, json=second)).status_code == 201
    gone = await people.client.post(f"{USERS}/{FIRST_MEMBER}/disable", json={})
    assert gone.status_code == 200
    assert (await people.client.get(SESSION)).status_code == 401


async def test_nobody_else_sees_that_it_is_there_and_no_run_is_granted_it(people: Api) -> None:
    database = people.application.database
    owner = await make_person(
        database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.OWNER
    )
    header = await token_of(database, FIRST_WORKSPACE, owner.id)
    for method, path in [
        ("GET", "/admin/users"),
        ("POST", "/admin/users"),
        ("GET", "/admin/workspaces"),
        ("POST", f"/admin/users/{owner.id}/reset-password"),
        ("POST", "/capabilities/admin_list_users"),
    ]:
        answer = await people.anonymous.request(method, ROOT + path, json={}, headers=header)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_capability"), path
    listed, everything = [
        (await people.anonymous.get(f"{ROOT}/capabilities{more}", headers=header)).text
        for more in ("", "?all=true")
    ]
    words = await people.anonymous.get(f"{ROOT}/vocabulary", headers=header)
    assert words.status_code == 200
    notified = (listed + everything + words.text).replace("admin_url", "")
    assert "admin_" not in notified
    fetch = f"{ROOT}/capabilities/http_fetch"
    named = ['"id":"http_fetch"' in text.replace(" ", "") for text in (listed, everything)]
    assert named == [False, True]
    described = await people.anonymous.get(fetch, headers=header)
    assert (described.status_code, described.json()["audience"]) == (200, "runs")
    assert (await people.anonymous.post(fetch, json={}, headers=header)).status_code == 404
    plan = document(step("peek", "call", {"capability": "admin_list_users", "arguments": {}}))
    granted = {**plan, "grants": [{"tool": "admin_list_users"}]}
    for written in (plan, granted):
        assert validate(written, people.application.registry, people.application.limits).findings
