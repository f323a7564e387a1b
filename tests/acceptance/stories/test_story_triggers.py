"""Automations that start by themselves: on a schedule, by a webhook, on an event."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
from standardwebhooks import Webhook

from tests.acceptance.commands import Mainspring, step
from tests.acceptance.server import (
    SOON,
    Json,
    Started,
    definition,
    outputs,
    problem,
    trigger,
)
from tests.kit.processes import wait_until

# The moment that comes next has just come.
A_MINUTE_PASSES = """
    UPDATE triggers SET next_due_at = next_due_at - interval '1 minute'
    WHERE next_due_at IS NOT NULL
"""


# --- a schedule


def every_minute(name: str) -> Json:
    tick = trigger("tick", "schedule", cron="* * * * *", timezone="UTC")
    text = "{{ inputs.greeting }} at {{ trigger.scheduled_for }}"
    return definition(
        name,
        [step("say", "transform_data", output=text)],
        [{**tick, "inputs": {"greeting": "hello"}}],
        inputs={"schema": {"type": "object", "properties": {"greeting": {"type": "string"}}}},
    )


def test_a_schedule_starts_runs_by_itself_until_it_is_paused(server: Started) -> None:
    first = server.save(every_minute("Every minute"))
    armed = server.get(f"/automations/{first}/triggers/tick")
    assert moment(armed["next_due_at"]) - datetime.now(UTC) <= timedelta(minutes=1)
    assert server.runs(first) == []

    server.sql(A_MINUTE_PASSES)
    (run,) = server.first_runs(first)

    payload = run["payload"]
    assert run["status"] == "succeeded"
    assert run["trigger_type"] == "schedule"
    assert payload.keys() >= {"scheduled_for", "fired_at", "last_fired_at"}
    assert moment(payload["scheduled_for"]).second == 0
    assert moment(payload["scheduled_for"]) <= moment(payload["fired_at"])
    assert outputs(run)["say"] == f"hello at {payload['scheduled_for']}"
    firings = server.items(f"/automations/{first}/triggers/tick/firings")
    assert run["id"] in [firing["run_id"] for firing in firings]

    server.post(f"/automations/{first}/pause")
    resting = server.get(f"/automations/{first}/triggers/tick")
    assert (resting["armed_at"], resting["next_due_at"]) == (None, None)
    before = [run["id"] for run in server.runs(first)]
    second = server.save(every_minute("Every minute too"))
    server.sql(A_MINUTE_PASSES)
    server.first_runs(second)
    server.post(f"/automations/{second}/pause")
    assert [run["id"] for run in server.runs(first)] == before


# --- a webhook


def hooked(name: str, *triggers: Json) -> Json:
    shape = {"type": "object", "properties": {"branch": {"type": "string", "default": "none"}}}
    return definition(
        name,
        [step("see", "transform_data", output={"branch": "{{ inputs.branch }}"})],
        triggers or [trigger("push", "webhook", input_mapping={"branch": "$.ref"})],
        inputs={"schema": shape},
    )


def test_a_webhook_starts_a_run_that_can_be_followed_to_its_end(server: Started) -> None:
    made = server.save(hooked("Webhook"))
    token = server.token(made, "push")
    shown = server.get(f"/automations/{made}/triggers/push")
    assert token not in str(shown)
    assert token.endswith(shown["token"]["hint"])

    answer = server.fire(made, token, {"ref": "main"})

    assert answer.status_code == 202, answer.text
    accepted = answer.json()
    assert accepted["url"].startswith(server.address)
    assert answer.headers["location"] == accepted["url"]
    assert server.owner.get(accepted["url"]).json()["id"] == accepted["run_id"]
    run = server.ended(accepted["run_id"])
    assert run["status"] == "succeeded"
    assert outputs(run) == {"see": {"branch": "main"}}
    last = server.get(f"/automations/{made}/triggers/push/last-payload")
    assert (last["run_id"], last["payload"]) == (run["id"], {"ref": "main"})


def test_a_call_that_is_repeated_with_its_key_starts_nothing_new(server: Started) -> None:
    made = server.save(hooked("Webhook, repeated"))
    token = server.token(made, "push")

    first = server.fire(made, token, {"ref": "a"}, idempotency_key="push-1")
    again = server.fire(made, token, {"ref": "a"}, idempotency_key="push-1")
    other = server.fire(made, token, {"ref": "b"}, idempotency_key="push-1")
    new = server.fire(made, token, {"ref": "a"}, idempotency_key="push-2")

    assert first.status_code == again.status_code == new.status_code == 202
    assert again.json()["run_id"] == first.json()["run_id"]
    assert "idempotent-replay" not in first.headers
    assert again.headers["idempotent-replay"] == "true"
    assert problem(other, 422)["code"]
    assert new.json()["run_id"] != first.json()["run_id"]
    assert len(server.runs(made)) == 2


def test_callers_without_the_token_learn_nothing(server: Started) -> None:
    made, other_tenant = server.save(hooked("Webhook, guarded")), server.save(hooked("Neighbour"))
    old, theirs = server.token(made, "push"), server.token(other_tenant, "push")
    token = server.token(made, "push")
    owner = server.program.headers["Authorization"].removeprefix("Bearer ")
    missing = server.anonymous.post(f"/automations/{made}/fire", json={})
    nobody = "00000000-0000-7000-8000-000000000000"

    refused = [
        missing,
        *(server.fire(made, wrong, {}) for wrong in (old, theirs, owner, "mwh_x", token[:-1])),
        server.fire(nobody, token, {}),
        server.fire("none", token, {}),
        # What is wrong with the body is reported only to authenticated callers.
        server.anonymous.post(f"/automations/{made}/fire", content=b"{"),
    ]

    assert {anonymous(answer) for answer in refused} == {anonymous(missing)}
    assert server.runs(made) == server.runs(other_tenant) == []
    assert server.fire(made, token, {"ref": "x"}).status_code == 202
    ended = server.owner.delete(f"/automations/{made}/triggers/push/token")
    assert ended.status_code == 204
    assert anonymous(server.fire(made, token, {"ref": "x"})) == anonymous(missing)
    assert len(server.runs(made)) == 1


def test_a_signed_call_is_taken_and_a_tampered_or_repeated_one_is_not(
    server: Started, mainspring: Mainspring
) -> None:
    secret = "whsec_" + base64.b64encode(os.urandom(24)).decode()
    stored = mainspring("secrets", "set", "billing_key", stdin=secret.encode())
    assert stored.code == 0, stored.output
    assert secret not in stored.output
    made = server.save(
        hooked("Webhook, signed", trigger("paid", "webhook", signature={"secret": "billing_key"}))
    )
    url = server.get(f"/automations/{made}/triggers/paid")["signed_url"]
    body = '{"ref":"paid"}'

    def call(key: str, sent: str = body, ago: int = 0, signer: str = secret) -> httpx2.Response:
        at = datetime.now(UTC) - timedelta(seconds=ago)
        signature = Webhook(signer).sign(key, at, body)
        headers = {
            "webhook-id": key,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
            "content-type": "application/json",
        }
        return server.anonymous.post(url, content=sent, headers=headers)

    good = call("msg_1")
    again = call("msg_1")
    stranger = "whsec_" + base64.b64encode(b"x" * 24).decode()
    wrong = [
        call("msg_2", sent='{"ref":"tampered"}'),
        call("msg_3", ago=600),
        call("msg_4", signer=stranger),
        server.anonymous.post(url, json={"ref": "unsigned"}),
    ]

    assert good.status_code == 202, good.text
    assert again.json()["run_id"] == good.json()["run_id"]
    assert {problem(answer, 401)["code"] for answer in wrong} == {problem(wrong[0], 401)["code"]}
    assert server.ended(good.json()["run_id"])["status"] == "succeeded"
    assert [run["id"] for run in server.runs(made)] == [good.json()["run_id"]]


# --- a chain of events


def on(slug: str, event_type: str, **filters: Any) -> Json:
    return trigger(slug, "event", event_type=event_type, filters=filters)


def test_the_end_of_one_run_starts_the_next_automation(server: Started) -> None:
    collect = server.save(definition("Collect", [step("count", "transform_data", output=3)]))
    after_collect = on("collected", "automation.run.succeeded", automation_name="Collect")
    tell = step("tell", "publish_event", type="report.ready", payload={"pages": 5})
    write = server.save(definition("Write", [tell], [after_collect]))
    pages = step("pages", "transform_data", output="{{ trigger.pages }}")
    read = server.save(definition("Read", [pages], [on("ready", "report.ready", pages={"gte": 5})]))
    deaf = server.save(definition("Deaf", [pages], [on("ready", "report.ready", pages={"gt": 5})]))

    began = server.ended(server.run(collect))
    (written,) = server.first_runs(write)
    (seen,) = server.first_runs(read)

    assert written["parent_id"] == began["id"]
    assert written["payload"]["run_id"] == began["id"]
    assert (seen["parent_id"], seen["root_id"], seen["depth"]) == (written["id"], began["id"], 2)
    assert outputs(seen) == {"pages": 5}
    event = server.get(f"/events/{outputs(written)['tell']['event_id']}")
    assert (event["type"], event["run_id"]) == ("report.ready", written["id"])
    (consumer,) = event["consumed_by"]
    assert (consumer["automation_id"], consumer["run_id"]) == (read, seen["id"])
    assert server.runs(deaf) == []

    again = server.post(f"/events/{event['id']}/replay", None, 202)["event_id"]
    second = server.first_runs(read, 2)[1]
    assert second["payload"] == seen["payload"]
    assert server.get(f"/events/{again}")["replay_of"] == event["id"]


def test_automations_that_start_each_other_come_to_an_end_with_a_record(server: Started) -> None:
    say = step("say", "transform_data", output=1)
    after = {
        name: on("other", "automation.run.succeeded", automation_name=other)
        for name, other in (("Ping", "Pong"), ("Pong", "Ping"))
    }
    ping = server.save(definition("Ping", [say], [after["Ping"]]))
    pong = server.save(definition("Pong", [say], [after["Pong"]]))

    begun = server.run(ping)

    def chain() -> list[Json]:
        return sorted(server.runs(ping) + server.runs(pong), key=lambda run: str(run["id"]))

    wait_until(lambda: chain()[-1]["status"] == "skipped", SOON, "the end of the loop")
    *ran, last = chain()
    assert ran[0]["id"] == begun
    assert [run["status"] for run in ran] == ["succeeded"] * 9
    assert [server.read(run["id"])["depth"] for run in (*ran, last)] == list(range(10))
    assert (last["reason"], last["outcome"]) == ("chain_depth", "blocked")
    assert "8 runs deep" in server.read(last["id"])["error"]["detail"]
    for automation in (ping, pong):
        server.post(f"/automations/{automation}/archive")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def anonymous(answer: httpx2.Response) -> str:
    """A refusal without the address that was asked for."""
    found = problem(answer, 401)
    return str({name: value for name, value in found.items() if name != "instance"})
