"""Answers are written where their questions point, or are reported as wrong and change nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.authoring.models import ProposalQuestion, QuestionChoice
from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HERE = AnswerContext(NOW, None, Limits())
DOCUMENT: dict[str, Any] = {
    "triggers": [{"id": "schedule-1", "type": "schedule", "config": {"cron": "0 9 * * *"}}],
    "plan": [{"step_id": "post", "action": "slack_post", "config": {"text": "Hello"}}],
}
CHANNEL = ProposalQuestion(
    "channel",
    "value",
    "/plan/0/config/channel",
    "Which channel?",
    {"type": "string", "pattern": "^#"},
    (QuestionChoice("The ops channel", "#ops"),),
)
ZONE = ProposalQuestion("zone", "time_zone", "/triggers/0/config/timezone", "Which zone?")
WHEN = ProposalQuestion("when", "schedule", "/triggers/0", "When?", {})


def answered(
    question: ProposalQuestion, answer: Any, place: AnswerContext = HERE
) -> dict[str, Any]:
    return apply_answers(DOCUMENT, [question], {question.id: answer}, place).document


def refused(question: ProposalQuestion, answer: Any) -> Invalid:
    with pytest.raises(Invalid) as result:
        answered(question, answer)
    return result.value


def test_a_value_is_written_where_its_question_points() -> None:
    assert answered(CHANNEL, "#standup")["plan"][0]["config"]["channel"] == "#standup"


def test_a_choice_is_meant_by_its_words_in_any_case() -> None:
    assert answered(CHANNEL, "the OPS channel")["plan"][0]["config"]["channel"] == "#ops"


def test_a_board_is_meant_by_its_name() -> None:
    board = "0190c7a0-0000-7000-8000-000000000001"
    question = ProposalQuestion("board", "value", "/plan/0/config/board_id", "Which board?")
    there = AnswerContext(NOW, None, Limits(), {"Leads": board})
    for output in ("leads", "Leads ", board.upper()):
        assert answered(question, output, there)["plan"][0]["config"]["board_id"] == board
    problem = refused(question, "Sales")
    assert "no board called 'Sales'" in problem.detail
    assert "mainspring boards create" in str(problem.findings[0].suggestion)


def test_what_a_choice_puts_elsewhere_is_put_there() -> None:
    even = QuestionChoice(
        "Even weeks", {"cron": "0 9 * * 5", "timezone": "UTC"}, (("/plan/0/when", "x"),)
    )
    question = ProposalQuestion("when", "schedule", "/triggers/0", "When?", {}, (even,))
    made = answered(question, "even weeks")
    assert made["plan"][0]["when"] == "x"
    assert made["triggers"][0]["config"] == {"cron": "0 9 * * 5", "timezone": "UTC"}


def test_a_zone_is_taken_by_its_name_and_by_a_place() -> None:
    for output in ("Europe/Berlin", "Berlin", "berlin"):
        assert answered(ZONE, output)["triggers"][0]["config"]["timezone"] == "Europe/Berlin"


def test_a_schedule_is_taken_in_words_as_cron_and_as_manual() -> None:
    [one] = answered(WHEN, "every Monday at 10 Berlin time")["triggers"]
    assert one["config"] == {"cron": "0 10 * * 1", "timezone": "Europe/Berlin"}
    [other] = answered(WHEN, {"cron": "5 4 * * *", "timezone": "UTC"})["triggers"]
    assert other == {
        "id": "schedule-1",
        "type": "schedule",
        "config": {"cron": "5 4 * * *", "timezone": "UTC"},
    }
    assert answered(WHEN, "by hand")["triggers"] == []
    assert answered(WHEN, None)["triggers"] == []


def test_a_schedule_that_takes_two_expressions_is_two_triggers() -> None:
    place = AnswerContext(NOW, "Europe/Berlin", Limits())
    made = answered(WHEN, "every day at 9 and at 17:30", place)
    assert len({one["id"] for one in made["triggers"]}) == len(made["triggers"]) == 2


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (CHANNEL, "standup"),
        (CHANNEL, 5),
        (CHANNEL, None),
        (ZONE, "Mars"),
        (ZONE, 5),
        (ZONE, ""),
        (WHEN, "whenever you like"),
        (WHEN, "three times a week"),
        (WHEN, {"cron": "0 9 * * *"}),
        (WHEN, 7),
        (WHEN, [5]),
        (ProposalQuestion("more", "words", "/plan", "What?"), "  "),
    ],
)
def test_an_answer_that_does_not_fit_is_reported_at_its_place(
    question: ProposalQuestion, answer: Any
) -> None:
    problem = refused(question, answer)
    assert all(one.pointer.startswith(f"/answers/{question.id}") for one in problem.findings)
    assert problem.findings


def test_a_question_that_nobody_asked_has_no_answer() -> None:
    with pytest.raises(Invalid) as result:
        apply_answers(DOCUMENT, [CHANNEL], {"colour": "red", "channel": "#a"}, HERE)
    assert [one.pointer for one in result.value.findings] == ["/answers/colour"]


def test_all_that_is_wrong_is_reported_at_once_and_nothing_is_changed() -> None:
    before = repr(DOCUMENT)
    with pytest.raises(Invalid) as result:
        apply_answers(DOCUMENT, [CHANNEL, ZONE], {"channel": "x", "zone": "y"}, HERE)
    assert {one.pointer for one in result.value.findings} == {"/answers/channel", "/answers/zone"}
    assert repr(DOCUMENT) == before


def test_more_words_are_handed_on_to_be_read_with_the_request() -> None:
    question = ProposalQuestion("more", "words", "/plan", "What should it do?")
    made = apply_answers(DOCUMENT, [question], {"more": " post to Slack "}, HERE)
    assert made.words == ("post to Slack",)
    assert made.document == DOCUMENT
