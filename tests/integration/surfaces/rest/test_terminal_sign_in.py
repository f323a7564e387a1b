"""Signing in at a terminal: confirmed by a person in a browser, and what the session is worth."""

from __future__ import annotations

from typing import Any

import httpx2
import orjson

from mainspring.contracts.roles import Role
from mainspring.contracts.terminal_session import CONFIRMED_HEADER, compute_call_digest
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.api import Api
from tests.kit.bench import document, step
from tests.kit.people import ROOT, browser, make_person

BEGIN = "/session/terminal"
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})
DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}


async def _begin(api: Api, label: str = "a terminal") -> dict[str, Any]:
    answer = await api.anonymous.post(ROOT + BEGIN, json={"label": label})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def _collect(api: Api, begun: dict[str, Any]) -> httpx2.Response:
    given = {"device_code": begun["device_code"]}
    return await api.anonymous.post(f"{ROOT}{BEGIN}/collect", json=given)


async def _signed_in(api: Api) -> str:
    """The session of a terminal that the owner has confirmed."""
    begun = await _begin(api)
    async with browser(api, FIRST_MEMBER) as page:
        given = {"code": begun["code"], "confirm": True}
        assert (await page.ask("POST", f"{BEGIN}/answer", json=given)).status_code == 200
    session: str = (await _collect(api, begun)).json()["session"]
    return session


async def _ask(
    api: Api, session: str, method: str, path: str, body: Any = None, confirmed: str | None = None
) -> httpx2.Response:
    content = b"" if body is None else orjson.dumps(body)
    headers = {"Authorization": f"Bearer {session}", "Content-Type": "application/json"}
    if confirmed is not None:
        headers[CONFIRMED_HEADER] = confirmed
    return await api.anonymous.request(method, ROOT + path, content=content, headers=headers)


def _said(method: str, path: str, body: Any) -> str:
    return compute_call_digest(method, ROOT + path, orjson.dumps(body))


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_person_confirms_the_code_and_the_terminal_gets_its_session_once(api: Api) -> None:
    begun = await _begin(api, "ada's laptop")
    assert begun["url"] == f"{api.address}/terminal"
    assert (await _collect(api, begun)).json()["status"] == "waiting"
    async with browser(api, FIRST_MEMBER) as page:
        # Typed as people type: small letters, and no dash.
        typed = begun["code"].replace("-", "").lower()
        shown = (await page.ask("POST", f"{BEGIN}/look", json={"code": typed})).json()
        assert (shown["label"], shown["address"]) == ("ada's laptop", "127.0.0.1")
        given = {"code": typed, "confirm": True}
        assert (await page.ask("POST", f"{BEGIN}/answer", json=given)).status_code == 200
        assert _code(await page.ask("POST", f"{BEGIN}/answer", json=given)) == (410, "code_over")
        got = (await _collect(api, begun)).json()
        assert got["session"].startswith("mst_")
        assert _code(await _collect(api, begun)) == (410, "code_over")

        listed = (await page.ask("GET", "/sessions")).json()["sessions"]
        assert [one["kind"] for one in listed] == ["browser", "terminal"]
        assert got["session"] not in str(listed)
        who = await _ask(api, got["session"], "GET", "/session")
        assert (who.status_code, who.json()["csrf_token"]) == (200, None)
        # Revoked among the person's sessions, it is over at once.
        await page.ask("DELETE", f"/sessions/{listed[1]['id']}")
        assert _code(await _ask(api, got["session"], "GET", "/session")) == (401, "unknown_token")
        entries = (await page.ask("GET", "/audit")).json()["items"]
        assert {"answer_terminal", "sign_in", "sign_out"} <= {one["action"] for one in entries}


async def test_nobody_but_a_person_in_a_browser_confirms_a_code(api: Api) -> None:
    begun, session = await _begin(api), await _signed_in(api)
    given = {"code": begun["code"], "confirm": True}
    token = await api.anonymous.post(
        f"{ROOT}{BEGIN}/answer", json=given, headers={"Authorization": f"Bearer {api.token}"}
    )
    assert _code(token) == (409, "needs_session")
    path = f"{BEGIN}/answer"
    terminal = await _ask(api, session, "POST", path, given, _said("POST", path, given))
    assert _code(terminal) == (409, "needs_session")
    assert (await api.anonymous.post(f"{ROOT}{BEGIN}/answer", json=given)).status_code == 401
    assert (await _collect(api, begun)).json()["status"] == "waiting"
    async with browser(api, FIRST_MEMBER) as page:
        await page.ask("POST", f"{BEGIN}/answer", json={**given, "confirm": False})
    assert _code(await _collect(api, begun)) == (403, "sign_in_declined")


