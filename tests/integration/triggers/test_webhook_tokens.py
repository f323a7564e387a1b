"""Who may call: one answer for every way of not being let in, and tokens that end at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest

from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.webhooks import rotate
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.postgres import LOCK_WAITS
from tests.kit.webhooks import Hook, hook, runs, webhook

# What differs from one answer to the next by its nature.
OWN = {"x-request-id", "date"}


async def _refused(called: Hook, path: str | None = None, **more: Any) -> httpx2.Response:
    return await called.api.anonymous.post(path or called.path, **{"json": {"a": 1}, **more})


def _same(answer: httpx2.Response) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An answer without its name tags; its own path is reported in it."""
    shown = {**answer.json(), "instance": None}
    headers = {name: text for name, text in answer.headers.items() if name not in OWN}
    headers.pop("content-length")
    return answer.status_code, shown, headers


def _bearer(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_unauthorized_callers_get_one_answer_and_no_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    other = await hook(bench, api, name="another")
    silent = await hook(bench, api, name="revoked")
    gone = await hook(bench, api, name="archived")
    where = f"/api/v1/automations/{silent.automation_id}/triggers/{silent.slug}/token"
    assert (await api.client.delete(where)).status_code == 204
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, gone.automation_id, "archived")
    token, nowhere = called.token, f"/api/v1/automations/{generate_id()}/fire"
    answers = {
        "none": await _refused(called),
        "wrong": await _refused(called, headers=_bearer("mwh_" + "x" * 43)),
        "another automation's": await _refused(called, headers=_bearer(other.token)),
        "revoked": await _refused(silent, headers=_bearer(silent.token)),
        "archived": await _refused(gone, headers=_bearer(gone.token)),
        "unknown id": await _refused(called, nowhere, headers=_bearer(token)),
        "no id at all": await _refused(
            called, "/api/v1/automations/1'--/fire", headers=_bearer(token)
        ),
        "in the query": await _refused(called, params={"token": token, "access_token": token}),
        "in a cookie": await _refused(called, headers={"Cookie": f"token={token}"}),
        "in another header": await _refused(called, headers={"X-Token": token}),
        "another scheme": await _refused(called, headers={"Authorization": f"Basic {token}"}),
        "no scheme": await _refused(called, headers={"Authorization": token}),
        "the owner's": await _refused(called, headers=_bearer(api.token)),
        "long": await _refused(called, headers=_bearer("mwh_" + "x" * 20_000)),
        "a bad body as well": await _refused(called, json=None, content=b"{"),
        "two of them": await _refused(
            called, headers=[*_bearer(token).items(), *_bearer(token).items()]
        ),
    }
    expected = _same(answers["none"])
    assert expected[0] == 401
    assert expected[2]["www-authenticate"] == "Bearer"
    assert {name: _same(answer) for name, answer in answers.items()} == dict.fromkeys(
        answers, expected
    )
    assert await runs(bench) == 0
    assert await bench.application.database.fetchval("SELECT count(*) FROM firings") == 0


async def test_a_token_of_a_megabyte_never_becomes_a_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    huge = _bearer(called.token + "x" * 1_000_000)
    inside = httpx2.ASGITransport(app=api.app)
    async with httpx2.AsyncClient(transport=inside, base_url="http://inside") as client:
        answer = await client.post(called.path, json={}, headers=huge)
    assert _same(answer)[:2] == _same(await _refused(called))[:2]
    # On the wire it is refused while its headers are still being read.
    try:
        over_the_wire = await called.fire({}, headers=huge)
    except httpx2.RemoteProtocolError:
        pass
    else:
        assert 400 <= over_the_wire.status_code < 500
    assert await runs(bench) == 0


