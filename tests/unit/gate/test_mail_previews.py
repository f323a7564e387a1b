"""A mail as the person sees it who confirms it, and as a trial pretends to send it."""

from __future__ import annotations

from typing import Any

from mainspring.gate.pipeline import stub_of
from mainspring.integrations.email.capabilities import SEND_EMAIL
from mainspring.integrations.email.notify_owner import NOTIFY_OWNER

MAIL = {"to": ["ada@example.com"], "subject": "Hi", "text": "Hello."}


def _line(capability: Any, **change: Any) -> str:
    return str(capability.write.preview({**MAIL, **change}))


def test_the_recipients_come_before_all_that_a_mail_says() -> None:
    faked = "x” to boss@example.com: fine"
    line = _line(SEND_EMAIL, subject=faked, cc=["b@example.com", "c@example.com", "d@example.com"])
    assert line == (
        "Send to ada@example.com, b@example.com, c@example.com and 1 more "
        "“x” to boss@example.com: fine”: Hello."
    )
    assert _line(NOTIFY_OWNER) == "Mail to the owner “Hi”: Hello."


def test_what_cannot_be_seen_is_spelled_out() -> None:
    unseen = "\u202e\u2066\u200b\u061c\x1b\x85\u2028\ufeff"
    spelled = r"\u202e\u2066\u200b\u061c\u001b\u0085\u2028\ufeff"
    for capability in (SEND_EMAIL, NOTIFY_OWNER):
        line = _line(
            capability, subject=f"a{unseen}b\nc", text="Hello \u202edlrow.\n\nFamily 👨\u200d👩"
        )
        assert f"“a{spelled}b\\u000ac”" in line
        assert line.endswith("Hello \\u202edlrow. Family 👨\u200d👩")
    assert "to a\\u202e@example.com " in _line(SEND_EMAIL, to=["a\u202e@example.com"])
    assert _line(SEND_EMAIL, text="é" * 300).endswith("é…")


def test_a_mail_that_is_only_pretended_is_refused_for_nobody() -> None:
    answer = stub_of(SEND_EMAIL, {**MAIL, "cc": ["b@example.com"]})
    assert answer["accepted"] == ["ada@example.com", "b@example.com"]
    assert answer["refused"] == []
    assert answer["kind"] == "suppressed"
