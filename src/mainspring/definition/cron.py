"""Cron expressions with five fields, and their behaviour across clock changes.

Fields are minute, hour, day of month, month and day of week, with names (``MON``, ``JAN``), lists,
ranges and steps; ``@hourly``, ``@daily``, ``@midnight``, ``@weekly``, ``@monthly``, ``@yearly`` and
``@annually`` are shorthands. In addition to the classic set, the day of month may be ``L`` (the
last day) or ``LW`` (the last weekday), the day of week ``5L`` (the last Friday) or ``MON#2`` (the
second Monday). When both day fields are restricted, a day matches if either matches; when one
begins with ``*``, both must.

Refused: seconds and years (six or seven fields), ``@reboot``, ``?``, ``H``, ``15W``, ``L-3``,
ranges that run backwards, and expressions that no day can match.

A time with a fixed hour that does not exist on a day fires once, at the first minute after the gap;
one that occurs twice fires the first time only. When the hour field begins with ``*``, the schedule
follows elapsed time instead: a time that does not exist is skipped and one that occurs twice fires
twice. No instant is ever returned twice.
"""

from __future__ import annotations

import re
from calendar import monthrange
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from cronsim.cronsim import SYMBOLIC_DAYS, SYMBOLIC_MONTHS

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.strict_json import invalid_value_error
from mainspring.definition.suggestions import suggest_nearest

LONGEST = 256
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_TAKES = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L or LW",
    "month": "1 to 12 or JAN to DEC",
    "day-of-week": "0 to 7 or SUN to SAT, 5L or MON#2",
}
_START = datetime(2000, 1, 1)  # noqa: DTZ001 - wall-clock times have no zone
# One year of each kind: seven start weekdays, leap year or not.
_YEARS = (2001, 2002, 2003, 2004, 2005, 2006, 2008, 2009, 2010, 2012, 2016, 2020, 2024, 2028)
# The library writes 31th.
_ORDINAL = re.compile(r"(?<=2)(?:1th|2th|3th)|(?<=3)1th")
_ENDINGS = {"1th": "1st", "2th": "2nd", "3th": "3rd"}
# The library reads a single-value range with a step as a start with a step.
_STEPPED_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)/0*[1-9][0-9]*")
_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)")
_FIRST_AND_LAST = {
    "minute": ("0", "59"),
    "hour": ("0", "23"),
    "day-of-month": ("1", "31"),
    "month": ("JAN", "DEC"),
    "day-of-week": ("SUN", "SAT"),
}
_NUMBERS = {
    "month": {name: place for place, name in enumerate(SYMBOLIC_MONTHS, 1)},
    "day-of-week": {name: place for place, name in enumerate(SYMBOLIC_DAYS)},
}


@dataclass(frozen=True, slots=True)
class Cron:
    """A valid cron expression."""

    text: str
    fields: tuple[str, ...]
    _sim: CronSim = field(repr=False, compare=False)

    def after(self, timestamp: datetime, zone: str) -> datetime | None:
        """The next fire time, in UTC, strictly after an instant; None when there is none."""
        place = find_zone(zone)
        elapsed = self.fields[1].startswith("*")
        sim = copy(self._sim)
        found: list[datetime] = []
        try:
            sim.dt = _search_from(timestamp.astimezone(place), elapsed)
            for wall in sim:
                instants = list_instants(wall, place, elapsed=elapsed)
                found += [instant for instant in instants if instant > timestamp]
                # A later time of day can come before the second pass of an earlier one.
                if instants and instants[0] > timestamp:
                    break
        except OverflowError:  # datetime ends with the year 9999
            pass
        return min(found, default=None)

    def fires_on(self, day: date) -> bool:
        """Whether a date matches the day and month fields."""
        return day.month in self._sim.months and self._sim.match_day(day)

    @property
    def hands(self) -> tuple[list[int], list[int]]:
        """The minutes and hours at which it fires on a matching day."""
        return sorted(self._sim.minutes), sorted(self._sim.hours)


@lru_cache(maxsize=1024)
def parse_cron(text: str) -> Cron:
    """Parse a cron expression or raise ``Invalid`` that says what to change."""
    if len(text) > LONGEST:
        raise invalid_value_error(
            Finding("", f"A cron expression has at most {LONGEST} characters.", "cron_long")
        )
    fields = tuple(_spelled_out(text).upper().split())
    if len(fields) != 5:
        raise _wrong_count(fields)
    sentence = _find_unsupported_sign(fields)
    if sentence is not None:
        raise invalid_value_error(Finding("", sentence, "cron_unsupported"))
    plain = tuple(_without_steps_of_one(*one) for one in zip(_TAKES, fields, strict=True))
    try:
        sim = CronSim(" ".join(plain), _START)
    except CronSimError as error:
        raise _unreadable(str(error), fields) from None
    cron = Cron(text, fields, sim)
    if not _feasible(cron):
        raise _never()
    return cron