async def test_only_the_hash_of_a_token_is_kept(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    row = await bench.application.database.fetchrow("SELECT t, t.* FROM triggers t")
    assert row is not None
    assert row["secret_hash"] == hashlib.sha256(called.token.encode()).digest()
    assert row["secret_hint"] == called.token[-4:]
    assert called.token not in str(dict(row))
    where = f"/api/v1/automations/{called.automation_id}/triggers"
    for path in (where, f"{where}/{called.slug}"):
        shown = await api.client.get(path)
        assert shown.status_code == 200
        assert called.token not in shown.text
        assert row["secret_hash"].hex() not in shown.text


async def test_a_token_is_shown_once_and_the_one_before_ends_with_it(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    where = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}"
    made = await api.client.post(where + "/token")
    assert made.status_code == 201
    shown = made.json()
    assert shown["token"].startswith("mwh_")
    assert len(shown["token"]) == 4 + 43
    assert shown["hint"] == shown["token"][-4:]
    assert shown["url"].endswith(called.path)
    assert (await called.fire({})).status_code == 401
    renewed = replace(called, token=shown["token"])
    assert (await renewed.fire({})).status_code == 202
    seen = (await api.client.get(where)).json()["token"]
    assert (seen["hint"], seen["made_at"] is not None) == (shown["hint"], True)
    assert (await api.client.delete(where + "/token")).status_code == 204
    assert (await renewed.fire({})).status_code == 401
    assert (await api.client.get(where)).json()["token"] is None
    assert (await api.client.delete(where + "/token")).status_code == 204


async def test_a_call_that_meets_a_change_of_token_starts_nothing_with_the_old_one(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    async with bench.application.database.transaction() as tx:
        space = bench.application.workspace_id
        await rotate(tx, space, called.automation_id, called.slug, FIRST_MEMBER)
        firing = asyncio.create_task(called.fire({}))
        async with asyncio.timeout(60):
            while not await bench.application.database.fetchval(LOCK_WAITS) and not firing.done():
                await asyncio.sleep(0.005)
    assert (await firing).status_code == 401
    assert await runs(bench) == 0


async def test_a_webhook_that_never_had_a_token_cannot_be_called(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook("with"), webhook("without"))
    where = f"/api/v1/automations/{called.automation_id}/triggers/without"
    assert (await api.client.get(where)).json()["token"] is None
    empty = {"Authorization": "Bearer"}
    assert (await _refused(called, headers=empty)).status_code == 401
    assert await runs(bench) == 0


async def test_a_token_stays_with_its_trigger_when_the_definition_changes(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    again = await hook(bench, api, webhook("other"), webhook(), goal="Another goal.")
    assert again.automation_id == called.automation_id
    assert (await called.fire({})).status_code == 202
    await hook(bench, api, webhook("other"))
    assert (await called.fire({})).status_code == 401


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_only_a_webhook_has_a_token(bench: Bench, api: Api, method: str) -> None:
    clock = {"id": "clock", "type": "schedule", "config": {"cron": "@daily", "timezone": "UTC"}}
    called = await hook(bench, api, webhook(), clock)
    where = f"/api/v1/automations/{called.automation_id}/triggers"
    refused = await api.client.request(method, f"{where}/clock/token")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_a_webhook")
    missing = await api.client.request(method, f"{where}/nothing/token")
    assert (missing.status_code, missing.json()["code"]) == (404, "no_trigger")
    strangers = await api.anonymous.request(method, f"{where}/{called.slug}/token")
    assert strangers.status_code == 401


async def test_a_rotated_token_works_until_the_overlap_is_over(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(config={"auth": {"type": "secret_url"}}))
    path = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}/token"
    made = await api.client.post(path, params={"overlap_seconds": 3600})
    assert made.status_code == 201, made.text
    new, old = urlsplit(made.json()["url"]).path, f"/api/v1/hooks/{called.token}"
    assert made.json()["old_until"] is not None
    for address in (new, old):
        assert (await api.anonymous.post(address, json={})).status_code == 202
    await bench.application.database.execute(
        "UPDATE triggers SET old_secret_until = now() WHERE old_secret_hash IS NOT NULL"
    )
    # A cached webhook knows the end of the overlap; this one was moved behind its back.
    async with served(bench.application, own_app=True) as other:
        assert (await other.anonymous.post(old, json={})).status_code == 401
        assert (await other.anonymous.post(new, json={})).status_code == 202


async def test_the_token_of_another_member_has_no_overlap(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, webhook(config={"auth": {"type": "secret_url"}}))
    await bench.application.database.execute("UPDATE triggers SET secret_made_by = $1", UUID(int=7))
    path = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}/token"
    made = await api.client.post(path, params={"overlap_seconds": 3600})
    assert (made.status_code, made.json()["old_until"]) == (201, None)
    old = await api.anonymous.post(f"/api/v1/hooks/{called.token}", json={})
    assert old.status_code == 401
