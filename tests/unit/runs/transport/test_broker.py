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
    with pytest.raises(Invalid) as result:
        _of(None)

    assert result.value.code == "no_broker"
    assert "MAINSPRING_BROKER_URL" in (result.value.suggestion or "")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "sqs://x",
        "redis://",
        "amqp:///",
        "memory://x",
        "redis://host:notaport",
        "redis://[::1",
        "filesystem://tmp",
        "redis://host/0?ssl_cert_reqs=none",
        "rediss://host/0?health=1",
        "amqps://host?ssl_ca_certs=/a",
    ],
)
def test_an_address_that_is_no_broker_is_refused_without_repeating_it(url: str) -> None:
    secret = url.replace("//", "//user:hunter2@")
    with pytest.raises(Invalid) as result:
        _of(secret)

    assert result.value.code == "bad_broker_url"
    assert "redis://" in (result.value.suggestion or "")
    assert "hunter2" not in str(result.value.as_dict())


def test_a_broker_is_shown_without_its_password() -> None:
    found = _of("amqp://user:hunter2@broker.example/fleet")
    secured = _of("rediss://:hunter2@[fe80::1]:6380/1")

    assert found is not None
    assert secured is not None
    assert (found.kind, found.address) == ("amqp", "broker.example:5672")
    assert (secured.kind, secured.address) == ("redis", "[fe80::1]:6380")
    assert "hunter2" not in found.gone + found.back + repr(found)


@pytest.mark.parametrize(
    ("scheme", "told"),
    [
        ("redis", False),
        ("amqp", False),
        # By itself Celery takes any certificate here.
        ("rediss", {"ssl_cert_reqs": "required", "ssl_check_hostname": True}),
        # By itself Celery takes a good certificate of any name here.
        ("amqps", {"server_hostname": "broker.example"}),
    ],
)
def test_tls_checks_the_certificate_and_its_name(scheme: str, told: object) -> None:
    found = _of(f"{scheme}://broker.example")
    assert found is not None
    for app in (found.sending(), found.listening(print, print, print)):
        assert app.connection_for_write().ssl == told


def test_an_address_of_redis_may_bring_its_own_authority_and_is_still_checked() -> None:
    found = _of("rediss://broker.example/0?ssl_ca_certs=/etc/ours.pem")
    assert found is not None

    # The library for Redis itself requires a certificate where nothing else is said.
    result = found.sending().connection_for_write().ssl
    assert result == {"ssl_ca_certs": "/etc/ours.pem"}


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainspring.runs.transport.broker.find_spec", lambda name: None)
    with pytest.raises(Invalid) as result:
        _of("redis://localhost:6379/0")

    assert result.value.code == "celery_not_installed"
    assert "mainspring[celery]" in (result.value.suggestion or "")