def get_smallest_interval(cron: Cron) -> int:
    """Seconds between the two closest fire times, ignoring clock changes."""
    minutes, hours = cron.hands
    times = [hour * 60 + minute for hour in hours for minute in minutes]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    gaps.append(_days_apart(cron) * 1440 - times[-1] + times[0])
    return min(gaps) * 60


def describe(cron: Cron) -> str:
    """A short description, or the expression itself when it cannot be described."""
    often = _how_often(cron)
    if often is not None:
        return often
    # Describe a step with a single value, such as */90, as that value.
    single = [str(*values) if len(values) == 1 else "" for values in cron.hands]
    shown = [one or written for one, written in zip(single, cron.fields[:2], strict=True)]
    try:
        words = CronSim(" ".join((*shown, *cron.fields[2:])), _START).explain()
    except Exception:  # a failed description must not fail the page
        return cron.text
    return _ORDINAL.sub(lambda found: _ENDINGS[found.group()], words)


def _how_often(cron: Cron) -> str | None:
    minutes, hours = cron.hands
    if cron.fields[2:] != ("*", "*", "*"):
        return None
    every_hour = len(hours) == 24
    step = _even_step(minutes, 60)
    if every_hour and step is not None:
        return "Every minute" if step == 1 else f"Every {step} minutes"
    step = _even_step(hours, 24)
    if len(minutes) > 1 or (step is None and not every_hour):
        return None
    return f"Every {'hour' if every_hour else f'{step} hours'} at minute {minutes[0]}"


def _even_step(values: list[int], whole: int) -> int | None:
    """The step of evenly spaced values, such as 0, 15, 30 and 45 of 60."""
    step = whole // len(values)
    return step if len(values) > 1 and values == [*range(0, whole, step)] else None


def _search_from(local: datetime, elapsed: bool) -> datetime:
    """The wall-clock time before which nothing can fire any more.

    In the first pass of a repeated hour, elapsed time will pass its earlier minutes again.
    """
    wall = local.replace(tzinfo=None, fold=0, microsecond=0)
    if elapsed and not local.fold:
        repeated = _offset(local.replace(fold=0)) - _offset(local.replace(fold=1))
        if repeated > timedelta(0):
            return wall - repeated
    return wall


def list_instants(wall: datetime, zone: ZoneInfo, *, elapsed: bool) -> tuple[datetime, ...]:
    """The instants at which a wall-clock time fires: none, one or two."""
    first = wall.replace(tzinfo=zone, fold=0)
    second = wall.replace(tzinfo=zone, fold=1)
    ahead = _offset(second) - _offset(first)
    if not ahead:
        return (first.astimezone(UTC),)
    if ahead > timedelta(0):
        return () if elapsed else (_end_of_gap(first, second, zone),)
    return (first.astimezone(UTC), second.astimezone(UTC))[: 2 if elapsed else 1]


def _end_of_gap(first: datetime, second: datetime, zone: ZoneInfo) -> datetime:
    """The first whole minute after clocks went forward over a time."""
    before, behind = second.astimezone(UTC), first.astimezone(UTC)
    old = _offset(before.astimezone(zone))
    while behind - before > timedelta(seconds=1):
        middle = before + (behind - before) // 2
        if _offset(middle.astimezone(zone)) == old:
            before = middle
        else:
            behind = middle
    local = behind.replace(microsecond=0).astimezone(zone)
    return behind.replace(microsecond=0) + (timedelta(seconds=-local.second % 60))


