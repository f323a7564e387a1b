"""Signatures are judged as Standard Webhooks does, with its own library as the witness."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from mainspring.triggers.webhook_signatures import (
    STANDARD,
    ReceivedRequest,
    read_base64_secret,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"another key of thirty-two bytes!").decode()
BODY = '{"test": 2432232314, "name": "Ünïcode"}'
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"


@dataclass(frozen=True)
class StandardHeaders:
    id: str
    timestamp: str
    signatures: str


def is_genuine(seal: StandardHeaders, body: bytes) -> bool:
    headers = {
        "webhook-id": seal.id,
        "webhook-timestamp": seal.timestamp,
        "webhook-signature": seal.signatures,
    }
    return STANDARD.is_signed(
        ReceivedRequest("POST", "https://example.com/", headers, body), [SECRET], datetime.now(UTC)
    )


def _seal(
    *, secret: str = SECRET, body: str = BODY, age: float = 0, message: str = ID
) -> tuple[StandardHeaders, str]:
    sent = datetime.now(UTC) - timedelta(seconds=age)
    signature = Webhook(secret).sign(message, sent, body)
    return StandardHeaders(message, str(int(sent.timestamp())), signature), body


def _again(change: Callable[[StandardHeaders], StandardHeaders]) -> tuple[StandardHeaders, str]:
    seal, body = _seal()
    return change(seal), body


def _with(**fields: str) -> tuple[StandardHeaders, str]:
    return _again(lambda seal: replace(seal, **fields))


VECTORS: dict[str, tuple[bool, Callable[[], tuple[StandardHeaders, str]]]] = {
    "valid": (True, _seal),
    "valid, nothing in it": (True, lambda: _seal(body="")),
    "valid, four minutes old": (True, lambda: _seal(age=240)),
    "valid, from a clock four minutes ahead": (True, lambda: _seal(age=-240)),
    "several, the right one last": (
        True,
        lambda: _again(lambda s: replace(s, signatures=f"v1,AAAA v1,BBBB {s.signatures}")),
    ),
    "several, one of a version to come": (
        True,
        lambda: _again(lambda s: replace(s, signatures=f"v2,xx v1a,yy {s.signatures}")),
    ),
    "another body": (False, lambda: (_seal()[0], BODY + " ")),
    "another id": (False, lambda: _with(id="msg_other")),
    "another moment": (
        False,
        lambda: _again(lambda s: replace(s, timestamp=str(int(s.timestamp) - 1))),
    ),
    "another signature": (False, lambda: _with(signatures="v1," + "A" * 43 + "=")),
    "a bit of the signature changed": (
        False,
        lambda: _again(lambda s: replace(s, signatures=s.signatures.swapcase())),
    ),
    "six minutes old": (False, lambda: _seal(age=360)),
    "six minutes ahead": (False, lambda: _seal(age=-360)),
    "another secret": (False, lambda: _seal(secret=OTHER)),
    "a version that is not ours": (
        False,
        lambda: _again(lambda s: replace(s, signatures="v2," + s.signatures[3:])),
    ),
    "no id": (False, lambda: _with(id="")),
    "no moment": (False, lambda: _with(timestamp="")),
    "no signature": (False, lambda: _with(signatures="")),
    "a moment that is none": (False, lambda: _with(timestamp="yesterday")),
    "a signature of none": (False, lambda: _with(signatures="v1,")),
}


@pytest.mark.parametrize("name", VECTORS)
def test_the_verdict_is_the_one_of_the_standard(name: str) -> None:
    right, made = VECTORS[name]
    seal, body = made()
    shown = {
        "webhook-id": seal.id,
        "webhook-timestamp": seal.timestamp,
        "webhook-signature": seal.signatures,
    }
    try:
        Webhook(SECRET).verify(body, shown, json_parse=False)
        standard = True
    except WebhookVerificationError:
        standard = False
    assert standard is right
    assert is_genuine(seal, body.encode()) is right


@pytest.mark.parametrize(
    "change",
    [
        {"signatures": "garbage without a comma"},
        {"signatures": "v1"},
        {"signatures": "v1,\udcff"},
        {"signatures": "v1,é"},
        {"timestamp": "1e9"},
        {"timestamp": "-1"},
        {"timestamp": "9" * 400},
        {"timestamp": "١٧"},
        {"id": "two words"},
        {"id": "x" * 256},
        {"id": "\x00"},
    ],
)
def test_garbage_is_refused_and_nothing_breaks(change: dict[str, str]) -> None:
    seal, body = _with(**change)
    assert not is_genuine(seal, body.encode())


def test_only_the_first_sixteen_signatures_are_looked_at() -> None:
    def behind(many: int) -> bool:
        seal, body = _again(lambda s: replace(s, signatures="v1,x " * many + s.signatures))
        return is_genuine(seal, body.encode())

    assert behind(15)
    assert not behind(16)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("whsec_aGVsbG8=", b"hello"),
        ("whsec_aGVsbG8", b"hello"),
        ("aGVsbG8=", b"hello"),
        (" whsec_aGVsbG8=\n", b"hello"),
        ("whsec_", None),
        ("", None),
        ("not base64!", None),
        ("whsec_é", None),
    ],
)
def test_a_secret_is_base64_after_its_prefix_or_it_is_none(text: str, key: bytes | None) -> None:
    assert read_base64_secret(text) == key
