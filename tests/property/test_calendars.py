"""Calendars from anywhere: mangled files have rows, reports or one problem, and never a crash."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import UnreadableItem
from mainspring.integrations.ics.calendar import list_events_between

BEGIN, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
SOUND = b"""BEGIN:VCALENDAR
VERSION:2.0
X-WR-TIMEZONE:Europe/Berlin
BEGIN:VTIMEZONE
TZID:Office
BEGIN:STANDARD
DTSTART:20251026T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:weekly
SUMMARY:Weekly
DTSTART;TZID=Office:20260105T090000
DTEND;TZID=Office:20260105T100000
RRULE:FREQ=WEEKLY;INTERVAL=1;COUNT=5;BYDAY=MO
EXDATE;TZID=Office:20260112T090000
END:VEVENT
BEGIN:VEVENT
UID:weekly
RECURRENCE-ID;TZID=Office:20260119T090000
DTSTART;TZID=Office:20260120T090000
SUMMARY:Moved
END:VEVENT
BEGIN:VEVENT
UID:day
DTSTART;VALUE=DATE:20260201
DURATION:P2D
RDATE;VALUE=PERIOD:20260201T000000Z/PT1H
END:VEVENT
END:VCALENDAR
"""
LINES = SOUND.splitlines()
JUNK = st.sampled_from(
    [
        *LINES,
        b"BEGIN:VCALENDAR",
        b"END:VCALENDAR",
        b"BEGIN:VEVENT",
        b"END:VEVENT",
        b"DTSTART;TZID=Nowhere/Else:20260105T090000",
        b"DTSTART:99999999T999999",
        b"DTSTART:00010101T000000Z",
        b"DTEND:99991231T235959Z",
        b"DURATION:P99999999999D",
        b"DURATION:-P1D",
        b"RRULE:FREQ=DAILY;INTERVAL=0",
        b"RRULE:FREQ=SECONDLY",
        b"RRULE:FREQ=YEARLY;UNTIL=x;COUNT=-1",
        b"RRULE:FREQ=DAILY;COUNT=999999999999999999999",
        b"RRULE:FREQ=WEEKLY;BYDAY=99MO;WKST=XX",
        b"RRULE:",
        b"EXDATE:nonsense",
        b"RDATE;VALUE=PERIOD:/",
        b"X-WR-TIMEZONE:../../etc/passwd",
        b"TZID:",
        b"TZOFFSETTO:+9999",
        b"SUMMARY;\xff\xfe=\x00:\x00",
        b"UID:" + b"u" * 300,
        b" folded",
        b":",
        b";",
        b"",
    ]
)


def read(text: bytes) -> list[object] | None:
    """The rows and reports, or None for a problem that says what is wrong."""
    try:
        return list(asyncio.run(list_events_between(text, BEGIN, END)))
    except UpstreamError as error:
        problem = error
    assert problem.code in {"unreadable_answer", "too_many_rows"}
    assert problem.detail.endswith(".")
    return None


@settings(max_examples=150, deadline=None)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(LINES)), st.sampled_from("+-="), JUNK), max_size=6
    ),
    cut=st.none() | st.integers(0, len(SOUND)),
    noise=st.lists(st.tuples(st.integers(0, len(SOUND)), st.binary(max_size=3)), max_size=3),
)
def test_a_mangled_calendar_never_crashes(
    changes: list[tuple[int, str, bytes]], cut: int | None, noise: list[tuple[int, bytes]]
) -> None:
    lines = list(LINES)
    for place, change, line in changes:
        at = min(place, len(lines))
        if change == "+":
            lines.insert(at, line)
        else:
            lines[at : at + 1] = [line] if change == "=" else []
    text = b"\r\n".join(lines)[:cut]
    for place, inserted in noise:
        text = text[:place] + inserted + text[place:]
    for one in read(text) or []:
        assert isinstance(one, dict | UnreadableItem)


@settings(max_examples=60, deadline=None)
@given(line=JUNK, place=st.integers(1, 4))
def test_a_bad_event_keeps_no_other_event_away(line: bytes, place: int) -> None:
    event = [b"BEGIN:VEVENT", b"UID:bad", b"DTSTART:20260110T090000Z", b"END:VEVENT"]
    if line.startswith((b"BEGIN:", b"END:VCAL", b" ", b"UID:")):
        return
    event.insert(min(place, 3), line)
    text = b"\r\n".join([*LINES[:-1], *event, LINES[-1]])
    found = read(text)
    assert found is not None
    uids = [one["uid"] for one in found if isinstance(one, dict)]
    assert uids.count("weekly") == 4
    assert "day" in uids
