"""Wishes that need more than days and times: counts, working days, words of two meanings."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.phrases.crons import (
    MINUTES_OF_DAY,
    CronDayFields,
    at_times,
    format_cron_field,
    week_days,
)
from mainspring.authoring.phrases.echo import ordinal
from mainspring.authoring.phrases.plans import (
    ScheduleOption,
    SchedulePlan,
    fortnight_plan,
    months_of,
    times_of,
    week_days_of,
)
from mainspring.authoring.phrases.steps import plan_steps
from mainspring.authoring.phrases.wishes import ScheduleRequest


def plan_of(wish: ScheduleRequest) -> SchedulePlan | None:
    """What a wish comes to; none when it goes by the calendar alone."""
    once = "once" in wish.said
    if once and not wish.has_rhythm and "soft" not in wish.said:
        return SchedulePlan(
            refuses="not_recurring",
            text="This happens once, and a schedule is for what comes again. "
            "Run the automation by hand at that time.",
        )
    for special in (
        _impossible,
        _twofold,
        _working_day,
        _before_end,
        _nth_or_other,
        _times_per,
        plan_steps,
    ):
        plan = special(wish)
        if plan is not None:
            return plan
    return None


_OFTEN: Final = (
    ScheduleOption(("0 * * * *",)),
    ScheduleOption(("0 9 * * *",)),
    ScheduleOption(("0 9 * * 1-5",)),
    ScheduleOption(("0 9 * * 1",)),
)


def _impossible(wish: ScheduleRequest) -> SchedulePlan | None:
    if "impossible" in wish.said:
        return SchedulePlan(refuses="not_sayable", text=wish.first("impossible"))
    if "unknown_stretch" in wish.said:
        return SchedulePlan(refuses="not_sayable", text=wish.first("unknown_stretch"))
    if "no_time" in wish.said and not wish.clock:
        text = f"There is no time of day {wish.first('no_time')}. Which one is meant?"
        return SchedulePlan(asks="which_times", text=text)
    if "often" in wish.said and not wish.has_rhythm and not wish.clock and not wish.parts:
        return SchedulePlan(
            asks="how_often", text=f"How often is {wish.first('often')}?", options=_OFTEN
        )
    if "vague" in wish.said and wish.has_rhythm and not wish.clock:
        return SchedulePlan(
            asks="which_times", text=f"At what time exactly, {wish.first('vague')}?"
        )
    return None


def _twofold(wish: ScheduleRequest) -> SchedulePlan | None:
    unit = wish.first("twofold")
    if unit is None:
        return None
    plan = SchedulePlan()
    times = times_of(wish, plan)
    if unit == "monthly":
        options = (
            ScheduleOption(tuple(at_times(times, CronDayFields("1", "*/2")))),
            ScheduleOption(tuple(at_times(times, CronDayFields("1,15")))),
        )
    else:
        days = week_days_of(wish) or frozenset({1})
        weekly = tuple(at_times(times, CronDayFields(week_day=week_days(days))))
        twice = tuple(at_times(times, CronDayFields(week_day="1,4")))
        options = (
            ScheduleOption(weekly, fortnight=True),
            ScheduleOption(twice),
        )
    what = "month" if unit == "monthly" else "week"
    text = f"Does bi{unit} mean every second {what}, or twice a {what}?"
    return SchedulePlan(asks="which_meaning", text=text, options=options)


def _working_day(wish: ScheduleRequest) -> SchedulePlan | None:
    found = wish.first("working_day")
    if found is None:
        return None
    which = found[0]
    plan = SchedulePlan()
    times = times_of(wish, plan)
    months = months_of(wish) or _of_stretch(wish, which)
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


def _of_stretch(wish: ScheduleRequest, which: int) -> frozenset[int] | None:
    """The months in which a quarter or a year begins, or ends where the last day is meant."""
    units = {wish.first("working_day")[1], *(unit for _, unit in wish.said.get("every", ()))}
    units.add(wish.first("soft"))
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


def _before_end(wish: ScheduleRequest) -> SchedulePlan | None:
    count = wish.first("before_end")
    if count is None:
        return None
    plan = SchedulePlan()
    times = times_of(wish, plan)
    return SchedulePlan(
        refuses="not_sayable",
        text="A schedule can say the last day of a month, and no day counted back from it.",
        options=(
            ScheduleOption(tuple(at_times(times, CronDayFields("L")))),
            ScheduleOption(tuple(at_times(times, CronDayFields(str(28 - min(count, 20)))))),
        ),
    )


def _nth_or_other(wish: ScheduleRequest) -> SchedulePlan | None:
    """``every second Friday``: of the month, or every other one."""
    found = wish.first("nth_or_other")
    if found is None:
        return None
    which, other, days = found
    if which == 2 and ("soft" not in wish.said or wish.first("soft") == "week"):
        months = any(unit in {"month", "quarter", "year"} for _, unit in wish.said.get("every", ()))
        if not months:
            return fortnight_plan(wish, days)
    if len(days) == 1 and 1 <= which <= 5 and not other:
        wish.said["nth"] = [((which,), tuple(days))]
        return None
    return SchedulePlan(refuses="not_sayable", text="A schedule cannot count days like this.")


def _times_per(wish: ScheduleRequest) -> SchedulePlan | None:
    found = wish.first("times")
    if found is None:
        return None
    count, unit = found
    if count == 1 or unit in {"second", "minute", "hour"}:
        return _evenly(wish, count, unit)
    if unit == "day":
        return None if len(wish.clock) == count else _which_times(wish, count)
    said = week_days_of(wish) if unit == "week" else None
    if said is not None and len(said) == count:
        return None
    if unit == "month" and sum(len(one) for one in wish.said.get("month_days", ())) == count:
        return None
    if unit == "year" and len(wish.said.get("date", ())) == count:
        return None
    return _which_days(wish, count, unit)


def _evenly(wish: ScheduleRequest, count: int, unit: str) -> SchedulePlan | None:
    if count == 1 and unit != "second":
        wish.said.setdefault("every", []).append((1, unit))
        return None
    if unit in {"second", "minute"} or count > 60:
        return SchedulePlan(
            refuses="too_often", text="A schedule cannot fire more often than once a minute."
        )
    if 60 % count:
        return SchedulePlan(refuses="uneven", text=f"An hour cannot be cut evenly into {count}.")
    wish.said.setdefault("every", []).append((60 // count, "minute"))
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


def _which_times(wish: ScheduleRequest, count: int) -> SchedulePlan:
    days = week_days_of(wish) or frozenset(range(7))
    fields = CronDayFields(week_day=week_days(days))
    rows = [[hour * 60 for hour in _SPREAD[count]]] if count in _SPREAD else []
    if MINUTES_OF_DAY % count == 0 and count <= 48:
        rows.append([*range(0, MINUTES_OF_DAY, MINUTES_OF_DAY // count)])
    options = tuple(ScheduleOption(tuple(at_times(row, fields))) for row in rows)
    return SchedulePlan(
        asks="which_times", text=f"At which {count} times of the day?", options=options
    )


def _which_days(wish: ScheduleRequest, count: int, unit: str) -> SchedulePlan:
    plan = SchedulePlan()
    times = times_of(wish, plan)
    options: list[ScheduleOption] = []
    if unit == "week":
        left_out = {day for one in wish.said.get("without", ()) for day in one}
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
