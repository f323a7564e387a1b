"""What is to be left out of a wish: said in the schedule where cron can, else asked or refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from mainspring.authoring.phrases.calendar_days import plan_days
from mainspring.authoring.phrases.crons import CronDayFields, at_times, week_days
from mainspring.authoring.phrases.echo import WORKING
from mainspring.authoring.phrases.plans import (
    ScheduleOption,
    SchedulePlan,
    find_excluded_times,
    times_of,
    unit_of,
)
from mainspring.authoring.phrases.special import plan_of
from mainspring.authoring.phrases.wishes import ScheduleRequest

WITHOUT: Final = frozenset(
    {"without", "without_times", "without_months", "without_month_days", "without_nth"}
)
# Kinds that say which days of a month or a year are meant.
_DATES: Final = frozenset(
    {"month_days", "date", "working_day", "before_end", "nth_or_other", "twofold"}
)
_COARSE: Final = frozenset({"month", "quarter", "year"})
_ASIDE: Final = frozenset({"limit", "own_zone", "vague", "once"})
_ALL_DAYS: Final = frozenset(range(7))
_NTHS: Final = frozenset(range(1, 6))


def plan_schedule(wish: ScheduleRequest) -> SchedulePlan:
    """What a wish comes to, with its exceptions."""
    plan = _exceptions(wish) or plan_of(wish) or plan_days(wish)
    if plan.option is not None and not plan.option.crons:
        return _nothing_left()
    return plan


def _exceptions(wish: ScheduleRequest) -> SchedulePlan | None:
    if not wish.said.keys() & WITHOUT or "impossible" in wish.said:
        return None
    if _is_alone(wish):
        return _which_days(wish)
    for way in (_without_days, _without_month_days, _without_nths, _without_times):
        plan = way(wish)
        if plan is not None:
            return plan
    return None


def find_excluded_days(wish: ScheduleRequest) -> frozenset[int]:
    return frozenset(day for days in wish.said.get("without", ()) for day in days)


def _is_alone(wish: ScheduleRequest) -> bool:
    """Whether nothing but an exception was said, or an hour that may belong to it."""
    if wish.said.keys() - WITHOUT - _ASIDE or wish.parts:
        return False
    return not wish.clock or wish.leaves_out_first


def _which_days(wish: ScheduleRequest) -> SchedulePlan:
    plan = SchedulePlan()
    left = find_excluded_days(wish)
    if not left:
        return SchedulePlan(
            asks="which_days",
            text="What is to be left out was said, and not how often it is to happen. How often?",
            options=(_on_days(wish, _ALL_DAYS, plan), _on_days(wish, WORKING, plan)),
        )
    rest = [one for one in (_ALL_DAYS - left, WORKING - left) if one]
    options = tuple(_on_days(wish, one, plan) for one in dict.fromkeys(rest))
    return SchedulePlan(
        asks="which_days",
        text="Which days are left out was said, and not on which it is to happen. On which days?",
        options=options,
    )


def _on_days(wish: ScheduleRequest, days: frozenset[int], plan: SchedulePlan) -> ScheduleOption:
    times = times_of(wish, plan)
    fields = CronDayFields(week_day=week_days(days))
    return ScheduleOption(tuple(at_times(times, fields)))


def _nothing_left() -> SchedulePlan:
    return SchedulePlan(
        asks="which_days", text="What was said is left out again. When is it meant?"
    )


def _unsayable(wish: ScheduleRequest, text: str, *kinds: str) -> SchedulePlan:
    """No schedule says this exception; the schedule without it is the nearest."""
    plain = deepcopy(wish)
    for kind in kinds:
        plain.said.pop(kind, None)
    plan = plan_of(plain) or plan_days(plain)
    options = plan.options if plan.option is None else (plan.option,)
    return SchedulePlan(refuses="not_sayable", text=text, options=options)


def _without_days(wish: ScheduleRequest) -> SchedulePlan | None:
    left = find_excluded_days(wish)
    if not left:
        return None
    said = frozenset(day for days in wish.said.get("days", ()) for day in days)
    if said and not said - left:
        return _nothing_left()
    named = {day for _, days in wish.said.get("nth", ()) for day in days}
    if named and not named & left:
        del wish.said["without"]
        return None
    edges = any(unit != "week" for _, unit in wish.said.get("edge", ()))
    coarse = (unit_of(wish) or (1, wish.first("soft")))[1] in _COARSE
    if "nth_or_other" not in wish.said and not said and _is_weekly(wish):
        return _which_day(wish, left)
    if named or edges or wish.said.keys() & _DATES or (coarse and not said):
        text = "A schedule cannot leave days of the week out of days of the month."
        return _unsayable(wish, text, "without")
    return None


def _is_weekly(wish: ScheduleRequest) -> bool:
    return (unit_of(wish) or (1, wish.first("soft"))) == (1, "week") and "times" not in wish.said


def _which_day(wish: ScheduleRequest, left: frozenset[int]) -> SchedulePlan:
    """Once a week, on any day but some."""
    plan = SchedulePlan()
    rest = sorted(_ALL_DAYS - left, key=lambda day: day or 7)
    options = tuple(_on_days(wish, frozenset({day}), plan) for day in rest)
    return SchedulePlan(asks="which_days", text="On which day of the week?", options=options)


def _without_month_days(wish: ScheduleRequest) -> SchedulePlan | None:
    found = wish.said.get("without_month_days")
    if not found:
        return None
    left = frozenset(day for days in found for day in days)
    there = wish.said.get("month_days")
    other = wish.said.keys() & (_DATES - {"month_days"} | {"days", "nth", "edge", "without"})
    unit = unit_of(wish) or (1, wish.first("soft") or "day")
    coarse = unit[1] not in {"day", "hour"} or unit[0] > 1
    if -1 in left or other or (coarse and not there):
        text = "A schedule cannot leave these days of the month out."
        return _unsayable(wish, text, "without_month_days")
    days = frozenset(day for one in there for day in one) if there else frozenset(range(1, 32))
    if not days - left:
        return _nothing_left()
    wish.said["month_days"] = [days - left]
    return None


def _without_nths(wish: ScheduleRequest) -> SchedulePlan | None:
    found = wish.said.get("without_nth")
    if not found:
        return None
    said = frozenset(day for days in wish.said.get("days", ()) for day in days)
    left: set[tuple[int, int]] = {
        (nth, day) for which, days in found for nth in which for day in days or said
    }
    sayable = said and not any(nth == -1 or day not in said for nth, day in left)
    if not sayable or wish.said.keys() & (_DATES | {"nth", "edge"}) or wish.is_small:
        text = "A schedule cannot leave one of the weeks of a month out of this."
        return _unsayable(wish, text, "without_nth")
    kept: list[Any] = [
        (tuple(sorted(_NTHS - {nth for nth, one in left if one == day})), (day,))
        for day in sorted(said)
    ]
    del wish.said["days"]
    wish.said["nth"] = kept
    return None


def _without_times(wish: ScheduleRequest) -> SchedulePlan | None:
    """Fixed times that are all left out again, and bounds that leave the time open."""
    if wish.is_small or "without_times" not in wish.said:
        return None
    bounds = [how for how, _ in wish.said["without_times"] if how in ("before", "after")]
    hourly = wish.first("soft") == "hour" or wish.said.keys() & {"mark", "working_hours", "window"}
    if bounds and not wish.clock and not wish.parts and not hourly:
        text = f"At what time exactly, not {bounds[0]} the one that was said?"
        return SchedulePlan(asks="which_times", text=text)
    if not wish.clock:
        return None
    out = find_excluded_times(wish)
    if all(one.minutes in out for one in wish.clock):
        return SchedulePlan(
            asks="which_times", text="This time of day is left out again. Which is meant?"
        )
    return None
