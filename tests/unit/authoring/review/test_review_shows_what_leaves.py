"""The review shows all that leaves: recipients, subjects, texts and bodies, to the last word."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.review.explain import explain
from mainspring.authoring.review.grants import grants_of
from mainspring.authoring.review.impact import describe_grants, impact_of
from mainspring.authoring.review.step_descriptions import LONGEST_VALUE
from tests.kit.reviewing import WORDS, document, slack, step

END = "the very last word"
LONG = f"Dear all,\n\n{'words and more words ' * 60}{END}"


def _line(action: str, config: dict[str, Any]) -> str:
    return explain(document(step(action, config)), WORDS)[1]


def test_a_mail_is_shown_with_everybody_who_gets_it_and_its_whole_text() -> None:
    to = [f"person{at}@example.com" for at in range(12)]
    line = _line(
        "send_email",
        {
            "to": to,
            "cc": ["copy@example.com"],
            "bcc": ["hidden@example.com"],
            "subject": f"News {'x' * 150} end of subject",
            "text": LONG,
        },
    )
    for address in (*to, "copy@example.com", "hidden@example.com"):
        assert address in line
    assert "end of subject" in line
    assert "text “Dear all, ↵ ↵ words and more words" in line
    assert f"{END}”" in line


def test_a_message_is_shown_with_its_title_and_its_whole_text() -> None:
    line = _line("notification", {"title": "Done", "message_template": LONG})
    assert "title “Done”" in line
    assert f"{END}”" in line
    assert f"{END}”" in _line("telegram_push", {"text": LONG})
    assert f"{END}”" in explain(document(slack(text=LONG)), WORDS)[1]
    mine = _line("email.notify_owner", {"subject": "Mine", "text": LONG})
    assert "subject “Mine”" in mine
    assert f"{END}”" in mine


def test_a_request_is_shown_with_its_address_headers_and_body() -> None:
    url = f"https://api.example.com/v1/{'deep/' * 40}last"
    line = _line(
        "http_fetch",
        {
            "method": "POST",
            "url": url,
            "headers": {"X-Team": "ops"},
            "body": {"text": LONG, "people": ["ann", "bob"]},
        },
    )
    assert "deep/last" in line
    assert "X-Team “ops”" in line
    assert f"{END}”" in line
    assert "“ann”, “bob”" in line


def test_a_template_is_shown_as_what_it_is() -> None:
    text = "{% if inputs.a %}Pay now{% endif %} {{ inputs.b | replace('x', 'secret plan') }}"
    line = explain(document(slack(text=text)), WORDS)[1]
    assert "[`{% if inputs.a %}`]Pay now[`{% endif %}`]" in line
    assert "replace('x', 'secret plan')" in line


def test_what_is_too_long_says_how_long_it_is_and_where_the_whole_is() -> None:
    line = _line("telegram_push", {"text": "x" * (LONGEST_VALUE + 1)})
    assert "…” (truncated: 4,001 characters in total; the definition shows all)" in line


def test_a_secret_is_not_shown_as_content() -> None:
    line = _line(
        "http_fetch",
        {"url": "https://a.example", "headers": {"Authorization": "{{ secrets.api_key }}"}},
    )
    assert "Authorization" not in line


def test_a_script_with_secrets_is_reviewed() -> None:
    source = 'await brains.http_fetch({url: "https://a.example/", headers: {y: "{{in_script}}"}});'
    made = document(step("script", {"source": source}))
    (secret,) = impact_of(made, grants_of(made, WORDS), WORDS)["secrets"]
    assert (secret["name"], secret["hosts"]) == ("in_script", ["a.example"])


def test_one_grant_has_one_description_by_what_it_is_used_for() -> None:
    for method, effect in (("GET", "read"), ("POST", "send")):
        made = document(step("http_fetch", {"method": method, "url": "https://a.example/x"}))
        grants = grants_of(made, WORDS)
        (shown,) = [
            one
            for one in impact_of(made, grants, WORDS)["grants"]
            if one["capability"] == "http_fetch"
        ]
        (result,) = [
            one for one in describe_grants(made, grants, WORDS) if one["capability"] == "http_fetch"
        ]
        assert shown["effect"] == result["effect"] == effect
        assert shown["label"] == result["label"]
        (outside,) = impact_of(made, grants, WORDS)["outside"]
        assert outside["effect"] == effect