async def test_codes_run_out_and_cannot_be_guessed_for_long(api: Api) -> None:
    begun = await _begin(api)
    await api.application.database.execute("UPDATE terminal_sign_ins SET expires_at = now()")
    assert _code(await _collect(api, begun)) == (410, "code_over")
    async with browser(api, FIRST_MEMBER) as page:
        tries = [
            await page.ask("POST", f"{BEGIN}/look", json={"code": f"BBBB-BBB{mail}"})
            for mail in "BCDFGHJKLMNPQ"
        ]
    assert {one.status_code for one in tries} == {410, 429}


async def test_a_terminal_session_is_a_program_until_a_call_was_confirmed(api: Api) -> None:
    session = await _signed_in(api)
    file = document(ANSWER, name="Counter", triggers=[DAILY])
    (made,) = (await _ask(api, session, "POST", "/import", file)).json()["imported"]
    consent = made["consent"]
    path = f"/consents/{consent['consent_id']}/answer"
    body = {"digest": consent["digest"], "agree": True, "activate": False}
    # Under --json the CLI sends no confirmation.
    assert _code(await _ask(api, session, "POST", path, body)) == (403, "person_needed")
    # A confirmation of another call is none for this one.
    for other in (
        "yes",
        _said("POST", path, {**body, "agree": False}),
        _said("POST", "/import", body),
        _said("PUT", path, body),
    ):
        assert _code(await _ask(api, session, "POST", path, body, other)) == (403, "not_confirmed")
    # A token cannot use the header, and the session is nothing to MCP.
    header = {
        "Authorization": f"Bearer {api.token}",
        CONFIRMED_HEADER: _said("POST", path, body),
        "Content-Type": "application/json",
    }
    answer = await api.anonymous.post(ROOT + path, content=orjson.dumps(body), headers=header)
    assert _code(answer) == (403, "person_needed")
    mcp = await api.anonymous.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={"Authorization": f"Bearer {session}"},
    )
    assert mcp.status_code == 401
    # Nor does a browser's cookie take it.
    cookie = {"Cookie": f"mainspring={session}"}
    assert (await api.anonymous.get(f"{ROOT}/session", headers=cookie)).status_code == 401

    agreed = await _ask(api, session, "POST", path, body, _said("POST", path, body))
    assert (agreed.status_code, agreed.json()["consent"]["status"]) == (200, "agreed")
    stored = await api.application.database.fetchrow(
        "SELECT detail FROM audit_log WHERE action = 'answer_consent' ORDER BY id DESC"
    )
    assert stored is not None
    assert stored["detail"]["channel"] == "terminal"
    assert (await _ask(api, session, "DELETE", "/session")).status_code == 204
    assert _code(await _ask(api, session, "GET", "/session")) == (401, "unknown_token")


async def test_a_terminal_session_ends_with_its_time_its_person_and_a_new_password(
    api: Api,
) -> None:
    database = api.application.database
    session = await _signed_in(api)
    await database.execute("UPDATE sessions SET expires_at = now() WHERE kind = 'terminal'")
    assert (await _ask(api, session, "GET", "/session")).status_code == 401

    ada = await make_person(
        database, "ada@example.test", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    first, second = await _begin(api), await _begin(api)
    async with browser(api, ada.id) as page:
        for begun in (first, second):
            given = {"code": begun["code"], "confirm": True}
            await page.ask("POST", f"{BEGIN}/answer", json=given)
    theirs = (await _collect(api, first)).json()["session"]
    assert (await _ask(api, theirs, "GET", "/session")).status_code == 200
    async with browser(api, FIRST_MEMBER) as owner:
        made = await owner.ask("POST", f"/admin/users/{ada.id}/reset-password")
        link = made.json()["link"].partition("#")[2]
    assert (await api.anonymous.post(f"{ROOT}/session/link", json={"token": link})).is_success
    # Neither the session nor what was confirmed and not collected outlives it.
    assert (await _ask(api, theirs, "GET", "/session")).status_code == 401
    # A terminal has no cookie of a browser.
    api.anonymous.cookies.clear()
    assert _code(await _collect(api, second)) == (410, "code_over")
