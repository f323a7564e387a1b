"""Members over REST: asking in, changing, removing; and who may do none of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2

from mainspring.contracts.roles import Role
from mainspring.surfaces.rest.auth import BrowserSessionPolicy
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.api import PATIENCE, Api
from tests.kit.owner_session import session_headers
from tests.kit.people import PASSWORD, ROOT, browser, make_person, people, token_of

__all__ = ["people"]

AN_ID = "01900000-0000-7000-8000-0000000000aa"
SESSION = f"{ROOT}/session"


async def _session(people: Api, workspace_id: UUID, user_id: UUID) -> dict[str, str]:
    """The headers of a browser in which this person has signed in."""
    name = BrowserSessionPolicy(people.application.settings.address).name
    async with people.application.database.transaction() as tx:
        return await session_headers(tx, user_id, workspace_id, name)


async def _invited(api: Api, email: str, role: str = "editor") -> str:
    answer = await api.client.post(f"{ROOT}/invitations", json={"email": email, "role": role})
    assert answer.status_code == 201, answer.text
    link: str = answer.json()["link"]
    assert "/sign-in#msi_" in link
    return link.partition("#")[2]


async def _come(api: Api, token: str, **more: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=api.address, timeout=PATIENCE) as client:
        return await client.post(f"{SESSION}/link", json={"token": token}, **more)


async def test_bad_input_is_named_and_changes_nobody(people: Api) -> None:
    for sent, pointer in [
        ({"role": "editor"}, "/email"),
        ({"email": "ada@example.org"}, "/role"),
        ({"email": "ada@example.org", "role": "king"}, "/role"),
        ({"email": "no email", "role": "editor"}, "/email"),
        ({"email": "a@b@c", "role": "editor"}, "/email"),
        ({"email": "ada@example.org\n", "role": "editor", "x": 1}, "/x"),
        ({"email": "a\u202eb@example.org", "role": "editor"}, "/email"),
    ]:
        answer = await people.client.post(f"{ROOT}/invitations", json=sent)
        assert answer.status_code == 422, sent
        assert answer.json()["errors"][0]["pointer"] == pointer, sent
    for method, path, sent, status in [
        ("PATCH", f"/members/{AN_ID}", {"role": "editor"}, 404),
        ("PATCH", "/members/no-id", {"role": "editor"}, 422),
        ("PATCH", f"/members/{FIRST_MEMBER}", {"role": 7}, 422),
        ("DELETE", f"/members/{AN_ID}", None, 404),
        ("DELETE", f"/invitations/{AN_ID}", None, 404),
    ]:
        answer = await people.client.request(method, ROOT + path, json=sent)
        assert answer.status_code == status, path
    found = (await people.client.get(f"{ROOT}/members")).json()
    assert [entry["role"] for entry in found["members"]] == ["owner"]
    assert found["invitations"] == []


async def test_an_invited_person_joins_by_the_link_and_not_before(people: Api) -> None:
    token = await _invited(people, "ada@example.org")
    listed = (await people.client.get(f"{ROOT}/members")).json()
    assert [entry["email"] for entry in listed["invitations"]] == ["ada@example.org"]
    assert len(listed["members"]) == 1
    assert await people.application.database.fetchval("SELECT count(*) FROM users") == 1

    who = (await _come(people, token)).json()

    assert (who["role"], who["workspace"]["id"]) == ("editor", str(FIRST_WORKSPACE))
    assert {entry["role"] for entry in who["workspaces"]} == {"editor", "owner"}
    # They look at it first next time, too, until they choose otherwise.
    assert who["user"]["default_workspace_id"] == str(FIRST_WORKSPACE)
    assert (await _come(people, token)).status_code == 410
    listed = (await people.client.get(f"{ROOT}/members")).json()
    assert [entry["role"] for entry in listed["members"]] == ["owner", "editor"]
    assert listed["invitations"] == []
    again = await people.client.post(
        f"{ROOT}/invitations", json={"email": "ADA@example.org", "role": "viewer"}
    )
    assert again.json()["code"] == "already_member"
    result = await people.application.database.fetch("SELECT action FROM audit_log ORDER BY id")
    assert {"invite_member", "member_joined", "sign_in"} <= {row["action"] for row in result}


async def _look(api: Api, token: str, **more: Any) -> httpx2.Response:
    return await api.anonymous.post(f"{SESSION}/link/look", json={"token": token}, **more)


async def test_a_link_says_what_it_is_and_is_not_used_by_being_looked_at(people: Api) -> None:
    database = people.application.database
    for sent in ({}, {"token": ""}, {"token": 7}, {"token": "x", "y": 1}):
        answer = await people.anonymous.post(f"{SESSION}/link/look", json=sent)
        assert answer.status_code == 422, sent
    for token in ("nonsense", "msi_" + "x" * 43, "msl_" + "x" * 43):
        assert (await _look(people, token)).json()["code"] == "link_over"
    await database.execute("UPDATE users SET name = 'Nora' WHERE id = $1", FIRST_MEMBER)

    token = await _invited(people, "ada@example.org")
    for _ in range(2):
        seen = await _look(people, token)
        assert seen.json() == {
            "purpose": "invitation",
            "email": "ada@example.org",
            "name": "",
            "made_by": "Nora",
            "workspace": "Home",
            "role": "editor",
            "sign_in_first": False,
        }
        assert "set-cookie" not in seen.headers
    foreign = await _look(people, token, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert await database.fetchval("SELECT count(*) FROM users") == 1
    assert (await _come(people, token)).status_code == 200
    assert (await _look(people, token)).status_code == 410

    bo = await make_person(database, "bo@example.org")
    known = (await _look(people, await _invited(people, "bo@example.org"))).json()
    assert known["sign_in_first"] is True
    made = await people.client.post(f"{ROOT}/admin/users/{bo.id}/reset-password")
    reset = (await _look(people, made.json()["link"].partition("#")[2])).json()
    assert (reset["purpose"], reset["email"], reset["made_by"]) == (
        "reset",
        "bo@example.org",
        "Nora",
    )


async def test_who_never_came_back_is_asked_in_again_and_nobody_else_is(people: Api) -> None:
    database = people.application.database
    first = await _invited(people, "bob@example.org")
    second = await _invited(people, "bob@example.org")
    assert (await _come(people, first)).status_code == 410
    bob = (await _come(people, second)).json()["user"]["id"]
    ask = {"email": "bob@example.org", "role": "editor"}

    # Somebody is signed in as Bob: only an administrator helps.
    refused = await people.client.post(f"{ROOT}/invitations", json=ask)
    assert refused.json()["code"] == "already_member"
    # Nobody is, there is no password, and nothing is Bob's: the link was lost.
    await database.execute("DELETE FROM sessions WHERE user_id = $1", UUID(bob))
    third = await _invited(people, "bob@example.org")
    assert (await _look(people, third)).json()["sign_in_first"] is False
    came = (await _come(people, third)).json()
    assert (came["user"]["id"], came["role"]) == (bob, "editor")
    # Removed and asked in anew: the session that was here has ended with the membership.
    assert (await people.client.delete(f"{ROOT}/members/{bob}")).status_code == 204
    assert (await _come(people, await _invited(people, "bob@example.org"))).status_code == 200

    # Whatever Bob has beyond this workspace makes the account his alone.
    await database.execute("DELETE FROM sessions WHERE user_id = $1", UUID(bob))
    header = await token_of(database, FIRST_WORKSPACE, UUID(bob))
    refused = await people.client.post(f"{ROOT}/invitations", json=ask)
    assert refused.json()["code"] == "already_member"
    await database.execute("DELETE FROM access_tokens WHERE member_id = $1", UUID(bob))
    assert (await people.anonymous.get(SESSION, headers=header)).status_code == 401
    ada = await make_person(database, "ada@example.org")
    assert ada.default_workspace_id is not None
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'viewer')",
        ada.default_workspace_id,
        UUID(bob),
    )
    refused = await people.client.post(f"{ROOT}/invitations", json=ask)
    assert refused.json()["code"] == "already_member"
    await people.client.delete(f"{ROOT}/members/{bob}")
    late = await _come(people, await _invited(people, "bob@example.org"))
    assert (late.status_code, late.json()["code"]) == (403, "sign_in_first")


async def test_an_invitation_makes_nobody_into_somebody_who_has_an_account(people: Api) -> None:
    ada = await make_person(people.application.database, "ada@example.org")
    token = await _invited(people, "Ada@example.org")

    for headers in ({}, {"Authorization": f"Bearer {people.token}"}):
        alone = await _come(people, token, headers=headers)
        assert (alone.status_code, alone.json()["code"]) == (403, "sign_in_first")
        assert "set-cookie" not in alone.headers
    async with browser(people, FIRST_MEMBER) as owner:
        other = await owner.client.post(f"{SESSION}/link", json={"token": token})
        assert other.status_code == 403

    async with httpx2.AsyncClient(base_url=people.address, timeout=PATIENCE) as client:
        await client.post(SESSION, json={"email": "ada@example.org", "password": PASSWORD})
        joined = await client.post(f"{SESSION}/link", json={"token": token})
    assert joined.json()["user"]["id"] == str(ada.id)
    assert joined.json()["workspace"]["id"] == str(FIRST_WORKSPACE)


async def test_an_invitation_is_used_once_ends_when_taken_back_and_with_its_maker(
    people: Api,
) -> None:
    database = people.application.database
    raced = await _invited(people, "ada@example.org")
    statuses = Counter(
        answer.status_code
        for answer in await asyncio.gather(*(_come(people, raced) for _ in "x" * 8))
    )
    assert statuses[200] == 1
    assert statuses[200] + statuses[410] + statuses[403] == 8

    accepted = await _invited(people, "bo@example.org")
    listed = (await people.client.get(f"{ROOT}/members")).json()["invitations"]
    gone = await people.client.delete(f"{ROOT}/invitations/{listed[0]['id']}")
    assert gone.status_code == 204
    assert (await _come(people, accepted)).status_code == 410

    replaced = await _invited(people, "cy@example.org", "viewer")
    await _invited(people, "CY@example.org", "operator")
    assert (await _come(people, replaced)).status_code == 410

    admin = await make_person(
        database, "di@example.org", workspace_id=FIRST_WORKSPACE, role=Role.ADMIN
    )
    header = await _session(people, FIRST_WORKSPACE, admin.id)
    answer = await people.anonymous.post(
        f"{ROOT}/invitations", json={"email": "ed@example.org", "role": "editor"}, headers=header
    )
    orphan = answer.json()["link"].partition("#")[2]
    assert (await people.client.delete(f"{ROOT}/members/{admin.id}")).status_code == 204
    assert (await _come(people, orphan)).status_code == 410


async def test_only_an_owner_names_changes_or_removes_owners_and_admins(people: Api) -> None:
    database = people.application.database
    made = {
        role: await make_person(
            database, f"{role}@example.org", workspace_id=FIRST_WORKSPACE, role=role
        )
        for role in Role
    }
    headers = {role: await _session(people, FIRST_WORKSPACE, made[role].id) for role in Role}
    other = await make_person(
        database, "other@example.org", workspace_id=FIRST_WORKSPACE, role=Role.VIEWER
    )

    async def change(by: Role, whom: Any, role: str) -> int:
        answer = await people.anonymous.patch(
            f"{ROOT}/members/{whom}", json={"role": role}, headers=headers[by]
        )
        return answer.status_code

    for by in (Role.VIEWER, Role.OPERATOR, Role.EDITOR):
        assert await change(by, other.id, "operator") == 403
        result = await people.anonymous.post(f"{ROOT}/invitations", json={}, headers=headers[by])
        assert result.json()["detail"] == (
            f"Your role here ({by}) may not manage members, their tokens and their secrets; the "
            "required role is admin or more."
        )
        gone = await people.anonymous.delete(f"{ROOT}/members/{other.id}", headers=headers[by])
        assert gone.status_code == 403
    assert await change(Role.ADMIN, other.id, "editor") == 200
    for whom, role in [
        (other.id, "admin"),
        (other.id, "owner"),
        (made[Role.ADMIN].id, "owner"),
        (made[Role.OWNER].id, "viewer"),
        (FIRST_MEMBER, "admin"),
    ]:
        assert await change(Role.ADMIN, whom, role) == 403, role
    for whom in (made[Role.OWNER].id, FIRST_MEMBER, made[Role.ADMIN].id):
        gone = await people.anonymous.delete(f"{ROOT}/members/{whom}", headers=headers[Role.ADMIN])
        assert gone.status_code == 403
    for role in ("owner", "admin"):
        asked = {"email": "new@example.org", "role": role}
        refused = await people.anonymous.post(
            f"{ROOT}/invitations", json=asked, headers=headers[Role.ADMIN]
        )
        assert refused.status_code == 403
    # A token of an owner that gives less is less.
    lesser = await token_of(database, FIRST_WORKSPACE, made[Role.OWNER].id, role=Role.ADMIN)
    raised = await people.anonymous.patch(
        f"{ROOT}/members/{other.id}", json={"role": "owner"}, headers=lesser
    )
    assert raised.status_code == 403
    # Nor does one that is over soon name anybody who stays and could make one that is not.
    soon = datetime.now(UTC) + timedelta(hours=1)
    brief = await token_of(database, FIRST_WORKSPACE, made[Role.OWNER].id, expires_at=soon)
    for method, path, sent in [
        ("PATCH", f"/members/{other.id}", {"role": "owner"}),
        ("POST", "/invitations", {"email": "new@example.org", "role": "admin"}),
    ]:
        lasting = await people.anonymous.request(method, ROOT + path, json=sent, headers=brief)
        assert (lasting.status_code, lasting.json()["code"]) == (403, "outlives")
    assert await change(Role.OWNER, made[Role.ADMIN].id, "owner") == 200
    assert await change(Role.OWNER, FIRST_MEMBER, "viewer") == 200


async def test_a_workspace_has_an_owner_at_all_times(people: Api) -> None:
    database = people.application.database
    mine = f"{ROOT}/members/{FIRST_MEMBER}"
    lowered = await people.client.patch(mine, json={"role": "admin"})
    removed = await people.client.delete(mine)
    assert {lowered.json()["code"], removed.json()["code"]} == {"last_owner"}
    assert {lowered.status_code, removed.status_code} == {409}

    second = await make_person(
        database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.OWNER
    )
    header = await token_of(database, FIRST_WORKSPACE, second.id)
    # An owner who cannot sign in is none.
    await database.execute("UPDATE users SET disabled_at = now() WHERE id = $1", second.id)
    assert (await people.client.delete(mine)).status_code == 409
    await database.execute("UPDATE users SET disabled_at = NULL WHERE id = $1", second.id)

    # Both at once, each the other, again and again: one of them stays.
    for _ in range(5):
        answers = await asyncio.gather(
            people.client.patch(f"{ROOT}/members/{second.id}", json={"role": "viewer"}),
            people.anonymous.patch(mine, json={"role": "viewer"}, headers=header),
        )
        owners = "SELECT count(*) FROM members WHERE workspace_id = $1 AND role = 'owner'"
        assert await database.fetchval(owners, FIRST_WORKSPACE) == 1
        assert sorted(answer.status_code for answer in answers) == [200, 403]
        await database.execute(
            "UPDATE members SET role = 'owner' WHERE workspace_id = $1", FIRST_WORKSPACE
        )


async def test_a_workspace_is_made_renamed_bounded_and_looked_at_by_its_people(
    people: Api,
) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        for sent in ({"name": ""}, {"name": "x" * 201}, {"name": " "}, {"name": "a\u202eb"}, {}):
            refused = await owner.ask("POST", "/workspaces", json=sent)
            assert refused.status_code == 422, sent
            assert refused.json()["errors"][0]["pointer"] == "/name"
        made = (await owner.ask("POST", "/workspaces", json={"name": "Lab"})).json()
        where = f"/workspaces/{made['id']}"
        away = await owner.ask("PATCH", where, json={"name": "Lab 2"})
        unknown = await owner.ask("PATCH", f"/workspaces/{AN_ID}", json={"name": "Lab 2"})
        assert (away.status_code, away.json()["code"]) == (404, unknown.json()["code"])

        foreign = await make_person(people.application.database, "ada@example.org")
        for there in (AN_ID, str(foreign.default_workspace_id)):
            refused = await owner.ask("POST", "/session/workspace", json={"workspace_id": there})
            assert refused.status_code == 404
            refused = await owner.ask("PATCH", "/me", json={"default_workspace_id": there})
            assert refused.status_code == 404

        moved = await owner.ask("POST", "/session/workspace", json={"workspace_id": made["id"]})
        assert (moved.json()["workspace"]["name"], moved.json()["role"]) == ("Lab", "owner")
        for usd in (-1, 1e9, "NaN", "much", "1e-99999", 1e-7, "0." + "1" * 20_000):
            refused = await owner.ask("PATCH", where, json={"cost_cap_daily_usd": usd})
            assert refused.status_code == 422, usd
        changed = await owner.ask("PATCH", where, json={"cost_cap_daily_usd": 2.5, "name": "Den"})
        assert (changed.json()["name"], changed.json()["cost_cap_daily_usd"]) == ("Den", 2.5)
        stored = await owner.ask("PATCH", where, json={"name": "Den"})
        assert stored.json()["cost_cap_daily_usd"] == 2.5
        cleared = await owner.ask("PATCH", where, json={"cost_cap_daily_usd": None})
        assert cleared.json()["cost_cap_daily_usd"] is None

        assert (await owner.ask("PATCH", "/me", json={"default_workspace_id": made["id"]})).json()[
            "default_workspace_id"
        ] == made["id"]
    async with browser(people, FIRST_MEMBER) as again:
        assert again.who["workspace"]["name"] == "Den"


async def test_people_change_their_own_name_and_email(people: Api) -> None:
    cy = await make_person(people.application.database, "cy@example.org")
    assert cy.default_workspace_id is not None
    header = await _session(people, cy.default_workspace_id, cy.id)
    await make_person(people.application.database, "ada@example.org")
    asked = {"email": "Di@example.org", "role": "viewer"}
    invited = await people.anonymous.post(f"{ROOT}/invitations", json=asked, headers=header)
    assert invited.status_code == 201
    async with browser(people, FIRST_MEMBER) as owner:
        for sent, status in [
            ({"email": "no email"}, 422),
            ({"name": "a\nb\u0007"}, 422),
            ({"email": "x" * 300}, 422),
            ({"email": "ADA@example.org"}, 409),
            # Somebody who was asked in and has not come yet.
            ({"email": "di@example.org"}, 409),
            ({"administrator": True}, 422),
        ]:
            answer = await owner.ask("PATCH", "/me", json=sent)
            assert answer.status_code == status, sent
        changed = await owner.ask("PATCH", "/me", json={"name": "Bo", "email": "bo@example.org"})
        assert (changed.json()["name"], changed.json()["email"]) == ("Bo", "bo@example.org")
        await owner.ask("POST", "/me/password", json={"password": PASSWORD})
        without = await owner.ask("PATCH", "/me", json={"email": "evil@example.org"})
        assert (without.status_code, without.json()["code"]) == (403, "wrong_password")


async def test_people_see_and_end_their_own_sessions_only(people: Api) -> None:
    ada = await make_person(people.application.database, "ada@example.org")
    async with (
        browser(people, FIRST_MEMBER) as here,
        browser(people, FIRST_MEMBER) as there,
        browser(people, ada.id) as other,
    ):
        listed = (await here.ask("GET", "/sessions")).json()["sessions"]
        assert [entry["current"] for entry in listed] == [True, False]
        foreign = await here.ask("DELETE", f"/sessions/{other.who['session_id']}")
        assert (foreign.status_code, foreign.json()["code"]) == (404, "no_session")
        assert (await other.client.get(SESSION)).status_code == 200
        assert (await here.ask("DELETE", f"/sessions/{listed[1]['id']}")).status_code == 204
        assert (await there.client.get(SESSION)).status_code == 401
        assert (await here.client.get(SESSION)).status_code == 200
