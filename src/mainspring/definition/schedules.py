"""Schedules: the fire times of a schedule trigger's config.

A schedule combines one or more of these in one time zone:

- ``cron``: a cron expression;
- ``at``: one moment or several, after which the schedule ends;
- ``every``: a fixed interval from an anchor. Days and weeks are calendar days in the time zone, so
  the local time of day stays the same across clock changes. Minutes and hours are elapsed time.

``except`` removes the fire times on certain days. ``jitter`` delays each fire time by a fraction
that depends only on the trigger and the fire time. The scheduler, the API, the CLI and the review
all use ``Schedule``, so a displayed fire time is the one that fires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from hashlib import blake2b
from heapq import heappop, heappush, merge
from itertools import islice, pairwise
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition import cron_periods
from mainspring.definition.cron import (
    Cron,
    describe,
    find_zone,
    get_smallest_interval,
    list_instants,
    parse_cron,
)
from mainspring.definition.cron_periods import TICK
from mainspring.definition.holiday_calendars import check_region, list_holidays
from mainspring.definition.strict_json import invalid_value_error, join_pointer

# The keys of a config that name fire times; a config has exactly one of them.
TIME_KEYS: Final = ("cron", "at", "every", "times")
MOST_TIMES: Final = 50
MOST_DATES: Final = 400
MOST_REGIONS: Final = 10
# How far ahead a fire time is searched for on days that are not excluded.
HORIZON: Final = timedelta(days=3_653)
LONGEST_INTERVAL: Final = timedelta(days=3_660)
LONGEST_JITTER: Final = timedelta(days=1)
# Fire times that are compared to find the closest two of a schedule with several parts.
_COMPARED: Final = 200
_SAMPLE: Final = timedelta(days=1_461)
_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 2199
_LATEST: Final = datetime(9900, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
# A Monday, so that an interval in weeks without an anchor fires on Mondays.
DEFAULT_ANCHOR: Final = datetime(2024, 1, 1)  # noqa: DTZ001 - a wall-clock time
_INTERVAL: Final = re.compile(r"([0-9]{1,6})(m|h|d|w)")
_DURATION: Final = re.compile(r"([0-9]{1,6})(s|m|h)")
_UNITS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_UNIT_WORDS: Final = {"m": "minute", "h": "hour", "d": "day", "w": "week"}


class ScheduleTimes(Protocol):
    """One part of a schedule: a source of fire times."""

    def after(self, timestamp: datetime) -> datetime | None:
        """The next fire time, in UTC, strictly after an instant; None when there is none."""
        ...

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        """The fire times from one instant (inclusive) to another (exclusive), oldest first."""
        ...

    def count(self, first: datetime, until: datetime) -> int:
        """The number of fire times that ``between`` would return."""
        ...

    @property
    def closest(self) -> timedelta | None:
        """The shortest time between two fire times, ignoring clock changes; None for one."""
        ...


@dataclass(frozen=True, slots=True)
class CronTimes:
    """The fire times of a cron expression in a time zone."""

    cron: Cron
    zone: str

    def after(self, timestamp: datetime) -> datetime | None:
        return self.cron.after(timestamp, self.zone)

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        return cron_periods.between(self.cron, self.zone, first, until)

    def count(self, first: datetime, until: datetime) -> int:
        return cron_periods.count(self.cron, self.zone, first, until)

    @property
    def closest(self) -> timedelta | None:
        return timedelta(seconds=get_smallest_interval(self.cron))


@dataclass(frozen=True, slots=True)
class Moments:
    """Single moments, in order."""

    moments: tuple[datetime, ...]

    def after(self, timestamp: datetime) -> datetime | None:
        return next((moment for moment in self.moments if moment > timestamp), None)

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        return (moment for moment in self.moments if first <= moment < until)

    def count(self, first: datetime, until: datetime) -> int:
        return sum(1 for _ in self.between(first, until))

    @property
    def closest(self) -> timedelta | None:
        return min((later - earlier for earlier, later in pairwise(self.moments)), default=None)


@dataclass(frozen=True, slots=True)
class EveryFewDays:
    """Every few calendar days from an anchor, at its local time of day."""

    anchor: datetime
    days: int
    zone: str
    written: str

    def after(self, timestamp: datetime) -> datetime | None:
        place = find_zone(self.zone)
        try:
            passed = (timestamp.astimezone(place).date() - self.anchor.date()).days
            # One interval earlier: a local time that does not exist fires after the gap.
            number = max(0, passed // self.days - 1)
            while (found := self._fire_time(number, place)) <= timestamp:
                number += 1
        except OverflowError:  # datetime ends with the year 9999
            return None
        return found

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        moment = self.after(first - TICK)
        while moment is not None and moment < until:
            yield moment
            moment = self.after(moment)

    def count(self, first: datetime, until: datetime) -> int:
        return sum(1 for _ in self.between(first, until))

    @property
    def closest(self) -> timedelta | None:
        return _DAY * self.days

    def _fire_time(self, number: int, place: ZoneInfo) -> datetime:
        wall = self.anchor + _DAY * (self.days * number)
        return list_instants(wall, place, elapsed=False)[0]


@dataclass(frozen=True, slots=True)
class EveryFewMinutes:
    """Every few minutes or hours of elapsed time from an anchor."""

    anchor: datetime
    step: timedelta
    written: str

    def after(self, timestamp: datetime) -> datetime | None:
        if timestamp < self.anchor:
            return self.anchor
        try:
            return self.anchor + self.step * ((timestamp - self.anchor) // self.step + 1)
        except OverflowError:  # datetime ends with the year 9999
            return None

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        moment = self.after(first - TICK)
        while moment is not None and moment < until:
            yield moment
            moment += self.step

    def count(self, first: datetime, until: datetime) -> int:
        return max(0, self._before(until) - self._before(first))

    @property
    def closest(self) -> timedelta | None:
        return self.step

    def _before(self, timestamp: datetime) -> int:
        """The number of fire times before an instant."""
        return max(0, -((self.anchor - timestamp) // self.step))


@dataclass(frozen=True, slots=True)
class ExcludedDays:
    """The local days on which a schedule does not fire."""

    ranges: tuple[tuple[date, date], ...] = ()
    regions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.regions)

    def covers(self, day: date) -> bool:
        return any(first <= day <= last for first, last in self.ranges) or any(
            day in list_holidays(region, day.year) for region in self.regions
        )

    def find_free_day(self, day: date, last: date) -> date | None:
        """The first day after this one that is not excluded."""
        while day < last:
            day += _DAY
            if not self.covers(day):
                return day
        return None

    def list_days(self, first: date, last: date) -> Iterator[date]:
        """The excluded days from one day to another, both inclusive."""
        for number in range((last - first).days + 1):
            day = first + _DAY * number
            if self.covers(day):
                yield day


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every fire time of a schedule trigger."""

    zone: str
    parts: tuple[ScheduleTimes, ...]
    excluded: ExcludedDays = field(default_factory=ExcludedDays)
    jitter: timedelta = timedelta(0)
    # What the jitter depends on besides the fire time: the trigger's id. Without one, there is no
    # jitter.
    seed: str = ""

    def after(self, timestamp: datetime) -> datetime | None:
        """The next fire time, in UTC, strictly after an instant; None when there is none."""
        if not self._is_delayed:
            return self._undelayed_after(timestamp)
        best: datetime | None = None
        planned = self._undelayed_after(timestamp - self.jitter)
        while planned is not None and (best is None or planned < best):
            moment = self._delay(planned)
            if moment > timestamp and (best is None or moment < best):
                best = moment
            planned = self._undelayed_after(planned)
        return best

    def next_fire_times(self, now: datetime, most: int) -> list[datetime]:
        """The next fire times after an instant, at most so many."""
        return list(islice(self.iterate(now), most))

    def iterate(self, now: datetime) -> Iterator[datetime]:
        """Every fire time after an instant."""
        moment = self.after(now)
        while moment is not None:
            yield moment
            moment = self.after(moment)

    def between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        """Every fire time from one instant (inclusive) to another (exclusive), oldest first."""
        if not self._is_delayed:
            yield from self._undelayed_between(first, until)
            return
        waiting: list[datetime] = []
        for planned in self._undelayed_between(first - self.jitter, until):
            while waiting and waiting[0] <= planned:
                yield heappop(waiting)
            moment = self._delay(planned)
            if first <= moment < until and moment not in waiting:
                heappush(waiting, moment)
        yield from sorted(waiting)

    def count(self, first: datetime, until: datetime) -> int:
        """The number of fire times that ``between`` would return."""
        if not self._is_delayed:
            return self._count_undelayed(first, until)
        # Only near the two ends does the delay decide what is inside.
        calm = until - self.jitter
        if calm <= first:
            return sum(1 for _ in self.between(first, until))
        early = self._undelayed_between(first - self.jitter, first)
        late = self._undelayed_between(calm, until)
        return (
            sum(1 for planned in early if self._delay(planned) >= first)
            + self._count_undelayed(first, calm)
            + sum(1 for planned in late if self._delay(planned) < until)
        )

    @property
    def closest(self) -> timedelta | None:
        """The shortest time between two fire times, ignoring clock changes; None for one."""
        found = [one for part in self.parts if (one := part.closest) is not None]
        if len(self.parts) > 1:
            start = DEFAULT_ANCHOR.replace(tzinfo=UTC)
            some = _merge([part.between(start, start + _SAMPLE) for part in self.parts])
            found += [later - earlier for earlier, later in pairwise(islice(some, _COMPARED))]
        return min(found, default=None)

    @property
    def _is_delayed(self) -> bool:
        return bool(self.jitter and self.seed)

    def _delay(self, planned: datetime) -> datetime:
        """A fire time with its jitter: in whole seconds, the same each time it is computed."""
        text = f"{self.seed} {planned.astimezone(UTC).isoformat()}"
        number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        return planned + timedelta(seconds=number % max(1, int(self.jitter.total_seconds())))

    def _undelayed_after(self, timestamp: datetime) -> datetime | None:
        at, last = timestamp, None
        while True:
            found = min(
                (one for part in self.parts if (one := part.after(at)) is not None), default=None
            )
            if found is None or not self.excluded:
                return found
            day = found.astimezone(find_zone(self.zone)).date()
            if last is None:
                last = min(timestamp, _LATEST).date() + HORIZON
            if day > last:
                # Everything inside the horizon is excluded.
                return None
            if not self.excluded.covers(day):
                return found
            free = self.excluded.find_free_day(day, last)
            if free is None:
                return None
            at = max(found, self._start_of(free) - TICK)

    def _undelayed_between(self, first: datetime, until: datetime) -> Iterator[datetime]:
        found = _merge([part.between(first, until) for part in self.parts])
        if not self.excluded:
            return found
        place = find_zone(self.zone)
        return (
            moment for moment in found if not self.excluded.covers(moment.astimezone(place).date())
        )

    def _count_undelayed(self, first: datetime, until: datetime) -> int:
        if until <= first:
            return 0
        if len(self.parts) > 1:
            return sum(1 for _ in self._undelayed_between(first, until))
        part = self.parts[0]
        number = part.count(first, until)
        if not self.excluded or not number:
            return number
        place = find_zone(self.zone)
        days = (first.astimezone(place).date(), until.astimezone(place).date())
        for day in self.excluded.list_days(*days):
            begin, end = self._start_of(day), self._start_of(day + _DAY)
            if max(begin, first) < min(end, until):
                number -= part.count(max(begin, first), min(end, until))
        return number

    def _start_of(self, day: date) -> datetime:
        wall = datetime.combine(day, time())
        return list_instants(wall, find_zone(self.zone), elapsed=False)[0]


