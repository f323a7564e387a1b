"""What is to be left out is left out, asked about or refused, and never read as what is meant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mainspring.authoring.json_pointers import set_at_pointer
from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.phrases.schedule_answers import ScheduleAnswer
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from tests.kit.schedule_equivalence import NOW
from tests.unit.authoring.sketch.workspace import actions, draw, strays

BEFORE: Final = draw(
    "every weekday at 9 Berlin summarise new notes and post five bullets to #standup"
).document
CRON: Final = "/triggers/0/config/cron"


def _read(text: str) -> ScheduleAnswer:
    return parse_schedules(text, NOW, "Europe/Berlin")


def _changed(text: str, cron: str, timezone: str | None = "Asia/Tokyo") -> ProposalSketch:
    made = draw(text, before=set_at_pointer(BEFORE, CRON, cron), timezone=timezone)
    assert strays(made) == []
    assert made.document["plan"] == BEFORE["plan"]
    return made


def _crons(made: ProposalSketch) -> list[str]:
    configs: list[Any] = [one["config"] for one in made.document["triggers"]]
    assert {one["timezone"] for one in configs} <= {"Europe/Berlin"}
    return [one["cron"] for one in configs]


@pytest.mark.parametrize(
    "exception",
    [
        "never on Mondays",
        "don't run on Mondays",
        "do not run on Mondays",
        "dont run on Mondays",
        "skip Mondays",
        "not on Mondays",
        "except Mondays",
        "except on Mondays",
        "no Mondays",
        "but not on Mondays",
        "other than Mondays",
        "apart from Mondays",
        "Mondays excluded",
        "it should not be sent on Mondays",
        "please never post it on Mondays",
        "unless it is Monday",
        "skipping Mondays",
        "without Mondays",
        "excluding Mondays",
    ],
)
def test_a_day_that_is_left_out_is_not_among_the_days(exception: str) -> None:
    (reading,) = _read(f"every day at 9, {exception}").readings
    assert reading.crons == ("0 9 * * 0,2-6",)
    (question,) = _read(exception).clarifications
    assert question.kind == "which_days"
    assert all("Monday" not in one.sentence for one in question.choices)
    (accepted,) = _crons(_changed(exception, "30 14 * * 1-5"))
    assert accepted == "30 14 * * 2-5"


@pytest.mark.parametrize(
    ("text", "crons", "sentence"),
    [
        ("every hour but not at night", ("0 6-21 * * *",), "every hour from 06:00 to 21:00"),
        ("hourly except at noon", ("0 0-11,13-23 * * *",), "every hour except at 12:00"),
        (
            "every day except the 13th at 9",
            ("0 9 1-12,14-31 * *",),
            "on the days other than the 13th of every month at 09:00",
        ),
        (
            "every Monday at 9 except in August",
            ("0 9 * 1-7,9-12 1",),
            "every Monday in every month but August at 09:00",
        ),
        (
            "every weekday at 9 and every Saturday at 11, never on Mondays",
            ("0 9 * * 2-5",),
            "every Tuesday, Wednesday, Thursday and Friday at 09:00",
        ),
        ("not on Mondays but on Tuesdays at 11", ("0 11 * * 2",), "every Tuesday at 11:00"),
    ],
)
def test_an_exception_is_said_in_the_schedule_and_in_its_sentence(
    text: str, crons: tuple[str, ...], sentence: str
) -> None:
    reading = _read(text).readings[0]
    assert reading.crons == crons
    assert reading.sentence == f"{sentence}, Europe/Berlin"


@pytest.mark.parametrize(
    "text",
    [
        "on the 1st of the month, but not on weekends",
        "monthly except Mondays",
        "every Friday except the last Friday of the month",
        "every day except the last day",
        "every hour outside working hours",
        "every day at 9 except public holidays",
    ],
)
def test_an_exception_that_no_schedule_says_is_refused_and_not_dropped(text: str) -> None:
    answer = _read(text)
    assert [one.kind for one in answer.refusals] == ["not_sayable"]
    assert not answer.readings


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("every Monday except Mondays", "which_days"),
        ("weekly, but not on Mondays", "which_days"),
        ("every day at 9 but not at 9", "which_times"),
        ("every weekday, not before 9", "which_times"),
    ],
)
def test_what_leaves_nothing_or_too_much_is_asked(text: str, kind: str) -> None:
    answer = _read(text)
    assert [one.kind for one in answer.clarifications] == [kind]
    assert not answer.readings


@pytest.mark.parametrize(
    "text",
    [
        "every Monday at 9, don't forget the totals",
        "every Monday at 9 without fail",
        "every Monday at 9 if the invoice is not paid",
        "every Monday at 9, do not miss any",
    ],
)
def test_not_every_negation_is_about_time(text: str) -> None:
    (reading,) = _read(text).readings
    assert reading.crons == ("0 9 * * 1",)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("only on Mondays", "0 14 * * *", ["0 14 * * 1"]),
        ("run it weekly", "0 14 * * *", ["0 14 * * 1"]),
        ("weekly on Fridays", "0 14 * * *", ["0 14 * * 5"]),
        ("on the first Monday of the month", "30 16 * * *", ["30 16 * * 1#1"]),
        ("not on weekends", "0 14 * * *", ["0 14 * * 1-5"]),
        ("don't run on weekends", "0 14 * * 1-5", ["0 14 * * 1-5"]),
        ("only on weekdays", "0 8,17 * * *", ["0 8,17 * * 1-5"]),
        ("only on Mondays", "*/15 9-16 * * 1-5", ["*/15 9-16 * * 1"]),
        ("but not at night", "0 * * * *", ["0 6-21 * * *"]),
        ("not at noon", "0 * * * *", ["0 0-11,13-23 * * *"]),
        ("not between 12 and 2", "*/30 * * * *", ["*/30 0-11,14-23 * * *"]),
        ("except in August", "0 14 * * MON", ["0 14 * 1-7,9-12 MON"]),
        ("run it at 8 instead", "0 14 * * 1-5", ["0 8 * * 1-5"]),
        ("on Tuesdays at 8", "0 14 * * *", ["0 8 * * 2"]),
        ("also on Fridays", "0 14 * * 2", ["0 14 * * 2,5"]),
        ("run it on Mondays too", "0 14 * * 2", ["0 14 * * 1,2"]),
        ("stop running on Fridays", "0 14 * * 1-5", ["0 14 * * 1-4"]),
        ("pause it on weekends", "0 14 * * *", ["0 14 * * 1-5"]),
    ],
)
def test_a_change_of_days_keeps_the_hour_and_the_zone(
    text: str, before: str, after: list[str]
) -> None:
    assert _crons(_changed(text, before)) == after


def test_a_change_of_the_zone_keeps_days_and_hour() -> None:
    for words in ("run it in New York time", "change the time zone to New York"):
        made = _changed(words, "0 14 * * 2")
        (trigger,) = made.document["triggers"]
        assert trigger["config"] == {"cron": "0 14 * * 2", "timezone": "America/New_York"}
        assert made.notes == ()


def test_where_all_days_are_taken_away_others_are_asked_for_at_the_same_hour() -> None:
    (question,) = _changed("no longer on Tuesdays", "0 14 * * 2").questions
    assert question.choices
    assert all("at 14:00" in one.label for one in question.choices)


def test_every_second_week_is_asked_about_at_the_hour_that_is_there() -> None:
    (question,) = _changed("every other Friday", "0 14 * * *").questions
    assert all("at 14:00" in one.label for one in question.choices)


def test_what_cannot_be_taken_out_of_a_schedule_is_asked_with_the_schedule_as_it_is() -> None:
    (question,) = _changed("never on Mondays", "0 14 1 * *").questions
    assert question.choices[0].value == {"cron": "0 14 1 * *", "timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("don't post anything to Slack, just keep a note of new invoices", "slack_post"),
        ("summarise new notes without mailing anyone", "send_email"),
        ("summarise new notes and tell me; do not send an email", "send_email"),
        ("mail me new notes instead of posting to #ops", "slack_post"),
        ("instead of posting to Slack, mail me the new notes", "slack_post"),
        ("tell me about new notes, but never post them to #ops", "slack_post"),
        ("tell me about new notes and don't add rows to the Leads board", "append_board_rows"),
    ],
)
def test_what_is_not_to_be_done_is_no_step_and_that_is_reported(text: str, lacks: str) -> None:
    made = draw(f"every day at 9 UTC {text}")
    assert strays(made) == []
    assert actions(made)
    assert lacks not in actions(made)
    assert any("The request excludes this" in one for one in made.notes)


@pytest.mark.parametrize(
    "text",
    [
        "post 'do not send mail' to #ops",
        "post new notes to #ops, don't post on weekends",
        "post new notes to #ops, but don't post if there are none",
        "summarise new notes without adding opinions and post them to #ops",
    ],
)
def test_what_is_done_sometimes_or_only_quoted_stays_a_step(text: str) -> None:
    made = draw(f"every day at 9 UTC {text}")
    assert "slack_post" in actions(made)
    assert not any("The request excludes this" in one for one in made.notes)


def test_an_exception_of_days_is_no_schedule_with_an_event() -> None:
    made = draw("when a row is added to Leads notify me, but not on weekends")
    assert [one["type"] for one in made.document["triggers"]] == ["board_change"]
    assert not made.questions
    assert any("at any time" in one for one in made.notes)
