"""Schedules in words: what is read, what is asked, what is refused, and what bounds the reading."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import jsonschema_rs
import pytest

from mainspring.authoring.phrases.capability import ANSWER
from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.authoring.phrases.schedule_answers import (
    CLARIFICATIONS,
    MOMENTS,
    REFUSALS,
    ScheduleAnswer,
)
from mainspring.authoring.phrases.schedule_parser import MOST_WISHES, parse_schedules
from mainspring.authoring.phrases.schedule_sentences import say_crons
from mainspring.authoring.phrases.weeks import iterate_fire_times
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.cron import parse_cron
from mainspring.definition.templates.template import parse_predicate
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.when import tell_when
from mainspring.triggers.schedule import read_schedule, rfc3339
from scripts.phrase_score import INDEPENDENT, PHRASES, ZONE, score
from tests.kit.schedule_equivalence import NOW, same_moments

LEAST_SHARE = 0.99


@cache
def _read(text: str, zone: str | None = ZONE) -> ScheduleAnswer:
    return parse_schedules(text, NOW, zone)


@pytest.mark.parametrize(("file", "phrases"), [(PHRASES, 425), (INDEPENDENT, 630)])
def test_the_share_of_phrases_that_are_read_right_does_not_fall(file: Path, phrases: int) -> None:
    scored = score(file)
    right = sum(one.right for one in scored)

    assert len(scored) >= phrases
    assert right / len(scored) >= LEAST_SHARE, [one for one in scored if not one.right]


@pytest.mark.parametrize(
    ("text", "crons", "sentence"),
    [
        ("every weekday at 9 Berlin time", ["0 9 * * 1-5"], "every weekday at 09:00"),
        (
            "on the last day of the month at 9 Berlin time",
            ["0 9 L * *"],
            "on the last day of every month at 09:00",
        ),
        (
            "every 15 minutes during working hours Berlin time",
            ["*/15 9-16 * * 1-5"],
            "every 15 minutes from 09:00 to 16:45 on weekdays",
        ),
        (
            "the first Monday of the month at noon Berlin time",
            ["0 12 * * 1#1"],
            "on the first Monday of every month at 12:00",
        ),
        (
            "every 24 December at half past six pm Berlin time",
            ["30 18 24 12 *"],
            "every year on 24 December at 18:30",
        ),
        (
            "Mon, Wed and Fri at 17h30 Berlin time",
            ["30 17 * * 1,3,5"],
            "every Monday, Wednesday and Friday at 17:30",
        ),
        ("every 90 minutes Berlin time", ["0 */3 * * *", "30 1-22/3 * * *"], "every 90 minutes"),
        ("every 2 hours at :15 Berlin time", ["15 */2 * * *"], "every 2 hours at minute 15"),
        (
            "every 30 minutes at :10 Berlin time",
            ["10,40 * * * *"],
            "every 30 minutes from 00:10 to 23:40",
        ),
        (
            "every 3 hours at 20 past the hour from 8 to 20 Berlin time",
            ["20 8-17/3 * * *"],
            "every day at 08:20, 11:20, 14:20 and 17:20",
        ),
        (
            "on the last Friday in each quarter at 9 Berlin time",
            ["0 9 * 3,6,9,12 5L"],
            "on the last Friday of March, June, September and December at 09:00",
        ),
        (
            "the first and last Monday of each quarter at 9 Berlin time",
            ["0 9 * 1,4,7,10 1#1", "0 9 * 3,6,9,12 1L"],
            (
                "on the first Monday of January, April, July and October and on the last Monday of "
                "March, June, September and December at 09:00"
            ),
        ),
        (
            "third Friday of the last month of each quarter at 9 Berlin time",
            ["0 9 * 3,6,9,12 5#3"],
            "on the third Friday of March, June, September and December at 09:00",
        ),
        (
            "M-F 9-5 hourly Berlin time",
            ["0 9-17 * * 1-5"],
            "every hour from 09:00 to 17:00 on weekdays",
        ),
        (
            "every Monday in every month but August at 9 Berlin time",
            ["0 9 * 1-7,9-12 1"],
            "every Monday in every month but August at 09:00",
        ),
        ("Sun at 9 Berlin time", ["0 9 * * 0"], "every Sunday at 09:00"),
        ("news about the Sun every day at 8 Berlin time", ["0 8 * * *"], "every day at 08:00"),
    ],
)
def test_a_phrase_becomes_expressions_and_a_sentence(
    text: str, crons: list[str], sentence: str
) -> None:
    (reading,) = _read(text).readings

    assert list(reading.crons) == crons
    assert reading.sentence == f"{sentence}, Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "zone", "shown"),
    [
        ("Etc/GMT-11", "Etc/GMT-11", "UTC+11 (Etc/GMT-11)"),
        ("GMT-11", "Etc/GMT+11", "UTC-11 (Etc/GMT+11)"),
        ("UTC+14", "Etc/GMT-14", "UTC+14 (Etc/GMT-14)"),
        ("UTC+5:30", "Asia/Kolkata", "Asia/Kolkata"),
        (", Europe/London", "Europe/London", "Europe/London"),
    ],
)
def test_a_zone_keeps_its_sign_and_is_shown_by_its_offset(text: str, zone: str, shown: str) -> None:
    (reading,) = _read(f"every day at 9 {text}").readings

    assert reading.timezone == zone
    assert reading.sentence == f"every day at 09:00, {shown}"


@pytest.mark.parametrize(
    "text",
    [
        "email me how long the Sun shines",
        "tell me about the Sun and Mars",
        "post who sat in the meeting",
        "Sun",
    ],
)
def test_a_short_day_that_is_a_word_of_its_own_is_no_schedule(text: str) -> None:
    assert _read(text) == ScheduleAnswer()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hourly at 9 on weekdays", "which_times"),
        ("on the 15th of each quarter", "which_of_month"),
        ("every day at 9 UTC+19", "time_zone"),
        ("every day at 9 UTC+12:45", "time_zone"),
    ],
)
def test_what_can_be_meant_in_two_ways_is_asked(text: str, kind: str) -> None:
    answer = _read(text)

    assert answer.readings == ()
    assert [one.kind for one in answer.clarifications] == [kind]


@pytest.mark.parametrize("text", ["every 90 minutes at :15", "the fifth Monday of each quarter"])
def test_what_no_schedule_says_is_refused_and_not_bent(text: str) -> None:
    answer = _read(text)

    assert answer.readings == ()
    assert len(answer.refusals) == 1


def test_the_sentence_of_a_reading_is_read_back_as_the_same_moments() -> None:
    readings = [
        reading
        for file in (PHRASES, INDEPENDENT)
        for one in score(file)
        for reading in _read(one.text).readings
        # Intervals of days and single moments are described by dates, which words cannot say.
        if not reading.times
        # The end of a stretch counts by the hour, and does not by the minute.
        if not re.search("minutes (except )?from", reading.sentence)
    ]
    wrong = []
    for one in readings:
        again = _read(one.sentence, "UTC")
        times = [(cron, each.timezone) for each in again.readings for cron in each.crons]
        if not same_moments(times, [(cron, one.timezone) for cron in one.crons]):
            wrong.append(one.sentence)

    assert len(readings) > 750
    assert set(wrong) <= {"on the days other than the 13th of every month at 09:00, Africa/Kigali"}


def test_what_was_not_said_is_reported_as_an_assumption() -> None:
    (plain,) = _read("every weekday at 9 UTC").readings
    (supposed,) = _read("each morning").readings

    assert plain.assumptions == ()
    assert supposed.assumptions == (
        "09:00 for the morning, because no hour was given",
        "the time zone Africa/Kigali, because none was given",
    )


def test_a_beginning_or_an_end_is_not_passed_over_in_silence() -> None:
    for text in (
        "every weekday at 9 UTC until December",
        "every Monday at 9 UTC starting tomorrow",
    ):
        (reading,) = _read(text).readings

        assert reading.assumptions == (
            "its beginning, end or exception was ignored, because a schedule has none",
        )


def test_a_reading_names_the_words_it_used_and_the_next_moments() -> None:
    text = "Please, every weekday at 9 a.m. Berlin time: post {{ five }} bullets"
    (reading,) = _read(text).readings

    assert reading.span.words == "every weekday at 9 a.m. Berlin time"
    assert text[reading.span.start : reading.span.end] == reading.span.words
    assert [moment.isoformat() for moment in reading.moments] == [
        f"2026-11-{day}T09:00:00+01:00" for day in (16, 17, 18, 19, 20)
    ]


def test_several_expressions_have_their_moments_in_one_row() -> None:
    (reading,) = _read("every 90 minutes").readings

    assert len(reading.moments) == MOMENTS
    assert {(later - first).total_seconds() for first, later in pairwise(reading.moments)} == {5400}


def test_every_expression_of_every_answer_is_one_that_a_schedule_takes() -> None:
    for one in score():
        answer = _read(one.text)
        for reading in answer.readings:
            for trigger in reading.as_dict()["triggers"]:
                read_schedule(trigger)
        for question in answer.clarifications:
            assert question.kind in CLARIFICATIONS
            assert question.question.endswith("?") or question.choices
        for refusal in answer.refusals:
            assert refusal.kind in REFUSALS
        offered = [one.choices for one in answer.clarifications]
        offered += [one.choices for one in answer.refusals]
        for choices in offered:
            assert all(parse_cron(cron) for choice in choices for cron in choice.crons)


def test_every_answer_fits_the_schema_of_the_capability() -> None:
    fits = jsonschema_rs.validator_for(ANSWER)

    assert [one.text for one in score() if not fits.is_valid(_read(one.text).as_dict())] == []


def test_every_other_friday_is_weekly_with_a_condition_that_holds_each_second_time() -> None:
    (question,) = _read("every other Friday at 5pm Berlin time").clarifications
    stored: list[list[datetime]] = []
    for choice in question.choices:
        assert choice.when is not None
        condition = parse_predicate(choice.when, Limits())
        timestamps = iterate_fire_times(choice.crons[0], "Europe/Berlin", NOW)
        weekly = [next(timestamps) for _ in range(300)]
        stored.append(
            [
                moment
                for moment in weekly
                if condition.test({"trigger": {"scheduled_for": rfc3339(moment)}})
            ]
        )
        days = [moment.date() for moment in stored[-1]]
        assert {(later - first).days for first, later in pairwise(days)} == {14}

    assert [days[0].day for days in stored] == [20, 27]
    assert len(stored[0]) == len(stored[1]) == 150


def test_the_first_working_day_is_a_condition_where_it_can_be_one() -> None:
    (refusal,) = _read("on the first working day of the month at 9 Berlin time").refusals
    whens = [choice for choice in refusal.choices if choice.when is not None]
    condition = parse_predicate(whens[0].when or "", Limits())
    timestamps = iterate_fire_times(whens[0].crons[0], "Europe/Berlin", NOW)
    days = [next(timestamps) for _ in range(36)]
    found = [
        day.strftime("%a %d")
        for day in days
        if condition.test({"trigger": {"scheduled_for": rfc3339(day)}})
    ]

    assert len(found) == 12
    assert found[:3] == ["Tue 01", "Fri 01", "Mon 01"]
    elsewhere = _read("on the first working day of the month at 9 Auckland time").refusals[0]
    assert all(choice.when is None for choice in elsewhere.choices)


def test_without_any_zone_the_zone_is_asked_for() -> None:
    (question,) = _read("every day at 9", zone=None).clarifications

    assert question.kind == "time_zone"
    assert question.choices[0].crons == ("0 9 * * *",)


def test_a_zone_of_many_meanings_is_asked_for_with_each_of_them() -> None:
    (question,) = _read("every day at 9am IST").clarifications

    assert [choice.timezone for choice in question.choices] == [
        "Asia/Kolkata",
        "Asia/Jerusalem",
        "Europe/Dublin",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "every " * 5000,
        "at 9 and " * 3000,
        "mon," * 5000,
        "1st and " * 3000,
        "9 - " * 4000,
        "a." * 4000,
        "{{" * 3000,
        "every monday at 9 UTC and " * 500,
        "\x00" * 5000,
        "९ " * 4000,
    ],
)
def test_a_hostile_text_is_read_up_to_a_bound_and_says_so(text: str) -> None:
    answer = _read(text)

    assert answer.cut
    assert len(answer.readings) + len(answer.clarifications) + len(answer.refusals) <= MOST_WISHES
    assert json.loads(json.dumps(answer.as_dict())) == answer.as_dict()


def test_what_is_beyond_the_limit_is_not_read() -> None:
    assert _read("x" * LONGEST + " every day at 9").readings == ()


def test_the_command_prints_the_sentence_the_expression_and_the_moments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tell_when(Screen(), "every weekday at 9 Berlin time", None) == exits.DONE
    texts = capsys.readouterr().out.splitlines()

    assert texts[:3] == [
        "Every weekday at 09:00, Europe/Berlin",
        "  cron      0 9 * * 1-5",
        "  zone      Europe/Berlin",
    ]
    assert sum(line.startswith("  next ") for line in texts) == MOMENTS


def test_the_command_asks_and_refuses_with_another_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tell_when(Screen(), "three times a week", "UTC") == exits.INVALID
    assert tell_when(Screen(), "when a file arrives", "UTC") == exits.INVALID
    text = capsys.readouterr().out

    assert "On which 3 days of the week?" in text
    assert "This text contains no schedule." in text


def test_the_command_refuses_a_zone_that_does_not_exist() -> None:
    with pytest.raises(Invalid) as refused:
        tell_when(Screen(), "every day at 9", "Mars/Base")

    assert refused.value.findings[0].pointer == "/timezone"


def test_the_same_words_at_the_same_moment_are_always_read_the_same() -> None:
    text = "every other Friday at 5pm and every Monday at 9"
    moment = datetime(2026, 11, 15, tzinfo=UTC)

    assert parse_schedules(text, moment, ZONE) == parse_schedules(text, moment, ZONE)


@pytest.mark.parametrize(
    ("crons", "days"),
    [
        (["0 9 24-25 12 *"], "on 24 December and 25 December"),
        (["0 9 24-26 12 *"], "from 24 December to 26 December"),
        (["0 9 31 12 *", "0 9 1 1 *"], "on 31 December and 1 January"),
        (["0 9 31 12 *", "0 9 1,2 1 *"], "from 31 December to 2 January"),
        (["0 9 3,24-26 12 *"], "on 3 December and from 24 December to 26 December"),
    ],
)
def test_more_than_two_dates_in_a_row_are_a_stretch(crons: list[str], days: str) -> None:
    assert say_crons(crons) == f"every year {days} at 09:00"


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("on the last Friday of the quarter at 10 Berlin time", "0 10 * 3,6,9,12 5L"),
        ("on the last Friday in each quarter at 10", "0 10 * 3,6,9,12 5L"),
        ("on the last Friday at 10 of every quarter", "0 10 * 3,6,9,12 5L"),
        ("on the first Monday of the quarter at 10", "0 10 * 1,4,7,10 1#1"),
        ("the second Tuesday of every quarter at 9", "0 9 * 1,4,7,10 2#2"),
        ("every second Friday of the quarter at 9", "0 9 * 1,4,7,10 5#2"),
        ("on the last Friday of each half-year at 9", "0 9 * 6,12 5L"),
        ("on the last Friday of the year at 10", "0 10 * 12 5L"),
        ("first Monday of every year at 9", "0 9 * 1 1#1"),
        ("on the last working day of the year at 9", "0 9 LW 12 *"),
        ("on the first of the year at 9", "0 9 1 1 *"),
        ("every Friday of the quarter at 9", "0 9 * * 5"),
        ("every Monday at 9 mail me the report of the quarter", "0 9 * * 1"),
    ],
)
def test_days_of_a_quarter_or_a_year_are_in_its_first_or_last_month(text: str, cron: str) -> None:
    answer = _read(text)

    assert [one.crons for one in answer.readings] == [(cron,)]
    assert not answer.clarifications
    assert not answer.refusals


@pytest.mark.parametrize(
    "text",
    [
        "on the last Friday of the fiscal quarter at 9",
        "on the last Friday of this quarter at 9",
        "every Monday of the school year at 9",
        "on the fifth Friday of the year at 9",
        "on the 15th of the year at 9",
        "every year on the 15th at 9",
        "on Friday of the year at 9",
    ],
)
def test_days_of_a_stretch_that_is_not_understood_are_asked_about(text: str) -> None:
    answer = _read(text)

    assert not answer.readings
    assert answer.clarifications or answer.refusals
