"""More calls than are taken: refused with a time to come again, and never half taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2

from mainspring.app import Application, application_services
from mainspring.contracts.limits import Limits
from mainspring.triggers.webhook_auth import WebhookRequest
from mainspring.triggers.webhook_receiver import SHARE, WebhookReceipt, WebhookReceiver
from mainspring.workspace.webhooks import hash_webhook_token
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.postgres import LOCK_WAITS
from tests.kit.webhooks import Hook, hook, runs


@asynccontextmanager
async def _bounded(bench: Bench, limits: Limits) -> AsyncIterator[Api]:
    application: Application = replace(bench.application, limits=limits)
    async with served(application) as api:
        yield api


async def _burst(called: Hook, many: int) -> list[httpx2.Response]:
    return list(await asyncio.gather(*(called.fire({"n": n}) for n in range(many))))


def _knock(called: Hook) -> WebhookRequest:
    return WebhookRequest(called.automation_id, hash_webhook_token(called.token.encode()), value={})


async def test_a_burst_beyond_the_limit_is_refused_and_the_rest_is_all_there(
    bench: Bench,
) -> None:
    bounds = replace(bench.application.limits, webhook_burst=30, webhook_per_second=1)
    async with _bounded(bench, bounds) as api:
        called = await hook(bench, api)
        other = await hook(bench, api, name="another")
        answers = await _burst(called, 100)
        taken = [answer for answer in answers if answer.status_code == 202]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(taken) + len(refused) == 100
        assert 30 <= len(taken) < 60
        for answer in refused:
            assert int(answer.headers["Retry-After"]) >= 1
            assert answer.json()["code"] == "too_many_calls"
        assert await runs(bench) == len(taken)
        ids = {row["id"] for row in await bench.application.database.fetch("SELECT id FROM runs")}
        assert {str(one) for one in ids} == {answer.json()["run_id"] for answer in taken}
        assert (await other.fire({})).status_code == 202


async def test_more_calls_than_may_wait_are_refused_and_the_rest_is_all_there(
    bench: Bench,
) -> None:
    async with _bounded(bench, replace(bench.application.limits, webhook_waiting=5)) as api:
        called = await hook(bench, api)
        async with bench.application.database.transaction() as tx:
            # Nobody can be let in while this is held, so calls have to wait.
            await tx.execute("SELECT 1 FROM triggers FOR UPDATE")
            firing = [asyncio.create_task(called.fire({"n": n})) for n in range(60)]
            async with asyncio.timeout(60):
                while not any(task.done() for task in firing):
                    await asyncio.sleep(0.005)
        answers = await asyncio.gather(*firing)
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {202, 429}
    assert await runs(bench) == statuses.count(202)
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["Retry-After"] == "1"


async def test_a_flood_of_one_webhook_does_not_delay_calls_of_another(
    bench: Bench, api: Api
) -> None:
    busy, seldom = await hook(bench, api), await hook(bench, api, name="seldom")
    desk = application_services(bench.application).webhook_receiver

    def send_webhook(called: Hook) -> asyncio.Task[WebhookReceipt]:
        return asyncio.create_task(desk.take(_knock(called)))

    try:
        flood = [send_webhook(busy) for _ in range(10 * SHARE)]
        await send_webhook(seldom)
        before = sum(task.done() for task in flood)
        made = {answer.run_id for answer in await asyncio.gather(*flood)}
    finally:
        await desk.aclose()
    assert before <= 3 * SHARE
    assert len(made) == 10 * SHARE
    assert await runs(bench) == 10 * SHARE + 1


async def test_nobody_waits_for_the_groups_of_a_flood(bench: Bench) -> None:
    bounds = replace(bench.application.limits, webhook_burst=2, webhook_per_second=1)
    async with _bounded(bench, bounds) as api:
        busy, seldom = await hook(bench, api), await hook(bench, api, name="seldom")
        assert (await busy.fire({})).status_code == 202
        async with bench.application.database.transaction() as tx:
            held = "SELECT FROM triggers WHERE automation_id = $1 FOR UPDATE"
            await tx.execute(held, busy.automation_id)
            # As often as it may: its group is under way, and cannot be written.
            flood = asyncio.create_task(busy.fire({}))
            async with asyncio.timeout(60):
                while not await bench.application.database.fetchval(LOCK_WAITS):
                    await asyncio.sleep(0.005)
                assert (await seldom.fire({})).status_code == 202
            assert not flood.done()
        assert (await flood).status_code == 202
    assert await runs(bench) == 3


async def _turns(webhook_receiver: WebhookReceiver, request: WebhookRequest) -> int:
    """Turns of the event loop for which a call waited to be written with others."""
    turns, task = 0, asyncio.create_task(webhook_receiver.take(request))
    while not task.done():
        turns += webhook_receiver.waiting
        await asyncio.sleep(0)
    await task
    return turns


async def test_only_the_calls_of_a_flood_wait_to_be_written_together(
    bench: Bench, api: Api
) -> None:
    bounds = replace(bench.application.limits, webhook_burst=2, webhook_per_second=1)
    busy, seldom = await hook(bench, api), await hook(bench, api, name="seldom")
    desk = application_services(replace(bench.application, limits=bounds)).webhook_receiver
    try:
        requests = [await desk.receive(_knock(called)) for called in (busy, busy, seldom)]
        # As often as it may, and no more: two calls of it would be refused by now.
        assert desk.get_retry_delay(requests[0]) > 0
        flood, other = await _turns(desk, requests[1]), await _turns(desk, requests[2])
    finally:
        await desk.aclose()
    assert other < 10
    assert flood > 10


async def test_a_call_does_not_overtake_those_that_are_written_as_a_flood(
    bench: Bench, api: Api
) -> None:
    bounds = replace(bench.application.limits, webhook_burst=4, webhook_per_second=20)
    called = await hook(bench, api, execution={"concurrency": "queue"})
    desk = application_services(replace(bench.application, limits=bounds)).webhook_receiver
    try:
        first, *rest = [await desk.receive(_knock(called)) for _ in range(4)]
        await desk.take(first)
        while desk.get_retry_delay(first) > 0.01:
            await asyncio.sleep(0.001)
        going = [asyncio.create_task(desk.take(rest[0]))]
        while desk.get_retry_delay(first) > 0:
            await asyncio.sleep(0.001)
        going += [asyncio.create_task(desk.take(one)) for one in rest[1:]]
        taken = [answer.run_id for answer in await asyncio.gather(*going)]
    finally:
        await desk.aclose()
    order = "SELECT id FROM runs WHERE id = ANY($1::uuid[]) ORDER BY arrival"
    assert [row["id"] for row in await bench.application.database.fetch(order, taken)] == taken


async def test_a_stranger_s_flood_is_refused_like_anybody_s(bench: Bench) -> None:
    bounds = replace(bench.application.limits, webhook_burst=10, webhook_per_second=1)
    async with _bounded(bench, bounds) as api:
        called = await hook(bench, api)
        flood = replace(called, token="mwh_" + "x" * 43)
        statuses = [answer.status_code for answer in await _burst(flood, 30)]
        assert set(statuses) == {401, 429}
        assert (await called.fire({})).status_code == 202
        assert await runs(bench) == 1
