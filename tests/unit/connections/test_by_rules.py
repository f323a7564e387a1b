"""Requests that can mean one thing only are read without a model; all others are asked back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mainspring.connections.act_on_integration import read_plainly
from mainspring.connections.installed_integrations import (
    InstalledIntegration,
    InstalledIntegrations,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import NeedsClarification
from tests.kit.parcels import Parcels


def _install() -> InstalledIntegration:
    (install,) = InstalledIntegrations([Parcels().integration()], Limits())
    return install


@pytest.mark.parametrize(
    ("request_", "to", "subject", "body"),
    [
        ("Email ada@example.com saying we are in", ["ada@example.com"], "we are in", "We are in"),
        (
            "Tell ada@example.com that Friday works.",
            ["ada@example.com"],
            "Friday works.",
            "Friday works.",
        ),
        (
            "Send a@x.org and b@x.org a mail about the plan: it is done",
            ["a@x.org", "b@x.org"],
            "the plan",
            "It is done",
        ),
        ('Mail a@x.org, subject "Q3", saying that it is out', ["a@x.org"], "Q3", "It is out"),
    ],
)
def test_a_plain_message_is_read(request_: str, to: list[str], subject: str, body: str) -> None:
    assert read_plainly(_install(), request_) == {
        "action_name": "send_note",
        "input": {"to": to, "subject": subject, "body": body},
    }


def test_mail_to_the_owner_alone_needs_no_approval() -> None:
    integrations = Parcels().integration()
    (send,) = integrations.capabilities
    asked = {"type": "object", "properties": {"subject": {"type": "string"}}}
    notify = replace(send, id="parcels.notify_owner", input_schema=asked)
    (install,) = InstalledIntegrations(
        [replace(integrations, capabilities=(notify, send))], Limits()
    )
    made = read_plainly(install, "Tell ada@example.com that Friday works.")
    assert not isinstance(made, NeedsClarification)
    assert made["action_name"] == "send_note"


@pytest.mark.parametrize(
    "request_",
    [
        "Tell Ada that Friday works.",
        "Email ada@example.com",
        "Email ada@example.com tomorrow saying hello",
        "Tell ada@example.com that bob@example.com has left",
        "Say hello: ada@example.com",
        "that",
        "",
        "if it rains tell a@x.org that it does",
    ],
)
def test_what_is_not_plain_is_asked_back_with_what_the_actions_take(request_: str) -> None:
    request = read_plainly(_install(), request_)
    assert isinstance(request, NeedsClarification)
    assert "send_note (to, subject, body; also attachments)" in request.question
