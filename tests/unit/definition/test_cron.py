"""Cron: what is read, what is refused, what it says and what it costs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import describe, get_smallest_interval, parse_cron
from tests.kit.runaway import RUNAWAY

START = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday


def following(text: str, count: int, zone: str = "UTC", start: datetime = START) -> list[str]:
    cron, moment, found = parse_cron(text), start, []
    for _ in range(count):
        after = cron.after(moment, zone)
        assert after is not None
        assert after.tzinfo is UTC
        moment = after
        found.append(moment.strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("* * * * *", ["2026-01-01 00:01", "2026-01-01 00:02"]),
        ("*/20 * * * *", ["2026-01-01 00:20", "2026-01-01 00:40", "2026-01-01 01:00"]),
        ("5-10/5,30 8 * * *", ["2026-01-01 08:05", "2026-01-01 08:10", "2026-01-01 08:30"]),
        ("0 9 * * mon-fri", ["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-05 09:00"]),
        ("0 0 * * 7", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 1 JAN,Jul *", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("0 0 13 * FRI", ["2026-01-02 00:00", "2026-01-09 00:00", "2026-01-13 00:00"]),
        ("0 0 */10 * MON", ["2026-05-11 00:00", "2026-06-01 00:00"]),
        ("0 0 31 * *", ["2026-01-31 00:00", "2026-03-31 00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 L * *", ["2026-01-31 00:00", "2026-02-28 00:00"]),
        ("0 0 LW * *", ["2026-01-30 00:00", "2026-02-27 00:00"]),
        ("0 0 * * 5L", ["2026-01-30 00:00", "2026-02-27 00:00"]),
        ("0 0 * * MON#2", ["2026-01-12 00:00", "2026-02-09 00:00"]),
        ("50/5 23 * * *", ["2026-01-01 23:50", "2026-01-01 23:55", "2026-01-02 23:50"]),
        ("1-1/5 * * * *", ["2026-01-01 00:01", "2026-01-01 01:01"]),
        ("01-1/5 * * * *", ["2026-01-01 00:01", "2026-01-01 01:01"]),
        ("0 0 * * MON-1/2", ["2026-01-05 00:00", "2026-01-12 00:00"]),
        ("\t0  12 *   * * ", ["2026-01-01 12:00"]),
        ("@hourly", ["2026-01-01 01:00"]),
        ("@daily", ["2026-01-02 00:00"]),
        ("@Midnight", ["2026-01-02 00:00"]),
        ("@weekly", ["2026-01-04 00:00"]),
        ("@monthly", ["2026-02-01 00:00"]),
        ("@yearly", ["2027-01-01 00:00"]),
        ("@annually", ["2027-01-01 00:00"]),
    ],
)
def test_expressions_fire_when_they_say(text: str, moments: list[str]) -> None:
    assert following(text, len(moments)) == moments


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "cron_empty"),
        ("  ", "cron_empty"),
        ("* * * *", "cron_fields"),
        ("0 * * * * *", "cron_fields"),
        ("0 0 0 1 1 * 2026", "cron_fields"),
        ("@reboot", "cron_unsupported"),
        ("@dayly", "cron_alias"),
        ("@", "cron_alias"),
        ("0 0 ? * *", "cron_unsupported"),
        ("0 0 15W * *", "cron_unsupported"),
        ("0 0 L-3 * *", "cron_unsupported"),
        ("H * * * *", "cron_unsupported"),
        ("H/15 * * * *", "cron_unsupported"),
        ("60 * * * *", "cron_field"),
        ("0 24 * * *", "cron_field"),
        ("0 0 0 * *", "cron_field"),
        ("0 0 32 * *", "cron_field"),
        ("0 0 * 13 *", "cron_field"),
        ("0 0 * 0 *", "cron_field"),
        ("0 0 * * 8", "cron_field"),
        ("0 0 * * MONDAY", "cron_field"),
        ("0 0 * JANUARY *", "cron_field"),
        ("*/0 * * * *", "cron_field"),
        ("5-5/0 * * * *", "cron_field"),
        ("5-5/00 * * * *", "cron_field"),
        ("05-5/0 * * * *", "cron_field"),
        ("5-5/٣ * * * *", "cron_field"),
        ("5-5/2/3 * * * *", "cron_field"),
        ("0 0 * * MON-MON/0", "cron_field"),
        ("5-1 * * * *", "cron_field"),
        ("1,,2 * * * *", "cron_field"),
        ("1- * * * *", "cron_field"),
        ("/5 * * * *", "cron_field"),
        ("-1 * * * *", "cron_field"),
        ("1.5 * * * *", "cron_field"),
        ("٣ * * * *", "cron_field"),
        ("0 0 * * FRI-MON", "cron_field"),
        ("0 0 * * 1#6", "cron_field"),
        ("0 0 30 2 *", "cron_never"),
        ("0 0 31 2,4,6,9,11 *", "cron_never"),
        ("0 0 */31 * MON#2", "cron_never"),
        ("0 " * 200, "cron_long"),
    ],
)
def test_what_is_not_supported_is_refused_with_a_sentence(text: str, code: str) -> None:
    begun = time.thread_time()
    with pytest.raises(Invalid) as caught:
        parse_cron(text)
    assert time.thread_time() - begun < RUNAWAY
    assert caught.value.code == code
    assert caught.value.findings[0].detail == caught.value.detail
    assert caught.value.detail.endswith((".", "'"))


def test_the_sentence_names_the_field_and_what_it_takes() -> None:
    with pytest.raises(Invalid, match=r"The hour field '25' cannot be read: it takes 0 to 23"):
        parse_cron("0 25 * * *")
    with pytest.raises(Invalid) as caught:
        parse_cron("@dayly")
    assert caught.value.suggestion == "Did you mean '@daily'?"


@pytest.mark.parametrize(
    ("text", "field", "instead"),
    [
        ("0 9 * * MON-SUN", "day-of-week", "1-7"),
        ("0 9 * * 1-0", "day-of-week", "1-7"),
        ("0 9 * * FRI-MON", "day-of-week", "FRI-SAT,SUN-MON"),
        ("0 9 * * WED,sat-mon", "day-of-week", "WED,SAT,SUN-MON"),
        ("0 22-6 * * *", "hour", "22-23,0-6"),
        ("0 0 * NOV-FEB *", "month", "NOV-DEC,JAN-FEB"),
        ("0 0 25-5 * *", "day-of-month", "25-31,1-5"),
    ],
)
def test_a_range_that_runs_backwards_says_how_to_write_it(
    text: str, field: str, instead: str
) -> None:
    with pytest.raises(Invalid) as caught:
        parse_cron(text)
    assert caught.value.detail.startswith(f"The {field} field ")
    hint = caught.value.findings[0].suggestion
    assert hint == f"A range does not run backwards: write {instead!r}."
    backwards = next(part for part in text.split() if "-" in part)
    parse_cron(text.replace(backwards, instead))


def test_a_field_that_cannot_be_read_for_another_reason_has_no_hint_about_ranges() -> None:
    for text in ("0 25-6 * * *", "0 22-6/2 * * *", "0 0 * * MON-XYZ", "5-5/0 * * * *"):
        with pytest.raises(Invalid) as caught:
            parse_cron(text)
        assert caught.value.findings[0].suggestion is None


@pytest.mark.parametrize(
    "text",
    ["0 0 29 2 */7", "0 0 * 2 MON#5", "* * 29 2 */7", "0 * 29 2 */3", "0 0 31 12 *", "0 0 LW 2 *"],
)
def test_rare_expressions_cost_little_wherever_the_search_begins(text: str) -> None:
    begun = time.thread_time()
    cron = parse_cron(text)
    assert time.thread_time() - begun < RUNAWAY
    for year in (2026, 2072, 2096, 2180, 2196):
        begun = time.thread_time()
        cron.after(datetime(year, 3, 1, tzinfo=UTC), "Europe/Berlin")
        assert time.thread_time() - begun < RUNAWAY


def test_a_time_that_does_not_exist_fires_once_at_the_first_minute_after_the_gap() -> None:
    start = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert following("30 2 * * *", 2, "Europe/Berlin", start) == [
        "2026-03-29 01:00",  # 03:00 in Berlin
        "2026-03-30 00:30",
    ]
    assert following("*/20 2 * * *", 2, "Europe/Berlin", start) == [
        "2026-03-29 01:00",
        "2026-03-30 00:00",
    ]


def test_a_time_that_occurs_twice_fires_the_first_time() -> None:
    start = datetime(2026, 10, 24, 12, tzinfo=UTC)
    assert following("30 2 * * *", 2, "Europe/Berlin", start) == [
        "2026-10-25 00:30",
        "2026-10-26 01:30",
    ]
    # Asked in the second pass, the day's firing is already behind.
    second_pass = datetime(2026, 10, 25, 1, 15, tzinfo=UTC)
    assert following("30 2 * * *", 1, "Europe/Berlin", second_pass) == ["2026-10-26 01:30"]


def test_a_wildcard_hour_follows_elapsed_time() -> None:
    start = datetime(2026, 10, 24, 23, 59, tzinfo=UTC)
    assert following("30 * * * *", 4, "Europe/Berlin", start) == [
        "2026-10-25 00:30",
        "2026-10-25 01:30",
        "2026-10-25 02:30",
        "2026-10-25 03:30",
    ]


def test_a_daily_time_fires_once_per_local_day_for_two_years() -> None:
    for zone in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"):
        cron, place = parse_cron("30 2 * * *"), ZoneInfo(zone)
        moment, days = START, []
        for _ in range(800):
            after = cron.after(moment, zone)
            assert after is not None
            moment = after
            days.append(moment.astimezone(place).date())
        assert days == [days[0] + timedelta(days=number) for number in range(800)]


def test_the_end_of_the_calendar_is_no_error() -> None:
    end = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert parse_cron("* * * * *").after(end, "UTC") is None
    assert parse_cron("0 0 29 2 *").after(end, "Asia/Tokyo") is None


def test_an_unknown_zone_is_a_problem_not_a_crash() -> None:
    for zone in ("Mars/Olympus", "", "../etc/passwd", "a\0b"):
        with pytest.raises(Invalid) as caught:
            parse_cron("@daily").after(START, zone)
        assert caught.value.code == "unknown_timezone"


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("5 * * * *", "Every hour at minute 5"),
        ("0 */6 * * *", "Every 6 hours at minute 0"),
        ("*/90 * * * *", "Every hour at minute 0"),
        ("0 */36 * * *", "At 00:00 every day"),
        ("30 9 * * *", "At 09:30 every day"),
        ("@daily", "At 00:00 every day"),
        ("0 9 * * 1-5", "At 09:00 on Monday through Friday"),
        ("0 9 1 * *", "At 09:00 on the first day of every month"),
        ("0 9 31 * *", "At 09:00 on the 31st day of every month"),
        ("0 0 L * *", "At 00:00 on the last day of every month"),
    ],
)
def test_usual_expressions_are_said_in_words(text: str, phrase: str) -> None:
    assert describe(parse_cron(text)) == phrase


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("* * * * *", 60),
        ("*/15 * * * *", 900),
        ("0,59 * * * *", 60),
        ("0 * * * *", 3600),
        ("0 9,17 * * *", 8 * 3600),
        ("0 0,23 * * *", 3600),
        ("0 9 * * 1-5", 86400),
        ("0 9 * * 1", 7 * 86400),
        ("59,0 23,0 1 * *", 59 * 60),
        ("0 0 1 * *", 28 * 86400),
        ("0 0 1 1 *", 365 * 86400),
    ],
)
def test_the_smallest_interval_is_reported_in_seconds(text: str, seconds: int) -> None:
    assert get_smallest_interval(parse_cron(text)) == seconds
