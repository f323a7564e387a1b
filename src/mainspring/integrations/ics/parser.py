"""Splitting an iCalendar file into calendars, time zones and events.

The library parses a file as a whole, so that one malformed component rejects all of it, and it
caches time zones for the whole process. Here each component is parsed alone: an invalid event is
reported and does not affect the others. Time zones are parsed before events, wherever they are in
the file, and dropped with their calendar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import inf, prod
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import UnreadableItem
from mainspring.contracts.time_limit import TimeLimit

# The cost limit of expanding a calendar, checked in advance.

MOST_STEPS: Final = 400_000
_DAY: Final = 86_400.0
_UNITS: Final = {
    "YEARLY": 365 * _DAY,
    "MONTHLY": 28 * _DAY,
    "WEEKLY": 7 * _DAY,
    "DAILY": _DAY,
    "HOURLY": 3_600.0,
    "MINUTELY": 60.0,
    "SECONDLY": 1.0,
}
# The maximum number of days per period on which a rule can match.
_DAYS: Final = {"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7}
_CHOOSES: Final = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYMONTH", "BYEASTER")
_TIMES: Final = {"HOURLY": ("BYMINUTE", "BYSECOND"), "MINUTELY": ("BYSECOND",), "SECONDLY": ()}
_OF_A_DAY: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")


def count_steps(event: Any, end: datetime) -> float:
    """Estimate the occurrences of an event up to a time; infinite for an invalid rule."""
    try:
        start = _moment(event.get("DTSTART"))
        return sum(_steps(rule, start, end) for rule in list_rules(event))
    except (ValueError, TypeError, OverflowError, AttributeError):
        # The library keeps numbers that it cannot parse.
        return inf


def list_rules(event: Any) -> list[Any]:
    """Return an event's recurrence rules."""
    found = event.get("RRULE", [])
    return list(found) if isinstance(found, list) else [found]


def _steps(rule: Any, start: datetime | None, end: datetime) -> float:
    kind = str(_first(rule, "FREQ", ""))
    if start is None or kind not in _UNITS:
        return 1
    every = int(_first(rule, "INTERVAL", 1))
    if every < 1:
        # The rule would never advance.
        return MOST_STEPS + 1
    until = _moment(_first(rule, "UNTIL", None))
    last = end if until is None else min(end, until)
    period = _UNITS[kind] * every
    periods = max(0.0, (last - start).total_seconds()) / period + 1
    days = _DAYS.get(kind, 1) if any(rule.get(name) for name in _CHOOSES) else 1
    times = prod(max(1, len(rule.get(name, ()))) for name in _TIMES.get(kind, _OF_A_DAY))
    most = int(_first(rule, "COUNT", MOST_STEPS + 1))
    return min(periods * days * times, float(most))


def _first(rule: Any, name: str, otherwise: Any) -> Any:
    found = rule.get(name)
    return found[0] if isinstance(found, list) and found else otherwise


def _moment(value: Any) -> datetime | None:
    found = getattr(value, "dt", value)
    if isinstance(found, datetime):
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return (
        datetime(found.year, found.month, found.day, tzinfo=UTC)
        if isinstance(found, date)
        else None
    )


_FOLD: Final = re.compile(r"\r?\n[ \t]")
_NEWLINE: Final = re.compile(r"\r?\n")
# The properties that a row needs; calendars have many others, such as attendees.
_READ: Final = frozenset(
    {
        "UID",
        "SUMMARY",
        "DTSTART",
        "DTEND",
        "DURATION",
        "RECURRENCE-ID",
        "RRULE",
        "EXRULE",
        "RDATE",
        "EXDATE",
        "SEQUENCE",
        "LOCATION",
        "DESCRIPTION",
        "STATUS",
        "ORGANIZER",
        "URL",
    }
)
# Larger components are parsed under a time limit.
_LONG: Final = 20_000
# Calendars nest at most three components: an alarm in an event, or a rule in a time zone.
_DEEPEST: Final = 8
_EVENT: Final = "VEVENT"
_ZONE: Final = "VTIMEZONE"
_ONCE: Final[Mapping[str, type]] = {
    "DTSTART": date,
    "DTEND": date,
    "RECURRENCE-ID": date,
    "DURATION": timedelta,
}
_LISTS: Final = ("RDATE", "EXDATE")


class InvalidCalendar(Exception):
    """The text is not an iCalendar file, or is truncated."""


@dataclass(slots=True)
class CalendarFeed:
    """A VCALENDAR: its readable events, and the others with reasons."""

    # The calendar's default time zone, as an IANA name.
    zone: str | None = None
    events: list[Any] = field(default_factory=list)
    broken: list[UnreadableItem] = field(default_factory=list)


@dataclass(slots=True)
class _CalendarLines:
    """A VCALENDAR as text: properties, time zones and events."""

    own: list[str] = field(default_factory=list)
    zones: list[list[str]] = field(default_factory=list)
    events: list[list[str]] = field(default_factory=list)


def read_feeds(text: bytes, limit: TimeLimit) -> list[CalendarFeed]:
    """Parse every calendar of a file, which may have several."""
    parts = limit.run(lambda: _split(text), may_be_long=len(text) > _LONG)
    return [_feed(lines, limit) for lines in parts]


def build_unreadable_event(name: str, why: str) -> UnreadableItem:
    """A skipped event and the reason."""
    detail = f"The event {name[:200]!r} is skipped: {why}"
    return UnreadableItem(name, UpstreamError(detail, code="unreadable_event", retryable=False))


