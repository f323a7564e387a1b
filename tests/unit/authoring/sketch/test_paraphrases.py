"""The same said in other words: fixed texts, calls, boards, fields, addresses, slips of the pen."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from mainspring.authoring.sketch import word_tables
from tests.unit.authoring.sketch.test_arbitrary_text import DO, WHEN, assert_inert, check_questions
from tests.unit.authoring.sketch.workspace import LEADS, ORDERS, actions, asked, draw, strays


def config(text: str, action: str) -> dict[str, Any]:
    made = draw(text)
    assert strays(made) == []
    found: dict[str, Any] = next(
        one for one in made.document["plan"] if one.get("action") == action
    )["config"]
    return found


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("every day at 9 UTC post to #a that the backup is due", "The backup is due"),
        ("when an email comes in, post a message saying new mail to #a", "New mail"),
        ("post nice weekend to #a on Fridays at 16 UTC", "Nice weekend"),
    ],
)
def test_a_text_that_is_given_is_not_thought_about(phrase: str, text: str) -> None:
    made = draw(phrase)
    assert actions(made) == ["slack_post"]
    assert made.document["plan"][0]["config"]["text"] == text


def test_words_that_tell_one_thing_from_others_are_no_text() -> None:
    assert config("post the notes that came in to #a every day at 9 UTC", "list_pages")


def test_whether_something_answers_is_looked_at_and_not_thought_about() -> None:
    made = draw("every day at 8 UTC check that https://example.com answers")
    assert actions(made) == ["http_fetch", "notification"]
    assert made.document["plan"][1]["when"] == "{{ not steps.fetch.ok }}"
    assert any("only when" in one for one in made.notes)


@pytest.mark.parametrize(
    "text",
    [
        "webhook -> #ops",
        "My shop has a new order. It can call a URL. Post to #ops",
        "our CI can call a URL when a build finishes, then post to #ops",
    ],
)
def test_anyone_can_call_means_a_webhook(text: str) -> None:
    made = draw(text)
    assert [one["type"] for one in made.document["triggers"]] == ["webhook"]
    assert actions(made) == ["slack_post"]


def test_a_thing_with_a_question_mark_is_something_that_happens() -> None:
    made = draw("New lead? tell me")
    assert made.document["triggers"][0]["config"]["board_id"] == LEADS
    event = draw("order paid? tell me")
    assert event.document["triggers"][0]["config"]["event_type"] == "order.paid"


@pytest.mark.parametrize(
    ("text", "board"),
    [
        ("every new email gets recorded on the Leads board", LEADS),
        ("when a note comes in, summarise it, the result goes on the Orders board", ORDERS),
        ("when an email arrives, post it to #a and to our Leads board", LEADS),
        ("when an email arrives, add it to the order board", ORDERS),
    ],
)
def test_rows_are_written_however_it_is_said(text: str, board: str) -> None:
    assert config(text, "append_board_rows")["board_id"] == board


def test_a_row_that_is_added_by_others_is_still_what_starts_it() -> None:
    made = draw("when a row is added to the Leads board, tell me")
    assert made.document["triggers"][0]["config"]["board_id"] == LEADS
    assert actions(made) == ["notification"]


def test_fields_in_brackets_are_fields() -> None:
    text = "add a row (name, email, notes) to the Leads board"
    thought = config(f"when an email comes in {text}", "agent_task")
    row = thought["output_schema"]["properties"]["rows"]["items"]["properties"]
    assert list(row) == ["name", "email", "notes"]
    (sent,) = config(f"when our form calls the webhook, {text}", "append_board_rows")["rows"]
    assert sent["notes"] == "{{ trigger.notes | default('', true) }}"


@pytest.mark.parametrize(
    "text",
    [
        "every hour UTC read their API and post the answer to #ops",
        "every hour UTC look at the status page and post it to #ops",
        "every hour UTC fetch http://[ and post it to #ops",
    ],
)
def test_an_address_that_was_not_said_is_asked_for(text: str) -> None:
    made = draw(text)
    assert actions(made) == ["http_fetch", "slack_post"]
    assert asked(made)["url"] == "/plan/0/config/url"


@pytest.mark.parametrize("slip", ["sumarise", "summarrise", "sumamrise"])
def test_a_slip_of_one_letter_is_read_as_the_verb(slip: str) -> None:
    made = draw(f"every day at 9 UTC {slip} new notes and notfy me")
    assert actions(made) == ["list_pages", "for_each", "agent_task", "notification"]


TABLES: Final = [
    sorted(one)
    for name, one in sorted(vars(word_tables).items())
    if name.isupper() and isinstance(one, frozenset | dict)
]
OTHERS: Final = [
    "https://x.example/y",
    "https://",
    "http://[",
    "#a",
    "a@b.co",
    '"hi"',
    '{"a": 1}',
    "(a, b)",
    "board",
    "for each",
    "when",
    "if",
    "it fails",
    "->",
    ",",
    ".",
    "?",
    "webhook",
    "5",
    "Orders",
    "every day at 9 UTC",
    "every 5 minutes",
    "Twin",
    "order.paid",
    "saying",
    "that",
    "to",
]


def test_any_mixture_of_known_words_comes_to_a_sound_sketch() -> None:
    chance = random.Random(7)
    for _ in range(60):
        pools = [chance.choice([*TABLES, OTHERS, OTHERS, WHEN, DO]) for _ in range(10)]
        words = " ".join(chance.choice(pool) for pool in pools)
        made = draw(words)
        assert strays(made) == [], words
        check_questions(made)
        assert_inert(made)
