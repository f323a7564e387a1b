"""What the settings of the transport say is judged at the start, in words for the operator."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.runs.transport.broker import Broker, broker_of
from mainspring.settings import Settings


def _of(url: str | None, transport: str = "celery") -> Broker | None:
    return broker_of(Settings(transport=transport, broker_url=url))


@pytest.mark.parametrize("url", [None, "", "redis://localhost/0"])
def test_the_local_transport_needs_no_broker(url: str | None) -> None:
    assert _of(url, "local") is None


def test_celery_without_a_broker_says_what_to_set() -> None:
    with pytest.raises(Invalid) as told:
        _of(None)

    assert told.value.code == "no_broker"
    assert "MAINSPRING_BROKER_URL" in (told.value.suggestion or "")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379", "http://localhost", "sqs://x", "redis://", "amqp:///", "memory://x",
        "redis://host:notaport", "redis://[::1", "filesystem://tmp", "amqps://host",
    ],
)  # fmt: skip
def test_an_address_that_is_no_broker_is_refused_without_repeating_it(url: str) -> None:
    secret = url.replace("//", "//user:hunter2@")
    with pytest.raises(Invalid) as told:
        _of(secret)

    assert told.value.code == "bad_broker_url"
    assert "redis://" in (told.value.suggestion or "")
    assert "hunter2" not in str(told.value.as_dict())


def test_a_broker_is_shown_without_its_password() -> None:
    found = _of("amqp://user:hunter2@broker.example/fleet")
    secured = _of("rediss://:hunter2@[fe80::1]:6380/1")

    assert found is not None
    assert secured is not None
    assert (found.kind, found.address) == ("amqp", "broker.example:5672")
    assert (secured.kind, secured.address) == ("redis", "[fe80::1]:6380")
    assert "hunter2" not in found.gone + found.back + repr(found)


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainspring.runs.transport.broker.find_spec", lambda name: None)
    with pytest.raises(Invalid) as told:
        _of("redis://localhost:6379/0")

    assert told.value.code == "celery_not_installed"
    assert "mainspring[celery]" in (told.value.suggestion or "")
