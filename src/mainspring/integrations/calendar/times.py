"""Dates and times: requested windows, and times of events.

Dates are in the calendar's time zone. A window of dates includes its last day; an all-day event
ends, as in the API, on the day after its last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from mainspring.contracts.errors import Finding, Invalid

_LONGEST: Final = timedelta(days=3_660)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_SAID: Final = re.compile(
    r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
    r"(?:[Zz]|[+-]\d{2}:\d{2}))?(?![\w-])"
)
_ONE_OR_OTHER: Final = (
    "Write a date such as 2026-06-01, or a date and time such as 2026-06-01T09:00:00Z."
)


@dataclass(frozen=True, slots=True)
class Window:
    """A window; each end is a date or a time."""

    start: date | datetime
    end: date | datetime

    def within(self, zone: str) -> tuple[str, str]:
        """Convert to API times, with dates in a time zone."""
        here = load_zone(zone)
        end = self.end if isinstance(self.end, datetime) else self.end + timedelta(days=1)
        return _stamp(self.start, here), _stamp(end, here)


def read_window(arguments: Mapping[str, Any]) -> Window:
    """Parse a window; raises ``Invalid`` with pointers."""
    found: list[Finding] = []
    ends: dict[str, date | datetime] = {}
    for name in ("start", "end"):
        value = parse_day_or_time(arguments.get(name))
        if value is None or (isinstance(value, datetime) and value.tzinfo is None):
            detail = "This is not a date, nor a date and time with its offset."
            found.append(Finding(f"/{name}", detail, "calendar_window", _ONE_OR_OTHER))
        else:
            ends[name] = value
    if not found:
        found += _order(Window(ends["start"], ends["end"]))
    if found:
        raise Invalid(
            f"The window cannot be read: {found[0].detail}",
            code="calendar_window",
            findings=found,
            suggestion=found[0].suggestion,
        )
    return Window(ends["start"], ends["end"])


def parse_window(request: str) -> dict[str, str]:
    """Parse a window from a sentence with exactly two dates; the rest is ignored."""
    said = [one.strip().replace(" ", "T") for one in _SAID.findall(request)]
    if len(said) != 2:
        detail = (
            f"A window of the calendar is read from exactly two dates, and there are {len(said)} "
            "in this request."
        )
        way_out = (
            "Write it like: events from 2026-06-01 through 2026-06-07. Or give input with start "
            "and end."
        )
        finding = Finding("/request", detail, "calendar_request", way_out)
        raise Invalid(detail, code="calendar_request", findings=[finding], suggestion=way_out)
    window = {"start": said[0].upper(), "end": said[1].upper()}
    read_window(window)
    return window


def parse_day_or_time(value: Any) -> date | datetime | None:
    """Parse a date, or a time with or without offset; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        if _DAY.fullmatch(value):
            return date.fromisoformat(value)
        found = datetime.fromisoformat(value.replace("z", "Z"))
    except ValueError:
        return None
    return found if "T" in value.upper() else None


def find_time_problems(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find problems in an event's times, with pointers."""
    found: list[Finding] = []
    times: dict[str, date | datetime] = {}
    zone = arguments.get("time_zone")
    if zone is not None and not _is_zone(zone):
        detail = "There is no such time zone."
        found.append(Finding("/time_zone", detail, "event_zone", "For example Europe/Berlin."))
    for name in ("start", "end"):
        if name not in arguments:
            continue
        value = parse_day_or_time(arguments[name])
        if value is None:
            detail = "This is not a date, nor a date and time."
            found.append(Finding(f"/{name}", detail, "event_time", _ONE_OR_OTHER))
        elif isinstance(value, datetime) and value.tzinfo is None and zone is None:
            way_out = "Add the offset, such as +02:00 or Z, or give time_zone."
            detail = "This time has no time zone."
            found.append(Finding(f"/{name}", detail, "event_time", way_out))
        else:
            times[name] = value
    return found or _event_order(times, zone)


def format_api_time(value: str, zone: str | None) -> dict[str, str | None]:
    """Format a time for the API; the alternative field is cleared."""
    if not isinstance(parse_day_or_time(value), datetime):
        return {"date": value, "dateTime": None, "timeZone": None}
    return {"dateTime": value, "date": None, "timeZone": zone}


def load_zone(name: str) -> ZoneInfo:
    """Load a zone by name; unknown names are UTC."""
    return ZoneInfo(name if _is_zone(name) else "UTC")


def to_datetime(value: date | datetime, zone: str | None) -> datetime:
    """Convert to a datetime for comparison."""
    here = load_zone(zone or "UTC")
    if not isinstance(value, datetime):
        return datetime.combine(value, time(), here)
    return value if value.tzinfo else value.replace(tzinfo=here)


def _order(window: Window) -> Sequence[Finding]:
    start, end = (to_datetime(one, None) for one in (window.start, window.end))
    if not isinstance(window.end, datetime):
        end += timedelta(days=1)
    if end <= start:
        return [Finding("/end", "The window ends before it begins.", "calendar_window")]
    if end - start > _LONGEST:
        detail = "The window is longer than ten years."
        return [Finding("/end", detail, "calendar_window", "Ask for a part of it at a time.")]
    return []


def _event_order(times: Mapping[str, date | datetime], zone: str | None) -> list[Finding]:
    if len(times) < 2:
        return []
    start, end = times["start"], times["end"]
    if isinstance(start, datetime) is not isinstance(end, datetime):
        detail = "One of start and end is a date and the other a date and time."
        return [Finding("/end", detail, "event_time", "Give two days, or two moments.")]
    if to_datetime(end, zone) > to_datetime(start, zone):
        return []
    if not isinstance(end, datetime):
        way_out = "An event of whole days ends on the day after its last one."
        return [Finding("/end", "The event has no day in it.", "event_time", way_out)]
    return [Finding("/end", "The event ends before it begins.", "event_time")]


def _is_zone(name: Any) -> bool:
    try:
        ZoneInfo(str(name))
    except (ValueError, OSError, LookupError):
        return False
    return "/" in str(name) or str(name) in {"UTC", "GMT"}


def _stamp(value: date | datetime, here: ZoneInfo) -> str:
    found = value if isinstance(value, datetime) else datetime.combine(value, time(), here)
    return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
