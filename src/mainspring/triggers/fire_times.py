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

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from mainspring.contracts.limits import Limits
from mainspring.definition.cron_periods import TICK
from mainspring.definition.schedules import Schedule

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

    schedule: Schedule
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
    schedule: Schedule,
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
    case = _FirePlanInputs(schedule, due, now, misfire, catch_up)
    following = schedule.after(due)
    if following is None or following > now:
        newest: Sequence[datetime] = [due]
    else:
        newest = _newest(case, limits.missed_moments + limits.missed_records + 1)
        following = schedule.after(now)
    fire = _find_fire_times(case, newest, limits.missed_moments)
    unfired = newest[: len(newest) - len(fire)]
    return FirePlan(tuple(fire), tuple(_find_missed(case, unfired, fire, limits)), following)


def overtaken(
    schedule: Schedule, due: datetime, until: datetime, reason: Overtaking, limits: Limits
) -> tuple[MissedFiring, ...]:
    """The fire times from the stored one (inclusive) to another instant (exclusive) that will not
    fire because the schedule was changed first.
    """
    case = _FirePlanInputs(schedule, due, until - TICK, "skip", timedelta(0))
    newest = _newest(case, limits.missed_records)
    return tuple(replace(one, reason=reason) for one in _find_missed(case, newest, (), limits))


def _newest(case: _FirePlanInputs, most: int) -> list[datetime]:
    """The last fire times up to now, oldest first."""
    # Double the period each time, until it contains enough fire times.
    span, until = timedelta(hours=1), case.now + TICK
    while until - span > case.due and case.schedule.count(until - span, until) < most:
        span *= 2
    first = max(until - span, case.due + TICK)
    found = deque(case.schedule.between(first, until), maxlen=most)
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
        moments = case.schedule.count(begin, end) + promised
        if moments:
            named = first if promised else next(case.schedule.between(begin, end))
            yield MissedFiring(named, case.reason(named), moments)
