"""Slack's signed requests: which are genuine, and what is read from them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from mainspring.integrations.slack.interactions import fits, is_genuine, read_interaction

# The worked example of Slack's own documentation.
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
AT = datetime.fromtimestamp(1531420618, UTC)
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
    b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
    b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
    b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
HEADERS = {
    "x-slack-request-timestamp": "1531420618",
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
}
PRESSED: dict[str, Any] = {
    "type": "block_actions",
    "user": {"id": "U0ADA", "team_id": "T0ACME"},
    "team": {"id": "T0ACME"},
    "response_url": "https://hooks.slack.com/actions/T0ACME/1/2",
    "message": {
        "blocks": [
            {"type": "section", "block_id": "x", "text": {"type": "plain_text", "text": "Hi"}},
            {"type": "actions", "elements": []},
        ]
    },
    "actions": [{"type": "button", "action_id": "answer_0", "value": "y123"}],
}


def test_the_documented_example_is_genuine_for_five_minutes() -> None:
    assert is_genuine(SECRET, HEADERS, BODY, AT)
    for seconds, expected in ((300, True), (-300, True), (301, False), (-301, False)):
        assert is_genuine(SECRET, HEADERS, BODY, AT + timedelta(seconds=seconds)) is expected


@pytest.mark.parametrize(
    "changed",
    [
        {"x-slack-signature": ""},
        {"x-slack-signature": HEADERS["x-slack-signature"].removeprefix("v0=")},
        {"x-slack-signature": HEADERS["x-slack-signature"].replace("v0=", "v1=")},
        {"x-slack-signature": HEADERS["x-slack-signature"][:-1]},
        {"x-slack-signature": "v0=ä"},
        {"x-slack-request-timestamp": ""},
        {"x-slack-request-timestamp": "1531420619"},
        {"x-slack-request-timestamp": "1531420618.0"},
        {"x-slack-request-timestamp": "-1531420618"},
        {"x-slack-request-timestamp": "١٥٣١٤٢٠٦١٨"},
        {"x-slack-request-timestamp": "9" * 40},
    ],
)
def test_headers_that_show_no_signature_of_the_body_are_refused(changed: dict[str, str]) -> None:
    assert not is_genuine(SECRET, {**HEADERS, **changed}, BODY, AT)


def test_another_secret_or_body_is_refused() -> None:
    assert not is_genuine(SECRET + "x", HEADERS, BODY, AT)
    assert not is_genuine("", HEADERS, BODY, AT)
    assert not is_genuine(SECRET, HEADERS, BODY + b"&", AT)
    assert not is_genuine(SECRET, HEADERS, b"", AT)


def test_a_command_says_who_sent_it() -> None:
    found = read_interaction(BODY)
    assert found is not None
    assert (found.team, found.user, found.command) == ("T1DC2JH3J", "U2CERLKJA", "")
    assert found.data is None


def test_a_pressed_button_says_who_pressed_it_and_what_was_shown() -> None:
    found = _read(PRESSED)
    assert found is not None
    assert (found.team, found.user, found.data) == ("T0ACME", "U0ADA", "y123")
    assert found.command is None
    assert found.shown == ({"type": "section", "text": {"type": "plain_text", "text": "Hi"}},)
    # An app of a whole organization: only the user says which team.
    wide = _read({**PRESSED, "team": None, "enterprise": {"id": "E0"}})
    assert wide is not None
    assert wide.team == "T0ACME"
    # A button that opens a page carries nothing.
    opened = _read({**PRESSED, "actions": [{"type": "button", "action_id": "open"}]})
    assert opened is not None
    assert opened.data is None


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "view_submission"},
        {"user": None},
        {"user": {"id": 7}},
        {"user": {"id": "U0ADA' OR 1"}},
        {"team": {"id": ""}, "user": {"id": "U0ADA"}},
        {"actions": []},
        {"actions": PRESSED["actions"] * 2},
        {"actions": None},
    ],
)
def test_what_is_no_press_is_not_read(changed: dict[str, Any]) -> None:
    assert _read({**PRESSED, **changed}) is None


@pytest.mark.parametrize(
    "body", [b"", b"payload=", b"payload=[1]", b"payload=%FF", b"\xff", b"ssl_check=1", b"a=1" * 99]
)
def test_bodies_of_another_kind_are_not_read(body: bytes) -> None:
    assert read_interaction(body) is None


def test_what_is_shown_whole_is_counted_as_slack_counts() -> None:
    assert fits("x" * 3_000)
    assert not fits("x" * 3_001)
    assert not fits("😀" * 1_501)
    assert not fits("&" * 601)
    assert fits("&" * 600)


def _read(payload: dict[str, Any]) -> Any:
    return read_interaction(urlencode({"payload": json.dumps(payload)}).encode())
