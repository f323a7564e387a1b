"""Wishes that go by minutes or hours, all day or between two times."""

from __future__ import annotations

from mainspring.authoring.phrases.crons import (
    MINUTES_OF_DAY,
    CronDayFields,
    at_steps,
    at_times,
    format_cron_field,
    week_days,
)
from mainspring.authoring.phrases.echo import WORKING, format_clock, format_step
from mainspring.authoring.phrases.plans import (
    ScheduleOption,
    SchedulePlan,
    find_excluded_times,
    month_day_field,
    months_of,
    order_times,
    week_days_of,
)
from mainspring.authoring.phrases.wishes import ScheduleRequest


def _small_step(wish: ScheduleRequest) -> int | None:
    """The minutes between two moments, for what goes by minutes or hours."""
    for count, unit in wish.said.get("every", ()):
        if unit in {"minute", "hour"}:
            return int(count) * (60 if unit == "hour" else 1)
    said = wish.said.keys()
    if wish.first("soft") == "hour" and not wish.clock and not said & {"every", "times"}:
        return 60
    if said & {"every", "days", "month_days", "nth", "date", "edge", "times"}:
        return None
    return 60 if "mark" in wish.said and not wish.clock else None


def plan_steps(wish: ScheduleRequest) -> SchedulePlan | None:
    if any(unit == "secs" for _, unit in wish.said.get("every", ())):
        return SchedulePlan(
            refuses="too_often",
            text="A schedule cannot fire more often than once a minute.",
            options=(ScheduleOption(("* * * * *",)),),
        )
    hourly = set(wish.said.get("soft", ())) == {"hour"}
    if hourly and wish.clock and not wish.said.keys() & {"every", "times"}:
        return _hourly_or_at(wish)
    step = _small_step(wish)
    if step is None:
        if "working_hours" in wish.said or "window" in wish.said:
            return _window_alone(wish)
        return None
    if step % MINUTES_OF_DAY == 0:
        wish.said["every"] = [(step // MINUTES_OF_DAY, "day")]
        return None
    plan = SchedulePlan()
    days = _small_days(wish)
    bounds = _bounds(wish, plan)
    if bounds is None and MINUTES_OF_DAY % step:
        return _uneven(step, days)
    marks = [mark for marks in wish.said.get("mark", ()) for mark in marks]
    if marks and step % 60 and (60 % step or len({one % step for one in marks}) > 1):
        return _uneven_marks(step, days)
    minutes = _row(wish, step, bounds, marks, plan)
    out = find_excluded_times(wish, plan)
    minutes = [one for one in minutes if one % MINUTES_OF_DAY not in out]
    if not minutes:
        return SchedulePlan(
            refuses="uneven", text="There is no such moment between these two times."
        )
    if bounds is not None and bounds[1] > MINUTES_OF_DAY and days.week_day != "*":
        plan.notes.append("the hours after midnight are the first ones of the same days")
    plan.option = ScheduleOption(tuple(at_steps(minutes, days)))
    return plan


def _row(
    wish: ScheduleRequest,
    step: int,
    bounds: tuple[int, int] | None,
    marks: list[int],
    plan: SchedulePlan,
) -> list[int]:
    if marks and step % 60 == 0:
        begin, end = (0, MINUTES_OF_DAY - 1) if bounds is None else bounds
        if bounds is None and wish.clock:
            begin = wish.clock[0].hour * 60 % step
        hours = range(begin // 60 * 60, end + 1, step)
        return [
            hour + mark
            for hour in hours
            for mark in sorted(set(marks))
            if begin <= hour + mark <= end
        ]
    if bounds is None:
        first = (wish.clock[0].minutes if wish.clock else marks[0] if marks else 0) % step
        if wish.clock:
            plan.notes.append("it goes on through the day and the night, because no end was said")
        return [*range(first, MINUTES_OF_DAY, step)]
    # By the hour the last one counts; by the minute it would be a moment of the next stretch.
    until = bounds[1] + 1 if step % 60 == 0 and bounds[1] % MINUTES_OF_DAY else bounds[1]
    begin = bounds[0] + ((marks[0] - bounds[0]) % step if marks else 0)
    row = [*range(begin, until, step)]
    if row:
        plan.notes.append(
            f"the first is at {format_clock(row[0])}, the last at {format_clock(row[-1])}"
        )
    return row


def _bounds(wish: ScheduleRequest, plan: SchedulePlan) -> tuple[int, int] | None:
    found = wish.first("window")
    if found is not None:
        first, last = found
        return order_times(first, last)
    if "working_hours" in wish.said:
        plan.notes.append("working hours are Monday to Friday from 09:00 to 17:00")
        return 9 * 60, 17 * 60
    return None


def _small_days(wish: ScheduleRequest) -> CronDayFields:
    days = week_days_of(wish)
    if days is None and "working_hours" in wish.said:
        days = WORKING
    months = months_of(wish)
    month = format_cron_field(months, 12, 1) if months else "*"
    if "month_days" in wish.said and days is None:
        on = frozenset(day for one in wish.said["month_days"] for day in one)
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


def _hourly_or_at(wish: ScheduleRequest) -> SchedulePlan:
    """Both hourly and a time of day: a start, or the name of what is made."""
    days, times = _small_days(wish), sorted({one.minutes for one in wish.clock})
    return SchedulePlan(
        asks="which_times",
        text="Every hour, or only at the time that was said?",
        options=(
            ScheduleOption(tuple(at_steps([*range(times[0] % 60, MINUTES_OF_DAY, 60)], days))),
            ScheduleOption(tuple(at_times(times, days))),
        ),
    )


def _uneven_marks(step: int, days: CronDayFields) -> SchedulePlan:
    """Minutes of the hour that such a step does not come back to."""
    return SchedulePlan(
        refuses="uneven",
        text=f"{format_step(step).capitalize()} does not come back to the same minute of an hour.",
        options=(ScheduleOption(tuple(at_steps([*range(0, MINUTES_OF_DAY, step)], days))),)
        if MINUTES_OF_DAY % step == 0
        else (),
    )


def _window_alone(wish: ScheduleRequest) -> SchedulePlan | None:
    if wish.clock:
        return None
    plan = SchedulePlan()
    bounds = _bounds(wish, plan)
    days = _small_days(wish)
    assert bounds is not None
    if not wish.has_rhythm and "soft" not in wish.said:
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
