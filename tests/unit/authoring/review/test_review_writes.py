"""Each outside write is reviewed with what a person agrees to: destination, account and text."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.review.impact import impact_of
from mainspring.surfaces.cli.review_view import impact_lines
from mainspring.surfaces.cli.screen import Screen
from tests.kit.reviewing import WORDS, agent, document, step

_POST = step("slack_post", {"channel": "#ops", "text": "Good morning.\n{{ inputs.news }}"}, "post")
_MAIL = step("send_email", {"to": ["a@example.com"], "subject": "Hi", "text": "x"}, "mail")


def writes(*plan: Any, **accounts: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = impact_of(document(*plan), (), WORDS, None, accounts)["writes"]
    return found


def told(write: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return write["says"], write["account"], write["text"]


def test_a_write_names_its_destination_account_and_template() -> None:
    (post,) = writes(_POST, slack="digest @ Acme")
    says = "Post to the Slack channel #ops"
    assert told(post) == (says, "digest @ Acme", "Good morning.\n{{ inputs.news }}")
    (open_one,) = writes(_POST)
    assert open_one["account"] == "its owner's Slack account"
    (mail,) = writes(_MAIL, slack="digest @ Acme")
    assert told(mail) == ("Mail a@example.com", None, "subject:\nHi\ntext:\nx")


def test_what_a_model_writes_has_a_destination_and_no_text_yet() -> None:
    tools = [{"tool": "slack_post", "params": {"channel": "C1"}}]
    (bound,) = writes(agent(tools=tools))
    assert told(bound)[::2] == ("Post to the Slack channel C1", None)
    (unbound,) = writes(agent(tools=[{"tool": "slack_post"}]))
    assert told(unbound)[::2] == ("Post to any Slack channel", None)


def test_the_command_line_shows_the_same() -> None:
    impact = impact_of(document(_POST), (), WORDS, None, {"slack": "digest @ Acme"})
    text = " ".join(" ".join(str(one) for one in impact_lines(impact, Screen())).split())
    assert "Post to the Slack channel #ops, account: digest @ Acme" in text
    assert "text: “Good morning. {{ inputs.news }}”" in text
