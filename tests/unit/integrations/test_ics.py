"""Calendars as rows: recurring events, exceptions, whole days, zones, and what is no calendar."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, Upstream
from mainspring.integrations.ics.adapters import check_params, normal, window
from mainspring.integrations.ics.calendar import events_between

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


async def _rows(text: bytes) -> list[dict[str, Any]]:
    return await events_between(
        text, datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    )


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
    rows = await _rows(calendar(OTHERS))

    assert [(row["start"], row["end"], row["all_day"]) for row in rows] == [
        ("2026-04-01", "2026-04-02", True),
        ("2026-04-02T12:00:00Z", "2026-04-02T12:45:00Z", False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<html><body>sign in</body></html>",
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n",
        calendar(WEEKLY.replace("FREQ=WEEKLY", "FREQ=SECONDLY")),
    ],
)
async def test_what_is_no_calendar_is_said_and_not_tried_again(text: bytes) -> None:
    with pytest.raises(Upstream) as refused:
        await _rows(text)

    assert not refused.value.retryable


def test_a_window_is_today_and_so_many_days_or_what_is_asked_for() -> None:
    assert window({}, NOW)[0] == datetime(2026, 3, 15, tzinfo=UTC)
    assert window({"days": 7}, NOW)[1] == datetime(2026, 3, 22, tzinfo=UTC)
    begin, end = window({"start": "2026-01-31T09:00:00+01:00", "end": "2026-02-01"}, NOW)
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
    assert normal({"url": "webcal://Example.com/a.ics"}) == {"url": "https://example.com/a.ics"}
