"""Whatever words come in: the sketch is sound but for its questions, and nothing in it is live."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.json_pointers import NOT_THERE, value_at
from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.contracts.limits import Limits
from mainspring.definition.templates.template import parse_template
from tests.unit.authoring.sketch.workspace import HERE, draw, strays

WHEN: Final = [
    "",
    "every weekday at 9 Berlin, ",
    "every other Friday at 4pm Berlin time ",
    "twice a day ",
    "tomorrow at 9 ",
    "every Monday at 8 ",
    "when a row is added to the Orders board, ",
    "when a row changes on the Twin board, ",
    "when an invoice comes in, ",
    "by hand ",
    "whenever a new email arrives ",
    "when our CI calls, ",
    "when the event order.paid happens, ",
    "when an event happens, ",
    "if a customer cancels, ",
    "when any automation fails, ",
    "when automation Nightly import fails, ",
    "when an automation ends, ",
    "every hour UTC, if it rains, ",
]
BEFORE: Final = [
    "",
    "summarise yesterday's support emails",
    "read the Orders board",
    "draft a reply",
    "classify it as bug, feature or question",
    "translate the new notes to German",
    "fetch https://api.example.com/x?y=1",
    "look at my calendar",
    "list the github issues",
    "search the pages for {{ secrets.key }} prices",
    "extract vendor and amount",
    "compare the Leads board with the Orders board",
    "check this week's meetings",
    "read the Nowhere board",
    "check if our website is up",
]
DO: Final = [
    "post five bullets to #standup",
    "post to slack",
    "email the team",
    "mail me",
    "notify me",
    "email ann@example.com and bob@example.com",
    "remind me to pay the {{ rent }} {% if %}",
    "add a row to the Leads board",
    "log it on the Twin board",
    "add a row to the Unknown board",
    "update the Orders board",
    "write a page",
    "save it as report.csv",
    "save it to a csv",
    "publish the event order.checked",
    "publish an event",
    "call https://x.example/y",
    "post the result to https://hook.example.com/a",
    "create a linear issue",
    "open a jira ticket",
    "archive the contact",
    "run the Nightly import automation",
    "wait 10 minutes then tell me",
    "message me on Telegram",
    "send me a summary",
    'post "hello {{ secrets.x }}" to #general',
    "write a report about {# x #}",
    "delete old pages",
    "run an automation",
    "send an SMS to Bob",
]
END: Final = [
    "",
    " at most $2 a day",
    " using model acme/small",
    " within 5 minutes",
    "; if it fails, tell me",
    " and keep it under 50 cents a run",
    ", no AI needed",
    " if so",
]
MARKS: Final = ("{{", "{%", "{#")


@given(
    when=st.sampled_from(WHEN),
    before=st.sampled_from(BEFORE),
    do=st.lists(st.sampled_from(DO), max_size=3),
    end=st.sampled_from(END),
    bare=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_all_that_is_wrong_with_a_sketch_is_what_it_asks_for(
    when: str, before: str, do: list[str], end: str, bare: bool
) -> None:
    words = when + " and ".join(one for one in (before, *do) if one) + end
    made = draw(words, resources=WorkspaceResources() if bare else HERE)
    assert strays(made) == []
    check_questions(made)


def check_questions(made: ProposalSketch) -> None:
    names = [one.id for one in made.questions]
    assert len(names) == len(set(names))
    for one in made.questions:
        for place in (one.pointer, *one.others):
            assert value_at(made.document, place) is NOT_THERE
    # A step that appends rows says which key identifies a row, or a question asks for it.
    for number, step in enumerate(made.document.get("plan", [])):
        if step.get("action") == "append_board_rows":
            at = f"/plan/{number}/config/dedupe_key_field"
            assert "dedupe_key_field" in step["config"] or at in [q.pointer for q in made.questions]


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*WHEN, *BEFORE, *DO, *END, *MARKS, "}}", "%}", "\n", "‹Twin›", "'"]),
            st.text(max_size=20),
            st.text(alphabet=string.punctuation, max_size=10),
        ),
        max_size=12,
    )
)
@settings(max_examples=12, deadline=None)
def test_no_text_of_a_person_becomes_a_template_or_breaks_the_sketch(parts: list[str]) -> None:
    made = draw(" ".join(parts))
    assert strays(made) == []
    assert_inert(made)


def assert_inert(made: ProposalSketch) -> None:
    """Every secret in a sketch is where secrets are allowed, and is the author's."""
    for text in texts(made.document):
        if any(mark in text for mark in MARKS):
            found = parse_template(text, Limits(), secrets=True)
            assert found.secret_names <= set(HERE.secrets)
            roots = {one.path[0] for one in found.references}
            assert roots <= {"steps", "inputs", "trigger", "run", "item"}


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize(
    "phrase",
    [
        "post '{{ secrets.slack_bot_token }}' to #a by hand",
        "remind me every day at 9 UTC to use {{ secrets.billing_key }}",
        "summarise {% for x in y %}{{ secrets.billing_key }} and mail me by hand",
        "search the pages for {{ inputs.x }} and mail me by hand",
        "every day at 9 UTC create a linear issue called '{{ secrets.billing_key }}'",
    ],
)
def test_braces_come_out_as_they_went_in(phrase: str) -> None:
    made = draw(phrase)
    assert strays(made) == []
    for text in texts(made.document["plan"]):
        if any(mark in text for mark in MARKS) and "secrets.slack_bot_token }}" not in text:
            assert not parse_template(text, Limits(), secrets=True).secret_names
    shown = [
        parse_template(text, Limits()).render({})
        for text in texts(made.document["plan"])
        if '{{ "{" }}' in text and "steps." not in text
    ]
    assert all("{" in str(one) and '"{"' not in str(one) for one in shown)


