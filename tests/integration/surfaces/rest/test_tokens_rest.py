"""Tokens over REST: shown once, never above their maker, and gone at once when they end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_WORKSPACE
from tests.kit.api import PATIENCE, Api
from tests.kit.people import ROOT, make_person, people, token_of

__all__ = ["people"]

TOKENS = f"{ROOT}/tokens"
AN_ID = "01900000-0000-7000-8000-0000000000aa"


async def _make(api: Api, header: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
    given = header or {"Authorization": f"Bearer {api.token}"}
    return await api.anonymous.post(TOKENS, json={"name": "ci", **more}, headers=given)


def _bearer(answer: httpx2.Response) -> dict[str, str]:
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['text']}"}


async def test_bad_input_is_named_and_makes_no_token(people: Api) -> None:
    past = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"name": ""}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"role": "king"}, "/role"),
        ({"capabilities": ["search", "htp_fetch"]}, "/capabilities/1"),
        # What its holder could never call: for runs alone, for administrators, for more.
        ({"capabilities": ["search", "http_fetch"]}, "/capabilities/1"),
        ({"capabilities": ["admin_list_users"], "role": "admin"}, "/capabilities/0"),
        ({"capabilities": ["create_board"], "role": "viewer"}, "/capabilities/0"),
        ({"capabilities": "http_fetch"}, "/capabilities"),
        ({"expires_at": past}, "/expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, "/expires_at"),
        ({"expires_at": "9999-12-31T23:59:59-14:00"}, "/expires_at"),
        ({"text": "mine"}, "/text"),
    ]
    for sent, pointer in refused:
        answer = await _make(people, **sent)
        assert answer.status_code == 422, sent
        assert answer.json()["errors"][0]["pointer"] == pointer
    named = await _make(people, capabilities=["htp_fetch"])
    assert "http_fetch" in named.json()["errors"][0]["suggestion"]
    for name in ("http_fetch", "admin_list_users"):
        out_of_reach = await _make(people, capabilities=[name], role="editor")
        assert name in out_of_reach.json()["errors"][0]["detail"]
    assert (await _make(people, capabilities=["admin_list_users"])).status_code == 201
    await people.application.database.execute("DELETE FROM access_tokens WHERE name = 'ci'")
    assert (await people.client.delete(f"{TOKENS}/{AN_ID}")).status_code == 404
    assert len((await people.client.get(TOKENS)).json()["tokens"]) == 1


async def test_a_token_is_shown_once_and_its_use_is_noted(people: Api) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    answer = await _make(
        people, role="operator", capabilities=["search"], expires_at=soon.isoformat()
    )
    made = answer.json()["token"]
    assert (made["role"], made["capabilities"]) == ("operator", ["search"])
    assert answer.json()["text"].endswith(made["hint"])
    listed = await people.client.get(TOKENS)
    assert answer.json()["text"] not in listed.text
    assert made["id"] in {entry["id"] for entry in listed.json()["tokens"]}

    async with asyncio.timeout(PATIENCE):
        while not (await people.client.get(TOKENS)).json()["tokens"][0]["last_used_at"]:
            pass
    first = (await people.client.get(TOKENS)).json()["tokens"][0]["last_used_at"]
    await people.client.get(TOKENS)
    assert (await people.client.get(TOKENS)).json()["tokens"][0]["last_used_at"] == first


async def test_no_token_gives_more_than_its_maker_has(people: Api) -> None:
    database = people.application.database
    viewer = await make_person(
        database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.VIEWER
    )
    header = await token_of(database, FIRST_WORKSPACE, viewer.id)
    refused = await _make(people, header, role="editor")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (403, "/role")
    assert (await _make(people, header)).json()["token"]["role"] == "viewer"

    lesser = _bearer(await _make(people, role="viewer"))
    assert (await _make(people, lesser, role="owner")).status_code == 403
    assert (await people.anonymous.get(f"{ROOT}/admin/users", headers=lesser)).status_code == 404

    limited = _bearer(await _make(people, capabilities=["search"]))
    more = await _make(people, limited)
    assert (more.status_code, more.json()["code"]) == (403, "token_limited")
    for path in ("/tokens", "/members", "/automations", "/workspaces"):
        answer = await people.anonymous.get(ROOT + path, headers=limited)
        assert answer.status_code == 403, path

    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    brief = _bearer(await _make(people, expires_at=soon))
    longer = await _make(people, brief)
    assert (longer.status_code, longer.json()["code"]) == (403, "outlives")
    assert (await _make(people, brief, expires_at=soon)).status_code == 201

    # A member who is lowered takes their tokens down with them.
    editor = await make_person(
        database, "bo@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    theirs = await token_of(database, FIRST_WORKSPACE, editor.id, role=Role.EDITOR)
    await people.client.patch(f"{ROOT}/members/{editor.id}", json={"role": "viewer"})
    session = await people.anonymous.get(f"{ROOT}/session", headers=theirs)
    assert session.json()["role"] == "viewer"


async def test_a_token_reaches_into_its_own_account_no_further_than_its_role(people: Api) -> None:
    wide = await _make(people, role="owner")
    elsewhere = await people.client.post(f"{ROOT}/workspaces", json={"name": "Elsewhere"})
    assert elsewhere.status_code == 201
    narrow = await _make(people, role="viewer")
    limited = await _make(people, capabilities=["get_board"])
    for header in (_bearer(narrow), _bearer(limited)):
        who = await people.anonymous.get(f"{ROOT}/session", headers=header)
        assert [entry["id"] for entry in who.json()["workspaces"]] == [str(FIRST_WORKSPACE)]
        for method, path, sent in [
            ("DELETE", f"/tokens/{wide.json()['token']['id']}", None),
            ("POST", "/workspaces", {"name": "Mine"}),
        ]:
            refused = await people.anonymous.request(method, ROOT + path, json=sent, headers=header)
            assert refused.status_code == 403, path
    listed = await people.anonymous.get(f"{ROOT}/workspaces", headers=_bearer(narrow))
    assert [entry["id"] for entry in listed.json()["workspaces"]] == [str(FIRST_WORKSPACE)]
    assert len((await people.client.get(f"{ROOT}/workspaces")).json()["workspaces"]) == 2
    still = await people.anonymous.get(f"{ROOT}/session", headers=_bearer(wide))
    assert still.status_code == 200
    # Itself it may end.
    own = f"{TOKENS}/{narrow.json()['token']['id']}"
    assert (await people.anonymous.delete(own, headers=_bearer(narrow))).status_code == 200


async def test_a_token_ends_when_it_is_revoked_is_over_or_its_member_leaves(people: Api) -> None:
    database = people.application.database
    editor = await make_person(
        database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    path = f"{ROOT}/session"

    async def works(header: dict[str, str]) -> bool:
        return (await people.anonymous.get(path, headers=header)).status_code == 200

    own = await token_of(database, FIRST_WORKSPACE, editor.id)
    made = await _make(people, own)
    owners = (await people.client.get(TOKENS)).json()["tokens"]
    foreign = await people.anonymous.delete(f"{TOKENS}/{owners[0]['id']}", headers=own)
    assert (foreign.status_code, foreign.json()["code"]) == (404, "no_token")
    everybody = await people.anonymous.get(TOKENS, params={"all": "true"}, headers=own)
    assert everybody.status_code == 403
    mine = (await people.anonymous.get(TOKENS, headers=own)).json()["tokens"]
    assert {entry["member_id"] for entry in mine} == {str(editor.id)}

    second = _bearer(made)
    assert await works(second)
    ended = await people.anonymous.delete(f"{TOKENS}/{made.json()['token']['id']}", headers=own)
    assert ended.json()["revoked_at"] is not None
    assert not await works(second)

    everyones = (await people.client.get(TOKENS, params={"all": "true"})).json()["tokens"]
    (theirs,) = [
        entry
        for entry in everyones
        if entry["member_id"] == str(editor.id) and entry["revoked_at"] is None
    ]
    assert (await people.client.delete(f"{TOKENS}/{theirs['id']}")).status_code == 200
    assert not await works(own)

    over = _bearer(await _make(people, expires_at=_soon()))
    await database.execute(
        "UPDATE access_tokens SET expires_at = now() WHERE expires_at IS NOT NULL"
    )
    assert not await works(over)

    last = await token_of(database, FIRST_WORKSPACE, editor.id)
    assert await works(last)
    assert (await people.client.delete(f"{ROOT}/members/{editor.id}")).status_code == 204
    assert not await works(last)
    # Asked in again, nothing of before works again.
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'viewer')",
        FIRST_WORKSPACE,
        editor.id,
    )
    assert not await works(last)


def _soon() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()
