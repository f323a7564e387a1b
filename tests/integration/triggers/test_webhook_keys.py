"""Idempotency: one key is one run, for a day, for one webhook."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.app import application_services
from mainspring.triggers.webhook_auth import WebhookRequest
from mainspring.workspace.webhooks import hash_webhook_token
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import hook, runs

BODY = {"order": 7, "lines": [1, 2]}


async def test_two_hundred_calls_with_one_key_are_one_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    answers = await asyncio.gather(*(called.fire(BODY, key="order-7") for _ in range(200)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    repeated = [answer.headers.get("Idempotent-Replay") for answer in answers]
    assert repeated.count(None) == 1
    assert await runs(bench) == 1


async def test_a_key_in_the_body_counts_like_one_in_the_header(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    body = {**BODY, "idempotency_key": "order-8"}
    first = await called.fire(body)
    second = await called.fire(body, key="order-8")
    third = await called.fire(body)
    assert [first.status_code, second.status_code, third.status_code] == [202] * 3
    assert first.json() == second.json() == third.json()
    assert await runs(bench) == 1
    refused = await called.fire(body, key="order-9")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/idempotency_key"
    assert await runs(bench) == 1


async def test_the_same_body_spelt_otherwise_is_the_same_body(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    json = {"Content-Type": "application/json"}
    first = await called.fire(key="k", content=b'{"a":1,"b":[true]}', headers=json)
    second = await called.fire(key="k", content=b'{ "b" : [ true ], "a" : 1 }', headers=json)
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replay"] == "true"


async def test_one_key_with_another_body_is_refused_and_the_first_run_stays(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    first = await called.fire(BODY, key="k")
    other = await called.fire({**BODY, "order": 8}, key="k")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert (await called.fire(BODY, key="k")).json() == first.json()
    assert await runs(bench) == 1


async def test_different_bodies_that_come_together_under_one_key_are_distinguished(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    answers = await asyncio.gather(*(called.fire({"n": n % 2}, key="k") for n in range(40)))
    assert sorted({answer.status_code for answer in answers}) == [202, 422]
    assert [answer.status_code for answer in answers].count(202) == 20
    assert await runs(bench) == 1


async def test_one_key_of_two_automations_is_two_runs(bench: Bench, api: Api) -> None:
    one, two = await hook(bench, api, name="one"), await hook(bench, api, name="two")
    made = [(await called.fire(BODY, key="k")).json()["run_id"] for called in (one, two)]
    assert len(set(made)) == 2
    assert await runs(bench) == 2


async def test_a_key_is_free_again_after_a_day(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    first = await called.fire(BODY, key="k")
    hours = await bench.application.database.fetchval(
        "SELECT extract(epoch FROM expires_at - at) / 3600 FROM firings WHERE key = 'key:k'"
    )
    assert round(float(hours), 2) == 24.0
    await bench.application.database.execute(
        "UPDATE firings SET expires_at = now() - interval '1 s'"
    )
    second = await called.fire({"order": 8}, key="k")
    assert second.status_code == 202
    assert second.json()["run_id"] != first.json()["run_id"]
    assert "Idempotent-Replay" not in second.headers


async def test_calls_without_a_key_are_each_a_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    answers = await asyncio.gather(*(called.fire(BODY) for _ in range(20)))
    assert len({answer.json()["run_id"] for answer in answers}) == 20
    assert await runs(bench) == 20


async def test_a_webhook_request_that_is_retried_finds_its_own_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    request = WebhookRequest(
        called.automation_id, hash_webhook_token(called.token.encode()), value={"n": 1}
    )
    client = application_services(bench.application).webhook_receiver
    try:
        first, again = await client.take(request), await client.take(request)
        other = await client.take(
            WebhookRequest(request.automation_id, request.digest, value={"n": 1})
        )
    finally:
        await client.aclose()
    assert first == again
    assert not again.repeated
    assert other.run_id != first.run_id
    assert await runs(bench) == 2


async def test_a_group_whose_connection_breaks_is_written_once(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    assert (await called.fire({"n": -1})).status_code == 202
    firing = [asyncio.create_task(called.fire({"n": n})) for n in range(100)]
    breaks = 0
    # On a slow machine no group would ever come through if this never ended.
    while breaks < 8 and not all(task.done() for task in firing):
        breaks += bool(await bench.application.database.fetchval(_BREAK))
        await asyncio.sleep(0.005)
    answers = await asyncio.gather(*firing)
    assert breaks
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["run_id"] for answer in answers}) == 100
    assert await runs(bench) == 101


# Only the service writes firings or reads triggers here.
_BREAK = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND query LIKE ANY (ARRAY['%firings%', '%triggers%', 'COMMIT%'])
"""


@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "tab\tin it"])
async def test_a_key_that_cannot_be_one_is_refused(bench: Bench, api: Api, key: str) -> None:
    called = await hook(bench, api)
    answer = await called.fire(BODY, key=key)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/header/idempotency-key"
    assert await runs(bench) == 0