def _merge(sources: Sequence[Iterator[datetime]]) -> Iterator[datetime]:
    """The fire times of several sources in order, each once."""
    last: datetime | None = None
    for moment in merge(*sources):
        if moment != last:
            yield moment
        last = moment


# Reading a config.


def parse_schedule(config: Mapping[str, Any], seed: str = "") -> Schedule:
    """Parse the config of a schedule trigger; ``Invalid`` names the place of the first problem.

    With ``seed``, which is the id of the trigger, the fire times have their jitter.
    """
    zone = config.get("timezone")
    if not isinstance(zone, str):
        raise _invalid("/timezone", "A schedule needs a time zone.", "required")
    try:
        find_zone(zone)
    except Invalid as error:
        raise _invalid("/timezone", error.detail, error.code, error.suggestion) from None
    parts = tuple(_parse_times(config, zone, "", TIME_KEYS))
    excluded = parse_excluded(config.get("except"))
    return Schedule(zone, parts, excluded, parse_jitter(config.get("jitter")), seed)


def _parse_times(
    config: Mapping[str, Any], zone: str, at: str, keys: Sequence[str]
) -> Iterator[ScheduleTimes]:
    given = [key for key in keys if key in config]
    if len(given) != 1:
        listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
        if not given:
            detail = f"A schedule needs one of {listed}."
            hint = 'Add "cron": "0 9 * * 1-5".'
            raise _invalid(join_pointer(at, "cron"), detail, "required", hint)
        detail = f"A schedule has only one of {listed}."
        hint = "Put several times into the list times."
        raise _invalid(join_pointer(at, given[1]), detail, "schedule_times", hint)
    key, value = given[0], config[given[0]]
    place = join_pointer(at, key)
    if "anchor" in config and key != "every":
        raise _invalid(
            join_pointer(at, "anchor"),
            "Only a schedule with every has an anchor.",
            "schedule_times",
            "Leave anchor out.",
        )
    match key:
        case "cron":
            yield CronTimes(_parse_cron(value, place), zone)
        case "at":
            yield Moments(_parse_moments(value, zone, place))
        case "every":
            anchor = config.get("anchor")
            yield parse_interval(value, anchor, zone, place, join_pointer(at, "anchor"))
        case _:
            if not isinstance(value, list) or not 0 < len(value) <= MOST_TIMES:
                detail = f"times is a list of 1 to {MOST_TIMES} entries."
                raise _invalid(place, detail, "schedule_times")
            for number, entry in enumerate(value):
                here = join_pointer(place, number)
                if not isinstance(entry, Mapping):
                    raise _invalid(here, "Each entry of times is an object.", "type")
                yield from _parse_times(entry, zone, here, TIME_KEYS[:-1])


