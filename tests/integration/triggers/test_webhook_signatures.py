"""Signed calls: a signature alone comes in at its own address, and never twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook

from mainspring.triggers import webhook_auth
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import Hook, hook, runs, webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"invoice": 7}'
SIGNED = webhook(config={"signature": {"secret": "billing_key"}})


async def _signed_hook(bench: Bench, api: Api, **more: Any) -> Hook:
    await bench.application.vault.set(bench.secret_scope, "billing_key", SECRET)
    return await hook(bench, api, SIGNED, **more)


def _signed(
    body: bytes = BODY, *, secret: str = SECRET, age: float = 0, message: str = "msg_1"
) -> dict[str, str]:
    sent = datetime.now(UTC) - timedelta(seconds=age)
    return {
        "Content-Type": "application/json",
        "webhook-id": message,
        "webhook-timestamp": str(int(sent.timestamp())),
        "webhook-signature": Webhook(secret).sign(message, sent, body.decode()),
    }


async def _send(called: Hook, headers: dict[str, str], body: bytes = BODY) -> httpx2.Response:
    return await called.api.anonymous.post(called.signed_path, content=body, headers=headers)


async def test_a_signed_call_needs_no_token(bench: Bench, api: Api) -> None:
    called = await _signed_hook(bench, api)
    answer = await _send(called, _signed())
    assert answer.status_code == 202, answer.text
    run = await bench.read(answer.json()["run_id"])
    assert (run["trigger_type"], run["payload"]) == ("webhook", {"invoice": 7})
    shown = await api.client.get(
        f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}"
    )
    assert shown.json()["signed_url"].endswith(called.signed_path)


async def test_a_message_that_is_sent_again_starts_nothing(bench: Bench, api: Api) -> None:
    called = await _signed_hook(bench, api)
    headers = _signed()
    answers = await asyncio.gather(*(_send(called, headers) for _ in range(20)))
    later = await _send(called, _signed(age=-2))
    assert {answer.status_code for answer in [*answers, later]} == {202}
    assert len({answer.json()["run_id"] for answer in [*answers, later]}) == 1
    assert later.headers["Idempotent-Replay"] == "true"
    assert await runs(bench) == 1
    other = await _send(called, _signed(message="msg_2"))
    assert other.json()["run_id"] != later.json()["run_id"]


async def test_the_id_of_the_message_is_the_key_whatever_the_body_says(
    bench: Bench, api: Api
) -> None:
    called = await _signed_hook(bench, api)
    body = b'{"idempotency_key": null}'
    assert (await _send(called, _signed(body), body)).status_code == 202
    key = await bench.application.database.fetchval("SELECT key FROM firings")
    assert key == "key:msg_1"


async def test_whatever_is_wrong_with_a_signature_has_one_answer_and_no_run(
    bench: Bench, api: Api
) -> None:
    called = await _signed_hook(bench, api)
    plain = await hook(bench, api, name="unsigned")
    good = _signed()
    old = {**good, "webhook-timestamp": str(int(good["webhook-timestamp"]) - 1)}
    other = "whsec_" + "QUJD" * 8
    wrong: dict[str, dict[str, str]] = {
        "tampered id": {**good, "webhook-id": "msg_9"},
        "tampered moment": old,
        "tampered signature": {**good, "webhook-signature": "v1," + "A" * 43 + "="},
        "garbage": {**good, "webhook-signature": "garbage"},
        "another version": {
            **good,
            "webhook-signature": good["webhook-signature"].replace("v1", "v2"),
        },
        "another key": _signed(secret=other),
        "six minutes old": _signed(age=360),
        "six minutes ahead": _signed(age=-360),
        "a bearer instead": {**JSON, "Authorization": f"Bearer {called.token}"},
        **{
            f"without {name}": {key: text for key, text in good.items() if key != name}
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        },
    }
    answers = {name: await _send(called, headers) for name, headers in wrong.items()}
    answers["tampered body"] = await _send(called, good, b'{"invoice": 8}')
    answers["no such slug"] = await api.anonymous.post(
        called.signed_path + "x", content=BODY, headers=good
    )
    answers["not a signed webhook"] = await _send(plain, good)
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(
        answers, 401
    )
    assert len({answer.json()["detail"] for answer in answers.values()}) == 1
    assert await runs(bench) == 0
    assert (await _send(called, good)).status_code == 202


JSON = {"Content-Type": "application/json"}


async def test_the_token_alone_does_not_open_a_webhook_that_asks_for_a_signature(
    bench: Bench, api: Api
) -> None:
    called = await _signed_hook(bench, api)
    assert (await called.fire({"invoice": 7})).status_code == 401
    both = await called.fire(content=BODY, headers=_signed())
    assert both.status_code == 202
    assert (await called.fire(content=BODY + b" ", headers=_signed())).status_code == 401
    assert await runs(bench) == 1


@pytest.mark.parametrize("value", [None, "not base64!"])
async def test_without_a_usable_secret_nobody_comes_in(
    bench: Bench, api: Api, value: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if value is not None:
        await bench.application.vault.set(bench.secret_scope, "billing_key", value)
    called = await hook(bench, api, SIGNED)
    assert (await _send(called, _signed())).status_code == 401
    assert "billing_key" in caplog.text
    assert value is None or value not in caplog.text


async def test_a_secret_that_was_replaced_counts_a_few_seconds_later(
    bench: Bench, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_auth, "SIGNING_KEY_SECONDS", 0.0)
    called = await _signed_hook(bench, api)
    assert (await _send(called, _signed())).status_code == 202
    renewed = "whsec_" + "QUJD" * 8
    await bench.application.vault.set(bench.secret_scope, "billing_key", renewed)
    assert (await _send(called, _signed(message="msg_2"))).status_code == 401
    answer = await _send(called, _signed(message="msg_2", secret=renewed))
    assert answer.status_code == 202
    assert webhook_auth.SIGNING_KEY_SECONDS <= 5.0


async def test_another_secret_s_name_counts_at_once(bench: Bench, api: Api) -> None:
    """What is remembered of a webhook keeps nobody out."""
    called = await _signed_hook(bench, api)
    assert (await _send(called, _signed())).status_code == 202
    other = "whsec_" + "QUJD" * 8
    await bench.application.vault.set(bench.secret_scope, "other_key", other)
    await bench.application.database.execute(
        """UPDATE triggers SET config = '{"signature": {"secret": "other_key"}}'"""
    )
    answer = await _send(called, _signed(message="msg_2", secret=other))
    assert answer.status_code == 202, answer.text
    assert (await _send(called, _signed(message="msg_3"))).status_code == 401
    assert await runs(bench) == 2


async def test_the_key_never_reaches_a_log_or_an_answer(
    bench: Bench, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    called = await _signed_hook(bench, api)
    answers = [await _send(called, _signed()), await _send(called, _signed(secret="whsec_QUJD"))]
    shown = caplog.text + "".join(answer.text + str(answer.headers) for answer in answers)
    assert SECRET.removeprefix("whsec_") not in shown
