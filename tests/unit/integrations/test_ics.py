"""Calendars as rows: recurring events, exceptions, whole days, zones, and what is no calendar."""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.contracts.integration import UnreadableItem
from mainspring.integrations.ics.adapters import check_params, normalize_ref, parse_window
from mainspring.integrations.ics.calendar import list_events_between

NOW = datetime(2026, 3, 15, 13, 0, tzinfo=UTC)
ZONE = """
BEGIN:VTIMEZONE
TZID:Our/Berlin
BEGIN:STANDARD
DTSTART:19701025T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
"""
WEEKLY = """
BEGIN:VEVENT
UID:weekly
DTSTART;TZID=Our/Berlin:20260323T090000
DTEND;TZID=Our/Berlin:20260323T100000
RRULE:FREQ=WEEKLY;COUNT=4
EXDATE;TZID=Our/Berlin:20260406T090000
SUMMARY:Stand-up
LOCATION:Room 1\\, left
ORGANIZER:mailto:ada@example.com
END:VEVENT
BEGIN:VEVENT
UID:weekly
RECURRENCE-ID;TZID=Our/Berlin:20260330T090000
DTSTART;TZID=Our/Berlin:20260330T150000
DTEND;TZID=Our/Berlin:20260330T160000
SUMMARY:Stand-up\\, later
END:VEVENT
"""
OTHERS = """
BEGIN:VEVENT
UID:day
DTSTART;VALUE=DATE:20260401
SUMMARY:Holiday
END:VEVENT
BEGIN:VEVENT
UID:broken
DTSTART:nonsense
SUMMARY:Broken
END:VEVENT
BEGIN:VEVENT
UID:broken at its end
DTSTART:20260402T120000Z
DTEND:nonsense
END:VEVENT
BEGIN:VEVENT
UID:broken in its rule
DTSTART:20260402T120000Z
RRULE:FREQ=NOWANDTHEN
END:VEVENT
BEGIN:VEVENT
UID:ends twice
DTSTART:20260402T120000Z
DTEND:20260402T130000Z
DTEND:20260402T140000Z
END:VEVENT
BEGIN:VEVENT
UID:short
DTSTART:20260402T120000Z
DURATION:PT45M
SUMMARY:Short
END:VEVENT
"""


def calendar(*parts: str) -> bytes:
    lines = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//a//b\n" + "\n".join(parts) + "\nEND:VCALENDAR"
    return "\r\n".join(line for line in lines.split("\n") if line).encode() + b"\r\n"


