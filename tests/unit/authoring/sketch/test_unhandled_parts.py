"""Whatever of a request has no effect in the definition is said, asked for, or not pretended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from mainspring.authoring.json_pointers import value_at
from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.authoring.resources import BoardSummary, DatasetSummary
from mainspring.contracts.limits import Limits
from mainspring.definition.templates.template import parse_template
from tests.unit.authoring.sketch.workspace import (
    HERE,
    NOW,
    ORDERS,
    actions,
    asked,
    draw,
    strays,
)

DEALS: Final = "99999999-9999-4999-8999-999999999999"
THERE: Final = replace(
    HERE,
    boards=(
        *HERE.boards,
        BoardSummary(
            DEALS, "Deals", "", (DatasetSummary("default", ("id", "stage", "value"), "id"),)
        ),
    ),
)


def sketched(text: str) -> ProposalSketch:
    made = draw(text, resources=THERE)
    assert strays(made) == []
    return made


def step(made: ProposalSketch, action: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in made.document["plan"] if one.get("action") == action
    )
    return found


def rendered(made: ProposalSketch, rows: list[dict[str, Any]]) -> str:
    """The rows that are chosen, as the step that chooses them writes them."""
    text = step(made, "transform_data")["config"]["output"]["text"]
    trigger = {"row_ids": [one["row_id"] for one in rows], "dataset": "default"}
    board = {"data": {"datasets": {"default": {"rows": rows}}}}
    scope = {"trigger": trigger, "steps": {"read_board": board}}
    return str(parse_template(text, Limits()).render(scope))


@pytest.mark.parametrize(
    ("text", "fits", "differs"),
    [
        ('when a deal changes to stage "won", post it to #a', {"stage": "Won"}, {"stage": "lost"}),
        ("when a deal with stage won is added, tell me", {"stage": "won"}, {"stage": None}),
        ("when a deal with a value over 5000 is added, tell me", {"value": 6_000}, {"value": 5}),
        ("when a deal with value under 10 is added, tell me", {"value": 9.5}, {"value": "x"}),
        ("when a value 1 deal is added, tell me", {"value": 1}, {"value": 10}),
    ],
)
def test_a_condition_on_a_column_is_a_test_of_the_rows(
    text: str, fits: dict[str, Any], differs: dict[str, Any]
) -> None:
    made = sketched(text)
    blank = {"stage": None, "value": None}
    assert rendered(made, [{"row_id": "1", **blank, **fits}]).strip()
    assert not rendered(made, [{"row_id": "2", **blank, **differs}]).strip()
    assert made.document["plan"][-1]["when"] == "{{ steps.choose_rows.text | length > 0 }}"


def test_words_in_a_title_are_a_filter_of_the_trigger() -> None:
    made = sketched("when an email with invoice in the subject comes in, notify me")
    filters = made.document["triggers"][0]["config"]["filters"]
    assert filters == {"title": {"regex": "(?i)invoice"}}
    assert "agent_task" not in actions(made)


def test_a_number_of_an_event_is_a_filter_of_the_trigger() -> None:
    made = sketched("when the event order.paid happens with a total over 1000, tell me")
    assert made.document["triggers"][0]["config"]["filters"] == {"total": {"gt": 1000}}
    assert any("total" in one for one in made.notes)


@pytest.mark.parametrize(
    "text",
    [
        "when an email from Ann comes in, notify me",
        "when an email that sounds angry arrives, tell me",
        "when an urgent email comes in, post it to #a",
    ],
)
def test_what_needs_judgement_is_judged_before_anything_is_done(text: str) -> None:
    made = sketched(text)
    assert step(made, "agent_task")["config"]["output_schema"]["properties"]["needed"]
    assert made.document["plan"][-1]["when"] == "{{ steps.think.needed | default(false) }}"


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("when a file larger than 5 MB is uploaded, tell me", "larger than 5 MB"),
        ("when a platinum deal is added, tell me", "platinum"),
        ("when an email from Ann comes in, tell me, without AI", "Ann"),
        ("when the event order.paid happens in Berlin, tell me", "Berlin"),
    ],
)
def test_what_nothing_can_look_at_is_reported(phrase: str, text: str) -> None:
    made = sketched(phrase)
    assert any(text in one and "not" in one for one in made.notes)
    assert "agent_task" not in actions(made)


@pytest.mark.parametrize(
    "text",
    [
        "tweet our release notes every Friday at 9 UTC",
        "every day at 9 UTC upload the report to Dropbox",
        "when an email comes in create a Jira ticket",
        "when an invoice comes in, pay the invoice",
        "every day at 9 UTC post a summary of new notes to Teams",
        "when an email comes in, send an SMS to Bob",
    ],
)
def test_for_what_nothing_here_can_do_there_is_no_plan_but_a_way(text: str) -> None:
    made = sketched(text)
    assert "plan" not in made.document
    assert asked(made)["words"] == "/plan"
    assert any("mainspring connections add" in one for one in made.notes)


def test_unsupported_parts_are_reported_with_the_supported_ones() -> None:
    made = sketched("every Friday at 9 UTC summarise new notes, tweet it and post it to #a")
    assert actions(made)[-1] == "slack_post"
    assert any("tweet" in one and "Nothing here can do" in one for one in made.notes)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("every Monday at 9 UTC delete all pages older than a year", "/plan/0/config"),
        ("every day at 9 UTC delete the oldest row of the Deals board", "/plan/0/config/row_ids"),
        ("when an email comes in, archive the contact", "/plan/0/action"),
    ],
)
def test_what_cannot_be_taken_back_is_never_aimed_by_a_model(text: str, place: str) -> None:
    made = sketched(text)
    assert "agent_task" not in actions(made)
    assert place in asked(made).values()
    assert any("never guessed" in one for one in made.notes)


@pytest.mark.parametrize(
    "text",
    [
        "summarise the Deals board; post the summary to #sales and mail me the next steps",
        "read the Deals board and send a summary to #sales, next steps to me by mail",
    ],
)
def test_two_texts_for_two_places_are_two_fields(text: str) -> None:
    made = sketched(f"every Friday at 9 UTC {text}")
    fields = step(made, "agent_task")["config"]["output_schema"]["required"]
    assert fields == ["summary", "next_steps"]
    assert step(made, "slack_post")["config"]["text"] == "{{ steps.think.summary }}"
    assert step(made, "email.notify_owner")["config"]["text"] == "{{ steps.think.next_steps }}"


def test_what_is_done_for_each_is_a_loop() -> None:
    made = sketched(
        "when a note comes in, extract the action items and create a linear issue for each"
    )
    loop = step(made, "for_each")["config"]
    assert loop["items"] == "{{ steps.think.items | default([]) }}"
    assert loop["steps"][0]["config"]["title"] == "{{ item.title }}"
    assert asked(made) == {"team": "/plan/2/config/steps/0/config/team"}
    rows = sketched("every Monday at 9 UTC for each deal on the Deals board, post a message to #a")
    assert actions(rows) == ["get_board", "for_each"]
    assert "item['stage']" in str(step(rows, "for_each"))


def test_a_failure_is_reported_by_a_step_for_failures() -> None:
    made = sketched("every day at 9 UTC post 'x' to #a; if it fails, post it to #ops")
    assert actions(made) == ["slack_post"]
    (alarm,) = made.document["execution"]["on_failure"]
    assert alarm["config"]["channel"] == "#ops"
    assert alarm["config"]["text"] == "{{ run.error.detail }}"


def test_a_rhythm_of_minutes_needs_no_time_zone() -> None:
    made = sketched("every 5 minutes check https://example.com and tell me if it is down")
    assert not made.questions
    assert made.document["triggers"][0]["config"] == {"cron": "*/5 * * * *", "timezone": "UTC"}
    assert any("UTC" in one for one in made.notes)


def test_json_is_sent_as_it_was_written_and_is_inert() -> None:
    made = sketched(
        'every hour UTC POST {"ok": true, "n": ["{{ run.id }}"]} to https://x.example/y'
    )
    assert actions(made) == ["http_fetch"]
    config = step(made, "http_fetch")["config"]
    assert (config["method"], config["json"]["ok"]) == ("POST", True)
    assert parse_template(config["json"]["n"][0], Limits()).render({}) == "{{ run.id }}"


def test_of_two_boards_that_are_asked_for_either_may_be_answered_first() -> None:
    made = sketched("by hand add a row to the Foo board and add a row to the Bar board saying 'x'")
    boards = [one for one in made.questions if one.id.startswith("board")]
    assert len(boards) == 2
    for one in reversed(boards):
        answered = apply_answers(
            made.document, made.questions, {one.id: "Orders"}, AnswerContext(NOW, None, Limits())
        ).document
        assert value_at(answered, one.pointer) == ORDERS
        assert answered["writes"]["boards"] == [ORDERS]
