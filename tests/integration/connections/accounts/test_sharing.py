"""A connection that belongs to the workspace: used by all, and kept when its holder leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest

from mainspring.contracts.roles import Role
from mainspring.workspace.accounts import rows
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.consent_rows import hold_accounts
from mainspring.workspace.people.members import remove_member
from tests.kit.accounts import Accounts
from tests.kit.bench import document, step
from tests.kit.doubles.oauth_provider import ACCOUNT
from tests.kit.lock_waits import until_in_line
from tests.kit.people import Browser, browser, make_person, member

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEY = {"fields": {"token": "key-0123456789"}}


@asynccontextmanager
async def _person(here: Accounts, name: str, role: Role) -> AsyncIterator[tuple[UUID, Browser]]:
    made = await make_person(
        here.application.database, f"{name}@example.org", workspace_id=FIRST_WORKSPACE, role=role
    )
    async with browser(here.api, made.id) as page:
        chosen = await page.ask(
            "POST", "/session/workspace", json={"workspace_id": str(FIRST_WORKSPACE)}
        )
        assert chosen.status_code < 400, chosen.text
        page.who = chosen.json()
        try:
            yield made.id, page
        finally:
            await here.application.database.execute(
                "DELETE FROM integration_connections WHERE owner_id = $1", made.id
            )


async def _ask(page: Browser, method: str, path: str, body: Any = None) -> dict[str, Any]:
    answer = await page.ask(method, f"/integrations/keyed{path}", json=body)
    result: dict[str, Any] = answer.json()
    return result


def _reading(name: str) -> dict[str, Any]:
    return document(step("read", "keyed.read"), name=name)


async def _remove(here: Accounts, user_id: UUID) -> None:
    owner = member(FIRST_WORKSPACE, FIRST_MEMBER, Role.OWNER)
    async with here.application.database.transaction() as tx:
        await remove_member(tx, owner, user_id)


async def test_a_shared_connection_serves_all_and_stays_when_its_holder_leaves(
    here: Accounts,
) -> None:
    async with _person(here, "ann", Role.ADMIN) as (ann, page):
        await _ask(page, "POST", "/connect", KEY)
        private = await here.run(_reading("private"))
        shared = await _ask(page, "POST", "/share", {})
        again = await _ask(page, "POST", "/share", {})
        seen = await here.shown("keyed")
        used = await here.run(_reading("shared"))
        await _remove(here, ann)
        after = await here.run(_reading("after"))
        preflight = await here.ask("POST", "/validate", _reading("validated"))
        # An admin withdraws what somebody left.
        withdrawn = await here.ask("DELETE", "/integrations/keyed/share")
        ended = await here.run(_reading("ended"))

    assert (private["status"], private["error"]["code"]) == ("failed", "not_connected")
    assert shared["shared"] is True
    assert shared["integration"]["connection"]["owner"] == "workspace"
    assert again["shared"] is True
    assert (seen["connected"], seen["connection"]["owner"]) == (True, "workspace")
    assert seen["connection"]["held_by"] == str(ann)
    assert (used["status"], after["status"]) == ("succeeded", "succeeded")
    assert "not_connected" not in {one["code"] for one in preflight["warnings"]}
    assert withdrawn["shared"] is False
    assert (ended["status"], ended["error"]["code"]) == ("failed", "not_connected")


async def test_ones_own_connection_comes_first_and_there_is_one_of_the_workspace(
    here: Accounts,
) -> None:
    async with _person(here, "bea", Role.ADMIN) as (bea, page):
        made = await _ask(page, "POST", "/connect", {**KEY, "share": True})
        own = await here.ask("POST", "/integrations/keyed/connect", KEY)
        async with browser(here.api, FIRST_MEMBER) as mine:
            second = await _ask(mine, "POST", "/share", {})
        row = await rows.find_usable_account(
            here.application.database, FIRST_WORKSPACE, FIRST_MEMBER, "keyed"
        )

    assert made["integration"]["connection"]["owner"] == "workspace"
    assert own["integration"]["connection"]["held_by"] == str(FIRST_MEMBER)
    assert second["code"] == "shared_already"
    assert row is not None
    assert (row.owner_id, row.owner_id == bea) == (FIRST_MEMBER, False)


async def test_an_editor_or_a_program_shares_nothing_and_a_holder_withdraws(
    here: Accounts,
) -> None:
    async with _person(here, "eda", Role.EDITOR) as (_, page):
        await _ask(page, "POST", "/connect", KEY)
        editor = await _ask(page, "POST", "/share", {})
        early = await _ask(page, "POST", "/connect", {**KEY, "share": True})
        await here.ask("POST", "/integrations/keyed/connect", KEY)
        program = await here.api.anonymous.post(
            "/api/v1/integrations/keyed/share",
            json={},
            headers={"Authorization": f"Bearer {here.api.token}"},
        )
        async with browser(here.api, FIRST_MEMBER) as mine:
            await _ask(mine, "POST", "/share", {})
            refused = await _ask(page, "DELETE", "/share")
            withdrawn = await _ask(mine, "DELETE", "/share")
            nothing = await _ask(mine, "DELETE", "/share")

    assert (editor["code"], early["code"]) == ("role_too_small", "role_too_small")
    assert program.json()["code"] == "person_needed"
    assert refused["code"] == "role_too_small"
    assert (withdrawn["shared"], nothing["shared"]) == (False, False)


@pytest.mark.parametrize(
    ("before", "path", "key"),
    [
        ([("/connect", KEY)], "/connection", "disconnected"),
        ([("/connect", KEY), ("/share", {})], "/share", "shared"),
    ],
    ids=["disconnect", "withdraw"],
)
async def test_a_person_removes_no_account_while_somebody_agrees(
    here: Accounts, before: list[tuple[str, Any]], path: str, key: str
) -> None:
    """Otherwise the agreement would name an account that is already gone."""
    database = here.application.database
    async with browser(here.api, FIRST_MEMBER) as mine:
        for place, body in before:
            await _ask(mine, "POST", place, body)
        async with database.transaction() as tx:
            # As an answer does before it reads which account the question names.
            await hold_accounts(tx, FIRST_WORKSPACE)
            removing = asyncio.create_task(_ask(mine, "DELETE", path))
            waiting = asyncio.create_task(until_in_line(database))
            done, _ = await asyncio.wait({removing, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            assert done == {waiting}
            kept = await tx.fetchrow(
                "SELECT shared_at FROM integration_connections WHERE integration = 'keyed'"
            )
            assert kept is not None
            assert (kept["shared_at"] is not None) == (path == "/share")
        removed = await removing
    assert removed[key] is (key == "disconnected")


async def test_a_program_connects_no_other_account_than_an_agreed_automation_writes_with(
    here: Accounts,
) -> None:
    header = {"Authorization": f"Bearer {here.api.token}"}

    async def connect(key: str) -> tuple[int, dict[str, Any]]:
        answer = await here.api.anonymous.post(
            "/api/v1/integrations/keyed/connect", json={"fields": {"token": key}}, headers=header
        )
        return answer.status_code, answer.json()

    here.provider.keys = {"key-of-others-01": "others@example.org", "key-9876543210": ACCOUNT}
    await here.ask("POST", "/integrations/keyed/connect", KEY)
    made = await here.ask("POST", "/automations", document(step("p", "keyed.post"), name="Posts"))
    status, problem = await connect("key-of-others-01")
    assert (status, problem["code"]) == (403, "person_needed")
    assert "'Posts'" in problem["detail"]
    assert problem["url"].endswith("/integrations/keyed")

    async def account() -> str | None:
        row = await rows.find_usable_account(
            here.application.database, FIRST_WORKSPACE, FIRST_MEMBER, "keyed"
        )
        return None if row is None else row.account

    assert await account() == ACCOUNT
    # Another key of the same account is no other account.
    assert (await connect("key-9876543210"))[0] == 200

    await here.ask("POST", "/integrations/keyed/connect", {"fields": {"token": "key-of-others-01"}})
    assert await account() == "others@example.org"
    # Restored it would still be agreed to.
    await here.ask("POST", f"/automations/{made['id']}/archive")
    status, problem = await connect("key-9876543210")
    assert (status, "'Posts' (archived)" in problem["detail"]) == (403, True)


async def test_an_admin_tests_and_reconnects_what_somebody_else_shared(here: Accounts) -> None:
    async with (
        _person(here, "fay", Role.ADMIN) as (fay, page),
        _person(here, "gus", Role.EDITOR) as (_, editor),
    ):
        made = await _ask(page, "POST", "/connect", {**KEY, "share": True})
        shared_id = made["integration"]["connection"]["id"]
        tested = await here.ask("POST", "/integrations/keyed/test")
        refused = await _ask(editor, "POST", "/test")

        here.provider.keys = {"key-9876543210": ACCOUNT}
        again = {"fields": {"token": "key-9876543210"}, "share": True}
        denied = await _ask(editor, "POST", "/connect", again)
        async with browser(here.api, FIRST_MEMBER) as mine:
            done = await _ask(mine, "POST", "/connect", again)
            # Who held it before does not get the key of the new holder for themselves.
            await _ask(page, "DELETE", "/share")
            before = await rows.find_member_account(
                here.application.database, FIRST_WORKSPACE, fay, "keyed"
            )
            own = await rows.find_member_account(
                here.application.database, FIRST_WORKSPACE, FIRST_MEMBER, "keyed"
            )

    assert tested["works"] is True
    assert tested["integration"]["connection"]["held_by"] == str(fay)
    assert refused["status"] == denied["status"] == 403
    connection = done["integration"]["connection"]
    assert (connection["id"], connection["owner"]) == (shared_id, "workspace")
    assert connection["held_by"] == str(FIRST_MEMBER)
    assert before is None
    assert own is not None
    assert (str(own.id), own.shared_at) == (shared_id, None)


async def test_an_admin_signs_in_again_to_what_somebody_else_shared(here: Accounts) -> None:
    async def sign_in(person: Browser, body: dict[str, Any]) -> dict[str, Any]:
        begun = (await person.ask("POST", "/integrations/notebook/connect", json=body)).json()
        async with httpx2.AsyncClient(verify=False) as away:
            left = await away.get(begun["sign_in_url"])
        back = urlsplit(left.headers["location"])
        path = back.path.removeprefix("/api/v1")
        answer = await person.ask("GET", f"{path}?{back.query}")
        assert answer.status_code < 400, answer.text
        found = (await person.ask("GET", "/integrations")).json()["integrations"]
        result: dict[str, Any] = next(one for one in found if one["name"] == "notebook")
        return result

    async with (
        _person(here, "hal", Role.ADMIN) as (hal, page),
        browser(here.api, FIRST_MEMBER) as mine,
    ):
        first = await sign_in(page, {"share": True})
        second = await sign_in(mine, {"share": True})

    assert first["connection"]["held_by"] == str(hal)
    assert second["connection"]["id"] == first["connection"]["id"]
    assert (second["state"], second["connection"]["owner"]) == ("ready", "workspace")
    assert second["connection"]["held_by"] == str(FIRST_MEMBER)