async def _read(text: bytes, **more: float) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows, and why events were left out, by their name."""
    found = await list_events_between(
        text, datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC), **more
    )
    rows = [one for one in found if not isinstance(one, UnreadableItem)]
    return rows, {
        one.source_ref: one.problem.detail for one in found if isinstance(one, UnreadableItem)
    }


async def _rows(text: bytes) -> list[dict[str, Any]]:
    rows, left_out = await _read(text)
    assert not left_out
    return rows


def _event(*lines: str, uid: str = "odd") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])


GOOD = _event("DTSTART:20260402T120000Z", uid="good")
STARTS = "DTSTART:20260402T120000Z"


async def test_each_occurrence_is_a_row_with_its_exceptions_and_in_utc() -> None:
    rows = await _rows(calendar(ZONE, WEEKLY))

    assert [(row["start"], row["title"]) for row in rows] == [
        ("2026-03-23T08:00:00Z", "Stand-up"),
        # Clocks were put forward in between, and this one was moved to the afternoon.
        ("2026-03-30T13:00:00Z", "Stand-up, later"),
        ("2026-04-13T07:00:00Z", "Stand-up"),
    ]
    assert rows[0]["end"] == "2026-03-23T09:00:00Z"
    assert (rows[0]["location"], rows[0]["organizer"]) == ("Room 1, left", "ada@example.com")
    # The moved one is still the occurrence that it was.
    assert rows[1]["id"] == "weekly@2026-03-30T07:00:00Z"


async def test_whole_days_stay_days_and_what_cannot_be_read_keeps_nothing_else_away() -> None:
    rows, left_out = await _read(calendar(OTHERS))

    assert {"broken", "broken at its end", "broken in its rule", "ends twice"} == set(left_out)
    assert [(row["start"], row["end"], row["all_day"]) for row in rows] == [
        ("2026-04-01", "2026-04-02", True),
        ("2026-04-02T12:00:00Z", "2026-04-02T12:45:00Z", False),
    ]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (_event("SUMMARY:Some day"), "it has no DTSTART."),
        (_event("DTSTART:nonsense"), "its DTSTART cannot be read."),
        (_event(STARTS, "DURATION:nonsense"), "its DURATION cannot be read."),
        (_event(STARTS, "RRULE:FREQ=DAILY;UNTIL=soon"), "its RRULE cannot be read."),
        (_event(STARTS, "RRULE:nonsense"), "its RRULE cannot be read."),
        (_event(STARTS, "RRULE:FREQ=DAILY", "EXDATE:nonsense"), "its EXDATE cannot be read."),
        (_event(STARTS, "SEQUENCE:nonsense"), "its dates cannot be worked out."),
        (_event("DTSTART;TZID=Nowhere/At all:20260402T120000"), "its time zone 'Nowhere/At all'"),
        (_event(STARTS, "EXDATE;TZID=Nowhere:20260402T120000"), "its time zone 'Nowhere' is"),
        ("BEGIN:X-GROUP\n" + _event("DTSTART:nonsense") + "\nEND:X-GROUP", "its DTSTART cannot"),
        ("X-WR-TIMEZONE:Mars/Base\n" + _event("DTSTART:20260402T120000"), "its time zone 'Mars/"),
    ],
)
async def test_an_event_that_cannot_be_read_is_reported_and_the_others_are_rows(
    event: str, why: str
) -> None:
    rows, left_out = await _read(calendar(event, GOOD))

    assert [row["uid"] for row in rows] == ["good"]
    assert list(left_out) == ["odd"]
    assert f"The event 'odd' is skipped: {why}" in left_out["odd"]


async def test_broken_parts_other_than_dates_drop_no_event() -> None:
    alarm = "BEGIN:VALARM\nTRIGGER:nonsense\nEND:VALARM"
    rows = await _rows(calendar(_event(STARTS, "GEO:nonsense", "garbage", alarm), GOOD))

    assert {row["uid"] for row in rows} == {"odd", "good"}


async def test_an_event_that_was_never_closed_takes_no_other_with_it() -> None:
    rows = await _rows(calendar("BEGIN:VEVENT\nUID:odd\n" + STARTS, GOOD))

    assert {row["uid"] for row in rows} == {"odd", "good"}


async def test_every_calendar_of_a_file_is_read_with_its_own_time_zones() -> None:
    there = _event("DTSTART;TZID=Our/Berlin:20260402T120000", uid="there")
    far = ZONE.replace("+0200", "-0500").replace("+0100", "-0600")
    first = calendar(ZONE, there)
    # Its zone comes after the event, and is another one of the same name.
    second = calendar(there.replace("there", "far"), far)
    third = calendar(there.replace("there", "nowhere"))

    rows, left_out = await _read(first + second + third)

    assert [(row["uid"], row["start"]) for row in rows] == [
        ("there", "2026-04-02T10:00:00Z"),
        ("far", "2026-04-02T17:00:00Z"),
    ]
    # A zone that some other calendar defined is not known here.
    assert list(left_out) == ["nowhere"]


async def test_a_time_zone_of_another_file_is_not_used() -> None:
    there = _event("DTSTART;TZID=Our/Berlin:20260402T120000", uid="there")
    assert await _rows(calendar(ZONE, there))

    _, left_out = await _read(calendar(there, GOOD))

    assert "time zone 'Our/Berlin' is unknown" in left_out["there"]


@pytest.mark.parametrize("shape", ["many events", "one long event", "many rules", "many lines"])
async def test_parsing_counts_towards_the_time_that_a_calendar_may_take(shape: str) -> None:
    match shape:
        case "many events":
            parts = [_event(STARTS, uid=str(n)) for n in range(20_000)]
        case "one long event":
            days = ",".join(["20260402T120000Z"] * 60_000)
            parts = [_event(STARTS, f"EXDATE:{days}", "RRULE:FREQ=DAILY;COUNT=2")]
        case "many lines":
            parts = ["X-NOTE:a\r\n" * 400_000]
        case _:
            rule = "RRULE:FREQ=WEEKLY;COUNT=50"
            parts = [_event(STARTS, rule, uid=str(n)) for n in range(3_000)]
    text = calendar(*parts)
    beginning = time.process_time()

    with pytest.raises(UpstreamError) as refused:
        await _read(text, seconds=0.2)

    assert "takes too long" in refused.value.detail
    assert time.process_time() - beginning < 15


async def test_a_calendar_that_takes_long_does_not_hold_up_the_event_loop() -> None:
    text = calendar(*(_event(STARTS, uid=str(n)) for n in range(5_000)))
    reading = asyncio.create_task(_read(text, seconds=0.5))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0.01)
        turns += 1
    with contextlib.suppress(UpstreamError):
        await reading

    assert turns > 5


@pytest.mark.parametrize(
    "text",
    [
        b"",
        # None of its events can be read; an empty answer would look like an empty calendar.
        calendar(_event("SUMMARY:Some day")),
        b"<html><body>sign in</body></html>",
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n",
        # Would take hours if each line looked through all that are open.
        b"BEGIN:VCALENDAR\r\n" + b"BEGIN:\r\n" * 400_000,
        calendar(WEEKLY.replace("FREQ=WEEKLY", "FREQ=SECONDLY")),
    ],
)
async def test_what_is_no_calendar_is_said_and_not_tried_again(text: bytes) -> None:
    with pytest.raises(UpstreamError) as refused:
        await _rows(text)

    assert not refused.value.retryable


def test_a_window_is_today_and_so_many_days_or_what_is_asked_for() -> None:
    assert parse_window({}, NOW)[0] == datetime(2026, 3, 15, tzinfo=UTC)
    assert parse_window({"days": 7}, NOW)[1] == datetime(2026, 3, 22, tzinfo=UTC)
    begin, end = parse_window({"start": "2026-01-31T09:00:00+01:00", "end": "2026-02-01"}, NOW)
    assert (begin.hour, end.day) == (9, 1)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"start": "soon"}, "/start"),
        ({"end": "2026-13-01"}, "/end"),
        ({"start": "2026-02-01", "end": "2026-01-01"}, "/end"),
        ({"start": "2020-01-01", "end": "2026-01-01"}, "/end"),
        ({"end": "2026-01-01", "days": 2}, "/days"),
    ]
    for params, at in wrong:
        with pytest.raises(Invalid) as refused:
            check_params(params)
        assert [one.pointer for one in refused.value.findings] == [at]
    assert normalize_ref({"url": "webcal://Example.com/a.ics"}) == {
        "url": "https://example.com/a.ics"
    }


@pytest.mark.parametrize("rule", ["FREQ=MINUTELY", "FREQ=SECONDLY", "FREQ=DAILY;INTERVAL=0"])
async def test_an_event_that_recurs_too_often_is_reported_and_the_others_are_rows(
    rule: str,
) -> None:
    often = f"BEGIN:VEVENT\nUID:often\nDTSTART:20260101T000000Z\nRRULE:{rule}\nEND:VEVENT"
    sound = "BEGIN:VEVENT\nUID:sound\nDTSTART:20260325T090000Z\nEND:VEVENT"
    window = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    found = await list_events_between(calendar(often, sound), *window)
    row, reported = found
    assert isinstance(row, dict)
    assert row["uid"] == "sound"
    assert isinstance(reported, UnreadableItem)
    assert "recurs" in reported.problem.detail