def find_zone(name: str) -> ZoneInfo:
    """The time zone of a name, or ``Invalid``."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        finding = Finding("", "There is no time zone of this name.", "unknown_timezone")
        raise invalid_value_error(finding) from None


def _offset(timestamp: datetime) -> timedelta:
    offset = timestamp.utcoffset()
    assert offset is not None
    return offset


def _spelled_out(text: str) -> str:
    word = text.strip().lower()
    if not word.startswith("@"):
        return text
    if word in ALIASES:
        return ALIASES[word]
    if word == "@reboot":
        detail = "@reboot is not a time; there is no machine whose start would fire it."
        raise invalid_value_error(Finding("", detail, "cron_unsupported"))
    hint = suggest_nearest(word, ALIASES)
    raise invalid_value_error(
        Finding("", f"There is no cron shorthand {word[:20]!r}.", "cron_alias", hint)
    )


def _wrong_count(fields: tuple[str, ...]) -> Invalid:
    if not fields:
        return invalid_value_error(Finding("", "The cron expression is empty.", "cron_empty"))
    hint = "Leave out the seconds and the year." if len(fields) in {6, 7} else None
    return invalid_value_error(
        Finding(
            "",
            "A cron expression has five fields: minute, hour, day of month, month and "
            f"day of week. This one has {len(fields)}.",
            "cron_fields",
            hint,
        )
    )


def _find_unsupported_sign(fields: tuple[str, ...]) -> str | None:
    if any("?" in part for part in fields):
        return "The sign ? is not supported; write * for any day."
    if any(part.split("/")[0] == "H" or part.startswith("H(") for part in fields):
        return "The sign H is not supported; write the minute or hour itself."
    if re.search(r"\dW|W\d", fields[2]):
        return "The nearest weekday (such as 15W) is not supported; LW is the last weekday."
    if "L-" in fields[2]:
        return "Days before the last (such as L-3) are not supported; L is the last day."
    return None


def _unreadable(reason: str, fields: tuple[str, ...]) -> Invalid:
    name = reason.removeprefix("Bad ")
    names = list(_TAKES)
    if name not in names:
        return invalid_value_error(Finding("", "The cron expression cannot be read.", "cron_field"))
    written = fields[names.index(name)]
    if name == "day-of-month" and _readable_day(written):
        return _never()
    return invalid_value_error(
        Finding(
            "",
            f"The {name} field {written[:40]!r} cannot be read: it takes {_TAKES[name]}, "
            "with lists (1,2), ranges (1-5) and steps (*/5).",
            "cron_field",
            _forwards(name, written),
        )
    )


def _without_steps_of_one(name: str, written: str) -> str:
    """A field in which a single-value range is written as that value, without a step."""
    terms = written.split(",")
    for place, term in enumerate(terms):
        found = _STEPPED_RANGE.fullmatch(term)
        if found is not None and _number(name, found[1]) == _number(name, found[2]) is not None:
            terms[place] = found[1]
    return ",".join(terms)


def _forwards(name: str, written: str) -> str | None:
    """A suggestion for a field whose only problem is a range that runs backwards."""
    first, last = _FIRST_AND_LAST[name]
    terms = written.split(",")
    for place, term in enumerate(terms):
        found = _RANGE.fullmatch(term)
        if found is None:
            continue
        start, end = _number(name, found[1]), _number(name, found[2])
        if start is None or end is None or start <= end:
            continue
        if name == "day-of-week" and end == 0:
            terms[place] = f"{start}-7"
        else:
            low, high = _number(name, first), _number(name, last)
            until = found[1] if start == high else f"{found[1]}-{last}"
            since = found[2] if end == low else f"{first}-{found[2]}"
            terms[place] = f"{until},{since}"
    instead = ",".join(terms)
    fields = [instead if one == name else "*" for one in _TAKES]
    try:
        CronSim(" ".join(fields), _START)
    except CronSimError:
        return None
    return f"A range does not run backwards: write {instead!r}."


def _number(name: str, written: str) -> int | None:
    """The number of a value in a field."""
    named = _NUMBERS.get(name, {}).get(written)
    return int(written) if named is None and written.isdigit() else named


def _readable_day(written: str) -> bool:
    """The library uses one message for an invalid day and for a day that no month has."""
    try:
        CronSim(f"0 0 {written} * *", _START)
    except CronSimError:
        return False
    return True


def _feasible(cron: Cron) -> bool:
    """Whether any day matches; there can be none only when both day fields must match."""
    sim = cron._sim  # noqa: SLF001 - the other half of the same class
    if not sim.day_and:
        return True
    named = {day for day in sim.days if day > 0}
    days = range(1, 32) if len(named) < len(sim.days) else sorted(named)
    return any(
        sim.match_day(date(year, month, day))
        for month in sim.months
        for day in days
        for year in _YEARS
        if day <= monthrange(year, month)[1]
    )


def _days_apart(cron: Cron) -> int:
    """Days between the two closest matching days within four years."""
    if cron.fields[2:] == ("*", "*", "*"):
        return 1
    days = [
        number for number in range(1461) if cron.fires_on(date(2024, 1, 1) + timedelta(days=number))
    ]
    if len(days) < 2:
        return 1461
    return min(later - earlier for earlier, later in pairwise(days))


def _never() -> Invalid:
    return invalid_value_error(
        Finding(
            "",
            "This cron expression never fires: no date fits its days and months.",
            "cron_never",
        )
    )
