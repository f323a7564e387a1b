"""Events of a calendar in a window of time: each occurrence one row, by the rules of RFC 5545.

Two libraries read the calendar and work out when its events recur, with their exceptions and
time zones. A moment is told in UTC; a whole day stays the day that it is, wherever one looks
from. A moment without any zone is taken as UTC. An event that cannot be read is left out; what
can be read goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from mainspring.contracts.errors import Upstream
from mainspring.contracts.in_time import TookTooLong, in_time
from mainspring.integrations.ics.bounds import rules_of, too_long

MOST_EVENTS: Final = 10_000
_MOST_TEXT: Final = 8_000
# A rule such as "every second" has more occurrences in a day than anybody has a use for.
_TOO_OFTEN: Final = ("SECONDLY", "MINUTELY")
_KINDS: Final = ("VEVENT",)
_MOMENTS: Final = ("DTSTART", "DTEND", "RECURRENCE-ID")


async def events_between(text: bytes, begin: datetime, end: datetime) -> list[dict[str, Any]]:
    """The occurrences that touch the window, by when they begin; read on a thread."""
    return await asyncio.to_thread(_events, text, begin, end)


def _events(text: bytes, begin: datetime, end: datetime) -> list[dict[str, Any]]:
    calendar = _calendar(text)
    if too_long(calendar.walk("VEVENT"), end):
        raise _unreadable("has events that recur too often, or for too long, to be worked out.")
    found = []
    for event in _in_window(calendar, begin, end):
        found.append(_row(event))
        if len(found) > MOST_EVENTS:
            raise _too_many()
    found.sort(key=lambda row: (row["start"], row["id"]))
    return found


def _in_window(calendar: Any, begin: datetime, end: datetime) -> Iterable[Any]:
    # Loaded with the first calendar: most processes read none.
    import recurring_ical_events

    try:
        query = recurring_ical_events.of(calendar, components=_KINDS, skip_bad_series=True)
        return in_time(lambda: query.between(begin, end))
    except TookTooLong:
        raise _unreadable("takes too long to be worked out.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise _unreadable("has dates that cannot be worked out.") from None


def _calendar(text: bytes) -> Any:
    from icalendar import Calendar

    try:
        calendar = Calendar.from_ical(text)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        raise _unreadable("is not an iCalendar file.") from None
    if getattr(calendar, "name", None) != "VCALENDAR":
        raise _unreadable("is not an iCalendar file.")
    calendar.subcomponents = [one for one in calendar.subcomponents if _is_readable(one)]
    for event in calendar.walk("VEVENT"):
        if _too_often(event):
            raise _unreadable("has an event that recurs every minute or more often.")
    return calendar


def _is_readable(part: Any) -> bool:
    """Whether a part of a calendar says its moments once each, and its rules, as they are read."""
    dated = all(part.get(name) is None or _when(part, name) is not None for name in _MOMENTS)
    return dated and all(isinstance(rule, Mapping) for rule in rules_of(part))


def _too_often(event: Any) -> bool:
    return any(str(one) in _TOO_OFTEN for rule in rules_of(event) for one in rule.get("FREQ", []))


def _row(event: Any) -> dict[str, Any]:
    start, end = _when(event, "DTSTART"), _end_of(event)
    uid = _text(event, "UID") or _text(event, "SUMMARY")
    began = _spelled(start)
    # The occurrence that was moved is still the one that it was: it is named by where it stood.
    stood = _when(event, "RECURRENCE-ID") or start
    return {
        "id": f"{uid}@{_spelled(stood)}",
        "uid": uid,
        "title": _text(event, "SUMMARY"),
        "start": began,
        "end": _spelled(end),
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
    """What a property says of time; None where it says nothing that can be read."""
    try:
        return getattr(event.get(name), "dt", None)
    except ValueError:
        # The library keeps what is broken, and says so to whoever looks.
        return None


def _end_of(event: Any) -> date | datetime | None:
    """When it ends; a whole day ends on the day after, as calendars have it."""
    found = _when(event, "DTEND")
    if found is not None:
        return found
    start = _when(event, "DTSTART")
    lasts = _read(event, "DURATION")
    if start is None or isinstance(lasts, timedelta):
        return None if start is None or lasts is None else start + lasts
    return start if isinstance(start, datetime) else start + timedelta(days=1)


def _spelled(moment: date | datetime | None) -> str:
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


def _unreadable(what: str) -> Upstream:
    return Upstream(f"What stands at the address {what}", code="unreadable_answer", retryable=False)


def _too_many() -> Upstream:
    return Upstream(
        f"There are more than {MOST_EVENTS:,} events in this window.",
        code="too_many_rows",
        retryable=False,
        suggestion="Choose a shorter one with start, end or days.",
    )
