"""The signing code of five publishers, from their own libraries, against the endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from nacl.signing import SigningKey
from slack_sdk.signature import SignatureVerifier
from standardwebhooks.webhooks import Webhook
from stripe import WebhookSignature
from twilio.request_validator import RequestValidator

from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import hook, webhook

KEY = "0123456789abcdef0123456789abcdef"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
DISCORD = SigningKey(b"a key for the tests of 32 bytes!")
FORM = {"From": "+491701234567", "Body": "hello & bye", "NumMedia": "0"}

Sign = Callable[[bytes, str], Mapping[str, str]]


def _now() -> int:
    return int(datetime.now(UTC).timestamp())


def _slack(raw: bytes, url: str) -> Mapping[str, str]:
    at = str(_now())
    signature = SignatureVerifier(KEY).generate_signature(timestamp=at, body=raw)
    assert signature is not None
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": signature}


def _stripe(raw: bytes, url: str) -> Mapping[str, str]:
    at = _now()
    value = WebhookSignature._compute_signature(f"{at}.{raw.decode()}", KEY)
    return {"Stripe-Signature": f"t={at},v1={value}"}


def _twilio(raw: bytes, url: str) -> Mapping[str, str]:
    return {"X-Twilio-Signature": RequestValidator(KEY).compute_signature(url, FORM)}


def _discord(raw: bytes, url: str) -> Mapping[str, str]:
    at = str(_now())
    signature = DISCORD.sign(at.encode() + raw).signature.hex()
    return {"X-Signature-Timestamp": at, "X-Signature-Ed25519": signature}


def _standard(raw: bytes, url: str) -> Mapping[str, str]:
    now = datetime.now(UTC)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(WHSEC).sign("msg_1", now, raw.decode()),
    }


LIBRARIES: Mapping[str, tuple[Sign, str]] = {
    "slack": (_slack, KEY),
    "stripe": (_stripe, KEY),
    "twilio": (_twilio, KEY),
    "discord": (_discord, DISCORD.verify_key.encode().hex()),
    "standard_webhooks": (_standard, WHSEC),
}


@pytest.mark.parametrize("name", LIBRARIES)
async def test_a_request_signed_by_the_publishers_library_starts_a_run(
    bench: Bench, api: Api, name: str
) -> None:
    sign, secret = LIBRARIES[name]
    await bench.application.vault.set(bench.secret_scope, "sender_key", secret)
    auth = {"type": "signature", "provider": name, "secret": "sender_key"}
    if name == "standard_webhooks":
        auth = {"type": name, "secret": "sender_key"}
    called = await hook(bench, api, webhook(config={"auth": auth}))
    raw, kind = json.dumps({"id": "evt_1", "type": 2}).encode(), "application/json"
    if name == "twilio":
        raw, kind = urlencode(FORM).encode(), "application/x-www-form-urlencoded"
    url = f"{bench.application.settings.address}{called.signed_path}"
    headers = {"Content-Type": kind, **sign(raw, url)}
    refused = await api.anonymous.post(called.signed_path, content=raw + b" ", headers=headers)
    assert refused.status_code == 401, refused.text
    answer = await api.anonymous.post(called.signed_path, content=raw, headers=headers)
    assert answer.status_code == 202, answer.text
    kept = (await bench.read(answer.json()["run_id"]))["payload"]
    assert kept["body"] == (FORM if name == "twilio" else json.loads(raw))