def name_of(event: Any) -> str:
    """Name an event in reports."""
    found = [one for name in ("UID", "SUMMARY") for one in _values(event, name)]
    return str(found[0]) if found else "without a UID"


def _split(text: bytes) -> list[_CalendarLines]:
    """Split a file by its BEGIN and END lines, without parsing the content."""
    found: list[_CalendarLines] = []
    nested: list[str] = []
    for line in _NEWLINE.split(_FOLD.sub("", text.decode("utf-8-sig", "replace"))):
        word, _, name = line.strip().upper().partition(":")
        if word == "BEGIN" and (nested or name == "VCALENDAR"):
            _begin(found, nested, name)
        if nested and word:
            _keep(found[-1], nested, line, inside=word not in {"BEGIN", "END"})
        if word == "END":
            _leave(nested, name)
    if nested or not found:
        raise InvalidCalendar
    return found


def _begin(found: list[_CalendarLines], nested: list[str], name: str) -> None:
    if name == _EVENT:
        # Events do not nest: the previous one was not closed.
        _leave(nested, name)
    nested.append(name)
    if len(nested) > _DEEPEST:
        raise InvalidCalendar
    if len(nested) == 1:
        found.append(_CalendarLines())
    elif name == _EVENT:
        found[-1].events.append([])
    elif name == _ZONE:
        found[-1].zones.append([])


def _keep(lines: _CalendarLines, nested: list[str], line: str, *, inside: bool) -> None:
    """Keep a line that is needed; an event's alarm is not."""
    if _ZONE in nested:
        lines.zones[-1].append(line)
    elif inside and nested[-1] == _EVENT:
        if line.partition(":")[0].partition(";")[0].upper() in _READ:
            lines.events[-1].append(line)
    elif inside and len(nested) == 1:
        lines.own.append(line)


def _leave(nested: list[str], name: str) -> None:
    """Close a component, and unclosed ones inside it."""
    if name in nested:
        while nested.pop() != name:
            pass


def _feed(lines: _CalendarLines, limit: TimeLimit) -> CalendarFeed:
    # Imported on first use: most processes read no calendar.
    from icalendar import Event, Timezone
    from icalendar.timezone import tzp

    # The library caches parsed zones by name for the lifetime of the process.
    tzp.use_default()
    for part in lines.zones:
        # An unreadable zone is unknown; events that use it are reported.
        _parse_component(Timezone, part, limit)
    text = _calendar_zone(lines)
    known = None if text is None else getattr(tzp.timezone(text), "key", None)
    feed = CalendarFeed(zone=known)
    lost = text if known is None else None
    for number, part in enumerate(lines.events, 1):
        event = _parse_component(Event, [f"BEGIN:{_EVENT}", *part, f"END:{_EVENT}"], limit)
        if event is None:
            feed.broken.append(build_unreadable_event(f"number {number}", "it cannot be read."))
        elif (why := _why_unreadable(event, lost)) is not None:
            feed.broken.append(build_unreadable_event(name_of(event), why))
        else:
            feed.events.append(event)
    return feed


def _parse_component(kind: Any, lines: list[str], limit: TimeLimit) -> Any:
    """Parse a component; None when the library fails."""
    text = "\r\n".join([*lines, ""]).encode()
    try:
        return limit.run(lambda: kind.from_ical(text), may_be_long=len(text) > _LONG)
    except Exception:
        # Untrusted text can make the parser raise anything; the component is reported.
        return None


def _calendar_zone(lines: _CalendarLines) -> str | None:
    """Return the calendar's default time zone, if any."""
    for line in lines.own:
        name, _, value = line.partition(":")
        if name.upper() == "X-WR-TIMEZONE" and value.strip():
            return value.strip()
    return None


def _why_unreadable(event: Any, lost: str | None) -> str | None:
    """Explain why an event cannot be expanded; None when it can.

    ``lost`` is the calendar's default zone when it is unknown.
    """
    if event.get("DTSTART") is None:
        return "it has no DTSTART."
    for name, kind in _ONCE.items():
        if event.get(name) is not None and not _is_one(event.get(name), kind):
            return f"its {name} cannot be read."
    if not all(isinstance(rule, Mapping) and rule.get("FREQ") for rule in list_rules(event)):
        return "its RRULE cannot be read."
    for name in (*_ONCE, *_LISTS):
        for value in _values(event, name):
            moments = _moments(value)
            if moments is None:
                return f"its {name} cannot be read."
            zone = value.params.get("TZID") or lost
            if zone is not None and any(_is_floating(one) for one in moments):
                return f"its time zone {str(zone)[:100]!r} is unknown."
    return None


def _is_one(value: Any, kind: type) -> bool:
    """Report whether a property occurs once with a valid value."""
    found = _moments(value)
    return found is not None and len(found) == 1 and isinstance(found[0], kind)


def _values(event: Any, name: str) -> list[Any]:
    found = event.get(name, [])
    return found if isinstance(found, list) else [found]


def _moments(value: Any) -> list[Any] | None:
    """Return a property's times; None when unreadable."""
    try:
        listed = getattr(value, "dts", None)
        return [value.dt] if listed is None else [one.dt for one in listed]
    except (AttributeError, ValueError):
        # The library keeps unparsable values and raises on access.
        return None


def _is_floating(moment: Any) -> bool:
    """Report whether a time has no zone; for a period, its start counts."""
    first = moment[0] if isinstance(moment, tuple) else moment
    return isinstance(first, datetime) and first.tzinfo is None
