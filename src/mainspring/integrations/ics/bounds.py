"""What working out a calendar may cost: counted before it is begun.

A short rule can have millions of occurrences, or be one that never comes true and is looked for
until the year 9999. The libraries go through them one by one. So the occurrences up to the end of
the window are counted first; what takes long all the same ends itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from math import prod
from typing import Any, Final

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
# On how many days of a period a rule may come true that chooses among them.
_DAYS: Final = {"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7}
_CHOOSES: Final = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYMONTH", "BYEASTER")
_TIMES: Final = {"HOURLY": ("BYMINUTE", "BYSECOND"), "MINUTELY": ("BYSECOND",), "SECONDLY": ()}
_OF_A_DAY: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")


def has_too_many_occurrences(events: Iterable[Any], end: datetime) -> bool:
    """Whether the rules have more occurrences up to a moment than are gone through."""
    left = float(MOST_STEPS)
    for event in events:
        for rule in list_rules(event):
            left -= _steps(rule, _moment(event.get("DTSTART")), end)
            if left < 0:
                return True
    return False


def list_rules(event: Any) -> list[Any]:
    """The rules of an event; most have one or none."""
    found = event.get("RRULE", [])
    return list(found) if isinstance(found, list) else [found]


def _steps(rule: Any, start: datetime | None, end: datetime) -> float:
    kind = str(_first(rule, "FREQ", ""))
    if start is None or kind not in _UNITS:
        return 1
    every = int(_first(rule, "INTERVAL", 1))
    if every < 1:
        # It would stay where it is for ever.
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