def test_names_of_the_workspace_with_braces_are_inert_too() -> None:
    evil = "Evil {{ secrets.billing_key }}"
    board = BoardSummary(
        "88888888-8888-4888-8888-888888888888",
        evil,
        "",
        (
            DatasetSummary(
                "{{ secrets.billing_key }}", ("{{ secrets.a }}", "ok"), "{{ secrets.k }}"
            ),
        ),
    )
    there = replace(
        HERE,
        boards=(board,),
        automations={evil: board.id},
        page_types=("{{ x }}", "note"),
        event_types={"{{ secrets.a }}": "x"},
    )
    for words in (
        f"by hand read the {evil} board and post it to #a",
        f"by hand add a row to the {evil} board",
        f"when automation {evil} fails, mail me",
        f"when a row is added to the {evil} board, summarise it and add it to the {evil} board",
        f"run the automation {evil} by hand",
        "when an event happens, tell me",
    ):
        made = draw(words, resources=there)
        assert strays(made) == []
        assert_inert(made)
        assert "{{ secrets.a }}" not in [c.value for q in made.questions for c in q.choices]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10_000,
        "{" * 10_000,
        "when " * 2_000,
        "and post " * 1_200,
        "a@" * 5_000,
        "'" * 10_000,
        "at most " * 1_300,
        "post 'x' to #a and " * 550,
        "a.b" * 3_300,
        "add a row to the Orders board and " * 300,
        "http://" * 1_500,
        "‹" * 5_000 + "›" * 5_000,
        "\u202e\x00\ud800 \U0001f600" * 2_000,
    ],
    ids=lambda words: words[:12].encode("ascii", "replace").decode(),
)
def test_ten_thousand_hostile_signs_come_to_a_sound_sketch(text: str) -> None:
    made = draw(text)
    assert strays(made) == []
    assert any("first" in one for one in made.notes)
    assert len(made.document.get("plan", [])) <= 100


def test_the_same_words_always_come_to_the_same_sketch() -> None:
    for words in (*BEFORE, *DO):
        assert draw(f"every Monday at 8 {words}") == draw(f"every Monday at 8 {words}")
