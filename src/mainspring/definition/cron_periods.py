"""The fire times of a cron expression in a period: enumerated, or counted.

Counting a year of minutes takes about as long as counting a day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from mainspring.definition.cron import Cron

TICK = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
# Offset changes of a time zone are further apart than this.
_STRIDE = timedelta(hours=12)
# No time zone ever changed its offset by more than a day.
_LONGEST_CHANGE = timedelta(hours=26)


@dataclass(frozen=True, slots=True)
class _OffsetInterval:
    """A period between two instants; without an offset, it contains an offset change."""

    first: datetime
    until: datetime
    offset: timedelta | None

    def wall_clock_bounds(self, offset: timedelta) -> tuple[datetime, datetime]:
        """Its start and end in wall-clock time."""
        return _wall_clock(self.first + offset), _wall_clock(self.until + offset)


def between(cron: Cron, zone: str, first: datetime, until: datetime) -> Iterator[datetime]:
    """Every fire time from one instant (inclusive) to another (exclusive), oldest first."""
    for stretch in _stretches(ZoneInfo(zone), first, until):
        if stretch.offset is None:
            yield from _iterate_cron(cron, zone, stretch)
        else:
            for wall in _steady(cron, *stretch.wall_clock_bounds(stretch.offset)):
                yield wall.replace(tzinfo=UTC) - stretch.offset


def count(cron: Cron, zone: str, first: datetime, until: datetime) -> int:
    """The number of fire times that ``between`` would return."""
    return sum(
        sum(1 for _ in _iterate_cron(cron, zone, stretch))
        if stretch.offset is None
        else _count_cron(cron, *stretch.wall_clock_bounds(stretch.offset))
        for stretch in _stretches(ZoneInfo(zone), first, until)
    )


def _iterate_cron(cron: Cron, zone: str, stretch: _OffsetInterval) -> Iterator[datetime]:
    moment = cron.after(stretch.first - TICK, zone)
    while moment is not None and moment < stretch.until:
        yield moment
        moment = cron.after(moment, zone)


def _steady(cron: Cron, first: datetime, until: datetime) -> Iterator[datetime]:
    minutes, hours = cron.hands
    for day in _days(first.date(), until.date() + _DAY):
        if not cron.fires_on(day):
            continue
        for hour in hours:
            if day == first.date() and hour < first.hour:
                continue
            for minute in minutes:
                wall = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001
                if wall >= until:
                    return
                if wall >= first:
                    yield wall


def _count_cron(cron: Cron, first: datetime, until: datetime) -> int:
    minutes, hours = cron.hands
    days = sum(1 for day in _days(first.date(), until.date()) if cron.fires_on(day))
    return days * len(minutes) * len(hours) + _before(cron, until) - _before(cron, first)


def _before(cron: Cron, wall: datetime) -> int:
    """The fire times on the same day before a wall-clock time."""
    if not cron.fires_on(wall.date()):
        return 0
    minutes, hours = cron.hands
    begun = wall.second > 0 or wall.microsecond > 0
    whole = bisect_left(hours, wall.hour) * len(minutes)
    return whole + (bisect_left(minutes, wall.minute + begun) if wall.hour in hours else 0)


def _days(first: date, until: date) -> Iterator[date]:
    for number in range((until - first).days):
        yield first + _DAY * number


def _stretches(place: ZoneInfo, first: datetime, until: datetime) -> Iterator[_OffsetInterval]:
    at = first
    for change, size in _changes(place, first - _LONGEST_CHANGE, until):
        begin, end = max(change, at), min(change + size, until)
        if end <= begin:
            continue
        if at < begin:
            yield _OffsetInterval(at, begin, _offset(place, at))
        yield _OffsetInterval(begin, end, None)
        at = end
    if at < until:
        yield _OffsetInterval(at, until, _offset(place, at))


def _changes(
    place: ZoneInfo, first: datetime, until: datetime
) -> Iterator[tuple[datetime, timedelta]]:
    """When the offset changes, and for how long wall-clock times repeat or are skipped."""
    at, old = first, _offset(place, first)
    while at < until:
        ahead = at + _STRIDE
        new = _offset(place, ahead)
        if new != old:
            yield _instant_of_change(place, at, ahead, old), abs(new - old) + _MINUTE
        at, old = ahead, new


def _instant_of_change(
    place: ZoneInfo, before: datetime, behind: datetime, old: timedelta
) -> datetime:
    second = timedelta(seconds=1)
    before, behind = before.replace(microsecond=0), behind.replace(microsecond=0)
    while behind - before > second:
        middle = before + (behind - before) // (2 * second) * second
        if _offset(place, middle) == old:
            before = middle
        else:
            behind = middle
    return behind


def _offset(place: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.astimezone(place).utcoffset()
    assert offset is not None
    return offset


def _wall_clock(timestamp: datetime) -> datetime:
    return timestamp.astimezone(UTC).replace(tzinfo=None)
