"""Values that could be read and cannot be used: they stop the start and are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mainspring.settings import BadSetting, Settings, read_settings, settings_file


def read(tmp_path: Path, **message: str) -> Settings:
    return read_settings({f"MAINSPRING_{name}": text for name, text in message.items()}, tmp_path)


@pytest.mark.parametrize(
    ("answer", "way_out"),
    [
        ({"LEASE_SECONDS": "5", "HEARTBEAT_SECONDS": "10"}, "lease to at least 20, or the"),
        ({"LEASE_SECONDS": "10", "HEARTBEAT_SECONDS": "10"}, "heartbeat to at most 5"),
        ({"LEASE_SECONDS": "19.9"}, "heartbeat to at most 9.95"),
        ({"HEARTBEAT_SECONDS": "16"}, "lease to at least 32"),
    ],
)
def test_a_lease_that_is_not_clearly_longer_than_the_heartbeat_is_refused(
    tmp_path: Path, answer: dict[str, str], way_out: str
) -> None:
    with pytest.raises(BadSetting, match=way_out) as caught:
        read(tmp_path, **answer)

    assert "MAINSPRING_LEASE_SECONDS" in str(caught.value)
    assert "MAINSPRING_HEARTBEAT_SECONDS" in str(caught.value)


def test_the_lease_of_the_file_is_held_against_the_heartbeat_of_the_environment(
    tmp_path: Path,
) -> None:
    settings_file(tmp_path).write_text("MAINSPRING_LEASE_SECONDS=5\n")
    settings_file(tmp_path).chmod(0o600)

    with pytest.raises(BadSetting, match="MAINSPRING_HEARTBEAT_SECONDS"):
        read(tmp_path, HEARTBEAT_SECONDS="4")
    assert read(tmp_path, HEARTBEAT_SECONDS="2.5").lease_seconds == 5.0


def test_settings_made_in_code_are_not_checked() -> None:
    assert Settings(lease_seconds=60.0, heartbeat_seconds=60.0).lease_seconds == 60.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lnog", "names 'lnog', which is no queue"),
        ("fast,slow", "'slow'"),
        ("", "names no queue"),
        (",", "names no queue"),
    ],
)
def test_a_queue_that_nobody_fills_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadSetting, match=why) as caught:
        read(tmp_path, QUEUES=text)

    assert "MAINSPRING_QUEUES" in str(caught.value)
    assert "fast, medium, long" in str(caught.value)


def test_some_of_the_queues_are_taken_in_the_order_they_are_named(tmp_path: Path) -> None:
    assert read(tmp_path, QUEUES=" long , fast,").queues == ("long", "fast")
    assert read(tmp_path).queues == ("fast", "medium", "long")


@pytest.mark.parametrize(
    "text",
    [
        "foo",
        "mainspring.example",
        "ftp://mainspring.example",
        "https://",
        "https://:8420",
        "https:///here",
        "https://somebody:hunter2@mainspring.example",
        "https://mainspring.example?x",
        "https://mainspring.example:port",
        "https://mainspring.example:99999",
        "https://main spring.example",
        "https://[::1",
    ],
)
def test_a_public_address_that_no_link_can_begin_with_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match="MAINSPRING_PUBLIC_URL") as caught:
        read(tmp_path, PUBLIC_URL=text)

    assert "such as https://" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "https://mainspring.example",
        "http://localhost:8420/",
        "HTTPS://A.example/here",
        "http://[::1]:8",
    ],
)
def test_a_public_address_is_one_of_the_web_with_a_host(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, PUBLIC_URL=text).address == text.rstrip("/")
    assert read(tmp_path, PUBLIC_URL="").public_url is None


@pytest.mark.parametrize(
    ("answer", "way_out"),
    [
        # Only the operator agrees to the terms of an authority.
        ({"ACME_DOMAINS": "a.example.com"}, "set MAINSPRING_ACME_TERMS to agreed"),
        ({"ACME_DOMAINS": "*.example.com", "ACME_TERMS": "agreed"}, "no domain name"),
        ({"ACME_DOMAINS": "10.0.0.1", "ACME_TERMS": "agreed"}, "no domain name"),
        ({"ACME_DOMAINS": "localhost", "ACME_TERMS": "agreed"}, "no domain name"),
        ({"ACME_TERMS": "yes"}, "must be undecided or agreed"),
        ({"ACME_DIRECTORY_URL": "acme.example.com"}, "must be an http or https address"),
        (
            {"ACME_DOMAINS": "a.example.com", "ACME_TERMS": "agreed", "ACME_STORAGE": "database"},
            "MAINSPRING_ACME_CHALLENGE to http-01",
        ),
    ],
)
def test_certificates_need_names_and_agreed_terms(
    tmp_path: Path, answer: dict[str, str], way_out: str
) -> None:
    with pytest.raises(BadSetting, match=re.escape(way_out)):
        read(tmp_path, **answer)


def test_the_first_domain_becomes_the_public_address(tmp_path: Path) -> None:
    settings = read(tmp_path, ACME_DOMAINS="A.example.com, b.example.com", ACME_TERMS="agreed")
    assert settings.acme_domains == ("a.example.com", "b.example.com")
    assert settings.address == "https://a.example.com"
    named = read(
        tmp_path,
        ACME_DOMAINS="a.example.com",
        ACME_TERMS="agreed",
        PUBLIC_URL="https://www.example.com",
    )
    assert named.address == "https://www.example.com"
