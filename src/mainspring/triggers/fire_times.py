"""Plans the due fire times of a schedule: which fire and which are recorded as missed.

A fire time younger than ``ON_TIME`` is on time and fires under every policy: a scheduler that was
busy for a while has missed nothing. Older ones were missed:

- ``skip`` fires none of them;
- ``fire_once`` fires the latest of all, if it is on time or inside the catch-up window;
- ``fire_all`` fires each one inside the window, the newest ones if there are too many.

The window reaches back from now and excludes its far end. A fire time that does not fire is
recorded with the reason: the newest ones individually, the rest as one record with their count.
Planning a year of missed minutes costs about as much as a day. Fire times of a schedule that was
paused or changed before they fired are recorded as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from mainspring.contracts.limits import Limits
from mainspring.definition.cron import Cron

# The fire times of a cron expression in a period: enumerated, or counted.

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


Misfire = Literal["skip", "fire_once", "fire_all"]
Overtaking = Literal["missed_edited", "missed_paused"]
Reason = (
    Literal["missed_skip", "missed_superseded", "missed_too_old", "missed_too_many"] | Overtaking
)

ON_TIME = timedelta(seconds=30)
_IN_WINDOW: dict[Misfire, Reason] = {
    "skip": "missed_skip",
    "fire_once": "missed_superseded",
    "fire_all": "missed_too_many",
}


@dataclass(frozen=True, slots=True)
class MissedFiring:
    """A fire time that does not fire; or several in a row, of which it is the first."""

    moment: datetime
    reason: Reason
    moments: int = 1


@dataclass(frozen=True, slots=True)
class FirePlan:
    """What to do now, and the next fire time."""

    fire: tuple[datetime, ...]
    missed: tuple[MissedFiring, ...]
    next_due: datetime | None


@dataclass(frozen=True, slots=True)
class _FirePlanInputs:
    """Everything that a plan depends on."""

    cron: Cron
    zone: str
    due: datetime
    now: datetime
    misfire: Misfire
    catch_up: timedelta

    def reason(self, timestamp: datetime) -> Reason:
        if self.misfire != "skip" and timestamp < self.edge:
            return "missed_too_old"
        return _IN_WINDOW[self.misfire]

    @property
    def edge(self) -> datetime:
        """The first instant inside the catch-up window."""
        return self.now - self.catch_up + TICK


def plan(
    cron: Cron,
    zone: str,
    due: datetime,
    now: datetime,
    misfire: Misfire,
    catch_up: timedelta,
    limits: Limits,
) -> FirePlan:
    """The plan for a schedule whose next fire time is ``due``.

    ``due`` was stored earlier, so it counts even if the rules of its time zone have changed since.
    When the clock was set back it is in the future, and nothing happens.
    """
    if due > now:
        return FirePlan((), (), due)
    case = _FirePlanInputs(cron, zone, due, now, misfire, catch_up)
    following = cron.after(due, zone)
    if following is None or following > now:
        newest: Sequence[datetime] = [due]
    else:
        newest = _newest(case, limits.missed_moments + limits.missed_records + 1)
        following = cron.after(now, zone)
    fire = _find_fire_times(case, newest, limits.missed_moments)
    unfired = newest[: len(newest) - len(fire)]
    return FirePlan(tuple(fire), tuple(_find_missed(case, unfired, fire, limits)), following)


def overtaken(
    cron: Cron, zone: str, due: datetime, until: datetime, reason: Overtaking, limits: Limits
) -> tuple[MissedFiring, ...]:
    """The fire times from the stored one (inclusive) to another instant (exclusive) that will not
    fire because the schedule was changed first.
    """
    case = _FirePlanInputs(cron, zone, due, until - TICK, "skip", timedelta(0))
    newest = _newest(case, limits.missed_records)
    return tuple(replace(one, reason=reason) for one in _find_missed(case, newest, (), limits))


def _newest(case: _FirePlanInputs, most: int) -> list[datetime]:
    """The last fire times up to now, oldest first."""
    # Double the period each time, until it contains enough fire times.
    span, until = timedelta(hours=1), case.now + TICK
    while until - span > case.due and count(case.cron, case.zone, until - span, until) < most:
        span *= 2
    first = max(until - span, case.due + TICK)
    found = deque(between(case.cron, case.zone, first, until), maxlen=most)
    if first == case.due + TICK and len(found) < most:
        found.appendleft(case.due)
    return list(found)


def _find_fire_times(
    case: _FirePlanInputs, newest: Sequence[datetime], most: int
) -> list[datetime]:
    on_time = [moment for moment in newest if case.now - moment < ON_TIME]
    late = newest[: len(newest) - len(on_time)]
    in_window = [moment for moment in late if moment >= case.edge]
    match case.misfire:
        case "skip":
            return on_time
        case "fire_once":
            return [*in_window, *on_time][-1:]
        case "fire_all":
            return in_window[max(len(in_window) - most, 0) :] + on_time


def _find_missed(
    case: _FirePlanInputs, unfired: Sequence[datetime], fire: Sequence[datetime], limits: Limits
) -> Iterator[MissedFiring]:
    """All fire times before the first that fires."""
    single = unfired[max(len(unfired) - limits.missed_records, 0) :]
    cut = single[0] if single else fire[0] if fire else case.now + TICK
    yield from _together(case, cut)
    for moment in single:
        yield MissedFiring(moment, case.reason(moment))


def _together(case: _FirePlanInputs, until: datetime) -> Iterator[MissedFiring]:
    """Fire times that are too many to list, as one record per reason."""
    edge = case.due if case.misfire == "skip" else max(case.edge, case.due)
    for first, end in ((case.due, min(edge, until)), (edge, until)):
        # There is no fire time between the stored one and the next.
        promised = first == case.due
        begin = first + TICK if promised else first
        if first >= end:
            continue
        moments = count(case.cron, case.zone, begin, end) + promised
        if moments:
            named = first if promised else next(between(case.cron, case.zone, begin, end))
            yield MissedFiring(named, case.reason(named), moments)
