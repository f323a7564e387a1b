"""Methods, CORS and unsigned handshakes: what senders and web pages need besides a POST."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.api import Api
from tests.kit.bench import Bench, step
from tests.kit.webhooks import Hook, hook, runs, webhook

PAGE = "https://shop.example.com"
SECRET = "a verify token of the owner"


async def _at_secret_address(bench: Bench, api: Api, **config: Any) -> tuple[Hook, str]:
    auth = {"type": "secret_url"}
    called = await hook(bench, api, webhook(config={"auth": auth, **config}))
    return called, f"/api/v1/hooks/{called.token}"


async def test_a_declared_method_starts_a_run_and_another_does_not(bench: Bench, api: Api) -> None:
    _, path = await _at_secret_address(bench, api, methods=["GET", "PUT"])
    got = await api.anonymous.get(path + "?city=Rome&tag=a&tag=b")
    put = await api.anonymous.put(path, json={"city": "Oslo"})
    for answer, method, body in (
        (got, "GET", {"city": "Rome", "tag": ["a", "b"]}),
        (put, "PUT", {"city": "Oslo"}),
    ):
        assert answer.status_code == 202, answer.text
        payload = (await bench.read(answer.json()["run_id"]))["payload"]
        assert (payload["method"], payload["body"]) == (method, body)
    refused = await api.anonymous.post(path, json={})
    assert (refused.status_code, refused.json()["code"]) == (405, "wrong_method")
    assert refused.headers["allow"] == "GET, PUT"
    assert await runs(bench) == 2


async def test_a_webhook_takes_only_a_post_unless_it_says_so(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    headers = {"Authorization": f"Bearer {called.token}"}
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        answer = await api.anonymous.request(method, called.path, headers=headers)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        # Without credentials nothing is said about the webhook.
        unknown = await api.anonymous.request(method, called.path)
        assert (unknown.status_code, unknown.json()["code"]) == (401, "unknown_webhook")
    assert await runs(bench) == 0


async def test_a_page_of_a_listed_origin_may_call_and_read(bench: Bench, api: Api) -> None:
    _, path = await _at_secret_address(bench, api, cors={"origins": [PAGE]})
    asks = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    before = await api.anonymous.options(path, headers=asks)
    assert before.status_code == 204
    assert before.headers["access-control-allow-origin"] == PAGE
    assert before.headers["access-control-allow-methods"] == "POST"
    assert before.headers["access-control-allow-headers"] == "content-type"
    assert "access-control-allow-credentials" not in before.headers
    sent = await api.anonymous.post(path, json={}, headers={"Origin": PAGE})
    wrong = await api.anonymous.post(path, content=b"{", headers={"Origin": PAGE})
    assert (sent.status_code, wrong.status_code) == (202, 202)
    broken = await api.anonymous.post(
        path, content=b"{", headers={"Origin": PAGE, "Content-Type": "application/json"}
    )
    assert broken.status_code == 422
    for one in (sent, broken):
        assert one.headers["access-control-allow-origin"] == PAGE
        assert one.headers["vary"] == "Origin"


async def test_no_other_page_may_read(bench: Bench, api: Api) -> None:
    _, path = await _at_secret_address(bench, api, cors={"origins": [PAGE]})
    called = await hook(bench, api, name="without cors")
    foreign = {"Origin": "https://evil.example.com", "Access-Control-Request-Method": "POST"}
    for address in (path, called.signed_path, "/api/v1/hooks/mwh_unknown", called.path):
        before = await api.anonymous.options(address, headers=foreign)
        assert before.status_code == 204
        assert "access-control-allow-origin" not in before.headers


async def test_any_page_may_call_where_the_trigger_says_so(bench: Bench, api: Api) -> None:
    _, path = await _at_secret_address(bench, api, cors={"origins": ["*"]})
    sent = await api.anonymous.post(path, json={}, headers={"Origin": PAGE})
    assert sent.headers["access-control-allow-origin"] == "*"


async def test_a_subscription_of_meta_is_confirmed(bench: Bench, api: Api) -> None:
    await bench.application.vault.set(bench.secret_scope, "meta_key", "the app secret")
    await bench.application.vault.set(bench.secret_scope, "meta_verify", SECRET)
    auth = {"type": "signature", "provider": "meta", "secrets": ["meta_key", "meta_verify"]}
    called = await hook(bench, api, webhook(config={"auth": auth}))
    query = {"hub.mode": "subscribe", "hub.challenge": "1158201444"}
    right = await api.anonymous.get(
        called.signed_path, params={**query, "hub.verify_token": SECRET}
    )
    assert (right.status_code, right.text) == (200, "1158201444")
    assert right.headers["content-type"].startswith("text/plain")
    wrong = await api.anonymous.get(called.signed_path, params={**query, "hub.verify_token": "x"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "unknown_webhook")
    assert await runs(bench) == 0


async def test_microsoft_and_monday_validate_a_secret_address(bench: Bench, api: Api) -> None:
    _, path = await _at_secret_address(bench, api)
    token = "Validation: Testing client application reachability for subscription 1"
    graph = await api.anonymous.post(path, params={"validationToken": token})
    assert (graph.status_code, graph.text) == (200, token)
    assert graph.headers["content-type"].startswith("text/plain")
    monday = await api.anonymous.post(path, json={"challenge": "3eZbrw1a"})
    assert (monday.status_code, monday.json()) == (200, {"challenge": "3eZbrw1a"})
    assert await runs(bench) == 0
    # Notion's first message is a run, where a person reads the token.
    notion = await api.anonymous.post(path, json={"verification_token": "secret_tMrl"})
    assert notion.status_code == 202


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\u0000"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        (b'{"a": "\\ud800"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        (b'{"a": 36893488147419103232}', {"a": "36893488147419103232"}),
    ],
)
async def test_unusual_json_is_accepted_with_a_token_too(
    bench: Bench, api: Api, body: bytes, value: Any
) -> None:
    called = await hook(bench, api, plan=[step("echo", "transform_data", {"output": 1})])
    headers = {"Content-Type": "application/json"}
    answer = await called.fire(headers=headers, content=body)
    assert answer.status_code == 202, answer.text
    assert (await bench.read(answer.json()["run_id"]))["payload"] == value
