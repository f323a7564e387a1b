"""Requests beyond days and times: intervals, working days, ambiguous words."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.phrases.crons import (
    MINUTES_OF_DAY,
    CronDayFields,
    at_steps,
    at_times,
    format_cron_field,
    week_days,
)
from mainspring.authoring.phrases.schedule_plans import (
    ScheduleOption,
    SchedulePlan,
    find_excluded_times,
    fortnight_plan,
    month_day_field,
    months_of,
    order_times,
    times_of,
    week_days_of,
)
from mainspring.authoring.phrases.schedule_requests import ScheduleRequest
from mainspring.authoring.phrases.schedule_sentences import (
    WORKING,
    format_clock,
    format_step,
    ordinal,
)

# Requests in minutes or hours, all day or between two times.


def _small_step(request: ScheduleRequest) -> int | None:
    """Return the interval in minutes, for requests in minutes or hours."""
    for count, unit in request.said.get("every", ()):
        if unit in {"minute", "hour"}:
            return int(count) * (60 if unit == "hour" else 1)
    said = request.said.keys()
    if request.first("soft") == "hour" and not request.clock and not said & {"every", "times"}:
        return 60
    if said & {"every", "days", "month_days", "nth", "date", "edge", "times"}:
        return None
    return 60 if "mark" in request.said and not request.clock else None


def plan_steps(request: ScheduleRequest) -> SchedulePlan | None:
    if any(unit == "secs" for _, unit in request.said.get("every", ())):
        return SchedulePlan(
            refuses="too_often",
            text="A schedule cannot fire more often than once a minute.",
            options=(ScheduleOption(("* * * * *",)),),
        )
    hourly = set(request.said.get("soft", ())) == {"hour"}
    if hourly and request.clock and not request.said.keys() & {"every", "times"}:
        return _hourly_or_at(request)
    step = _small_step(request)
    if step is None:
        if "working_hours" in request.said or "window" in request.said:
            return _window_alone(request)
        return None
    if step % MINUTES_OF_DAY == 0:
        request.said["every"] = [(step // MINUTES_OF_DAY, "day")]
        return None
    plan = SchedulePlan()
    days = _small_days(request)
    bounds = _bounds(request, plan)
    if bounds is None and MINUTES_OF_DAY % step:
        return _uneven(step, days)
    marks = [mark for marks in request.said.get("mark", ()) for mark in marks]
    if marks and step % 60 and (60 % step or len({one % step for one in marks}) > 1):
        return _uneven_marks(step, days)
    minutes = _row(request, step, bounds, marks, plan)
    out = find_excluded_times(request, plan)
    minutes = [one for one in minutes if one % MINUTES_OF_DAY not in out]
    if not minutes:
        return SchedulePlan(refuses="uneven", text="There is no such time between these two times.")
    if bounds is not None and bounds[1] > MINUTES_OF_DAY and days.week_day != "*":
        plan.notes.append("the hours after midnight are the first ones of the same days")
    plan.option = ScheduleOption(tuple(at_steps(minutes, days)))
    return plan


def _row(
    request: ScheduleRequest,
    step: int,
    bounds: tuple[int, int] | None,
    marks: list[int],
    plan: SchedulePlan,
) -> list[int]:
    if marks and step % 60 == 0:
        begin, end = (0, MINUTES_OF_DAY - 1) if bounds is None else bounds
        if bounds is None and request.clock:
            begin = request.clock[0].hour * 60 % step
        hours = range(begin // 60 * 60, end + 1, step)
        return [
            hour + mark
            for hour in hours
            for mark in sorted(set(marks))
            if begin <= hour + mark <= end
        ]
    if bounds is None:
        first = (request.clock[0].minutes if request.clock else marks[0] if marks else 0) % step
        if request.clock:
            plan.notes.append("it goes on through the day and the night, because no end was given")
        return [*range(first, MINUTES_OF_DAY, step)]
    # By the hour the end is included; by the minute it would start the next range.
    until = bounds[1] + 1 if step % 60 == 0 and bounds[1] % MINUTES_OF_DAY else bounds[1]
    begin = bounds[0] + ((marks[0] - bounds[0]) % step if marks else 0)
    row = [*range(begin, until, step)]
    if row:
        plan.notes.append(
            f"the first is at {format_clock(row[0])}, the last at {format_clock(row[-1])}"
        )
    return row


def _bounds(request: ScheduleRequest, plan: SchedulePlan) -> tuple[int, int] | None:
    found = request.first("window")
    if found is not None:
        first, last = found
        return order_times(first, last)
    if "working_hours" in request.said:
        plan.notes.append("working hours are Monday to Friday from 09:00 to 17:00")
        return 9 * 60, 17 * 60
    return None


def _small_days(request: ScheduleRequest) -> CronDayFields:
    days = week_days_of(request)
    if days is None and "working_hours" in request.said:
        days = WORKING
    months = months_of(request)
    month = format_cron_field(months, 12, 1) if months else "*"
    if "month_days" in request.said and days is None:
        on = frozenset(day for one in request.said["month_days"] for day in one)
        return CronDayFields(month_day_field(on), month)
    return CronDayFields("*", month, "*" if days is None else week_days(days))


def _uneven(step: int, days: CronDayFields) -> SchedulePlan:
    near = sorted(
        (one for one in range(1, 721) if MINUTES_OF_DAY % one == 0), key=lambda one: abs(one - step)
    )
    options = tuple(
        ScheduleOption(tuple(at_steps([*range(0, MINUTES_OF_DAY, one)], days)))
        for one in sorted(near[:2])
    )
    text = (
        f"A day cannot be cut evenly into stretches of {format_step(step).removeprefix('every ')}."
    )
    return SchedulePlan(refuses="uneven", text=text, options=options)


def _hourly_or_at(request: ScheduleRequest) -> SchedulePlan:
    """Both hourly and a time of day: a start time, or part of a name."""
    days, times = _small_days(request), sorted({one.minutes for one in request.clock})
    return SchedulePlan(
        asks="which_times",
        text="Every hour, or only at the given time?",
        options=(
            ScheduleOption(tuple(at_steps([*range(times[0] % 60, MINUTES_OF_DAY, 60)], days))),
            ScheduleOption(tuple(at_times(times, days))),
        ),
    )


def _uneven_marks(step: int, days: CronDayFields) -> SchedulePlan:
    """Minutes of the hour that such an interval does not return to."""
    return SchedulePlan(
        refuses="uneven",
        text=f"{format_step(step).capitalize()} does not come back to the same minute of an hour.",
        options=(ScheduleOption(tuple(at_steps([*range(0, MINUTES_OF_DAY, step)], days))),)
        if MINUTES_OF_DAY % step == 0
        else (),
    )


def _window_alone(request: ScheduleRequest) -> SchedulePlan | None:
    if request.clock:
        return None
    plan = SchedulePlan()
    bounds = _bounds(request, plan)
    days = _small_days(request)
    assert bounds is not None
    if not request.has_rhythm and "soft" not in request.said:
        return SchedulePlan(asks="")
    row = [*range(bounds[0], bounds[1] + 1, 60)]
    return SchedulePlan(
        asks="which_times",
        text=f"How often between {format_clock(bounds[0])} and {format_clock(bounds[1])}?",
        options=(
            ScheduleOption(tuple(at_steps(row, days))),
            ScheduleOption(tuple(at_times(row[:1], days))),
        ),
    )


def plan_of(request: ScheduleRequest) -> SchedulePlan | None:
    """Plan a request; None when it is a plain calendar request."""
    once = "once" in request.said
    if once and not request.has_rhythm and "soft" not in request.said:
        return _plan_once(request)
    for special in (
        _impossible,
        _twofold,
        _working_day,
        _before_end,
        _nth_or_other,
        _times_per,
        plan_steps,
    ):
        plan = special(request)
        if plan is not None:
            return plan
    return None


_DAYS_AHEAD: Final = {"today": 0, "tomorrow": 1, "day after tomorrow": 2}


def _plan_once(request: ScheduleRequest) -> SchedulePlan:
    """Plan a single moment on a day that is named from today."""
    named = {str(one) for one in request.said["once"]}
    ahead = _DAYS_AHEAD.get(named.pop()) if len(named) == 1 else None
    if ahead is None or not (request.clock or request.parts):
        return SchedulePlan(
            refuses="not_recurring",
            text="This happens once, on a day or at a time that is not clear. "
            "Say it as tomorrow at 15:00, or set at in the trigger.",
        )
    plan = SchedulePlan()
    crons = tuple(at_times(times_of(request, plan), CronDayFields()))
    plan.option = ScheduleOption(crons, days_ahead=ahead)
    return plan


_OFTEN: Final = (
    ScheduleOption(("0 * * * *",)),
    ScheduleOption(("0 9 * * *",)),
    ScheduleOption(("0 9 * * 1-5",)),
    ScheduleOption(("0 9 * * 1",)),
)


def _impossible(request: ScheduleRequest) -> SchedulePlan | None:
    if "impossible" in request.said:
        return SchedulePlan(refuses="not_sayable", text=request.first("impossible"))
    if "unknown_stretch" in request.said:
        return SchedulePlan(refuses="not_sayable", text=request.first("unknown_stretch"))
    if "no_time" in request.said and not request.clock:
        text = f"There is no time of day {request.first('no_time')}. Which one is meant?"
        return SchedulePlan(asks="which_times", text=text)
    if (
        "often" in request.said
        and not request.has_rhythm
        and not request.clock
        and not request.parts
    ):
        return SchedulePlan(
            asks="how_often", text=f"How often is {request.first('often')}?", options=_OFTEN
        )
    if "vague" in request.said and request.has_rhythm and not request.clock:
        return SchedulePlan(
            asks="which_times", text=f"At what time exactly, {request.first('vague')}?"
        )
    return None


def _twofold(request: ScheduleRequest) -> SchedulePlan | None:
    unit = request.first("twofold")
    if unit is None:
        return None
    plan = SchedulePlan()
    times = times_of(request, plan)
    if unit == "monthly":
        options = (
            ScheduleOption(tuple(at_times(times, CronDayFields("1", "*/2")))),
            ScheduleOption(tuple(at_times(times, CronDayFields("1,15")))),
        )
    else:
        days = week_days_of(request) or frozenset({1})
        weekly = tuple(at_times(times, CronDayFields(week_day=week_days(days))))
        twice = tuple(at_times(times, CronDayFields(week_day="1,4")))
        options = (
            ScheduleOption(weekly, fortnight=True),
            ScheduleOption(twice),
        )
    what = "month" if unit == "monthly" else "week"
    text = f"Does bi{unit} mean every second {what}, or twice a {what}?"
    return SchedulePlan(asks="which_meaning", text=text, options=options)


def _working_day(request: ScheduleRequest) -> SchedulePlan | None:
    found = request.first("working_day")
    if found is None:
        return None
    which = found[0]
    plan = SchedulePlan()
    times = times_of(request, plan)
    months = months_of(request) or _of_stretch(request, which)
    month = format_cron_field(months, 12, 1) if months else "*"
    if which == -1:
        plan.notes.append("working days are Monday to Friday, because holidays are not known here")
        plan.option = ScheduleOption(tuple(at_times(times, CronDayFields("LW", month))))
        return plan
    text = (
        f"A schedule cannot say the {ordinal(which)} working day of a month: "
        "which date that is depends on the weekends before it."
    )
    options: list[ScheduleOption] = []
    if which == 1:
        options.append(
            ScheduleOption(
                tuple(at_times(times, CronDayFields("1-3", month))),
                when=_FIRST_ONE,
                days="the first working day",
            )
        )
        options.append(ScheduleOption(tuple(at_times(times, CronDayFields("*", month, "1#1")))))
    options.append(ScheduleOption(tuple(at_times(times, CronDayFields(str(which), month)))))
    return SchedulePlan(refuses="not_sayable", text=text, options=tuple(options))


def _of_stretch(request: ScheduleRequest, which: int) -> frozenset[int] | None:
    """The first months of a period, or its last ones for "last day"."""
    units = {request.first("working_day")[1], *(unit for _, unit in request.said.get("every", ()))}
    units.add(request.first("soft"))
    if "quarter" in units:
        return frozenset({3, 6, 9, 12} if which == -1 else {1, 4, 7, 10})
    if "year" in units:
        return frozenset({12} if which == -1 else {1})
    return None


# On the 1st from Monday to Friday, or on a Monday that is the 2nd or 3rd.
_FIRST_ONE: Final = (
    "{{ (trigger.scheduled_for | date('%d%u')) in "
    "['011', '012', '013', '014', '015', '021', '031'] }}"
)


def _before_end(request: ScheduleRequest) -> SchedulePlan | None:
    count = request.first("before_end")
    if count is None:
        return None
    plan = SchedulePlan()
    times = times_of(request, plan)
    return SchedulePlan(
        refuses="not_sayable",
        text="A schedule can say the last day of a month, and no day counted back from it.",
        options=(
            ScheduleOption(tuple(at_times(times, CronDayFields("L")))),
            ScheduleOption(tuple(at_times(times, CronDayFields(str(28 - min(count, 20)))))),
        ),
    )


def _nth_or_other(request: ScheduleRequest) -> SchedulePlan | None:
    """``every second Friday``: of the month, or every other one."""
    found = request.first("nth_or_other")
    if found is None:
        return None
    which, other, days = found
    if which == 2 and ("soft" not in request.said or request.first("soft") == "week"):
        months = any(
            unit in {"month", "quarter", "year"} for _, unit in request.said.get("every", ())
        )
        if not months:
            return fortnight_plan(request, days)
    if len(days) == 1 and 1 <= which <= 5 and not other:
        request.said["nth"] = [((which,), tuple(days))]
        return None
    return SchedulePlan(refuses="not_sayable", text="A schedule cannot count days like this.")


def _times_per(request: ScheduleRequest) -> SchedulePlan | None:
    found = request.first("times")
    if found is None:
        return None
    count, unit = found
    if count == 1 or unit in {"second", "minute", "hour"}:
        return _evenly(request, count, unit)
    if unit == "day":
        return None if len(request.clock) == count else _which_times(request, count)
    said = week_days_of(request) if unit == "week" else None
    if said is not None and len(said) == count:
        return None
    if unit == "month" and sum(len(one) for one in request.said.get("month_days", ())) == count:
        return None
    if unit == "year" and len(request.said.get("date", ())) == count:
        return None
    return _which_days(request, count, unit)


def _evenly(request: ScheduleRequest, count: int, unit: str) -> SchedulePlan | None:
    if count == 1 and unit != "second":
        request.said.setdefault("every", []).append((1, unit))
        return None
    if unit in {"second", "minute"} or count > 60:
        return SchedulePlan(
            refuses="too_often", text="A schedule cannot fire more often than once a minute."
        )
    if 60 % count:
        return SchedulePlan(refuses="uneven", text=f"An hour cannot be cut evenly into {count}.")
    request.said.setdefault("every", []).append((60 // count, "minute"))
    return None


_SPREAD: Final = {2: (9, 17), 3: (9, 13, 17), 4: (8, 12, 16, 20)}
_WEEK_SPREAD: Final = {
    2: ({1, 4}, {2, 5}),
    3: ({1, 3, 5}, {2, 4, 6}),
    4: ({1, 2, 4, 5}, {1, 3, 5, 0}),
    5: ({1, 2, 3, 4, 5},),
    6: ({1, 2, 3, 4, 5, 6},),
    7: ({0, 1, 2, 3, 4, 5, 6},),
}


def _which_times(request: ScheduleRequest, count: int) -> SchedulePlan:
    days = week_days_of(request) or frozenset(range(7))
    fields = CronDayFields(week_day=week_days(days))
    rows = [[hour * 60 for hour in _SPREAD[count]]] if count in _SPREAD else []
    if MINUTES_OF_DAY % count == 0 and count <= 48:
        rows.append([*range(0, MINUTES_OF_DAY, MINUTES_OF_DAY // count)])
    options = tuple(ScheduleOption(tuple(at_times(row, fields))) for row in rows)
    return SchedulePlan(
        asks="which_times", text=f"At which {count} times of the day?", options=options
    )


def _which_days(request: ScheduleRequest, count: int, unit: str) -> SchedulePlan:
    plan = SchedulePlan()
    times = times_of(request, plan)
    options: list[ScheduleOption] = []
    if unit == "week":
        left_out = {day for one in request.said.get("without", ()) for day in one}
        for days in _WEEK_SPREAD.get(count, ()):
            if days & left_out:
                continue
            fields = CronDayFields(week_day=week_days(days))
            options.append(ScheduleOption(tuple(at_times(times, fields))))
    elif unit == "month" and count == 2:
        options.append(ScheduleOption(tuple(at_times(times, CronDayFields("1,15")))))
    elif unit == "year" and 12 % count == 0:
        month = f"*/{12 // count}"
        options.append(ScheduleOption(tuple(at_times(times, CronDayFields("1", month)))))
    text = f"On which {count} days of the {unit}?"
    return SchedulePlan(asks="which_days", text=text, options=tuple(options), notes=plan.notes)
