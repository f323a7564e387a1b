"""A caller of a webhook gets the result of its run, and the run is recorded as always."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.workspace.artifacts.rows import Artifact, insert_artifact
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.webhooks import Hook, hook, runs, webhook

ECHO = step("echo", "transform_data", {"output": {"got": "{{ trigger.n }}"}})


def _answering(mode: str, **more: Any) -> dict[str, Any]:
    return webhook(config={"respond": mode, "respond_within": 60, **more})


async def _by_step(
    bench: Bench, api: Api, config: dict[str, Any], *more: Any, name: str = "answers"
) -> Hook:
    plan = [step("answer", "respond", config), *more]
    return await hook(bench, api, _answering("by_step"), plan=plan, name=name)


async def test_when_done_answers_with_the_output_of_the_run(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, _answering("when_done"), plan=[ECHO])
    async with bench.worker():
        answer = await called.fire({"n": 7})
    assert (answer.status_code, answer.json()) == (200, {"got": 7})
    run = await bench.read(UUID(answer.headers["Mainspring-Run-Id"]))
    assert (run["status"], run["output"], run["payload"]) == ("succeeded", {"got": 7}, {"n": 7})


async def test_a_step_answers_before_the_run_has_ended(bench: Bench, api: Api) -> None:
    rest = step("rest", "delay", {"seconds": 3600})
    called = await _by_step(
        bench,
        api,
        {
            "status": 201,
            "headers": {"X-Order": "{{ trigger.n }}"},
            "body": {"n": "{{ trigger.n }}"},
        },
        rest,
    )
    async with bench.worker():
        answer = await called.fire({"n": 7})
        assert (answer.status_code, answer.json()) == (201, {"n": 7})
        assert answer.headers["x-order"] == "7"
        run = await bench.until(UUID(answer.headers["Mainspring-Run-Id"]), "waiting")
    assert [one["step"] for one in run["steps"]] == ["answer", "rest"]


async def test_a_text_a_page_and_a_redirect_are_answers(bench: Bench, api: Api) -> None:
    configs: list[dict[str, Any]] = [
        {"body": "ok {{ trigger.n }}"},
        {"template": "<h1>{{ trigger.n }}</h1>"},
        {"redirect": "https://example.com/{{ trigger.n }}"},
        {"status": 204},
    ]
    called = [await _by_step(bench, api, one, name=f"a {n}") for n, one in enumerate(configs)]
    async with bench.worker():
        answers = [await one.fire({"n": 7}) for one in called]
    assert [one.status_code for one in answers] == [200, 200, 303, 204]
    assert [one.text for one in answers] == ["ok 7", "<h1>7</h1>", "", ""]
    assert answers[0].headers["content-type"] == "text/plain; charset=utf-8"
    assert answers[1].headers["content-type"] == "text/html; charset=utf-8"
    assert answers[2].headers["location"] == "https://example.com/7"
    for one in answers:
        # A page of an answer has the origin of the product: it must not reach its session.
        policy = one.headers["content-security-policy"]
        assert policy.startswith("sandbox ")
        assert "allow-scripts" not in policy
        assert "allow-same-origin" not in policy
        assert "set-cookie" not in one.headers


async def test_a_repeated_key_gets_the_first_answer_also_from_another_server(
    bench: Bench, api: Api
) -> None:
    called = await _by_step(bench, api, {"status": 201, "body": {"id": "{{ run.id }}"}})
    async with bench.worker():
        first = await called.fire({"n": 1}, key="order-1")
    again = await called.fire({"n": 1}, key="order-1")
    async with served(bench.application, own_app=True) as other:
        later = await Hook(other, called.automation_id, called.slug, called.token).fire(
            {"n": 1}, key="order-1"
        )
    assert first.status_code == 201
    assert "Idempotent-Replay" not in first.headers
    for one in (again, later):
        assert (one.status_code, one.json()) == (201, first.json())
        assert one.headers["Idempotent-Replay"] == "true"
    assert await runs(bench) == 1


async def test_a_run_that_takes_longer_is_answered_with_its_address(bench: Bench, api: Api) -> None:
    called = await hook(
        bench, api, webhook(config={"respond": "when_done", "respond_within": 1}), plan=[ECHO]
    )
    # No worker runs, so the run stays pending.
    answer = await called.fire({"n": 7})
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    assert answer.headers["location"].endswith(answer.json()["run_id"])


async def test_a_run_that_waits_for_a_person_is_answered_at_once(bench: Bench, api: Api) -> None:
    ask = step("ask", "approval", {"title": "May it?"})
    called = await hook(bench, api, _answering("when_done"), plan=[ask, ECHO])
    async with bench.worker():
        answer = await called.fire({"n": 7})
    assert (answer.status_code, answer.json()["status"]) == (202, "waiting")
    assert "location" in answer.headers


async def test_a_failed_run_is_a_problem_without_its_cause(bench: Bench, api: Api) -> None:
    broken = step("broken", "transform_data", {"output": "{{ trigger.secret_name.x }}"})
    called = await hook(bench, api, _answering("when_done"), plan=[broken])
    async with bench.worker():
        answer = await called.fire({"n": 7})
    shown = answer.json()
    assert (answer.status_code, shown["code"]) == (500, "run_failed")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await bench.read(UUID(shown["run_id"])))["status"] == "failed"
    assert "secret_name" not in answer.text


async def test_on_failure_may_answer(bench: Bench, api: Api) -> None:
    broken = step("broken", "transform_data", {"output": "{{ trigger.x.y }}"})
    sorry = step("sorry", "respond", {"status": 503, "body": {"error": "try later"}})
    called = await hook(
        bench,
        api,
        _answering("by_step"),
        plan=[broken],
        execution={"on_failure": [sorry]},
    )
    async with bench.worker():
        answer = await called.fire({"n": 7})
    assert (answer.status_code, answer.json()) == (503, {"error": "try later"})


async def test_a_step_that_did_not_run_shows_nothing_of_the_run(bench: Bench, api: Api) -> None:
    plan = [ECHO, step("answer", "respond", {"body": 1}, when="{{ trigger.n > 9 }}")]
    called = await hook(bench, api, _answering("by_step"), plan=plan)
    async with bench.worker():
        answer = await called.fire({"n": 7})
    assert answer.status_code == 200
    assert answer.json().keys() == {"run_id", "status", "url"}


async def _add_file(bench: Bench, automation_id: UUID, **more: Any) -> str:
    content = b"a,b\n1,2\n"
    now = datetime.now(UTC)
    made = Artifact(
        workspace_id=bench.application.workspace_id,
        id=generate_id(),
        run_id=None,
        automation_id=automation_id,
        step="keep",
        name="total.csv",
        kind="data",
        retention="default",
        visibility=more.get("visibility", "workspace"),
        media_type="text/csv",
        size=len(content),
        sha256=hashlib.sha256(content).digest(),
        created_at=now,
        expires_at=now + timedelta(days=1),
    )
    await bench.application.blobs.put(made.blob, content)
    async with bench.application.database.transaction() as tx:
        await insert_artifact(tx, made)
    return str(made.id)


async def test_a_file_of_the_automation_is_an_answer_and_no_other(bench: Bench, api: Api) -> None:
    called = await _by_step(bench, api, {"artifact": "{{ trigger.id }}"})
    own = await _add_file(bench, called.automation_id)
    hidden = await _add_file(bench, called.automation_id, visibility="private")
    foreign = await _add_file(bench, generate_id())
    async with bench.worker():
        sent = await called.fire({"id": own})
        refused = [await called.fire({"id": one}) for one in (hidden, foreign)]
    assert (sent.status_code, sent.text) == (200, "a,b\n1,2\n")
    assert sent.headers["content-type"] == "text/csv"
    assert 'filename="total.csv"' in sent.headers["content-disposition"]
    for one in refused:
        assert (one.status_code, one.json()["code"]) == (500, "answer_failed")


async def test_many_callers_wait_while_another_run_finishes(bench: Bench, api: Api) -> None:
    called = await hook(bench, api, _answering("when_done"), plan=[ECHO])
    waiting = [asyncio.create_task(called.fire({"n": n})) for n in range(50)]
    waiter = bench.application.run_waiter
    async with asyncio.timeout(60):
        while waiter.waiting < len(waiting):
            await asyncio.sleep(0.01)
    # They hold no connection and no worker: others are served.
    assert (await api.client.get("/api/v1/runs")).status_code == 200
    async with bench.worker():
        answers = await asyncio.gather(*waiting)
    assert [one.json()["got"] for one in answers] == list(range(50))
    assert waiter.waiting == 0


async def test_run_now_waits_as_preferred(bench: Bench, api: Api) -> None:
    saved = await bench.save(document(step("sum", "transform_data", {"output": {"total": 3}})))
    path = f"/api/v1/automations/{saved.automation_id}/run"
    headers = {"Prefer": "respond-async, wait=60", "Idempotency-Key": "k-1"}
    async with bench.worker():
        answer = await api.client.post(path, headers=headers)
    again = await api.client.post(path, headers=headers)
    for one in (answer, again):
        assert one.status_code == 200, one.text
        shown = one.json()
        assert (shown["status"], shown["output"]) == ("succeeded", {"total": 3})
        assert one.headers["Preference-Applied"] == "wait=60"
    assert again.json()["run_id"] == answer.json()["run_id"]
    assert again.headers["Idempotent-Replay"] == "true"
    # Without a worker the time passes.
    late = await api.client.post(path, headers={"Prefer": "wait=1"})
    assert (late.status_code, late.json()["status"]) == (202, "pending")
    plain = await api.client.post(path)
    assert plain.status_code == 202
    assert "Preference-Applied" not in plain.headers


async def test_run_now_shows_why_a_run_failed_to_a_member(bench: Bench, api: Api) -> None:
    saved = await bench.save(document(step("x", "transform_data", {"output": "{{ trigger.a.b }}"})))
    async with bench.worker():
        answer = await api.client.post(
            f"/api/v1/automations/{saved.automation_id}/run", headers={"Prefer": "wait=60"}
        )
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["error"]["failed_step_id"] == "x"


async def _findings(bench: Bench, *plan: Any, **more: Any) -> tuple[Any, Any]:
    words = await bench.application.registry.of(bench.application.workspace_id)
    report = validate(document(*plan, **more), words, Limits())
    return (
        [(one.pointer, one.code) for one in report.findings],
        [(one.pointer, one.code) for one in report.warnings],
    )


async def test_a_webhook_that_waits_for_a_step_needs_one(bench: Bench) -> None:
    wrong, _ = await _findings(bench, ECHO, triggers=[_answering("by_step")])
    assert wrong == [("/triggers/0/config/respond", "no_respond_step")]
    answer = step("answer", "respond", {"body": 1})
    assert await _findings(bench, answer, triggers=[_answering("by_step")]) == ([], [])
    two = [_answering("by_step"), {**_answering("when_done"), "id": "other"}]
    assert await _findings(bench, answer, triggers=two) == ([], [])


async def test_a_step_that_answers_nobody_is_a_warning(bench: Bench) -> None:
    answer = step("answer", "respond", {"body": 1})
    for triggers in ([], [webhook()]):
        wrong, doubts = await _findings(bench, answer, triggers=triggers)
        assert (wrong, doubts) == ([], [("/plan/0/action", "respond_without_caller")])


@pytest.mark.parametrize(
    "name", ["Set-Cookie", "Transfer-Encoding", "Location", "Access-Control-Allow-Origin"]
)
async def test_a_header_of_the_server_cannot_be_set(bench: Bench, name: str) -> None:
    answer = step("answer", "respond", {"headers": {name: "x"}})
    wrong, _ = await _findings(bench, answer, triggers=[_answering("by_step")])
    assert wrong == [(f"/plan/0/config/headers/{name}", "respond_header")]


async def test_a_server_that_stops_does_not_keep_its_callers(bench: Bench) -> None:
    async with served(bench.application, own_app=True) as api:
        called = await hook(bench, api, _answering("when_done"), plan=[ECHO])
        waiting = asyncio.create_task(called.fire({"n": 1}))
        async with asyncio.timeout(60):
            while not bench.application.run_waiter.waiting:
                await asyncio.sleep(0.01)
        api.app.state.closing.set()
        answer: httpx2.Response = await waiting
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
