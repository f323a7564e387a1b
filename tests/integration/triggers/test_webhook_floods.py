"""A flood with other tenants active: paced, refused cheaply, and nothing is left to clean up."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from tests.chaos.sender import apart
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.garbage import left_over
from tests.kit.tenants import NEIGHBOUR, add_workspace
from tests.kit.webhooks import Hook, hook, runs

PARALLEL = {"concurrency": "allow_parallel"}


async def _next_door(bench: Bench, api: Api) -> Hook:
    """A webhook of another workspace."""
    await add_workspace(bench.application.database, NEIGHBOUR, "Next door")
    other = replace(bench, application=replace(bench.application, workspace_id=NEIGHBOUR))
    return await hook(other, api, name="next door", execution=PARALLEL)


async def _at_once(called: Hook, many: int) -> Counter[int]:
    answers = await asyncio.gather(*(called.fire({"n": n}) for n in range(many)))
    return Counter(answer.status_code for answer in answers)


async def test_with_another_workspace_active_a_burst_is_accepted_and_a_flood_is_not(
    bench: Bench,
) -> None:
    # Slow, so that no pause of the machine lets more of them in.
    bounds = replace(bench.application.limits, webhook_beside_per_second=5)
    async with served(replace(bench.application, limits=bounds)) as api:
        busy, other = await hook(bench, api, execution=PARALLEL), await _next_door(bench, api)
        assert await _at_once(busy, 30) == {202: 30}
        assert (await other.fire({})).status_code == 202
        # Somebody else is there now. The thirty have filled the line; so long takes a place.
        await asyncio.sleep(0.3)
        flood = await _at_once(busy, 30)
        assert flood[202] >= 1
        assert flood[429] >= 10
        assert flood[202] + flood[429] == 30
        assert (await other.fire({})).status_code == 202
    assert await runs(bench) == 30 + flood[202] + 2


async def _left_over(api: Api, called: Hook, pace: float) -> tuple[int, Counter[str]]:
    """Requests that only the collector could clear away, and what the calls were answered."""
    with left_over() as found:
        sent = await apart(api.address, (str(called.automation_id), called.token), pace, 1)
    requests = [one for one in found if isinstance(one, dict) and "raw_path" in one]
    return len(requests), Counter(sent["statuses"])


async def test_a_call_leaves_nothing_for_the_collector(bench: Bench) -> None:
    """It would look through all that is under way, in the middle of somebody's call."""
    bounds = replace(bench.application.limits, webhook_burst=300, webhook_per_second=1)
    async with served(replace(bench.application, limits=bounds)) as api:
        called = await hook(bench, api, execution=PARALLEL)
        assert (await called.fire({})).status_code == 202
        left, answers = await _left_over(api, called, 100)
        assert answers == {"202": 100}
        assert left < 10
        # The rest of its bucket, and then a flood that is refused.
        assert (await _left_over(api, called, 250))[1]["429"] > 0
        left, answers = await _left_over(api, called, 500)
        assert answers["429"] >= 450
        assert left < 10


async def test_when_a_webhook_fired_last_is_noted_to_the_second(bench: Bench, api: Api) -> None:
    called, database = await hook(bench, api, execution=PARALLEL), bench.application.database
    asked = "SELECT last_fired_at FROM triggers"
    assert (await called.fire({})).status_code == 202
    first = await database.fetchval(asked)
    assert first is not None
    await database.execute("UPDATE triggers SET last_fired_at = now() - interval '2 s'")
    before = await database.fetchval(asked)
    # A shared lock on the trigger, as other calls hold it, is not waited for.
    async with database.transaction() as tx:
        await tx.execute("SELECT FROM triggers FOR SHARE")
        assert (await called.fire({})).status_code == 202
        assert await database.fetchval(asked) == before
    assert (await called.fire({})).status_code == 202
    assert await database.fetchval(asked) > before
    assert await runs(bench) == 3
