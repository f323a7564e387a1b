"""Calling a webhook: what is read, what becomes of it, what is answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.workspace.automations import set_state
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import Hook, hook, runs, webhook

NAMED: dict[str, Any] = {
    "inputs": {
        "schema": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        }
    }
}
MAPPED = webhook(config={"input_mapping": {"name": "$.user.name", "count": "$.count"}})


async def _only_run(bench: Bench) -> dict[str, Any]:
    (row,) = await bench.application.database.fetch("SELECT * FROM runs")
    return dict(row)


async def test_a_call_is_answered_with_the_address_of_its_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    answer = await called.fire({"ref": "main"})
    assert answer.status_code == 202, answer.text
    shown = answer.json()
    run = await _only_run(bench)
    assert shown["run_id"] == str(run["id"])
    assert shown["status"] == run["status"] == "pending"
    assert answer.headers["Location"] == shown["url"]
    assert shown["url"].endswith(f"/api/v1/runs/{run['id']}")
    assert "Idempotent-Replay" not in answer.headers
    assert (run["trigger_type"], run["payload"]) == ("webhook", {"ref": "main"})
    assert (await api.client.get(f"/api/v1/runs/{run['id']}")).status_code == 200


async def test_the_run_of_a_call_is_worked_on_and_sees_the_body(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    async with bench.worker():
        made = (await called.fire({"ref": ["main", 1.50, None]})).json()
        run = await bench.until(made["run_id"])
    assert (run["status"], run["output"]) == ("succeeded", {"ref": ["main", 1.5, None]})


@pytest.mark.parametrize("body", [[], [1, {"a": None}], "text", 0, 1.5, True, False, {"": {}}])
async def test_any_json_is_a_body(bench: Bench, api: Api, body: Any) -> None:
    called = await hook(bench, api)
    assert (await called.fire(body)).status_code == 202
    assert (await _only_run(bench))["payload"] == body


async def test_no_body_is_an_empty_object(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    assert (await called.fire()).status_code == 202
    found = await api.client.get(_trigger(called) + "/last-payload")
    assert found.json()["payload"] == {}


async def test_the_mapping_fills_the_inputs_over_static_ones_over_defaults(
    bench: Bench, api: Api
) -> None:
    static = {**MAPPED, "inputs": {"name": "nobody", "count": 5}}
    called = await hook(bench, api, static, **NAMED)
    expected = {
        0: ({"user": {"name": "Ada"}, "count": 3}, {"name": "Ada", "count": 3}),
        1: ({"user": {"name": "Ada"}}, {"name": "Ada", "count": 5}),
        2: ({}, {"name": "nobody", "count": 5}),
    }
    for body, inputs in expected.values():
        answer = await called.fire(body)
        assert answer.status_code == 202, answer.text
        assert (await bench.read(answer.json()["run_id"]))["inputs"] == inputs


async def test_a_path_of_many_values_gives_their_list(bench: Bench, api: Api) -> None:
    schema = {"schema": {"type": "object", "properties": {"files": {"type": "array"}}}}
    trigger = webhook(config={"input_mapping": {"files": "$.commits[*].added[*]"}})
    called = await hook(bench, api, trigger, inputs=schema)
    await called.fire({"commits": [{"added": ["a", "b"]}, {"added": ["c"]}]})
    assert (await _only_run(bench))["inputs"] == {"files": ["a", "b", "c"]}


async def test_inputs_that_do_not_fit_are_reported_and_kept_as_a_failed_run(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api, MAPPED, **NAMED)
    answer = await called.fire({"user": {"name": 7}, "count": "many"}, key="k-1")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    shown = answer.json()
    assert {error["pointer"] for error in shown["errors"]} == {"/inputs/name", "/inputs/count"}
    run = await bench.read(shown["run_id"])
    assert (run["status"], run["reason"]) == ("failed", "invalid_inputs")
    assert run["error"]["detail"] == shown["detail"]
    assert answer.headers["Location"] == shown["url"]
    again = await called.fire({"user": {"name": 7}, "count": "many"}, key="k-1")
    assert (again.status_code, again.json()) == (422, shown)
    assert again.headers["Idempotent-Replay"] == "true"
    assert await runs(bench) == 1


async def test_a_mapping_that_looks_at_too_much_is_reported_and_kept(
    bench: Bench, api: Api
) -> None:
    schema = {"schema": {"type": "object", "properties": {"all": {"type": "array"}}}}
    trigger = webhook(config={"input_mapping": {"all": "$..*..*..*"}})
    called = await hook(bench, api, trigger, inputs=schema)
    answer = await called.fire([[[[[[1] * 6] * 6] * 6] * 6] * 6] * 6)
    assert (answer.status_code, answer.json()["code"]) == (422, "path_too_costly")
    assert (await bench.read(answer.json()["run_id"]))["status"] == "failed"


async def test_each_webhook_of_an_automation_has_its_own_token(bench: Bench, api: Api) -> None:
    schema = {"schema": {"type": "object", "properties": {"who": {"type": "string"}}}}
    first = webhook("first", inputs={"who": "first"})
    second = webhook("second", inputs={"who": "second"})
    one = await hook(bench, api, first, second, inputs=schema)
    made = await api.client.post(f"/api/v1/automations/{one.automation_id}/triggers/second/token")
    two = Hook(api, one.automation_id, "second", made.json()["token"])
    for called in (one, two):
        answer = await called.fire({})
        run = await bench.read(answer.json()["run_id"])
        assert run["inputs"] == {"who": called.slug}


async def test_a_paused_automation_records_the_call_and_starts_nothing(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, called.automation_id, "paused")
    answer = await called.fire({})
    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["reason"]) == ("skipped", "paused")


async def test_nothing_starts_once_a_pause_has_been_answered(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    firing = [asyncio.create_task(called.fire({"number": number})) for number in range(50)]
    await asyncio.wait(firing, return_when=asyncio.FIRST_COMPLETED)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, called.automation_id, "paused")
    pending = await bench.application.database.fetchval(_PENDING)
    answers = await asyncio.gather(*firing, called.fire({"number": 50}))
    assert {answer.status_code for answer in answers} == {202}
    assert await bench.application.database.fetchval(_PENDING) == pending
    assert await runs(bench) == 51
    result = [answer.json()["status"] for answer in answers]
    assert (result.count("pending"), result[-1]) == (pending, "skipped")


_PENDING = "SELECT count(*) FROM runs WHERE status = 'pending'"


async def test_the_firing_before_is_known_to_the_next_run(bench: Bench, api: Api) -> None:
    moment = {"type": "string", "default": "$last_fired_at"}
    schema = {"schema": {"type": "object", "properties": {"since": moment}}}
    called = await hook(bench, api, inputs=schema)
    first = await bench.read((await called.fire({})).json()["run_id"])
    second = await bench.read((await called.fire({})).json()["run_id"])
    created = await bench.application.database.fetchval("SELECT created_at FROM automations")
    fired = await bench.application.database.fetchval("SELECT last_fired_at FROM triggers")
    assert first["inputs"] == {"since": created.isoformat()}
    assert second["inputs"] == {"since": fired.isoformat()}
    assert first["created_at"] <= fired <= second["created_at"]


def _trigger(called: Hook) -> str:
    return f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}"