def _parse_cron(value: Any, at: str) -> Cron:
    if not isinstance(value, str):
        raise _invalid(at, "A cron expression is text.", "type")
    try:
        return parse_cron(value)
    except Invalid as error:
        raise _invalid(at, error.detail, error.code, error.suggestion) from None


def _parse_moments(value: Any, zone: str, at: str) -> tuple[datetime, ...]:
    if isinstance(value, str):
        return (_to_instant(parse_moment(value, at), zone),)
    if not isinstance(value, list) or not 0 < len(value) <= MOST_TIMES:
        detail = f"at is one date and time or a list of 1 to {MOST_TIMES} of them."
        raise _invalid(at, detail, "schedule_moment", _SOME_MOMENT)
    found = [
        _to_instant(parse_moment(one, join_pointer(at, number)), zone)
        for number, one in enumerate(value)
    ]
    return tuple(sorted(set(found)))


def list_moments(
    config: Mapping[str, Any], zone: str, at: str = ""
) -> Iterator[tuple[str, datetime]]:
    """The single moments of a valid config, each with its place."""
    given, place = config.get("at"), join_pointer(at, "at")
    for number, one in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(one, str):
            where = join_pointer(place, number) if isinstance(given, list) else place
            yield where, _to_instant(parse_moment(one), zone)
    for number, entry in enumerate(config.get("times", ())):
        yield from list_moments(entry, zone, join_pointer(at, "times", number))


