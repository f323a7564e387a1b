"""Schedules in words: when a cron expression fires, as a person would say it."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.phrases.plans import (
    MONTH_WORDS,
    NTH_WORDS,
    at_words,
    clock_words,
    days_words,
    joined,
    ordinal,
)
from mainspring.authoring.review.wording import plain, quoted
from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import Cron, describe, parse_cron

_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS: Final = (
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
)
_MOST_TIMES: Final = 4


def read_cron(text: object) -> Cron | None:
    """The expression, or nothing where there is none or it cannot be read."""
    if not isinstance(text, str):
        return None
    try:
        return parse_cron(text)
    except Invalid:
        return None


def schedule_in_words(cron: object, timezone: object) -> str:
    """``every weekday at 09:00 (Europe/Berlin)``, and what is missing where something is."""
    if not isinstance(cron, str):
        return "at times that are still to be chosen"
    read = read_cron(cron)
    if read is None:
        return f"at times that cannot be read ({quoted(cron, 40)})"
    zone = plain(timezone, 40) if isinstance(timezone, str) else "in a time zone still to be chosen"
    return f"{_said(read)} ({zone})"


def _said(cron: Cron) -> str:
    times, days = _times(cron), _days(cron)
    if times is not None and days is not None:
        return f"{days}{times}" if times.startswith(" at") else _woven(times.strip(), days)
    words = describe(cron)
    return plain(words[:1].lower() + words[1:], 200)


def _woven(times: str, days: str) -> str:
    return times if days == "every day" else f"{times}, {days}"


def _times(cron: Cron) -> str | None:
    """The times of day; none where there are too many to say and no step says them."""
    minutes, hours = cron.hands
    if len(minutes) * len(hours) <= _MOST_TIMES:
        return at_words([hour * 60 + minute for hour in hours for minute in minutes])
    step = _step(minutes, 60)
    if len(minutes) == 1 and len(hours) == 24:
        return f"every hour at minute {minutes[0]}" if minutes[0] else "every hour"
    every = f"every {step} minutes" if step and step > 1 else "every minute" if step else None
    if every and len(hours) == 24:
        return every
    if every and hours == [*range(hours[0], hours[-1] + 1)]:
        last = clock_words(hours[-1] * 60 + minutes[-1])
        return f"{every} from {clock_words(hours[0] * 60)} to {last}"
    apart = _step(hours, 24)
    if len(minutes) == 1 and apart:
        return (
            f"every {apart} hours at minute {minutes[0]}" if minutes[0] else f"every {apart} hours"
        )
    between = hours[1] - hours[0] if len(hours) > 1 else 0
    if len(minutes) == 1 and between and hours == [*range(hours[0], hours[-1] + 1, between)]:
        first, last = (clock_words(hour * 60 + minutes[0]) for hour in (hours[0], hours[-1]))
        every = "every hour" if between == 1 else f"every {between} hours"
        return f"{every} from {first} to {last}"
    return None


def _step(values: list[int], whole: int) -> int | None:
    step = whole // len(values)
    return step if len(values) > 1 and values == [*range(0, whole, step)] else None


def _days(cron: Cron) -> str | None:
    month_day, month, week_day = cron.fields[2:]
    months = _numbers(month, _MONTHS, 1) if month != "*" else None
    if month != "*" and not months:
        return None
    of = joined([MONTH_WORDS[one - 1] for one in sorted(months)]) if months else ""
    if month_day == "*":
        days = _week_days(week_day)
        return None if days is None else f"{days} in {of}" if of else days
    if week_day != "*":
        return None
    dates = _month_days(month_day)
    return None if dates is None else f"on {dates} of {of or 'every month'}"


def _week_days(written: str) -> str | None:
    if written == "*":
        return "every day"
    if "#" in written or "L" in written.replace("JUL", ""):
        return _nth_day(written)
    days = _numbers(written, _DAYS, 0)
    return None if not days else days_words(frozenset(day % 7 for day in days))


def _nth_day(written: str) -> str | None:
    day, _, nth = written.partition("#")
    if not nth:
        day, nth = written.removesuffix("L"), "-1"
    days = _numbers(day, _DAYS, 0)
    if len(days) != 1 or nth not in {"1", "2", "3", "4", "5", "-1"}:
        return None
    name = days_words(frozenset(one % 7 for one in days)).removeprefix("every ")
    return f"every {NTH_WORDS[int(nth)]} {name} of the month"


def _month_days(written: str) -> str | None:
    if written == "L":
        return "the last day"
    if written == "LW":
        return "the last weekday"
    days = _numbers(written, (), 1)
    return f"the {joined([ordinal(day) for day in sorted(days)])}" if 0 < len(days) <= 6 else None


def _numbers(written: str, names: tuple[str, ...], first: int) -> frozenset[int]:
    """The values of a field of lists and ranges; none where it has anything else."""
    found: set[int] = set()
    for part in written.split(","):
        ends = [_number(end, names, first) for end in part.split("-")]
        if len(ends) > 2 or None in ends:
            return frozenset()
        low, high = ends[0] or 0, ends[-1] or 0
        found |= set(range(low, high + 1))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...], first: int) -> int | None:
    if text in names:
        return names.index(text) + first
    return int(text) if text.isdigit() and len(text) < 3 else None
