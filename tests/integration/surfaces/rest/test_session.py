"""Sessions: signing in, who is signed in, signing out; and what anonymous callers see."""

from __future__ import annotations

from typing import Any

from mainspring.store.audit import INSTALLATION
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api
from tests.kit.people import PASSWORD, ROOT, browser, make_person, people

__all__ = ["people"]

SESSION = f"{ROOT}/session"


async def _entries(api: Api, action: str) -> list[Any]:
    return await api.application.database.fetch(
        "SELECT workspace_id, actor_kind, actor_id, subject, detail FROM audit_log"
        " WHERE action = $1 ORDER BY id",
        action,
    )


async def test_bad_input_is_named_and_signs_nobody_in(people: Api) -> None:
    await make_person(people.application.database, "ada@example.org")
    for sent, pointer in [
        ({}, "/email"),
        ({"email": "ada@example.org"}, "/password"),
        ({"email": 7, "password": PASSWORD}, "/email"),
        ({"email": "ada@example.org", "password": "x" * 1025}, "/password"),
        ({"email": "a" * 255, "password": PASSWORD}, "/email"),
        ({"email": "ada@example.org", "password": PASSWORD, "remember": True}, "/remember"),
    ]:
        answer = await people.anonymous.post(SESSION, json=sent)
        assert answer.status_code == 422, sent
        assert answer.json()["errors"][0]["pointer"] == pointer
        assert "set-cookie" not in answer.headers
    form = await people.anonymous.post(SESSION, data={"email": "a", "password": "b"})
    assert form.status_code == 415
    assert await people.application.database.fetchval("SELECT count(*) FROM sessions") == 0


async def test_an_unknown_email_and_a_wrong_password_get_one_answer(people: Api) -> None:
    ada = await make_person(people.application.database, "ada@example.org")
    answers = [
        await people.anonymous.post(SESSION, json={"email": email, "password": password})
        for email, password in [
            ("ada@example.org", "not the password"),
            ("nobody@example.org", "not the password"),
            ("not even an email", PASSWORD),
        ]
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    failed = await _entries(people, "sign_in_failed")
    assert [entry["subject"] for entry in failed] == [str(ada.id), None, None]
    assert {entry["workspace_id"] for entry in failed} == {INSTALLATION}
    assert "not even an email" not in str(failed)


async def test_a_password_signs_in_and_the_cookie_is_out_of_reach(people: Api) -> None:
    ada = await make_person(people.application.database, "\u00e4da@example.org")

    # In capitals, and with its umlaut typed as two characters.
    answer = await people.anonymous.post(
        SESSION, json={"email": " A\u0308DA@Example.org ", "password": PASSWORD}
    )

    assert answer.status_code == 200
    who = answer.json()
    assert who["user"]["id"] == str(ada.id)
    assert (who["role"], who["workspace"]["name"]) == ("owner", "\u00c4da's workspace")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("mainspring=")
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    again = await people.anonymous.get(SESSION)
    assert again.json() == who
    assert [entry["actor_id"] for entry in await _entries(people, "sign_in")] == [ada.id]


async def test_what_the_browser_holds_is_kept_as_a_hash_alone(people: Api) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        rows = await people.application.database.fetch("SELECT s::text AS whole FROM sessions s")
        assert len(rows) == 1
        assert owner.cookie not in rows[0]["whole"]


async def test_signing_out_ends_the_session_even_with_a_saved_cookie(people: Api) -> None:
    async with browser(people, FIRST_MEMBER) as owner:
        stored = owner.cookie
        answer = await owner.ask("DELETE", "/session")
        assert answer.status_code == 204
        assert "Max-Age=0" in answer.headers["set-cookie"]
        after = await people.anonymous.get(SESSION, headers={"Cookie": f"mainspring={stored}"})
        assert after.status_code == 401
    assert len(await _entries(people, "sign_out")) == 1
