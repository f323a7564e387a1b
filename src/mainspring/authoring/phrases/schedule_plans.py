"""The result of planning a request, and helpers for times, days and wording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mainspring.authoring.phrases.clock import ClockTime
from mainspring.authoring.phrases.crons import (
    MINUTES_OF_DAY,
    CronDayFields,
    at_times,
    format_cron_field,
    week_days,
)
from mainspring.authoring.phrases.negations import PARTS_OF_DAY
from mainspring.authoring.phrases.schedule_requests import ScheduleRequest
from mainspring.authoring.phrases.schedule_sentences import format_clock, say_crons

MORNING: Final = 9 * 60
_PART_TIMES: Final = {
    "morning": 9 * 60,
    "afternoon": 14 * 60,
    "evening": 18 * 60,
    "night": 22 * 60,
    "noon": 12 * 60,
    "midnight": 0,
    "nightly": 0,
    "start of the day": 9 * 60,
    "end of the day": 17 * 60,
}


@dataclass(frozen=True, slots=True)
class ScheduleOption:
    """One reading of a request, with the sentence that describes its schedule."""

    crons: tuple[str, ...]
    # Every other fire time only; the start date tells which half.
    fortnight: bool = False
    # A condition for the steps, and the remaining days in words.
    when: str | None = None
    days: str = ""
    # An interval such as 2d, counted from the first fire times of the expressions.
    every: str = ""
    # Only once, so many days from today, at the times of the expressions.
    days_ahead: int | None = None

    @property
    def sentence(self) -> str:
        text = say_crons(self.crons, self.days)
        return f"{text}, every second week" if self.fortnight else text


@dataclass(slots=True)
class SchedulePlan:
    """The plan of a request; ``asks`` or ``refuses`` has the kind when it is not a schedule."""

    option: ScheduleOption | None = None
    notes: list[str] = field(default_factory=list)
    asks: str | None = None
    refuses: str | None = None
    text: str = ""
    options: tuple[ScheduleOption, ...] = ()


def times_of(request: ScheduleRequest, plan: SchedulePlan) -> list[int]:
    """Return the times of day of a request, with a note when they were assumed."""
    if request.clock:
        unsure = [one for one in request.clock if not one.sure and 1 <= one.hour <= 6]
        for one in unsure:
            text = format_clock(one.minutes)
            plan.notes.append(f"{text} is early in the day, because neither am nor pm was given")
        if request.inherited:
            plan.notes.append("the same time of day as before, because no other was given")
        return _exclude_times({one.minutes for one in request.clock}, request, plan)
    known = [part for part in request.parts if part in _PART_TIMES]
    if known:
        vague = [part for part in known if part not in {"noon", "midnight"}]
        plan.notes += [
            f"{format_clock(_PART_TIMES[part])} for the {part.replace('nightly', 'night')}, "
            "because no hour was given"
            for part in dict.fromkeys(vague)
        ]
        return _exclude_times({_PART_TIMES[part] for part in known}, request, plan)
    plan.notes.append("9 in the morning, because no hour was given")
    return [MORNING]


def _exclude_times(times: set[int], request: ScheduleRequest, plan: SchedulePlan) -> list[int]:
    """Remove excluded times; ask when none are left."""
    out = find_excluded_times(request, plan)
    return sorted(times - out) or sorted(times)


def find_excluded_times(
    request: ScheduleRequest, plan: SchedulePlan | None = None
) -> frozenset[int]:
    """Return the excluded minutes of a day."""
    out: set[int] = set()
    for how, what in request.said.get("without_times", ()):
        if isinstance(how, ClockTime):
            begin, end = order_times(how, what)
        elif how == "at":
            out |= {one.minutes for one in what}
            continue
        elif how == "part":
            begin, end = PARTS_OF_DAY[what]
            if plan is not None:
                message = f"{format_clock(begin)} to {format_clock(end)}"
                plan.notes.append(f"the {what} that is skipped is from {message}")
        else:
            begin, end = (0, what.minutes) if how == "before" else (what.minutes + 1, 1440)
        out |= {minute % MINUTES_OF_DAY for minute in range(begin, end)}
    return frozenset(out)


def order_times(first: ClockTime, last: ClockTime) -> tuple[int, int]:
    """Order a range: between 9 and 5 ends in the afternoon; 22 to 6 ends the next day."""
    begin, end = first.minutes, last.minutes
    if (
        not first.sure
        and last.sure
        and last.hour >= 12
        and first.hour + 12 <= last.hour
        and first.hour < 6
    ):
        begin += 720
    if end <= begin and not last.sure and end + 720 > begin:
        end += 720
    return begin, end if end > begin else end + MINUTES_OF_DAY


def fortnight_plan(request: ScheduleRequest, days: frozenset[int]) -> SchedulePlan:
    plan = SchedulePlan()
    times = times_of(request, plan)
    crons = tuple(at_times(times, CronDayFields(week_day=week_days(days))))
    return SchedulePlan(
        asks="which_weeks",
        text="Cron cannot count in fortnights, so the schedule is weekly and a condition lets "
        "every second week pass. With which date does it begin?",
        options=(ScheduleOption(crons, fortnight=True),),
        notes=plan.notes,
    )


def near_weeks(request: ScheduleRequest, times: list[int]) -> list[ScheduleOption]:
    """The closest alternative to an interval of several weeks."""
    days = week_days_of(request) or frozenset({1})
    crons = tuple(at_times(times, CronDayFields(week_day=week_days(days))))
    near = [ScheduleOption(crons), ScheduleOption(crons, fortnight=True)]
    if len(days) == 1:
        first = CronDayFields(week_day=f"{min(days)}#1")
        near.append(ScheduleOption(tuple(at_times(times, first))))
    return near


def week_days_of(request: ScheduleRequest) -> frozenset[int] | None:
    """Return the requested days of the week; empty for all."""
    found = [days for days in request.said.get("days", ()) if days]
    edges = [last for last, unit in request.said.get("edge", ()) if unit == "week"]
    if edges and not found:
        return frozenset({5 if edges[0] else 1})
    left_out = frozenset(day for days in request.said.get("without", ()) for day in days)
    if not found and not left_out:
        return None
    said = frozenset(day for days in found for day in days) or frozenset(range(7))
    return (said - left_out) or said


def months_of(request: ScheduleRequest) -> frozenset[int] | None:
    found = [month for months in request.said.get("months", ()) for month in months]
    left_out = {month for months in request.said.get("without_months", ()) for month in months}
    if not found and not left_out:
        return None
    return (frozenset(found or range(1, 13)) - left_out) or None


def month_day_field(days: frozenset[int]) -> str:
    plain = (
        format_cron_field([day for day in days if day > 0], 31, 1, stepped=False)
        if days - {-1}
        else ""
    )
    return ",".join(part for part in (plain, "L" if -1 in days else "") if part)


def unit_of(request: ScheduleRequest) -> tuple[int, str] | None:
    """Return the coarsest requested interval, such as every two months."""
    order = ("day", "week", "fortnight", "month", "quarter", "year")
    found = [one for one in request.said.get("every", ()) if one[1] in order]
    return max(found, key=lambda one: (order.index(one[1]), one[0])) if found else None
