"""Each preset accepts what its provider sends, and nothing that was changed on the way.

The vectors are published by the providers or computed with their published formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.triggers.webhook_signatures import (
    PROVIDERS,
    STANDARD_WEBHOOKS,
    Provider,
    ReceivedRequest,
    SignatureScheme,
    build_custom_scheme,
    read_auth,
)


@dataclass(frozen=True)
class Vector:
    key: str
    headers: dict[str, str]
    body: str
    now: int = 0
    url: str = "https://example.com/api/v1/hooks/x"

    @property
    def request(self) -> ReceivedRequest:
        return ReceivedRequest("POST", self.url, self.headers, self.body.encode())

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


VECTORS = {
    "github": Vector(
        key="It's a Secret to Everybody",
        headers={
            "x-hub-signature-256": (
                "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
            ),
        },
        body="Hello, World!",
        now=0,
    ),
    "slack": Vector(
        key="8f742231b10e8888abcd99yyyzzz85a5",
        headers={
            "x-slack-request-timestamp": "1531420618",
            "x-slack-signature": (
                "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
            ),
        },
        body=(
            "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=tes"
            "tteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERL"
            "KJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&respon"
            "se_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F39"
            "7700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47"
            "445629121.803a0bc887a14d10d2c447fce8b6703c"
        ),
        now=1531420618,
    ),
    "standard-webhooks": Vector(
        key="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        headers={
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        body='{"test": 2432232314}',
        now=1614265330,
    ),
    "stripe": Vector(
        key="whsec_test_secret",
        headers={
            "stripe-signature": (
                "t=1700000000,v1=3bfab77baf5f7b6991a46c9b53b6547d7afc56148b10468fcad9f35c1992ffbd"
            ),
        },
        body=(
            '{\n  "id": "evt_test_webhook",\n  "object": "event",\n  "data": { "'
            'object": { "id": "rdr_123", "object": "terminal.reader" } }\n}'
        ),
        now=1700000000,
    ),
    "twilio": Vector(
        key="12345",
        headers={
            "x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
            "content-type": "application/x-www-form-urlencoded",
        },
        body=(
            "CallSid=CA1234567890ABCDE&Digits=1234&From=%2B14158675309&To=%2B"
            "18005551212&Caller=%2B14158675309"
        ),
        now=0,
        url="https://mycompany.com/myapp.php?foo=1&bar=2",
    ),
    "hubspot": Vector(
        key="yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
        headers={
            "x-hubspot-signature-v3": "K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y=",
            "x-hubspot-request-timestamp": "1693657560000",
        },
        body="{'example_field':'example_value'}",
        now=1693657560,
        url="https://www.example.com/webhook_uri",
    ),
    "paddle": Vector(
        key="pdl_ntf_01hbpjmytsa32fhr36nqgc3kgb_WvRO0eL4Bj9rgYYIBZY6wZhG4EHy9jzh",
        headers={
            "paddle-signature": (
                "ts=1696195954;h1=dummy;h1=d96299976a6eb066f484d7fde011ac56fc32b3"
                "8fc9940bc419d6e537fdc6ef02"
            ),
        },
        body="hello-world",
        now=1696195954,
    ),
    "pagerduty": Vector(
        key="lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK",
        headers={
            "x-pagerduty-signature": (
                "v1=0000000000000000000000000000000000000000000000000000000000000"
                "000,v1=929dfc6f0bdb60cfe29bc89134266591b8f6883ec824cbe8dbcca083d"
                "d491cc6"
            ),
        },
        body='{"event":{"id":"01BWDWL3","event_type":"incident.triggered"}}',
        now=0,
    ),
    "sendgrid": Vector(
        key=(
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfS"
            "mpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
        ),
        headers={
            "x-twilio-email-event-webhook-timestamp": "1600112502",
            "x-twilio-email-event-webhook-signature": (
                "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe"
                "5W0JuG+luQAbPIqHh89M15TluLtEZtM="
            ),
        },
        body=(
            '[{"email":"hello@world.com","event":"dropped","reason":"Bounced '
            'Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRr'
            'b2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv'
            '-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHSt'
            'OGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112'
            "492}]\r\n"
        ),
        now=1600112502,
    ),
    "linear": Vector(
        key="SECRET",
        headers={
            "linear-signature": "ad31de1bfbb34866dc115917148a53d1e4e67ed749354e166f8cf2fc7cffaf1e",
            "linear-timestamp": "1700000000000",
        },
        body=('{"action":"create","type":"Comment","webhookTimestamp":1700000000000}'),
        now=1700000000,
    ),
    "shopify": Vector(
        key="shpss_test",
        headers={
            "x-shopify-hmac-sha256": "3JxXO8Lul52iD5+qb1FHtoXK8vDwPbXpi8eB+yETk5I=",
        },
        body='{"id":820982911946154508}',
        now=0,
    ),
    "zoom": Vector(
        key="zoomsecret",
        headers={
            "x-zm-request-timestamp": "1700000000",
            "x-zm-signature": "v0=3c38c4956775005ffab9b647bb113df93a1830e2a64719e0f64c22528f2f4afa",
        },
        body='{"event":"meeting.started","payload":{}}',
        now=1700000000,
    ),
    "meta": Vector(
        key="appsecret",
        headers={
            "x-hub-signature-256": (
                "sha256=0e9e0080a310f376450c46d999aa4d49ed772bfe43c13205f38a3a6e6611ed2b"
            ),
        },
        body='{"object":"page","entry":[]}',
        now=0,
    ),
    "intercom": Vector(
        key="clientsecret",
        headers={
            "x-hub-signature": "sha1=8e2edd1e345200d78cfca29f4be0991b304c508f",
        },
        body='{"type":"notification_event","topic":"conversation.user.created"}',
        now=0,
    ),
    "typeform": Vector(
        key="abc123",
        headers={
            "typeform-signature": "sha256=fQ0Tf/AAVUZy1Bdk1is5tXMLH2Il2Qj36lezGX2eN6s=",
        },
        body='{"event_id":"LtWXD3crgy","event_type":"form_response"}',
        now=0,
    ),
    "calendly": Vector(
        key="signingkey",
        headers={
            "calendly-webhook-signature": (
                "t=1700000000,v1=4b8c56b48de56f53b3c61577a36747fd59cf0a6d25f1f53c0fffae5961de2835"
            ),
        },
        body='{"event":"invitee.created"}',
        now=1700000000,
    ),
    "gitlab": Vector(
        key="gitlabsecret",
        headers={
            "x-gitlab-token": "gitlabsecret",
            "x-gitlab-event": "Push Hook",
        },
        body='{"object_kind":"push"}',
        now=0,
    ),
    "telegram": Vector(
        key="abc_DEF-123",
        headers={
            "x-telegram-bot-api-secret-token": "abc_DEF-123",
        },
        body='{"update_id":1}',
        now=0,
    ),
    "discord": Vector(
        key="03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
        headers={
            "x-signature-timestamp": "1700000000",
            "x-signature-ed25519": (
                "c1098e97d711377f30225d53d94b89d43537f92e5b3afaddc590781b1f9f9d4b"
                "2eeab335d370be3b9a090bc61a85b86448bc140dcd195f1569c2bff181257607"
            ),
        },
        body='{"type":1}',
        now=1700000000,
    ),
    "notion": Vector(
        key="secret_abc123_verification_token",
        headers={
            "x-notion-signature": (
                "sha256=942ac06e288d4872c2c3944cb92793dabf59e7b005dab9c6f883aff7132c686c"
            ),
        },
        body='{"id":"evt_1","type":"page.created"}',
        now=0,
    ),
}
# These send the secret itself, so the body is not covered.
PLAIN = {"gitlab", "telegram"}


def _provider(name: str) -> Provider:
    return STANDARD_WEBHOOKS if name == "standard-webhooks" else PROVIDERS[name]


def _scheme(name: str, headers: dict[str, str]) -> SignatureScheme:
    found = _provider(name).find_scheme(headers)
    assert found is not None
    return found


def test_every_preset_has_a_vector() -> None:
    assert {*PROVIDERS, "standard-webhooks"} == {*VECTORS}


@pytest.mark.parametrize("name", VECTORS)
def test_a_signed_request_is_accepted_and_a_changed_one_is_not(name: str) -> None:
    vector = VECTORS[name]
    scheme = _scheme(name, vector.headers)
    assert scheme.is_signed(vector.request, [vector.key], vector.time)
    # During a rotation either secret is accepted.
    assert scheme.is_signed(vector.request, ["another", vector.key], vector.time)
    assert not scheme.is_signed(vector.request, ["another"], vector.time)
    assert not scheme.is_signed(vector.request, [], vector.time)
    changed = replace(vector.request, body=vector.request.body + b"&x=1")
    assert scheme.is_signed(changed, [vector.key], vector.time) is (name in PLAIN)
    for header in vector.headers:
        if header in ("content-type", "x-gitlab-event"):
            continue
        without = {key: value for key, value in vector.headers.items() if key != header}
        assert not scheme.is_signed(
            replace(vector.request, headers=without), [vector.key], vector.time
        )


@pytest.mark.parametrize("name", VECTORS)
def test_a_signature_expires_where_the_provider_signs_the_time(name: str) -> None:
    vector = VECTORS[name]
    scheme = _scheme(name, vector.headers)
    timed = bool(scheme.timestamp_header or scheme.timestamp_prefix)
    assert timed is (scheme.tolerance is not None)
    if not timed or scheme.tolerance is None:
        return
    edge = timedelta(seconds=scheme.tolerance)
    assert scheme.is_signed(vector.request, [vector.key], vector.time + edge)
    late = vector.time + edge + timedelta(seconds=1)
    assert not scheme.is_signed(vector.request, [vector.key], late)
    early = vector.time - edge - timedelta(seconds=1)
    assert scheme.is_signed(vector.request, [vector.key], early) is (name == "stripe")


@pytest.mark.parametrize("name", sorted({*VECTORS} - {"discord", "sendgrid"}))
def test_a_sample_that_is_signed_here_is_accepted(name: str) -> None:
    scheme, now = _provider(name).schemes[0], datetime.now(UTC)
    key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    url, type_ = "https://example.com/hook", "application/json"
    if name == "twilio":
        type_ = "application/x-www-form-urlencoded"
    given = {"content-type": type_, scheme.id_header or "x": "msg_1"}
    request = ReceivedRequest("POST", url, given, b"a=1&b=2")
    signed = scheme.sign(request, key, int(now.timestamp()))
    assert scheme.is_signed(replace(request, headers={**given, **signed}), [key], now)


def test_a_json_body_of_twilio_is_covered_by_its_hash_in_the_address() -> None:
    body = b'{"property": "value", "boolean": true}'
    digest = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    scheme, now = PROVIDERS["twilio"].schemes[0], datetime.now(UTC)
    request = ReceivedRequest(
        "POST", f"https://example.com/hook?bodySHA256={digest}", {"content-type": "x/y"}, body
    )
    signed = replace(request, headers={**request.headers, **scheme.sign(request, "12345", 0)})
    assert scheme.is_signed(signed, ["12345"], now)
    assert not scheme.is_signed(replace(signed, body=body + b" "), ["12345"], now)


def test_svix_headers_are_accepted_like_those_of_standard_webhooks() -> None:
    vector = VECTORS["standard-webhooks"]
    headers = {key.replace("webhook-", "svix-"): value for key, value in vector.headers.items()}
    scheme = _scheme("standard-webhooks", headers)
    request = replace(vector.request, headers=headers)
    assert scheme.is_signed(request, [vector.key], vector.time)
    assert STANDARD_WEBHOOKS.find_delivery(headers, {}) == "msg_p5jXN8AQM9LWM0D4loKWxJek"


def test_a_custom_scheme_is_described_by_the_config() -> None:
    config = {
        "type": "signature",
        "provider": "custom",
        "secret": "key",
        "header": "X-Shop-Signature",
        "algorithm": "hmac-sha256",
        "encoding": "base64",
        "signed": "{timestamp}|{method}|{body}",
        "prefix": "s=",
        "separator": ",",
        "timestamp_prefix": "t=",
        "tolerance_seconds": 30,
    }
    scheme, now = build_custom_scheme(config), datetime.now(UTC)
    request = ReceivedRequest("POST", "https://example.com/hook", {}, b"{}")
    signed = replace(request, headers=scheme.sign(request, "key", int(now.timestamp())))
    assert signed.headers["x-shop-signature"].startswith("t=")
    assert scheme.is_signed(signed, ["key"], now)
    assert not scheme.is_signed(signed, ["key"], now + timedelta(seconds=40))
    assert not scheme.is_signed(replace(signed, method="PUT"), ["key"], now)
    auth = read_auth({"auth": config})
    assert auth.is_presented(signed.headers)
    assert auth.is_genuine(signed, ["key"], now)


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        ("Basic YWRhOmtleQ==", True),
        ("basic YWRhOmtleQ==", True),
        ("Basic YWRhOmtleTI=", False),
        ("Basic Ym9iOmtleQ==", False),
        ("Bearer YWRhOmtleQ==", False),
        ("Basic", False),
        ("", False),
    ],
)
def test_basic_compares_user_name_and_secret(shown: str, right: bool) -> None:
    auth = read_auth({"auth": {"type": "basic", "username": "ada", "secret": "key"}})
    request = ReceivedRequest("POST", "", {"authorization": shown}, b"")
    genuine = auth.is_presented(request.headers) and auth.is_genuine(
        request, ["key"], datetime.now(UTC)
    )
    assert genuine is right
