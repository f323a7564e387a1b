"""A webhook token works while its maker is here, a signature while the owner of its secret is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.members import change_role, remove_member
from mainspring.workspace.people.users import disable_user
from mainspring.workspace.webhooks import rotate
from tests.integration.triggers.test_webhook_signatures import _send, _signed, _signed_hook
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.people import make_person, member, token_of
from tests.kit.webhooks import Hook, hook, runs

PARALLEL: dict[str, Any] = {"execution": {"concurrency": "allow_parallel"}}


async def _editor(bench: Bench) -> UUID:
    space = bench.application.workspace_id
    made = await make_person(
        bench.application.database, "ada@example.org", workspace_id=space, role=Role.EDITOR
    )
    return made.id


async def _token_by(bench: Bench, called: Hook, user_id: UUID, *, spelt: bool = False) -> Hook:
    """The same webhook with a token that somebody made over the API."""
    headers = await token_of(bench.application.database, bench.application.workspace_id, user_id)
    named = called.automation_id.hex.upper() if spelt else str(called.automation_id)
    path = f"/api/v1/automations/{named}/triggers/{called.slug}/token"
    answer = await called.api.anonymous.post(path, headers=headers)
    assert answer.status_code == 201, answer.text
    return replace(called, token=answer.json()["token"])


async def _remove(bench: Bench, user_id: UUID) -> None:
    owner = member(bench.application.workspace_id, FIRST_MEMBER, Role.OWNER)
    async with bench.application.database.transaction() as tx:
        await remove_member(tx, owner, user_id)


async def _disable(bench: Bench, user_id: UUID) -> None:
    async with bench.application.database.transaction() as tx:
        await disable_user(tx, user_id)


async def _demote(bench: Bench, user_id: UUID) -> None:
    owner = member(bench.application.workspace_id, FIRST_MEMBER, Role.OWNER)
    async with bench.application.database.transaction() as tx:
        await change_role(tx, owner, user_id, Role.OPERATOR)


async def _started(bench: Bench) -> int:
    query = "SELECT count(*) FROM runs WHERE status <> 'skipped'"
    return int(await bench.application.database.fetchval(query))


@pytest.mark.parametrize("end", [_remove, _disable, _demote])
@pytest.mark.parametrize("spelt", [False, True], ids=["plain id", "id in capitals"])
async def test_the_token_of_a_member_who_is_gone_starts_nothing(
    bench: Bench, api: Api, end: Any, spelt: bool
) -> None:
    ada = await _editor(bench)
    mine = await hook(bench, api, name="mine", **PARALLEL)
    called = await _token_by(bench, await hook(bench, api, **PARALLEL), ada, spelt=spelt)
    # Called twice, so that it is remembered and written in one statement.
    for _ in range(2):
        assert (await called.fire({"a": 1})).status_code == 202
        assert (await mine.fire({"a": 1})).status_code == 202

    await end(bench, ada)

    ended = end is _demote
    for _ in range(2):
        answer = await called.fire({"a": 1})
        result = (401, "unknown_webhook") if ended else (409, "owner_left")
        assert (answer.status_code, answer.json()["code"]) == result
    assert (await mine.fire({"a": 1})).status_code == 202
    assert await _started(bench) == 5
    shown = await api.client.get(
        f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}"
    )
    assert (shown.json()["token"] is None) == ended


async def test_a_token_that_somebody_else_has_made_since_goes_on(bench: Bench, api: Api) -> None:
    ada = await _editor(bench)
    called = await _token_by(bench, await hook(bench, api, **PARALLEL), ada)
    renewed = await _token_by(bench, called, FIRST_MEMBER)
    await _remove(bench, ada)
    assert (await called.fire({"a": 1})).status_code == 401
    assert (await renewed.fire({"a": 1})).status_code == 202


@pytest.mark.parametrize("end", [_remove, _disable])
async def test_a_token_names_its_maker_without_the_audit_log(
    bench: Bench, api: Api, end: Any
) -> None:
    ada, space = await _editor(bench), bench.application.workspace_id
    called = await hook(bench, api, **PARALLEL)
    async with bench.application.database.transaction() as tx:
        _, plain = await rotate(tx, space, called.automation_id, called.slug, ada)
    called = replace(called, token=plain)
    assert (await called.fire({"a": 1})).status_code == 202
    await end(bench, ada)
    assert (await called.fire({"a": 1})).status_code == 409


async def test_a_token_goes_on_while_its_maker_may_still_make_one(bench: Bench, api: Api) -> None:
    ada = await _editor(bench)
    called = await _token_by(bench, await hook(bench, api, **PARALLEL), ada)
    owner = member(bench.application.workspace_id, FIRST_MEMBER, Role.OWNER)
    for role in (Role.ADMIN, Role.EDITOR):
        async with bench.application.database.transaction() as tx:
            await change_role(tx, owner, ada, role)
        assert (await called.fire({"a": 1})).status_code == 202


@pytest.mark.parametrize(
    "end",
    [
        "DELETE FROM members WHERE user_id = $1",
        "UPDATE users SET disabled_at = now() WHERE id = $1",
    ],
)
async def test_a_signature_with_the_secret_of_an_owner_who_is_gone_starts_nothing(
    bench: Bench, api: Api, end: str
) -> None:
    called = await _signed_hook(bench, api, **PARALLEL)
    for number in range(2):
        assert (await _send(called, _signed(message=f"msg_{number}"))).status_code == 202
    await bench.application.database.execute(end, FIRST_MEMBER)
    for number in range(2, 4):
        answer = await _send(called, _signed(message=f"msg_{number}"))
        assert (answer.status_code, answer.json()["code"]) == (401, "unknown_webhook")
    assert await runs(bench) == 2
