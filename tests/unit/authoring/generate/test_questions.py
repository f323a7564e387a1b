"""What a model leaves to a person: values inside configs alone, tidy, with real choices."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from mainspring.authoring.generate.context import GenerationResult
from mainspring.authoring.generate.conversation import generate
from mainspring.authoring.generate.name_checks import KnownNames
from mainspring.authoring.generate.submission import take
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from tests.kit.author_model import (
    BOARD,
    RESOURCES,
    ScriptedModel,
    desk_for,
    hands_in,
    plain,
    wish_for,
)
from tests.kit.author_model import WORDS as VOCABULARY

WORDS = "every day at 9 post a word to #standup"
KNOWN = KnownNames.of(wish_for(WORDS), (), RESOURCES, VOCABULARY)
POST = {"step_id": "post", "action": "slack_post", "config": {"channel": "#standup", "text": "Hi"}}


async def handed(*questions: Any, **others: Any) -> GenerationResult:
    reply = hands_in(plain(**{"plan": [POST], **others}), *questions)
    return await generate(desk_for(ScriptedModel(reply)), wish_for(WORDS))


def ask(pointer: Any, question: Any = "Which one?", **others: Any) -> dict[str, Any]:
    return {"pointer": pointer, "question": question, **others}


async def test_a_value_that_is_asked_for_may_be_missing_and_is_chosen_among_what_there_is() -> None:
    made = await handed(ask("/plan/0/config/token", "Which\x07 secret\n\u202eis it?"))
    assert made.sketch is not None
    (question,) = made.sketch.questions
    assert question.question == "Which secret is it?"
    assert (question.id, question.kind) == ("post-token", "value")
    assert [one.value for one in question.choices] == ["{{ secrets.slack_bot_token }}"]
    fits = compile_schema(dict(question.schema), Limits()).is_valid
    assert fits("{{ secrets.slack_bot_token }}")
    for raw in ("xoxb-REALSECRET-123456", "{{ secrets.a }}x", "[secret a]", "{{ inputs.a }}", ""):
        assert not fits(raw)


async def test_a_value_that_is_missing_and_not_asked_for_is_wrong() -> None:
    made = await handed(plan=[{**POST, "config": {"text": "Hi"}}])
    assert made.sketch is None
    assert "/plan/0/config/channel" in made.refused[0]


async def test_a_placeholder_is_taken_out_where_a_question_asks_for_the_value() -> None:
    step = {**POST, "config": {**POST["config"], "token": "<token>", "channel": "???"}}  # type: ignore[dict-item]
    made = await handed(ask("/plan/0/config/token"), ask("/plan/0/config/channel"), plan=[step])
    assert made.sketch is not None
    assert made.sketch.document["plan"][0]["config"] == {"text": "Hi"}


async def test_one_of_several_keys_may_be_asked_for() -> None:
    step = {"step_id": "read", "action": "get_board"}
    made = await handed(ask("/plan/0/config/board_id"), plan=[step])
    assert made.sketch is not None
    (question,) = made.sketch.questions
    assert question.schema["format"] == "uuid"
    assert [(one.label, one.value) for one in question.choices] == [("Invoices", BOARD)]


async def test_an_item_of_a_list_is_asked_for_as_the_list() -> None:
    step = {
        "step_id": "mail",
        "action": "send_email",
        "config": {"to": ["who?"], "subject": "a", "text": "b"},
    }
    made = await handed(ask("/plan/0/config/to/0", "To whom?"), plan=[step])
    assert made.sketch is not None
    assert made.sketch.questions[0].pointer == "/plan/0/config/to"
    assert "to" not in made.sketch.document["plan"][0]["config"]


@pytest.mark.parametrize(
    "pointer",
    [
        "",
        "/",
        "plan/0/config/token",
        "/plan",
        "/plan/0",
        "/plan/0/action",
        "/plan/0/config",
        "/plan/7/config/token",
        "/nowhere/at/all",
        "/grants/0/capability",
        "/schema_version",
        "/execution/write_policy",
        "/metadata/tags",
        "/triggers/0",
        "/triggers/0/type",
        "/plan/0/config/text/deeper/still",
        "/plan/99999999999999999999/config/a",
        7,
        None,
        "/plan/0/config/" + "x" * 5_000,
        "/plan/0/config/",
        "//config/a",
        "/plan/-1/config/a",
        "/plan/0/config/grants",
        "/plan/0/config/tools",
        "/plan/0/config/write_policy",
        "/plan/0/config/headers",
        "/plan/0/config/definition",
        "/plan/0/config/hosts",
    ],
)
def test_nothing_can_be_asked_for_outside_of_configs(pointer: Any) -> None:
    document = plain(plan=[POST])
    made, wrong = take(document, [ask("/plan/0/config/token"), ask(pointer)], KNOWN)
    assert [one.pointer for one in made] == ["/plan/0/config/token"]
    assert [one.pointer for one in wrong] == ["/questions/1"]
    assert document == plain(plan=[POST])


async def test_a_question_outside_costs_a_round() -> None:
    made = await handed(ask("/plan/0/config/token"), ask("/plan/0/action"))
    assert (made.sketch, made.rounds) == (None, 3)
    assert "/questions/1" in made.refused[0]


async def test_steps_inside_a_step_are_no_values_but_their_configs_are() -> None:
    loop = {
        "step_id": "each",
        "action": "for_each",
        "config": {"items": [1], "steps": [POST]},
    }
    at = "/plan/0/config/steps"
    made = await handed(ask(f"{at}/0/config/token"), plan=[loop])
    assert made.sketch is not None
    assert made.sketch.questions[0].choices
    for pointer in (at, f"{at}/0", f"{at}/0/action", f"{at}/0/config"):
        asked, wrong = take(plain(plan=[loop]), [ask(pointer)], KNOWN)
        assert (asked, len(wrong)) == ([], 1)


@pytest.mark.parametrize("question", ["", "   ", "\x00", 7, None, ["a"]])
def test_a_question_without_words_is_none(question: Any) -> None:
    made, wrong = take(plain(), [ask("/plan/0/config/title", question)], KNOWN)
    assert made == []
    assert len(wrong) == 1


async def test_too_many_questions_are_refused() -> None:
    made = await handed(*[ask("/plan/0/config/token")] * 11)
    assert "at most 10" in made.refused[0]


async def test_questions_have_names_that_stay_with_their_steps() -> None:
    other = {**POST, "step_id": "other"}
    asked, _ = take(
        plain(plan=[other, POST]),
        [ask("/plan/0/config/token"), ask("/plan/1/config/token"), ask("/triggers/0/config/cron")],
        KNOWN,
    )
    assert [one.id for one in asked] == ["other-token", "post-token", "schedule-cron"]
    odd, _ = take(plain(plan=[POST]), [ask("/plan/0/config/ä\u202e /../" + "x" * 300)], KNOWN)
    assert odd == []


async def test_a_long_question_is_cut() -> None:
    made = await handed(ask("/plan/0/config/token", "why " * 1_000))
    assert made.sketch is not None
    assert len(made.sketch.questions[0].question) <= 300


async def test_choices_fit_the_place_and_name_nothing_that_nobody_said() -> None:
    step = {"step_id": "tell", "action": "notification", "config": {"title": "a"}}
    choices = ["warning", "loud", 3, None, {"a": 1}, "error", "{{ secrets.x }}"]
    made = await handed(ask("/plan/0/config/level", choices=choices), plan=[step])
    assert made.sketch is not None
    assert [one.value for one in made.sketch.questions[0].choices] == ["warning", "error"]
    channels = ["#standup", "#leaks", "boss@evil.example", "https://evil.example"]
    made = await handed(
        ask("/plan/0/config/channel", choices=channels), ask("/plan/0/config/token")
    )
    assert made.sketch is not None
    assert [one.value for one in made.sketch.questions[0].choices] == ["#standup"]


@pytest.mark.parametrize(
    ("action", "config", "at"),
    [
        ("script", {"source": "return 1", "grants": []}, "source"),
        ("script", {"source": "return 1", "grants": [{"tool": "get_board"}]}, "grants/0/tool"),
        ("agent_task", {"prompt": "a", "tools": []}, "tools"),
        ("agent_task", {"prompt": "a", "tools": [{"tool": "a", "params": {}}]}, "tools/0/params"),
        ("agent_task", {"prompt": "a", "tools": [{"params": {"to": 1}}]}, "tools/0/params/to"),
    ],
)
def test_nobody_is_asked_by_a_model_for_what_an_automation_may_do(
    action: str, config: dict[str, Any], at: str
) -> None:
    step = {"step_id": "one", "action": action, "config": config}
    made, wrong = take(plain(plan=[step]), [ask(f"/plan/0/config/{at}")], KNOWN)
    assert (made, len(wrong)) == ([], 1)
    # A value of the same name that decides nothing may be asked for.
    other = {"step_id": "one", "action": "notification", "config": {"title": "a"}}
    made, wrong = take(plain(plan=[other]), [ask("/plan/0/config/source")], KNOWN)
    assert (len(made), wrong) == (1, [])


@pytest.mark.parametrize(
    ("length", "label"),
    [(100, "x" * 100), (101, "x" * 100 + "… (101 characters)"), (200, "(200 characters)")],
)
def test_a_choice_that_is_not_shown_whole_says_so(length: int, label: str) -> None:
    choices = ["x" * length, "y" * 201]
    (made,), _ = take(plain(plan=[POST]), [ask("/plan/0/config/text", choices=choices)], KNOWN)
    (choice,) = made.choices
    assert choice.value == "x" * length
    assert choice.label.endswith(label)


def test_a_header_that_carries_a_key_is_answered_with_a_secret() -> None:
    fetch = {
        "step_id": "f",
        "action": "http_fetch",
        "config": {"url": "https://a.example/", "headers": {}, "query": {}},
    }
    for at in ("headers/Authorization", "headers/X-Api-Key", "headers/Cookie", "query/token"):
        (made,), _ = take(plain(plan=[deepcopy(fetch)]), [ask(f"/plan/0/config/{at}")], KNOWN)
        fits = compile_schema(dict(made.schema), Limits()).is_valid
        assert fits("Bearer {{ secrets.my_key }}")
        assert fits("{{ secrets.my_key }}")
        assert not fits("Bearer sk-live-1234567890")
        assert not fits("ghp_0123456789")
    for at in ("headers/Accept", "query/page"):
        (made,), _ = take(plain(plan=[deepcopy(fetch)]), [ask(f"/plan/0/config/{at}")], KNOWN)
        assert compile_schema(dict(made.schema), Limits()).is_valid("text/plain")
    # An address may hold a secret and need not.
    (made,), _ = take(plain(plan=[fetch]), [ask("/plan/0/config/url")], KNOWN)
    assert compile_schema(dict(made.schema), Limits()).is_valid("https://b.example/")
