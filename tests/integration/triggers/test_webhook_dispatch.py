"""A call is written by one statement, and only if nothing has changed since it was prepared.

Whatever has changed is decided with its trigger locked, and the answers are the same.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.ids import generate_id
from mainspring.definition.validate import validate
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER, save, set_state
from mainspring.workspace.webhooks import WebhookTrigger, find_by_token, hash_webhook_token, rotate
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document
from tests.kit.postgres import LOCK_WAITS
from tests.kit.webhooks import PLAN, Hook, hook, runs, webhook

PARALLEL: dict[str, Any] = {"execution": {"concurrency": "allow_parallel"}}


async def _seen(bench: Bench, called: Hook) -> WebhookTrigger:
    digest = hash_webhook_token(called.token.encode())
    async with bench.application.database.acquire() as connection:
        return (await find_by_token(connection, [digest]))[digest]


async def _asked(bench: Bench, called: Hook, **more: Any) -> RunRequest:
    """A call that is prepared, with the mark of its webhook."""
    seen = await _seen(bench, called)
    request = RunRequest(
        seen.workspace_id,
        seen.automation_id,
        "webhook",
        seen.id,
        payload={"n": 1},
        run_id=generate_id(),
        key_expires_at=seen.now.replace(year=seen.now.year + 1),
        trigger_mark=seen.mark,
        **more,
    )
    return await bench.application.dispatcher.prepare(request)


def _id(request: RunRequest) -> UUID:
    assert request.run_id is not None
    return request.run_id


async def _taken(bench: Bench, *request: RunRequest) -> int:
    async with bench.application.database.acquire() as connection:
        made = await bench.application.dispatcher.insert_unchanged(connection, request)
    return len(made)


async def test_a_call_that_needs_nothing_else_is_taken(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, **PARALLEL)
    asked = await _asked(bench, called)
    assert await _taken(bench, asked) == 1
    run = await bench.read(_id(asked))
    assert (run["status"], run["trigger_type"], run["payload"]) == ("pending", "webhook", {"n": 1})
    # Handed in once more, as after a commit that was lost from sight, it is no second run, and
    # is answered with the first one whatever has become of its webhook since.
    await bench.application.database.execute(CHANGES["paused"])
    assert await _taken(bench, asked) == 1
    assert await runs(bench) == 1
    async with bench.worker():
        assert (await bench.until(_id(asked)))["output"] == {"n": 1}


CHANGES = {
    "paused": "UPDATE triggers SET armed_at = NULL",
    "paused as a whole": "UPDATE automations SET state = 'paused'",
    "archived": "UPDATE automations SET state = 'archived'",
    "another version": "UPDATE automations SET version = version + 1",
    "another token": "UPDATE triggers SET secret_hash = '\\x00'",
    "another mapping": """UPDATE triggers SET config = '{"input_mapping": {"a": "$.b"}}'""",
    "other inputs": """UPDATE triggers SET inputs = '{"a": 1}'""",
    "gone": "DELETE FROM triggers",
    "has spent": "INSERT INTO spend SELECT workspace_id, id, now()::date, 1 FROM automations",
    "a cap": "UPDATE workspaces SET cost_cap_daily_usd = 1",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_has_changed_since_is_decided_under_locks(
    bench: Bench, api: Api, change: str
) -> None:
    asked = await _asked(bench, await hook(bench, api, **PARALLEL))
    await bench.application.database.execute(CHANGES[change])
    assert await _taken(bench, asked) == 0
    assert await runs(bench) == 0


@pytest.mark.parametrize("change", ["paused", "another token", "another mapping", "gone"])
async def test_a_change_under_way_is_waited_for_and_wins(
    bench: Bench, api: Api, change: str
) -> None:
    asked = await _asked(bench, await hook(bench, api, **PARALLEL))
    database = bench.application.database
    async with database.transaction() as tx:
        await tx.execute(CHANGES[change])
        taking = asyncio.create_task(_taken(bench, asked))
        async with asyncio.timeout(60):
            while not await database.fetchval(LOCK_WAITS):
                await asyncio.sleep(0.005)
    assert await taking == 0
    assert await runs(bench) == 0


async def test_a_version_that_is_being_saved_is_waited_for_and_wins(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, **PARALLEL)
    asked = await _asked(bench, called)
    database, application = bench.application.database, bench.application
    other = document(PLAN, name="hooked", goal="Otherwise.", triggers=[webhook()], **PARALLEL)
    report = validate(other, application.registry, application.limits)
    assert report.definition is not None
    async with database.transaction() as tx:
        await save(
            tx, application.workspace_id, report.definition, report.grants, FIRST_MEMBER, via="page"
        )
        taking = asyncio.create_task(_taken(bench, asked))
        async with asyncio.timeout(60):
            while not await database.fetchval(LOCK_WAITS) and not taking.done():
                await asyncio.sleep(0.005)
    assert await taking == 0
    assert (await bench.read((await called.fire({})).json()["run_id"]))["version"] == 2


async def test_what_needs_more_than_a_row_is_decided_under_locks(bench: Bench, api: Api) -> None:
    in_line = await hook(bench, api, name="in line", execution={"concurrency": "queue"})
    moment = {"type": "string", "default": "$last_fired_at"}
    schema = {"schema": {"type": "object", "properties": {"since": moment}}}
    timed = await hook(bench, api, name="timed", inputs=schema, **PARALLEL)
    plain = await hook(bench, api, name="plain", **PARALLEL)
    asked = [await _asked(bench, called) for called in (in_line, timed, plain)]
    unprepared = replace(asked[2], prepared=None)
    assert await _taken(bench, asked[0], asked[1], unprepared) == 0
    assert await _taken(bench, *asked) == 1


async def test_calls_prepared_before_and_after_a_change_are_distinguished(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api, **PARALLEL)
    before = await _asked(bench, called)
    await bench.application.database.execute(CHANGES["another mapping"])
    after = await _asked(bench, called)
    assert await _taken(bench, before, after, before) == 1
    assert (await bench.read(_id(after)))["status"] == "pending"


async def test_a_key_is_taken_once_and_a_known_one_is_decided_under_locks(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api, **PARALLEL)
    asked = [await _asked(bench, called, key=f"key:{key}") for key in ("a", "a", "b")]
    assert await _taken(bench, *asked) == 2
    assert await _taken(bench, await _asked(bench, called, key="key:b")) == 0
    answers = [await called.fire({"n": 1}, key=key) for key in ("c", "c")]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json()["run_id"] == answers[1].json()["run_id"]
    assert answers[1].headers["Idempotent-Replay"] == "true"
    assert await runs(bench) == 3


async def _remembered(bench: Bench, api: Api) -> Hook:
    """A webhook that was called just now, so that it need not be looked up."""
    mapped = webhook(config={"input_mapping": {"a": "$.a"}})
    schema = {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    called = await hook(bench, api, mapped, inputs=schema, **PARALLEL)
    for _ in range(2):
        assert (await called.fire({"a": 1})).status_code == 202
    return called


async def test_a_cached_webhook_authenticates_no_unauthorized_caller(
    bench: Bench, api: Api
) -> None:
    database, space = bench.application.database, bench.application.workspace_id
    called = await _remembered(bench, api)
    async with database.transaction() as tx:
        await set_state(tx, space, called.automation_id, "paused")
    assert (await called.fire({"a": 1})).json()["status"] == "skipped"
    async with database.transaction() as tx:
        await set_state(tx, space, called.automation_id, "active")
    assert (await called.fire({"a": 1})).json()["status"] == "pending"
    await database.execute("""UPDATE triggers SET config = '{"input_mapping": {"a": "$.b"}}'""")
    other = await called.fire({"a": 1, "b": 2})
    assert (await bench.read(other.json()["run_id"]))["inputs"] == {"a": 2}
    async with database.transaction() as tx:
        await rotate(tx, space, called.automation_id, called.slug, FIRST_MEMBER)
    assert (await called.fire({"a": 1})).status_code == 401


async def test_a_token_that_is_gone_spends_nothing_of_the_webhook_s(bench: Bench) -> None:
    bounds = replace(bench.application.limits, webhook_burst=6, webhook_per_second=1)
    space = bench.application.workspace_id
    async with served(replace(bench.application, limits=bounds)) as api:
        called = await _remembered(bench, api)
        async with bench.application.database.transaction() as tx:
            _, plain = await rotate(tx, space, called.automation_id, called.slug, FIRST_MEMBER)
        statuses = [(await called.fire({"a": 1})).status_code for _ in range(20)]
        assert set(statuses) == {401, 429}
        # The one call that found out was the last that counted as the webhook's own.
        renewed = replace(called, token=plain)
        assert [(await renewed.fire({"a": 1})).status_code for _ in range(3)] == [202] * 3


async def test_a_window_begins_at_the_last_firing_in_every_process(bench: Bench, api: Api) -> None:
    """Another process may have taken the call before this one."""
    moment = {"type": "string", "default": "$last_fired_at"}
    schema = {"schema": {"type": "object", "properties": {"since": moment}}}
    called = await hook(bench, api, inputs=schema, **PARALLEL)
    assert (await called.fire({})).status_code == 202
    later = await bench.application.database.fetchval(
        "UPDATE triggers SET last_fired_at = now() + interval '10 s' RETURNING last_fired_at"
    )
    run = await bench.read((await called.fire({})).json()["run_id"])
    assert run["inputs"] == {"since": later.isoformat()}
