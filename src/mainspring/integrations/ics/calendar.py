"""Occurrences of a calendar's events in a time window (RFC 5545).

Two libraries parse the calendar and expand recurrences with exceptions and time zones. Times are in
UTC; all-day events keep their date. A time without a zone is UTC. An unreadable event is skipped
and reported; the others continue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import UnreadableItem
from mainspring.contracts.time_limit import SECONDS, TimeLimit, TimeLimitExceeded
from mainspring.integrations.ics.parser import (
    MOST_STEPS,
    CalendarFeed,
    InvalidCalendar,
    build_unreadable_event,
    count_steps,
    list_rules,
    name_of,
    read_feeds,
)

MOST_EVENTS: Final = 10_000
_MOST_TEXT: Final = 8_000
# "Every second" has more occurrences per day than are useful.
_TOO_OFTEN: Final = ("SECONDLY", "MINUTELY")
_RECURS: Final = ("RRULE", "RDATE")

Row = dict[str, Any]


async def list_events_between(
    text: bytes, begin: datetime, end: datetime, *, seconds: float = SECONDS
) -> list[Row | UnreadableItem]:
    """List occurrences that overlap the window, by start, followed by skipped events.

    Everything including parsing is limited to this many seconds of CPU time.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_reader(), _read_in_time, text, begin, end, seconds)


@cache
def _reader() -> ThreadPoolExecutor:
    """A single worker thread: the library keeps time zones in process-wide state.

    A slow calendar only delays other calendars.
    """
    return ThreadPoolExecutor(1, "calendar")


def _read_in_time(
    text: bytes, begin: datetime, end: datetime, seconds: float
) -> list[Row | UnreadableItem]:
    try:
        return _events(text, begin, end, TimeLimit(seconds))
    except TimeLimitExceeded:
        raise _unreadable("takes too long to be worked out.") from None
    except InvalidCalendar:
        raise _unreadable("is not an iCalendar file.") from None


def _events(
    text: bytes, begin: datetime, end: datetime, limit: TimeLimit
) -> list[Row | UnreadableItem]:
    feeds = read_feeds(text, limit)
    broken = [one for feed in feeds for one in feed.broken]
    broken += _drop_costly_events(feeds, end)
    rows: list[Row] = []
    read = 0
    for feed in feeds:
        for series in _series(feed.events):
            found = _occurrences(feed, series, (begin, end), limit)
            if isinstance(found, UnreadableItem):
                broken.append(found)
                continue
            read += 1
            rows.extend(found)
            if len(rows) > MOST_EVENTS:
                raise _too_many()
    if broken and not read:
        raise _unreadable(f"has no event that can be read. {broken[0].problem.detail}")
    rows.sort(key=lambda row: (row["start"], row["id"]))
    return [*rows, *broken]


def _drop_costly_events(feeds: Sequence[CalendarFeed], end: datetime) -> list[UnreadableItem]:
    """Drop events whose rules have too many occurrences to be worked out, and report them.

    The occurrences of all events are counted together, in the order of the file.
    """
    dropped: list[UnreadableItem] = []
    steps = float(MOST_STEPS)
    for feed in feeds:
        kept = []
        for event in feed.events:
            if _too_often(event):
                why = "it recurs every minute or more often."
            elif (needed := count_steps(event, end)) > steps:
                why = "it recurs too often, or for too long, to be worked out."
            else:
                steps -= needed
                kept.append(event)
                continue
            dropped.append(build_unreadable_event(name_of(event), why))
        feed.events[:] = kept
    return dropped


def _series(events: Sequence[Any]) -> list[list[Any]]:
    """Group an event with its modified occurrences."""
    found: dict[str, list[Any]] = {}
    for number, event in enumerate(events):
        # An event without a UID has no modified occurrences; no UID contains a line break.
        found.setdefault(_text(event, "UID") or f"\n{number}", []).append(event)
    return list(found.values())


def _occurrences(
    feed: CalendarFeed, series: Sequence[Any], window: tuple[datetime, datetime], limit: TimeLimit
) -> list[Row] | UnreadableItem:
    recurs = any(event.get(name) for event in series for name in _RECURS)
    try:
        return limit.run(lambda: _rows(feed, series, window), may_be_long=recurs)
    except Exception:
        # An untrusted calendar can make the library raise anything; the event is reported.
        return build_unreadable_event(name_of(series[0]), "its dates cannot be worked out.")


def _rows(
    feed: CalendarFeed, series: Sequence[Any], window: tuple[datetime, datetime]
) -> list[Row]:
    # Imported on first use: most processes read no calendar.
    import recurring_ical_events
    from icalendar import Calendar

    alone = Calendar()
    alone.subcomponents = list(series)
    if feed.zone is not None:
        alone.add("X-WR-TIMEZONE", feed.zone)
    return [_row(one) for one in recurring_ical_events.of(alone).between(*window)]


def _too_often(event: Any) -> bool:
    return any(str(one) in _TOO_OFTEN for rule in list_rules(event) for one in rule.get("FREQ", []))


def _row(event: Any) -> dict[str, Any]:
    start, end = _when(event, "DTSTART"), _end_of(event)
    uid = _text(event, "UID") or _text(event, "SUMMARY")
    began = _format_moment(start)
    # A moved occurrence is identified by its original time.
    stood = _when(event, "RECURRENCE-ID") or start
    return {
        "id": f"{uid}@{_format_moment(stood)}",
        "uid": uid,
        "title": _text(event, "SUMMARY"),
        "start": began,
        "end": _format_moment(end),
        "all_day": not isinstance(start, datetime),
        "location": _text(event, "LOCATION"),
        "description": _text(event, "DESCRIPTION"),
        "status": _text(event, "STATUS").lower(),
        "organizer": _text(event, "ORGANIZER").removeprefix("mailto:").removeprefix("MAILTO:"),
        "url": _text(event, "URL"),
    }


def _when(event: Any, name: str) -> date | datetime | None:
    found = _read(event, name)
    return found if isinstance(found, date) else None


def _read(event: Any, name: str) -> Any:
    """Read a property's time; None when unreadable."""
    try:
        return getattr(event.get(name), "dt", None)
    except ValueError:
        # The library keeps broken values and raises on access.
        return None


def _end_of(event: Any) -> date | datetime | None:
    """Return the end; all-day events end on the day after, as in the format."""
    found = _when(event, "DTEND")
    if found is not None:
        return found
    start = _when(event, "DTSTART")
    lasts = _read(event, "DURATION")
    if start is None or isinstance(lasts, timedelta):
        return None if start is None or lasts is None else start + lasts
    return start if isinstance(start, datetime) else start + timedelta(days=1)


def _format_moment(moment: date | datetime | None) -> str:
    if moment is None:
        return ""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if value is None else str(value).replace("\x00", "\ufffd")[:_MOST_TEXT]


def _unreadable(what: str) -> UpstreamError:
    return UpstreamError(
        f"The content of the address {what}", code="unreadable_answer", retryable=False
    )


def _too_many() -> UpstreamError:
    return UpstreamError(
        f"There are more than {MOST_EVENTS:,} events in this window.",
        code="too_many_rows",
        retryable=False,
        suggestion="Choose a shorter one with start, end or days.",
    )
