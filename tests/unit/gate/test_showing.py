"""What is above a button: all that would leave, or no button at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.gate.prompting.prompts import MOST, draft_message, question_message, read_options


def test_everything_that_leaves_is_shown_by_its_name() -> None:
    result = draft_message(
        "Send to ada@example.com “x”: Hi",
        {
            "input": {
                "to": ["ada@example.com", "b@example.com"],
                "bcc": ["spy@example.com"],
                "body": "Hi\n\n\n\n\nbcc: nobody\u202e",
                "html": "<p>Pay</p>",
                "reply_to": "eve@example.com",
                "urgent": True,
                "copies": 1,
                "attachments": [
                    {"filename": "a.pdf", "mime_type": "text/pdf", "bytes": 12, "sha256": "0"}
                ],
            }
        },
        "ada@work",
    )

    assert result.whole
    lines = result.text.splitlines()
    assert lines[:3] == ["Send to ada@example.com “x”: Hi", "(over the account ada@work)", ""]
    assert lines[3:] == [
        "input:",
        "  to: ada@example.com, b@example.com",
        "  bcc: spy@example.com",
        "  body: ",
        "| Hi",
        "| ",
        "| bcc: nobody\\u202e",
        "  html: <p>Pay</p>",
        "  reply_to: eve@example.com",
        "  urgent: yes",
        "  copies: 1",
        "  attachments:",
        "    - a.pdf (text/pdf, 12 bytes)",
    ]


def test_what_does_not_fit_is_only_announced() -> None:
    for result in (
        draft_message("Nudge", {"text": "x" * MOST}),
        draft_message("Nudge", {"text": "😀" * (MOST // 2)}),
        question_message("Publish?", "fine " * 700 + "AND DELETE EVERYTHING"),
    ):
        assert not result.whole
        assert len(result.text) < MOST
        assert "…" in result.text
        assert "answer it there" in result.text
    assert question_message("Publish?", "Now.").text == "Publish?\nNow."


def test_a_form_with_a_few_fixed_answers_has_options() -> None:
    def labels(form: Mapping[str, Any] | None) -> list[str]:
        return [one.label for one in read_options(form)]

    assert labels(None) == []
    assert labels({"enum": ["a", "b"]}) == ["a", "b"]
    assert labels({"type": "boolean", "enum": [True, False]}) == ["yes", "no"]
    day = {"type": "object", "properties": {"day": {"enum": [1, 2]}}}
    assert labels(day) == ["1", "2"]
    assert [one.answer for one in read_options(day)] == [{"day": 1}, {"day": 2}]
    # What cannot be told apart, does not fit on a button or has to be written has none.
    for form in (
        {"enum": ["a"] * 2},
        {"enum": ["a", " a "]},
        {"enum": ["x" * 61]},
        {"enum": [""]},
        {"enum": [None, "a"]},
        {"enum": [{"a": 1}]},
        {"enum": list("abcdef")},
        {"type": "string"},
        {"properties": {"a": {"enum": ["x"]}, "b": {"type": "string"}}},
    ):
        assert labels(form) == [], form
