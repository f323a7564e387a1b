"""Real senders call a webhook the way they do it: their signatures, bodies and handshakes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import Hook, hook, runs, webhook

SECRET = "It's a Secret to Everybody"
PUSH = b'{"ref": "refs/heads/main", "commits": []}'


async def _hook(bench: Bench, api: Api, auth: dict[str, Any], **config: Any) -> Hook:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    if auth["type"] not in ("bearer", "secret_url"):
        auth = {"secret": "sender_key", **auth}
    return await hook(bench, api, webhook(config={"auth": auth, **config}))


async def _github_hook(bench: Bench, api: Api, **config: Any) -> Hook:
    return await _hook(bench, api, {"type": "signature", "provider": "github"}, **config)


def _github(body: bytes, *, event: str = "push", delivery: str = "d-1") -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/044aadd",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": "sha256=" + _hex(body),
    }


def _hex(signed: bytes, key: str = SECRET) -> str:
    return hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()


async def _send(called: Hook, headers: dict[str, str], body: bytes) -> httpx2.Response:
    return await called.api.anonymous.post(called.signed_path, content=body, headers=headers)


async def _payload(bench: Bench, answer: httpx2.Response) -> Any:
    assert answer.status_code == 202, answer.text
    return (await bench.read(answer.json()["run_id"]))["payload"]


async def test_github_starts_a_run_with_the_request(bench: Bench, api: Api) -> None:
    called = await _github_hook(bench, api)
    answer = await called.api.anonymous.post(
        called.signed_path + "?from=github&tag=a&tag=b", content=PUSH, headers=_github(PUSH)
    )
    payload = await _payload(bench, answer)
    assert (payload["method"], payload["event"]) == ("POST", "push")
    assert payload["query"] == {"from": "github", "tag": ["a", "b"]}
    assert payload["body"] == json.loads(PUSH)
    assert payload["headers"]["x-github-delivery"] == "d-1"
    # Credentials are not part of a run.
    assert "x-hub-signature-256" not in payload["headers"]


async def test_only_the_address_that_senders_can_use_is_shown(bench: Bench, api: Api) -> None:
    called = await _github_hook(bench, api)
    path = called.signed_path.replace("/hooks/", "/triggers/")
    shown = (await api.client.get(path)).json()
    assert shown["url"] is None
    assert shown["signed_url"].endswith(called.signed_path)


async def test_a_redelivery_of_github_is_the_same_run(bench: Bench, api: Api) -> None:
    called = await _github_hook(bench, api)
    first = await _send(called, _github(PUSH), PUSH)
    again = await _send(called, _github(PUSH), PUSH)
    assert again.json()["run_id"] == first.json()["run_id"]
    assert again.headers["Idempotent-Replay"] == "true"
    other = await _send(called, _github(PUSH, delivery="d-2"), PUSH)
    assert other.json()["run_id"] != first.json()["run_id"]


async def test_only_listed_events_start_a_run_and_a_ping_is_answered(
    bench: Bench, api: Api
) -> None:
    called = await _github_hook(bench, api, events=["push"])
    ping = await _send(called, _github(b"{}", event="ping"), b"{}")
    assert (ping.status_code, ping.json()) == (200, {"event": "ping"})
    other = await _send(called, _github(b"{}", event="issues"), b"{}")
    assert (other.status_code, other.json()) == (200, {"status": "ignored", "event": "issues"})
    assert await runs(bench) == 0
    assert (await _send(called, _github(PUSH), PUSH)).status_code == 202


@pytest.mark.parametrize(
    "change",
    [
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha1=" + "0" * 40},
    ],
)
async def test_a_wrong_signature_starts_nothing(
    bench: Bench, api: Api, change: dict[str, str]
) -> None:
    called = await _github_hook(bench, api)
    answer = await _send(called, _github(PUSH) | change, PUSH)
    assert (answer.status_code, answer.json()["code"]) == (401, "unknown_webhook")
    # Not even a handshake is answered.
    ping = await _send(called, _github(b"{}", event="ping") | change, b"{}")
    assert ping.status_code == 401
    assert await runs(bench) == 0


async def test_slack_verifies_the_address_and_then_sends_forms(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "signature", "provider": "slack"})

    def signed(body: bytes, type_: str) -> dict[str, str]:
        now = str(int(datetime.now(UTC).timestamp()))
        return {
            "Content-Type": type_,
            "X-Slack-Request-Timestamp": now,
            "X-Slack-Signature": "v0=" + _hex(f"v0:{now}:".encode() + body),
        }

    question = b'{"type": "url_verification", "challenge": "3eZbrw1a"}'
    answer = await _send(called, signed(question, "application/json"), question)
    assert (answer.status_code, answer.json()) == (200, {"challenge": "3eZbrw1a"})
    command = b"command=%2Fweather&text=94070&empty="
    sent = await _send(called, signed(command, "application/x-www-form-urlencoded"), command)
    payload = await _payload(bench, sent)
    assert payload["body"] == {"command": "/weather", "text": "94070", "empty": ""}


async def test_zoom_gets_the_encrypted_token(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "signature", "provider": "zoom"})
    body = b'{"event": "endpoint.url_validation", "payload": {"plainToken": "qgg8vl"}}'
    now = str(int(datetime.now(UTC).timestamp()))
    headers = {
        "Content-Type": "application/json",
        "x-zm-request-timestamp": now,
        "x-zm-signature": "v0=" + _hex(f"v0:{now}:".encode() + body),
    }
    answer = await _send(called, headers, body)
    assert answer.json() == {"plainToken": "qgg8vl", "encryptedToken": _hex(b"qgg8vl")}


async def test_a_secret_url_needs_nothing_but_its_address(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "secret_url"})
    answer = await api.anonymous.post(f"/api/v1/hooks/{called.token}", content=b"hello\0")
    payload = await _payload(bench, answer)
    assert payload["body"] == "hello\N{REPLACEMENT CHARACTER}"
    assert payload["notes"] == ["Characters that cannot be stored were replaced."]
    assert called.token not in json.dumps(payload)
    wrong = await api.anonymous.post("/api/v1/hooks/mwh_wrong", content=b"{}")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "unknown_webhook")
    assert "mwh_" not in wrong.text.replace("mwh_…", "")


async def test_the_secret_address_is_shown_once_with_its_token(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "secret_url"})
    where = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}"
    made = (await api.client.post(f"{where}/token")).json()
    assert made["url"].endswith(f"/api/v1/hooks/{made['token']}")
    assert made["token"] not in (await api.client.get(where)).text
    path = urlsplit(made["url"]).path
    assert (await api.anonymous.post(path, json={})).status_code == 202
    # The address before it has ended.
    assert (await api.anonymous.post(f"/api/v1/hooks/{called.token}", json={})).status_code == 401


async def test_a_bearer_token_is_not_accepted_in_the_address(bench: Bench, api: Api) -> None:
    called = await _hook(bench, api, {"type": "bearer"})
    answer = await api.anonymous.post(f"/api/v1/hooks/{called.token}", json={})
    assert answer.status_code == 401
    assert (await called.fire({"a": 1})).status_code == 202


async def test_basic_and_header_secrets_are_compared(bench: Bench, api: Api) -> None:
    basic = await _hook(bench, api, {"type": "basic", "username": "ada"})
    credentials = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    body = b'{"a": 1}'
    headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
    payload = await _payload(bench, await _send(basic, headers, body))
    assert payload["body"] == {"a": 1}
    assert "authorization" not in payload["headers"]
    wrong = {**headers, "Authorization": "Basic " + base64.b64encode(b"ada:no").decode()}
    assert (await _send(basic, wrong, body)).status_code == 401

    header = await hook(
        bench,
        api,
        webhook(config={"auth": {"type": "header", "header": "X-Key", "secret": "sender_key"}}),
        name="by header",
    )
    sent = await _send(header, {"X-Key": SECRET, "Content-Type": "application/json"}, body)
    assert "x-key" not in (await _payload(bench, sent))["headers"]
    assert (await _send(header, {"X-Key": "no"}, body)).status_code == 401
    assert (await _send(header, {}, body)).status_code == 401


@pytest.mark.parametrize(
    ("body", "value", "note"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}, "the same key twice"),
        (b'{"a": "\\ud800"}', {"a": "\N{REPLACEMENT CHARACTER}"}, "cannot be stored"),
        (b'{"a": "\\u0000"}', {"a": "\N{REPLACEMENT CHARACTER}"}, "cannot be stored"),
        (b'{"a": 36893488147419103232}', {"a": "36893488147419103232"}, "beyond 64 bits"),
        (b'{"a": 1e999}', {"a": "1e999"}, "too large"),
    ],
)
async def test_json_of_an_unusual_form_is_normalized_and_noted(
    bench: Bench, api: Api, body: bytes, value: Any, note: str
) -> None:
    called = await _github_hook(bench, api)
    payload = await _payload(bench, await _send(called, _github(body), body))
    assert payload["body"] == value
    assert note in payload["notes"][0]


async def test_a_body_that_is_no_json_is_refused_after_its_signature(
    bench: Bench, api: Api
) -> None:
    called = await _github_hook(bench, api)
    broken = await _send(called, _github(b"{"), b"{")
    assert (broken.status_code, broken.json()["code"]) == (422, "json_syntax")


async def test_during_a_rotation_both_secrets_are_accepted(bench: Bench, api: Api) -> None:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    await bench.application.vault.set(bench.secret_scope, "new_key", "tomorrow")
    auth = {"type": "signature", "provider": "github", "secrets": ["new_key", "sender_key"]}
    called = await hook(bench, api, webhook(config={"auth": auth}))
    assert (await _send(called, _github(PUSH), PUSH)).status_code == 202
    renewed = _github(PUSH, delivery="d-2")
    renewed["X-Hub-Signature-256"] = "sha256=" + _hex(PUSH, "tomorrow")
    assert (await _send(called, renewed, PUSH)).status_code == 202


async def test_inputs_are_mapped_from_the_request(bench: Bench, api: Api) -> None:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    auth = {"type": "signature", "provider": "github", "secret": "sender_key"}
    mapping = {"branch": "$.body.ref", "event": "$.headers['x-github-event']"}
    called = await hook(
        bench,
        api,
        webhook(config={"auth": auth, "input_mapping": mapping}),
        inputs={
            "schema": {
                "type": "object",
                "properties": {"branch": {"type": "string"}, "event": {"type": "string"}},
            }
        },
    )
    answer = await _send(called, _github(PUSH), PUSH)
    assert answer.status_code == 202, answer.text
    run = await bench.read(answer.json()["run_id"])
    assert run["inputs"] == {"branch": "refs/heads/main", "event": "push"}
