"""The last requests of a webhook: listed, delivered again, and counted when they are refused."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx2

from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import Hook, hook, runs, webhook

SECRET = "sender's key"


async def _hook(bench: Bench, api: Api, **config: Any) -> Hook:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    auth = {"type": "signature", "provider": "slack", "secret": "sender_key"}
    return await hook(bench, api, webhook(config={"auth": auth, **config}))


async def _send(
    called: Hook,
    body: dict[str, Any],
    *,
    age: int = 0,
    secret: str = SECRET,
    headers: Mapping[str, str] | None = None,
) -> httpx2.Response:
    raw = json.dumps(body).encode()
    sent = str(int(datetime.now(UTC).timestamp()) - age)
    digest = hmac.new(secret.encode(), f"v0:{sent}:".encode() + raw, hashlib.sha256).hexdigest()
    signed = {"X-Slack-Signature": f"v0={digest}", "X-Slack-Request-Timestamp": sent}
    return await called.api.anonymous.post(
        called.signed_path,
        content=raw,
        headers={"Content-Type": "application/json", **signed, **(headers or {})},
    )


def _path(called: Hook) -> str:
    return f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}/deliveries"


async def test_requests_are_listed_with_headers_and_without_credentials(
    bench: Bench, api: Api
) -> None:
    called = await _hook(bench, api)
    body = {"event_id": "Ev1", "event": {"type": "message"}}
    sent = await _send(called, body, headers={"X-Trace": "t-1", "X-Api-Key": "hidden"})
    assert sent.status_code == 202, sent.text
    (shown,) = (await api.client.get(_path(called))).json()["items"]
    assert shown["run_id"] == sent.json()["run_id"]
    assert (shown["method"], shown["event"]) == ("POST", "message")
    assert shown["headers"]["x-trace"] == "t-1"
    assert not {"x-api-key", "x-slack-signature"} & shown["headers"].keys()


async def test_a_redelivery_is_a_run_of_its_own_with_the_same_request(
    bench: Bench, api: Api
) -> None:
    called = await _hook(bench, api)
    first = (await _send(called, {"event_id": "Ev1"})).json()["run_id"]
    answer = await api.client.post(f"{_path(called)}/{first}/redeliver")
    assert answer.status_code == 202, answer.text
    again = answer.json()["run_id"]
    assert again != first
    assert (await bench.read(again))["payload"] == (await bench.read(first))["payload"]
    newest, _ = (await api.client.get(_path(called))).json()["items"]
    assert (newest["run_id"], newest["redelivery_of"]) == (again, first)


async def test_only_a_delivery_of_this_webhook_is_delivered_again(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api)
    other = await hook(bench, api, name="other")
    run_id = (await other.fire({})).json()["run_id"]
    for wrong in (run_id, uuid4()):
        answer = await api.client.post(f"{_path(called)}/{wrong}/redeliver")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_delivery")
    assert await runs(bench) == 1


async def test_redelivering_needs_a_credential(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api)
    first = (await _send(called, {"event_id": "Ev1"})).json()["run_id"]
    assert (await api.anonymous.post(f"{_path(called)}/{first}/redeliver")).status_code == 401
    assert (await api.anonymous.get(_path(called))).status_code == 401
    assert await runs(bench) == 1


async def test_refused_requests_are_counted_by_reason(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api)
    for _ in range(2):
        refused = await _send(called, {}, secret="other", headers={"X-Trace": "bad"})
        assert refused.status_code == 401
    assert (await _send(called, {}, age=3_600)).status_code == 401
    assert (await api.anonymous.post(called.signed_path, json={})).status_code == 401
    large = await _send(called, {"a": "x" * bench.application.limits.payload_bytes})
    assert large.status_code == 401
    found = (await api.client.get(_path(called))).json()["refused"]
    assert {one["reason"]: one["count"] for one in found} == {
        "bad_signature": 2,
        "stale_timestamp": 1,
        "no_credentials": 1,
        "body_too_large": 1,
    }
    (bad,) = [one for one in found if one["reason"] == "bad_signature"]
    assert bad["headers"]["x-trace"] == "bad"
    assert "x-slack-signature" not in bad["headers"]
    metrics = (await api.client.get("/api/v1/metrics")).text
    assert 'mainspring_webhook_requests_refused_total{reason="bad_signature"} 2.0' in metrics
    assert await runs(bench) == 0