_SOME_MOMENT: Final = "Write a date and a time, such as 2026-11-19T15:00."


def parse_moment(value: Any, at: str = "") -> datetime:
    """Parse a date and time, with an offset or without: then it is local time."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        found = None
    if found is None:
        raise _invalid(at, "This is not a date and time.", "schedule_moment", _SOME_MOMENT)
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        detail = f"A date and time is between the years {_FIRST_YEAR} and {_LAST_YEAR}."
        raise _invalid(at, detail, "schedule_moment", _SOME_MOMENT)
    return found


def _to_instant(moment: datetime, zone: str) -> datetime:
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    return list_instants(moment.replace(fold=0), find_zone(zone), elapsed=False)[0]


def parse_interval(
    value: Any, anchor: Any, zone: str, at: str = "", anchor_at: str = ""
) -> EveryFewDays | EveryFewMinutes:
    """Parse an interval such as 2d or 90m, and the moment it is counted from."""
    found = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _invalid(
            at,
            "An interval is a number and a unit: m for minutes, h for hours, d for days or w for "
            "weeks.",
            "schedule_interval",
            'Write "2d" for every other day, or "90m" for every 90 minutes.',
        )
    step = int(found[1]) * _UNITS[found[2]]
    if step < _UNITS["m"]:
        detail = "The shortest interval is one minute."
        raise _invalid(at, detail, "schedule_interval", 'Write "1m" or more.')
    if step > LONGEST_INTERVAL:
        detail = f"The longest interval is {LONGEST_INTERVAL.days:,} days."
        raise _invalid(at, detail, "schedule_interval", "Use at for single moments.")
    begin = DEFAULT_ANCHOR if anchor is None else parse_moment(anchor, anchor_at)
    if found[2] in {"m", "h"}:
        return EveryFewMinutes(_to_instant(begin, zone), step, found[0])
    if begin.tzinfo is not None:
        begin = begin.astimezone(find_zone(zone)).replace(tzinfo=None, fold=0)
    return EveryFewDays(begin, step.days, zone, found[0])


def parse_jitter(value: Any) -> timedelta:
    """Parse the longest delay of a fire time, such as 30s or 5m."""
    if value is None:
        return timedelta(0)
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    jitter = None if found is None else int(found[1]) * _UNITS[found[2]]
    if jitter is None or jitter > LONGEST_JITTER:
        raise _invalid(
            "/jitter",
            "jitter is a number and a unit (s, m or h), at most 24h.",
            "schedule_jitter",
            'Write "5m" to start each run up to five minutes later.',
        )
    return jitter


def parse_excluded(value: Any) -> ExcludedDays:
    """Parse the days on which a schedule does not fire."""
    if value is None:
        return ExcludedDays()
    if not isinstance(value, Mapping):
        detail = "except is an object with dates, holidays or both."
        raise _invalid("/except", detail, "type", 'Write {"dates": ["2026-12-24"]}.')
    dates, regions = value.get("dates", []), value.get("holidays", [])
    if not isinstance(dates, list) or len(dates) > MOST_DATES:
        detail = f"dates is a list of at most {MOST_DATES} days or ranges."
        raise _invalid("/except/dates", detail, "schedule_dates")
    ranges = [_parse_range(one, f"/except/dates/{number}") for number, one in enumerate(dates)]
    named = [regions] if isinstance(regions, str) else regions
    if not isinstance(named, list) or len(named) > MOST_REGIONS:
        detail = f"holidays is a region or a list of at most {MOST_REGIONS} of them."
        raise _invalid("/except/holidays", detail, "unknown_holidays")
    for number, one in enumerate(named):
        at = "/except/holidays" if isinstance(regions, str) else f"/except/holidays/{number}"
        if not isinstance(one, str):
            raise _invalid(at, "A region is text, such as DE-BY.", "unknown_holidays")
        try:
            check_region(one)
        except Invalid as error:
            raise _invalid(at, error.detail, error.code, error.suggestion) from None
    return ExcludedDays(tuple(ranges), tuple(named))


def _parse_range(value: Any, at: str) -> tuple[date, date]:
    first, _, last = value.partition("/") if isinstance(value, str) else ("", "", "")
    try:
        found = date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        raise _invalid(
            at,
            "This is not a date or a range of dates.",
            "schedule_dates",
            "Write 2026-12-24, or 2026-12-24/2027-01-06 for all days from the first to the last.",
        ) from None
    if found[1] < found[0]:
        detail = "The range ends before it begins."
        raise _invalid(at, detail, "schedule_dates", f"Write {found[1]}/{found[0]}.")
    return found


def _invalid(at: str, detail: str, code: str, suggestion: str | None = None) -> Invalid:
    return invalid_value_error(Finding(at, detail, code, suggestion))


# Describing fire times.


def _say_crons(crons: Sequence[Cron]) -> str:
    told = [describe(cron) for cron in crons]
    return " and ".join(one[:1].lower() + one[1:] for one in told)


def describe_schedule(
    schedule: Schedule, say_crons: Callable[[Sequence[Cron]], str] = _say_crons
) -> str:
    """``every 2 days at 09:00, except on public holidays in DE``: without the time zone."""
    crons = [part.cron for part in schedule.parts if isinstance(part, CronTimes)]
    told = [say_crons(crons)] if crons else []
    for part in schedule.parts:
        if isinstance(part, EveryFewDays | EveryFewMinutes):
            told.append(describe_interval(part, schedule.zone))
        elif isinstance(part, Moments):
            told.append(describe_moments(part, schedule.zone))
    words = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    if schedule.excluded:
        words += f", {describe_excluded(schedule.excluded)}"
    if schedule.jitter:
        words += f", delayed by up to {_format_duration(schedule.jitter)}"
    return words


def describe_interval(part: EveryFewDays | EveryFewMinutes, zone: str) -> str:
    """``every 2 days at 09:00``: an interval, and from when on if that is not long ago."""
    number, unit = int(part.written[:-1]), _UNIT_WORDS[part.written[-1]]
    often = f"every {unit}" if number == 1 else f"every {number} {unit}s"
    if isinstance(part, EveryFewMinutes):
        local = part.anchor.astimezone(find_zone(zone)).replace(tzinfo=None)
        return often if local == DEFAULT_ANCHOR else f"{often} from {_format_moment(local)}"
    words = f"{often} at {part.anchor:%H:%M}"
    if part.anchor.date() == DEFAULT_ANCHOR.date():
        return words
    return f"{words}, counted from {_format_day(part.anchor)}"


def describe_moments(part: Moments, zone: str) -> str:
    """``once, on 19 November 2026 at 15:00``."""
    place = find_zone(zone)
    told = [_format_moment(moment.astimezone(place)) for moment in part.moments]
    if len(told) == 1:
        return f"once, on {told[0]}"
    return f"{len(told)} times, the first on {told[0]} and the last on {told[-1]}"


def describe_excluded(excluded: ExcludedDays) -> str:
    """``except on public holidays in DE-BY``; empty when no day is excluded."""
    told = []
    if excluded.regions:
        told.append(f"on public holidays in {' and '.join(excluded.regions)}")
    if len(excluded.ranges) == 1:
        first, last = excluded.ranges[0]
        day = _format_day(first)
        told.append(f"on {day}" if first == last else f"from {day} to {_format_day(last)}")
    elif excluded.ranges:
        told.append(f"on {len(excluded.ranges)} dates or ranges")
    return f"except {' and '.join(told)}" if told else ""


def _format_duration(duration: timedelta) -> str:
    seconds = int(duration.total_seconds())
    sizes = ((3_600, "hour"), (60, "minute"), (1, "second"))
    size, name = next(one for one in sizes if seconds % one[0] == 0)
    number = seconds // size
    return f"{number} {name}" + ("" if number == 1 else "s")


def _format_day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _format_moment(moment: datetime) -> str:
    return f"{_format_day(moment)} at {moment:%H:%M}"
