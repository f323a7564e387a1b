"""Schedules by the rules and by the model: the same moments, or a question with both."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.generate.context import GenerationResult
from mainspring.authoring.generate.conversation import generate
from mainspring.authoring.generate.schedule_reconciliation import is_same_schedule
from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.proposals.refining import AnswerContext, apply_answers
from mainspring.contracts.limits import Limits
from tests.kit.author_model import NOW, ScriptedModel, desk_for, hands_in, judged, plain, wish_for


def wakes(*times: tuple[str, str | None], **others: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"own-{place}",
            "type": "schedule",
            "config": {"cron": cron} if zone is None else {"cron": cron, "timezone": zone},
            **others,
        }
        for place, (cron, zone) in enumerate(times)
    ]


async def made_of(text: str, triggers: list[dict[str, Any]], **others: Any) -> ProposalSketch:
    made: GenerationResult = await generate(
        desk_for(ScriptedModel(hands_in(plain(triggers=triggers)))), wish_for(text, **others)
    )
    assert made.sketch is not None, made.refused
    return made.sketch


def times(sketch: ProposalSketch) -> list[tuple[str, str | None]]:
    configs = [one["config"] for one in sketch.document["triggers"]]
    return [(one["cron"], one.get("timezone")) for one in configs]


async def test_another_spelling_of_the_same_moments_stays_as_it_is() -> None:
    mine = wakes(("00 09 * * MON-FRI", "Europe/Berlin"))
    sketch = await made_of("every weekday at 9", mine)
    assert times(sketch) == [("00 09 * * MON-FRI", "Europe/Berlin")]
    assert not any("other moments" in note for note in sketch.notes)


async def test_where_the_two_mean_other_moments_a_person_is_asked_which() -> None:
    mine = wakes(("0 9 * * *", "Europe/Berlin"), inputs={}, enabled=True)
    mine[0]["config"]["misfire"] = "skip"
    sketch = await made_of("every weekday at 9", mine)
    assert sketch.document["triggers"] == []
    (question,) = sketch.questions
    assert (question.kind, question.pointer) == ("schedule", "/triggers/0")
    assert [one.label for one in question.choices] == [
        "every weekday at 09:00, Europe/Berlin",
        "every day at 09:00, Europe/Berlin, as the model read it",
    ]
    assert question.why == "The rules and the model read the time differently."
    place = AnswerContext(NOW, "Europe/Berlin", Limits())
    for choice, cron in zip(question.choices, ("0 9 * * 1-5", "0 9 * * *"), strict=True):
        made = apply_answers(sketch.document, [question], {question.id: choice.value}, place)
        (trigger,) = made.document["triggers"]
        assert trigger["config"] == {"cron": cron, "timezone": "Europe/Berlin", "misfire": "skip"}
        assert (trigger["inputs"], trigger["enabled"]) == ({}, True)
        assert (await judged(made.document)).ok


async def test_another_zone_means_other_moments() -> None:
    sketch = await made_of("every weekday at 9", wakes(("0 9 * * 1-5", "America/New_York")))
    (question,) = sketch.questions
    assert [one.value["timezone"] for one in question.choices] == [
        "Europe/Berlin",
        "America/New_York",
    ]


async def test_a_schedule_that_cannot_be_read_gives_way_too() -> None:
    sketch = await made_of("every weekday at 9", wakes(("sometimes", "Mars/Base")))
    assert times(sketch) == [("0 9 * * 1-5", "Europe/Berlin")]


async def test_what_the_model_left_out_is_put_in() -> None:
    sketch = await made_of("every weekday at 9", [])
    assert times(sketch) == [("0 9 * * 1-5", "Europe/Berlin")]


async def test_where_the_rules_ask_for_the_zone_the_model_may_not_guess_it() -> None:
    mine = wakes(("0 9 * * 1-5", "America/New_York"), misfire="x")
    mine[0].pop("misfire")
    mine[0]["config"]["misfire"] = "skip"
    sketch = await made_of("every weekday at 9", mine, timezone=None)
    assert times(sketch) == [("0 9 * * 1-5", None)]
    assert sketch.document["triggers"][0]["config"]["misfire"] == "skip"
    (question,) = sketch.questions
    assert (question.kind, question.pointer) == ("time_zone", "/triggers/0/config/timezone")
    assert not any("other moments" in note for note in sketch.notes)


async def test_a_question_of_the_model_for_the_same_zone_is_not_asked_twice() -> None:
    reply = hands_in(
        plain(triggers=wakes(("0 9 * * 1-5", None))),
        {"pointer": "/triggers/0/config/timezone", "question": "Where are you?"},
    )
    made = await generate(
        desk_for(ScriptedModel(reply)), wish_for("every weekday at 9", timezone=None)
    )
    assert made.sketch is not None
    assert [one.kind for one in made.sketch.questions] == ["time_zone"]


async def test_what_the_rules_ask_is_asked_and_the_models_reading_is_one_answer() -> None:
    sketch = await made_of("run it at 10", wakes(("0 10 * * 1,3", "Europe/Berlin")))
    (question,) = sketch.questions
    assert question.kind == "schedule"
    values = [one.value for one in question.choices]
    assert {"cron": "0 10 * * *", "timezone": "Europe/Berlin"} in values
    assert values[-1] == {"cron": "0 10 * * 1,3", "timezone": "Europe/Berlin"}
    assert "as the model read it" in question.choices[-1].label
    assert sketch.document["triggers"] == []


async def test_every_second_week_is_a_condition_of_every_step() -> None:
    document = plain(
        triggers=wakes(("0 17 * * 5", "Europe/Berlin")),
        plan=[
            {"step_id": "one", "action": "notification", "config": {"title": "a"}},
            {
                "step_id": "two",
                "action": "notification",
                "when": "{{ one.notification_id | length > 0 }}",
                "config": {"title": "b"},
            },
        ],
    )
    made = await generate(
        desk_for(ScriptedModel(hands_in(document))), wish_for("every other Friday at 5pm")
    )
    assert made.sketch is not None
    (question,) = made.sketch.questions
    choice = question.choices[0]
    also = dict(choice.also)
    assert list(also) == ["/plan/0/when", "/plan/1/when"]
    assert "one.notification_id" in also["/plan/1/when"]
    answered = dict(made.sketch.document)
    answered["triggers"] = [{"type": "schedule", "config": choice.value}]
    for place, step in enumerate(answered["plan"]):
        step["when"] = also[f"/plan/{place}/when"]
    report = await judged(answered)
    assert report.findings == ()


async def test_other_triggers_keep_their_questions_when_schedules_are_replaced() -> None:
    board = {"id": "rows", "type": "board_change", "config": {}}
    reply = hands_in(
        plain(triggers=[*wakes(("0 8 * * *", "UTC")), board]),
        {"pointer": "/triggers/1/config/board_id", "question": "Which board?"},
    )
    made = await generate(
        desk_for(ScriptedModel(reply)), wish_for("every weekday at 9 and when the board changes")
    )
    assert made.sketch is not None, made.refused
    when, question = sorted(made.sketch.questions, key=lambda one: one.kind != "schedule")
    assert when.pointer == "/triggers/1"
    assert made.sketch.document["triggers"][0]["type"] == "board_change"
    assert question.pointer == "/triggers/0/config/board_id"
    assert [one.label for one in question.choices] == ["Invoices"]


async def test_a_time_in_the_words_does_not_wake_what_something_else_wakes() -> None:
    page = [{"type": "page_ingested", "config": {"page_type": "invoice"}}]
    sketch = await made_of("note new invoices for my review, every Friday at 10", page)
    assert [one["type"] for one in sketch.document["triggers"]] == ["page_ingested"]
    assert any("every Friday" in note for note in sketch.notes)


async def test_a_change_of_the_time_is_compared_with_what_is_new_alone() -> None:
    before = plain(triggers=wakes(("0 9 * * *", "UTC"), ("0 12 * * 1", "UTC")))
    after = wakes(("0 8 * * *", "UTC"), ("0 12 * * 1", "UTC"))
    sketch = await made_of("run it every day at 10", after, before=before)
    assert times(sketch) == [("0 12 * * 1", "UTC")]
    (question,) = sketch.questions
    assert [one.value["cron"] for one in question.choices] == ["0 10 * * *", "0 8 * * *"]
    sketch = await made_of("move it to Fridays", wakes(("0 14 * * 5", "UTC")), before=before)
    assert times(sketch) == [("0 14 * * 5", "UTC")]
    stored = wakes(("0 12 * * 1", "UTC"))
    sketch = await made_of("stop running every day at 9", stored, before=before)
    assert times(sketch) == [("0 12 * * 1", "UTC")]


def test_moments_are_compared_over_nights_weekends_and_clock_changes() -> None:
    def same(left: str, right: str, other: str = "Europe/Berlin") -> bool:
        return is_same_schedule([(left, "Europe/Berlin")], [(right, other)], NOW)

    assert same("0 9 * * *", "0 9 * * *", "Europe/Vienna")
    assert same("@daily", "0 0 * * *")
    assert is_same_schedule(
        [("0 9,17 * * *", "UTC")], [("0 9 * * *", "UTC"), ("0 17 * * *", "UTC")], NOW
    )
    assert not same("*/5 * * * *", "*/5 6-18 * * *")
    assert not same("* * * * *", "* * * * 1-5")
    assert not same("0 9 * * *", "0 8 * * *", "UTC")
    assert not is_same_schedule([], [("0 9 * * *", "UTC")], NOW)


async def test_where_the_rules_supposed_the_hour_both_readings_are_answers() -> None:
    sketch = await made_of("every weekday", wakes(("30 7 * * 1-5", "Europe/Berlin")))
    (question,) = sketch.questions
    assert (question.kind, question.pointer) == ("schedule", "/triggers/0")
    assert [one.value for one in question.choices] == [
        {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
        {"cron": "30 7 * * 1-5", "timezone": "Europe/Berlin"},
    ]
    assert sketch.document["triggers"] == []
    assert not any("was taken" in note for note in sketch.notes)


async def test_what_the_model_read_as_the_rules_supposed_it_is_not_asked() -> None:
    sketch = await made_of("every weekday", wakes(("0 9 * * 1-5", "Europe/Berlin")))
    assert sketch.questions == ()
    assert times(sketch) == [("0 9 * * 1-5", "Europe/Berlin")]


async def test_an_ordinal_that_counts_hours_is_read_alike_by_both() -> None:
    sketch = await made_of("every 4th hour", wakes(("0 */4 * * *", "Europe/Berlin")))
    assert times(sketch) == [("0 */4 * * *", "Europe/Berlin")]
    assert not sketch.questions
