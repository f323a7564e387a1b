"""What a schedule does about the moments that have come: which fire, which are recorded.

A moment younger than ``ON_TIME`` is on time and fires whatever the policy says: a
scheduler that was busy for a while has missed nothing. Older ones were missed:

- ``skip`` fires none of them;
- ``fire_once`` fires the latest of all, if it is on time or inside the catch-up window;
- ``fire_all`` fires each one inside the window, the newest ones if they are too many.

The window reaches back from now and does not include its far end. A moment that does not
fire is recorded with the reason: the newest ones one by one, the rest as one record with
their number. The plan for a year of missed minutes costs about as much as for a day. The
moments of a schedule that somebody paused or changed before they fired are told as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from mainspring.contracts.limits import Limits
from mainspring.definition.cron import Cron
from mainspring.triggers.timeline import TICK, between, count

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
    """A moment that does not fire; or several in a row, of which it is the first."""

    moment: datetime
    reason: Reason
    moments: int = 1


@dataclass(frozen=True, slots=True)
class FirePlan:
    """What is to be done now, and the moment to wait for next."""

    fire: tuple[datetime, ...]
    missed: tuple[MissedFiring, ...]
    next_due: datetime | None


@dataclass(frozen=True, slots=True)
class _FirePlanInputs:
    """Everything a plan depends on."""

    cron: Cron
    zone: str
    due: datetime
    now: datetime
    misfire: Misfire
    catch_up: timedelta

    def reason(self, moment: datetime) -> Reason:
        if self.misfire != "skip" and moment < self.edge:
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
    """The plan for a schedule that waits for ``due``.

    That moment was promised when it was stored, so it counts even if the rules of its zone
    have changed meanwhile. When the clock was set back it lies ahead, and nothing happens.
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
    """The moments from the promised one on and before another instant, which nobody fires any
    more, because somebody changed the schedule first.
    """
    case = _FirePlanInputs(cron, zone, due, until - TICK, "skip", timedelta(0))
    newest = _newest(case, limits.missed_records)
    return tuple(replace(one, reason=reason) for one in _find_missed(case, newest, (), limits))


def _newest(case: _FirePlanInputs, most: int) -> list[datetime]:
    """The last moments up to now, the oldest of them first."""
    # Twice as far back each time, until enough of them lie within reach.
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
    """Everything before the first that fires."""
    single = unfired[max(len(unfired) - limits.missed_records, 0) :]
    cut = single[0] if single else fire[0] if fire else case.now + TICK
    yield from _together(case, cut)
    for moment in single:
        yield MissedFiring(moment, case.reason(moment))


def _together(case: _FirePlanInputs, until: datetime) -> Iterator[MissedFiring]:
    """Moments too many to name, in one record for each reason."""
    edge = case.due if case.misfire == "skip" else max(case.edge, case.due)
    for first, end in ((case.due, min(edge, until)), (edge, until)):
        # Between the promised moment and the next there is nothing.
        promised = first == case.due
        begin = first + TICK if promised else first
        if first >= end:
            continue
        moments = count(case.cron, case.zone, begin, end) + promised
        if moments:
            named = first if promised else next(between(case.cron, case.zone, begin, end))
            yield MissedFiring(named, case.reason(named), moments)
