"""Who a mail goes to: those that it was said for, and nobody whose mails are spoken of."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.models import ProposalSketch
from tests.unit.authoring.sketch.workspace import asked, draw


def _mails(made: ProposalSketch) -> list[Any]:
    return [
        one["config"].get("to", "asked")
        for one in made.document.get("plan", ())
        if one["action"] in {"send_email", "email.notify_owner"}
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Wenn eine E-Mail von chef@example.com kommt, schick mir Telegram",
        "when a mail comes from chef@example.com, send me a telegram",
        "post to #a when an email from chef@example.com or anna@example.com arrives",
        "every day at 9 UTC post mails from chef@example.com to #a",
        "every day at 9 UTC send me a telegram with every mail from chef@example.com",
        "every day at 9 UTC notify me about mails by chef@example.com",
        "send a telegram if the sender is chef@example.com",
        "every hour check for mail from chef@example.com and send me a telegram",
    ],
)
def test_an_address_in_a_condition_is_no_recipient(text: str) -> None:
    assert _mails(draw(text)) == []


@pytest.mark.parametrize(
    ("text", "to"),
    [
        (
            "every day at 9 UTC forward mails from chef@example.com to anna@example.com",
            ["anna@example.com"],
        ),
        (
            "every day at 9 UTC send a summary to bob@example.com, cc anna@example.com",
            ["bob@example.com", "anna@example.com"],
        ),
        (
            "mail anna@example.com and bob@example.com every Monday at 9: hello",
            ["anna@example.com", "bob@example.com"],
        ),
        ("when a page mentions chef@example.com, tell bob@example.com", ["bob@example.com"]),
        ("every Monday at 9 welcome anna@example.com by email", ["anna@example.com"]),
    ],
)
def test_an_address_that_something_is_for_is_a_recipient(text: str, to: list[str]) -> None:
    assert _mails(draw(text)) == [to]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("when somebody signs up, thank them by email", "them"),
        ("every day at 9 UTC thank new customers by email", "new customers"),
        ("when a form is submitted, thank the sender by email", "the sender"),
        ("when an order comes in, congratulate the buyer via email", "the buyer"),
    ],
)
def test_a_mail_to_somebody_else_asks_for_the_address(text: str, who: str) -> None:
    made = draw(text)
    assert _mails(made) == ["asked"]
    (question,) = [one for one in made.questions if one.id == "recipient"]
    assert question.question == f"What is the mail address of {who}?"


def test_a_reply_is_not_mailed_to_the_owner() -> None:
    made = draw("when a form is submitted, reply by email")
    assert _mails(made) == ["asked"]
    assert "recipient" in {one.id for one in made.questions}


def test_whose_mails_are_meant_is_judged_by_the_model_or_reported_as_lost() -> None:
    for text in (
        "every day at 9 UTC post mails from chef@example.com to #a",
        "every hour check for mail from chef@example.com and send me a telegram",
    ):
        made = draw(text)
        prompts = [one["config"].get("prompt", "") for one in made.document["plan"]]
        lost = [one for one in made.questions if one.id == "not-understood"]
        assert lost or any("chef@example.com" in one for one in prompts), asked(made)
