"""What is named, watched, timed or missing in a request is in the sketch, or asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.prompts import STARTERS
from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.contracts.limits import Limits
from mainspring.definition.templates.template import parse_template
from tests.unit.authoring.sketch.workspace import (
    HERE,
    NOW,
    actions,
    asked,
    draw,
    strays,
)

BARE: Final = replace(HERE, boards=(), secrets=())
TWO: Final = (
    "every weekday at 17:00 Berlin time remind me to fill in my timesheet, "
    "and every Monday at 8 remind me to check the post"
)


def sketched(text: str, *, bare: bool = False) -> ProposalSketch:
    made = draw(text, resources=BARE if bare else HERE)
    assert strays(made) == []
    return made


def config(made: ProposalSketch, action: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one["config"] for one in made.document["plan"] if one.get("action") == action
    )
    return found


def holds(condition: str, scope: dict[str, Any]) -> bool:
    return {"true": True, "false": False}[str(parse_template(condition, Limits()).render(scope))]


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        "post 'a' to #x every Monday at 9 UTC and post 'b' to #y every Friday at 10 UTC",
        "remind me to stretch every day at 9 UTC, and on Fridays at 16 UTC remind me of beer",
    ],
)
def test_of_two_wishes_with_a_time_each_one_is_chosen(text: str) -> None:
    made = sketched(text)
    (question,) = made.questions
    assert (question.kind, question.pointer) == ("words", "/plan")
    assert "plan" not in made.document
    assert len(question.choices) == 2
    for chosen, other in (question.choices, question.choices[::-1]):
        answer = sketched(f"{text}\n{chosen.value}")
        assert not answer.questions
        assert len(answer.document["triggers"]) == len(actions(answer)) == 1
        assert any(other.label in one for one in answer.notes)


def test_a_wish_that_is_chosen_keeps_the_zone_of_the_whole() -> None:
    made = sketched(f"{TWO}\nthe second one")
    assert made.document["name"] == "Check the post"
    assert made.document["triggers"][0]["config"] == {
        "cron": "0 8 * * 1",
        "timezone": "Europe/Berlin",
    }


@pytest.mark.parametrize(
    "text",
    [
        "post 'a' to #x every Monday at 9 UTC and every Friday at 10 UTC",
        "every Monday at 9 UTC and every Friday at 10 UTC post 'a' to #x",
    ],
)
def test_one_wish_with_two_times_is_one_automation(text: str) -> None:
    made = sketched(text)
    assert not made.questions
    assert len(made.document["triggers"]) == 2


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize(
    ("end", "action"),
    [
        ("tell me when it fails", "notification"),
        ("tell me if it is down", "notification"),
        ("tell me when it is not reachable", "notification"),
        ("post to #ops when it returns an error", "slack_post"),
        ("mail me when something goes wrong", "email.notify_owner"),
    ],
)
def test_an_address_that_is_down_is_reported_whether_it_answers_or_not(
    end: str, action: str, bare: bool
) -> None:
    made = sketched(f"every 15 minutes check https://shop.example/x and {end}", bare=bare)
    fetch, tell = made.document["plan"]
    assert fetch["config"]["allow_error_status"] is True
    for ok in (True, False):
        scope = {"steps": {"fetch": {"ok": ok}}}
        assert holds(tell["when"], scope) is not ok
    (alarm,) = made.document["execution"]["on_failure"]
    assert (tell["action"], alarm["action"]) == (action, action)
    for failed in ("fetch", tell["step_id"]):
        of_run = {"run": {"failed_step_id": failed}}
        assert holds(alarm["when"], of_run) is (failed == "fetch")
    assert all("shop.example is down" in str(one["config"]) for one in (tell, alarm))
    for question in made.questions:
        given = {question.id: question.choices[0].value}
        filled = apply_answers(
            made.document, made.questions, given, AnswerContext(NOW, None, Limits())
        ).document
        name = question.pointer.rpartition("/")[2]
        (other,) = filled["execution"]["on_failure"]
        assert other["config"][name] == filled["plan"][1]["config"][name]


def test_the_first_look_at_a_page_only_remembers() -> None:
    made = sketched("every hour check https://a.example and tell me when the page changes")
    assert [one["type"] for one in made.document["triggers"]] == ["schedule"]
    (when,) = [one["when"] for one in made.document["plan"] if "when" in one]
    for known, result in (("", False), ("old", True), ("new", False)):
        scope = {"steps": {"recall": {"value": known}, "fetch": {"text": "new"}}}
        assert holds(when, scope) is result


@pytest.mark.parametrize(("name", "text"), STARTERS)
def test_every_starter_comes_to_a_sound_plan(name: str, text: str) -> None:
    made = sketched(text)
    assert actions(made), name
    assert not any("did not understand" in one for one in made.notes)
    assert "words" not in asked(made)
    if name == "Reminder":
        assert actions(made) == ["notification"]


@pytest.mark.parametrize(
    ("text", "action", "key", "name"),
    [
        ("save it as a page called Weekly sales", "create_page", "title", "Weekly sales"),
        ("save a summary as a page titled 'A, b'", "create_page", "title", "A, b"),
        (
            "mail bob@x.example with the subject Daily numbers",
            "send_email",
            "subject",
            "Daily numbers",
        ),
        ("mail me a report titled The orders", "email.notify_owner", "subject", "The orders"),
        ("send me a notification named New orders", "notification", "title", "New orders"),
    ],
)
def test_what_was_named_is_called_so(text: str, action: str, key: str, name: str) -> None:
    made = sketched(f"every Monday at 8 UTC read the Orders board and {text}")
    assert config(made, action)[key] == name
    assert made.document["triggers"][0]["config"]["cron"] == "0 8 * * 1"


@pytest.mark.parametrize(
    "text",
    [
        "when a file called offer.pdf is uploaded, tell me",
        "when a page titled Budget comes in, post it to #a",
    ],
)
def test_what_comes_in_under_a_name_is_not_called_so_here(text: str) -> None:
    made = sketched(text)
    assert not any("could be called" in one for one in made.notes)
    assert made.document["plan"][-1]["config"].get("title") not in ("offer.pdf", "Budget")


def test_a_page_that_is_read_by_its_name_is_looked_for_by_it() -> None:
    made = sketched("every day at 9 UTC read the page called Road map and post it to #a")
    assert config(made, "query")["q"] == "Road map"


def test_a_name_that_finds_no_place_is_reported() -> None:
    made = sketched("every day at 9 UTC post 'x' to #a in a page called Foo")
    assert any("Foo" in one for one in made.notes)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("remind the team about tax", "/plan/0/config/channel"),
        ("remind everyone to log hours", "/plan/0/config/channel"),
        ("tell my boss that the report is late", "/plan/0/config/to"),
    ],
)
def test_how_somebody_else_is_reached_is_asked(text: str, place: str) -> None:
    made = sketched(f"every Monday at 8 UTC {text}")
    assert place in asked(made).values()
    assert "notification" not in actions(made)


@pytest.mark.parametrize(
    "text",
    [
        "every Friday at 9 UTC read the Sales board and leave me a message",
        "every Friday at 9 UTC add a row saying 'x' to the Sales board",
        "when a row is added to the Sales board, tell me",
    ],
)
def test_a_board_that_is_not_there_is_asked_for_with_the_way_to_make_it(text: str) -> None:
    made = sketched(text, bare=True)
    (question,) = [one for one in made.questions if one.id == "board"]
    assert question.pointer.endswith("/config/board_id")
    assert "mainspring boards create Sales" in question.question


@pytest.mark.parametrize("time", ["25:00", "8:75"])
def test_a_time_that_cannot_be_is_reported_and_asked_as_a_time(time: str) -> None:
    (question,) = sketched(f"every day at {time} remind me to sleep").questions
    assert (question.id, question.kind) == ("when", "schedule")
    assert time in question.question


def test_fields_of_what_was_sent_are_no_deed() -> None:
    made = sketched("when a webhook is called, leave me a message with the name and email")
    assert actions(made) == ["notification"]
    text = config(made, "notification")["message_template"]
    scope = {"trigger": {"name": "Ann", "email": "a@b.example"}}
    assert parse_template(text, Limits()).render(scope) == "name: Ann\nemail: a@b.example"


def test_what_a_model_cannot_know_is_asked_for() -> None:
    text = "every day at 9 UTC post the weather to #team"
    made = sketched(text)
    assert [one.kind for one in made.questions if one.id == "source"] == ["words"]
    again = sketched(f"{text}\nhttps://weather.example/berlin")
    assert not again.questions
    assert actions(again) == ["http_fetch", "agent_task", "slack_post"]
    assert not sketched("every day at 9 UTC post a joke to #team").questions


def test_an_address_in_a_condition_is_looked_at() -> None:
    made = sketched("if the price on https://shop.example/4 drops below 20 euro tell me")
    assert actions(made)[0] == "http_fetch"
    assert [one.kind for one in made.questions] == ["schedule"]


@pytest.mark.parametrize(
    "text",
    [
        "get https://a.example/feed.xml and save new items as pages",
        "translate new notes and store them as pages",
    ],
)
def test_pages_that_are_written_are_not_read(text: str) -> None:
    made = sketched(f"every day at 9 UTC {text}")
    last = made.document["plan"][-1]
    assert last["action"] == "for_each"
    assert last["config"]["steps"][0]["action"] == "create_page"
    assert actions(made).count("list_pages") == ("notes" in text)


def test_what_is_assumed_about_a_time_is_reported_while_its_zone_is_open() -> None:
    notes = sketched("every night remind me to sleep").notes
    assert any("22:00" in one for one in notes)
    taxes = sketched("each quarter, first day, 8am UTC, remind me of taxes").notes
    assert not any("no day was given" in one for one in taxes)


def test_what_was_said_again_more_plainly_is_no_longer_reported_as_lost() -> None:
    made = sketched("every day at 9 UTC make coffee\nremind me to make coffee")
    assert actions(made) == ["notification"]
    assert not any("did not understand" in one for one in made.notes)


def test_a_secret_that_is_not_kept_yet_is_shown_as_such() -> None:
    made = sketched("every day at 9 UTC post 'hi' to #a", bare=True)
    (question,) = made.questions
    assert "mainspring secrets set slack_bot_token" in question.choices[0].label
    assert question.choices[0].value == "{{ secrets.slack_bot_token }}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("every Monday at 8 UTC remind me to check the post", "Check the post"),
        ("every monday 9 UTC post hello team to #a", "Post hello team to #a"),
    ],
)
def test_a_name_says_the_deed_and_no_time(text: str, name: str) -> None:
    assert sketched(text).document["name"] == name


def test_a_title_names_what_was_read_and_not_that_it_was() -> None:
    made = sketched("every Monday at 8 UTC read the Orders board and mail it to me")
    assert config(made, "email.notify_owner")["subject"] == "Orders board"
