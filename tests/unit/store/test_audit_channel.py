"""An entry about a decision says through what it came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.store.audit import build_audit_record

PERSON = Actor(generate_id(), "member", generate_id())
TOKEN = replace(PERSON, kind="client", token_id=generate_id())


@pytest.mark.parametrize("action", ["answer_consent", "answer_approval", "draft.approved"])
@pytest.mark.parametrize(
    ("actor", "channel"),
    [
        (PERSON, "page"),
        (replace(PERSON, at_terminal=True), "terminal"),
        (replace(PERSON, chat="slack"), "slack"),
        (replace(PERSON, chat="telegram"), "telegram"),
        (replace(TOKEN, approves=frozenset({generate_id()})), "token"),
        # A run that confirms its own drafts, and a program that was refused, decide as nobody.
        (TOKEN, None),
        (replace(PERSON, by_program=True), None),
        (replace(PERSON, kind="run"), None),
    ],
)
def test_a_decision_names_its_channel(actor: Actor, channel: str | None, action: str) -> None:
    assert build_audit_record(actor, action).detail.get("channel") == channel


def test_what_decides_nothing_names_no_channel() -> None:
    assert build_audit_record(PERSON, "create_automation", None, {"name": "x"}).detail == {
        "name": "x"
    }
