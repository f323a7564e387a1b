"""A request that was not understood, or only in part, asks before it is ready."""

from __future__ import annotations

import pytest

from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.authoring.sketch.languages import ONLY_ENGLISH, is_foreign
from mainspring.authoring.sketch.planning import is_courtesy, is_length, is_statement
from mainspring.contracts.limits import Limits
from scripts.phrase_score import INDEPENDENT, PHRASES, score
from tests.kit.requests import SETS, read_requests
from tests.unit.authoring.sketch.workspace import NOW, actions, draw

HOP = "every day at 9 UTC post 'hello' to #a and frobnicate the gizmo"
FOREIGN = [
    "Wenn eine E-Mail von chef@firma.de kommt, schick mir Telegram",
    "täglich um 9 Wetter an #team posten",
    "Chaque lundi à 9h, envoie un résumé à #equipe",
    "Cada lunes a las 9 envía un resumen a #equipo",
    "Toda segunda às 9 envie um resumo",
    "Ogni lunedì alle 9 invia un riassunto",
    "Elke maandag om 9 uur stuur een samenvatting",
    "Каждый понедельник отправь отчёт в #team",
    "每天早上九点发送报告",
]


def test_what_was_not_understood_is_one_question_with_leaving_it_out_as_an_answer() -> None:
    made = draw(HOP)
    assert actions(made) == ["slack_post"]
    (question,) = [one for one in made.questions if one.id == "not-understood"]
    assert question.kind == "words"
    assert "“frobnicate the gizmo”" in question.question
    answer = apply_answers(
        made.document, [question], {question.id: "leave it out"}, AnswerContext(NOW, None, Limits())
    )
    assert answer.words == ()
    assert answer.document["metadata"]["not_understood"] == ["frobnicate the gizmo"]


def test_other_words_for_it_are_read_as_more_of_the_request() -> None:
    (question,) = [one for one in draw(HOP).questions if one.id == "not-understood"]
    answer = apply_answers(
        {}, [question], {question.id: "tell me"}, AnswerContext(NOW, None, Limits())
    )
    assert (answer.words, answer.worded) == (("tell me",), frozenset({"not-understood"}))


@pytest.mark.parametrize("text", FOREIGN)
def test_another_language_is_never_guessed_at(text: str) -> None:
    made = draw(text)
    assert "plan" not in made.document
    assert made.document["triggers"] == []
    (question,) = made.questions
    assert (question.kind, question.pointer) == ("words", "/plan")
    assert made.notes == (ONLY_ENGLISH, f"I did not understand: “{text}”.")


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_each_line_in_another_language_is_asked_about(first: bool) -> None:
    english = "every day at 9 UTC post 'hello' to #a"
    foreign = FOREIGN[:2]
    made = draw("\n".join([*foreign, english] if first else [english, *foreign]))
    assert actions(made) == ["slack_post"]
    (question,) = made.questions
    assert question.id == "not-understood"
    assert question.choices[0].value == foreign
    assert ONLY_ENGLISH in made.notes


def test_a_line_in_another_language_is_asked_about_after_one_automation_is_chosen() -> None:
    parts = "every day at 9 UTC post 'hello' to #a and every day at 5pm UTC post 'bye' to #b"
    made = draw(f"{parts}\n{FOREIGN[0]}")
    (which,) = made.questions
    made = draw(f"{parts}\n{FOREIGN[0]}\n{which.choices[1].label}")
    assert [one["config"]["text"] for one in made.document["plan"]] == ["bye"]
    (question,) = made.questions
    assert question.choices[0].value == [FOREIGN[0]]


@pytest.mark.parametrize(
    "text",
    [
        "El Al, La Liga",
        "Slack Anna van den Berg the numbers",
        "Slack Vincent van Gogh and Ursula von der Leyen",
        "Slack Иван Петров",
    ],
)
def test_names_are_not_taken_for_another_language(text: str) -> None:
    assert not is_foreign(text)


def test_capital_letters_throughout_do_not_hide_another_language() -> None:
    assert is_foreign("WENN EINE MAIL KOMMT, SCHICK MIR EINE NACHRICHT")


def test_a_line_of_names_is_not_lost() -> None:
    made = draw("Every Monday at 9:00 UTC mail me 'Call the team'.\nEl Al, La Liga")
    asked = [one for one in made.questions if one.id == "not-understood"]
    assert any("El Al, La Liga" in one.question for one in asked), (made.document, made.questions)


def test_english_is_not_taken_for_another_language() -> None:
    requests = [one.wish.text for name in SETS for one in read_requests(SETS[name])]
    phrases = [one.text for file in (PHRASES, INDEPENDENT) for one in score(file)]
    assert [one for one in (*requests, *phrases) if is_foreign(one)] == []
    assert not is_foreign("every Monday at 9 post 'Guten Morgen, das ist die neue Woche' to #team")


def test_courtesy_background_and_lengths_are_not_asked_about() -> None:
    assert is_courtesy("thanks!")
    assert is_courtesy("that's it")
    assert not is_courtesy("please delete everything")
    assert is_statement("our support people are drowning")
    assert not is_statement("our invoices must be archived")
    assert not is_statement("frobnicate the gizmo")
    assert is_length("Not longer than 200 words please")
    made = draw("every day at 9 UTC summarise new notes to #a. Not longer than 200 words please.")
    (think,) = [one for one in made.document["plan"] if one["action"] == "agent_task"]
    assert "Not longer than 200 words" in think["config"]["prompt"].split("\n\n")[0]
    assert made.questions == ()


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("It must never cost more than $0.20 per run.", "0.2"),
        ("Please don't spend more than 50 cents a run.", "0.5"),
    ],
)
def test_a_cap_in_other_words_is_understood(text: str, cap: str) -> None:
    made = draw(f"every day at 9 UTC post 'hello' to #a. {text}")
    assert made.document["execution"]["budget_cap_usd"] == cap
    assert made.questions == ()
