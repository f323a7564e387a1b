"""Planning of requests, with exclusions: as cron where possible, else a question or a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.phrases.crons import CronDayFields, at_times, format_cron_field, week_days
from mainspring.authoring.phrases.schedule_plans import (
    ScheduleOption,
    SchedulePlan,
    find_excluded_times,
    fortnight_plan,
    month_day_field,
    months_of,
    near_weeks,
    times_of,
    unit_of,
    week_days_of,
)
from mainspring.authoring.phrases.schedule_requests import ScheduleRequest
from mainspring.authoring.phrases.schedule_sentences import (
    DAY_WORDS,
    MONTH_WORDS,
    WORKING,
    format_clock,
    join_with_and,
    ordinal,
)
from mainspring.authoring.phrases.special import plan_of

# Planning of requests by days, weeks, months and years.

_QUARTERS: Final = "quarters begin in January, April, July and October"
_QUARTER_STARTS: Final = frozenset({1, 4, 7, 10})
_QUARTER_ENDS: Final = frozenset({3, 6, 9, 12})
_SOFT_UNITS: Final = frozenset({"day", "week", "month", "quarter", "year"})
_MANY_DATES: Final = 5
# An interval of several days or weeks cannot be combined with these.
_NARROWING: Final = frozenset(
    {
        "without",
        "without_times",
        "without_months",
        "without_month_days",
        "without_nth",
        "months",
        "month_days",
        "nth",
        "edge",
        "times",
        "window",
        "working_hours",
        "soft",
        "limit",
    }
)
# With this many days of a month, one that some months lack does not matter.
_MOST_DAYS: Final = 20
_LENGTHS: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


@dataclass(frozen=True, slots=True)
class _MonthField:
    """The month field of a request, and its variant for the last day of a period."""

    field: str
    # Of a quarter, half-year or year; empty for single months.
    ends: str = ""
    quarterly: bool = False


def plan_days(request: ScheduleRequest) -> SchedulePlan:
    """Plan a calendar request."""
    unit = unit_of(request)
    if unit is None and request.first("soft") in _SOFT_UNITS:
        unit = (1, request.first("soft"))
    for way in (
        _dates,
        _plan_interval,
        _which_month,
        _nths,
        _edges,
        _month_days,
        _weekly,
        _monthly,
    ):
        plan = way(request, unit)
        if plan is not None:
            return plan
    return _daily(request, unit)


def _set_option(plan: SchedulePlan, times: list[int], *fields: CronDayFields) -> SchedulePlan:
    plan.option = ScheduleOption(tuple(cron for one in fields for cron in at_times(times, one)))
    return plan


def _dates(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    dates = request.said.get("date")
    if not dates:
        return None
    for day, month, _ in dates:
        if day > _LENGTHS.get(month, 31):
            text = f"{MONTH_WORDS[month - 1]} has no {ordinal(day)}."
            return SchedulePlan(refuses="not_sayable", text=text)
    plan = SchedulePlan()
    times = times_of(request, plan)
    by_day: dict[int, set[int]] = {}
    for day, month, _ in dates:
        by_day.setdefault(day, set()).add(month)
    alike: dict[str, set[int]] = {}
    for day, months in by_day.items():
        alike.setdefault(format_cron_field(months, 12, 1, stepped=False), set()).add(day)
    fields = [
        CronDayFields(month_day_field(frozenset(days)), month) for month, days in alike.items()
    ]
    made = _set_option(plan, times, *fields)
    yearly = unit is not None and (unit[1] == "year" or unit == (6, "month"))
    counted = any(per == "year" for _, per in request.said.get("times", ()))
    if yearly or counted or any(every for _, _, every in dates):
        return made
    if "once" in request.said:
        return SchedulePlan(
            refuses="not_recurring",
            text="This happens once, and a schedule is for what comes again.",
        )
    assert made.option is not None
    return SchedulePlan(
        asks="once_or_yearly",
        text=f"Is {_short(dates)} meant every year? What happens only once needs no schedule.",
        options=(made.option,),
    )


def _short(dates: Sequence[tuple[int, int, bool]]) -> str:
    said = [f"{day} {MONTH_WORDS[month - 1]}" for day, month, _ in dates]
    return (
        join_with_and(said) if len(said) < _MANY_DATES else f"each day from {said[0]} to {said[-1]}"
    )


def _plan_interval(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    """Plan an interval in days, weeks or years, which cron cannot count."""
    if unit is None:
        return None
    count, what = unit
    if (count, what) in {(1, "fortnight"), (2, "week"), (14, "day")}:
        days = week_days_of(request)
        plan = fortnight_plan(request, days or frozenset({1}))
        if days is None:
            plan.notes.append("Monday, because no day was given")
        return plan
    if count == 1 or what in {"month", "quarter"}:
        return None
    if (count, what) == (7, "day"):
        return _weekly(request, (1, "week"))
    plan = SchedulePlan()
    times = times_of(request, plan)
    if what in {"day", "week"} and not request.said.keys() & _NARROWING:
        return _every_few(request, count, what, times, plan)
    options: list[ScheduleOption] = []
    if what == "day" and count < 16:
        options.append(ScheduleOption(tuple(at_times(times, CronDayFields(f"*/{count}")))))
    if what == "week":
        options += near_weeks(request, times)
    if what == "day" and count in {2, 3}:
        some = frozenset({1, 3, 5} if count == 2 else {1, 4})
        fields = CronDayFields(week_day=week_days(some))
        options.append(ScheduleOption(tuple(at_times(times, fields))))
    text = f"Cron restarts its count each month and year and cannot express every {count} {what}s."
    return SchedulePlan(refuses="not_sayable", text=text, options=tuple(options))


def _every_few(
    request: ScheduleRequest, count: int, what: str, times: list[int], plan: SchedulePlan
) -> SchedulePlan | None:
    """Plan an interval of several days or weeks, counted from the next such day."""
    days = week_days_of(request)
    if what == "day":
        if days is not None:
            return None
        fields = CronDayFields()
    else:
        if days is None:
            plan.notes.append("Monday, because no day was given")
        fields = CronDayFields(week_day=week_days(days or frozenset({1})))
    plan.option = ScheduleOption(tuple(at_times(times, fields)), every=f"{count}{what[0]}")
    return plan


def _month_field(
    request: ScheduleRequest, unit: tuple[int, str] | None
) -> _MonthField | SchedulePlan:
    """Return the requested months, or the first of each period."""
    months = months_of(request)
    if months:
        return _MonthField(format_cron_field(months, 12, 1, stepped=False))
    if unit is None or unit[1] in {"day", "week"} or unit == (1, "month"):
        return _MonthField("*")
    count = unit[0] * {"quarter": 3, "year": 12}.get(unit[1], 1)
    if 12 % count:
        text = f"A year cannot be cut evenly into stretches of {count} months."
        return SchedulePlan(refuses="uneven", text=text)
    ends = (
        format_cron_field(range(count, 13, count), 12, 1, stepped=False)
        if count in {3, 6, 12}
        else ""
    )
    return _MonthField(
        format_cron_field(range(1, 13, count), 12, 1, stepped=False), ends, count == 3
    )


def _nth_fields(month: _MonthField, pairs: Sequence[tuple[int, int]]) -> list[CronDayFields]:
    """Plan days such as the second Monday; a quarter's last one is in its last month."""
    by_month: dict[str, list[str]] = {}
    for which, day in pairs:
        field = month.ends if month.ends and which == -1 else month.field
        by_month.setdefault(field, []).append(f"{day}L" if which == -1 else f"{day}#{which}")
    return [CronDayFields("*", field, ",".join(days)) for field, days in by_month.items()]


def _nths(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    found = request.said.get("nth")
    if not found:
        return None
    month = _month_field(request, unit)
    if isinstance(month, SchedulePlan):
        return month
    plan = SchedulePlan()
    pairs = [(which, day) for nths, days in found for which in nths for day in days]
    fifth = any(which == 5 for which, _ in pairs)
    if month.ends and fifth:
        what = "quarter" if month.quarterly else "year"
        text = f"Which month has the fifth one of a {what} differs, and a schedule cannot tell."
        return SchedulePlan(refuses="not_sayable", text=text)
    if month.quarterly:
        plan.notes.append(_QUARTERS)
    if fifth:
        plan.notes.append("months without a fifth one are skipped")
    times = times_of(request, plan)
    return _set_option(plan, times, *_nth_fields(month, pairs))


def _edges(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    edges = [edge for edge in request.said.get("edge", ()) if edge[1] != "week"]
    if not edges:
        return None
    plan = SchedulePlan()
    times = times_of(request, plan)
    last, what = edges[0]
    if what == "month":
        month = _month_field(request, unit)
        if isinstance(month, SchedulePlan):
            return month
        days = {-1 if one else 1 for one, name in edges if name == "month"}
        days |= {day for one in request.said.get("month_days", ()) for day in one}
        months = month.ends if month.ends and last else month.field
        field = CronDayFields(month_day_field(frozenset(days)), months)
        return _set_option(plan, times, field)
    if what == "quarter":
        plan.notes.append(_QUARTERS)
        ends = _QUARTER_ENDS if last else _QUARTER_STARTS
        field = CronDayFields("L" if last else "1", format_cron_field(ends, 12, 1, stepped=False))
        return _set_option(plan, times, field)
    return _set_option(plan, times, CronDayFields("31", "12") if last else CronDayFields("1", "1"))


def _month_days(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    found = request.said.get("month_days")
    if not found:
        return None
    days = frozenset(day for one in found for day in one)
    month = _month_field(request, unit)
    if isinstance(month, SchedulePlan):
        return month
    if unit == (1, "year") and not months_of(request) and days != {1}:
        return _in_which_month(request, days, "year", 12)
    plan = SchedulePlan()
    if month.quarterly:
        plan.notes.append(_QUARTERS)
    elif unit is not None and unit[1] == "month" and unit[0] > 1:
        plan.notes.append("counted from January, because no month was given")
    missing = sorted(day for day in days if day > 28)
    if missing and month.field == "*" and len(days) < _MOST_DAYS:
        plan.notes.append(f"months without a {ordinal(missing[-1])} are skipped")
    times = times_of(request, plan)
    return _set_option(plan, times, CronDayFields(month_day_field(days), month.field))


def _which_month(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    """The 15th of a quarter: ask in which of its three months."""
    found = request.first("quarter_day")
    if found is None:
        return None
    return _in_which_month(request, frozenset({found}), "quarter", 3)


def _in_which_month(
    request: ScheduleRequest, days: frozenset[int], what: str, months: int
) -> SchedulePlan:
    """A day of the month with a period that has it in each month."""
    plan = SchedulePlan()
    times = times_of(request, plan)
    day = month_day_field(days)
    options = tuple(
        ScheduleOption(
            tuple(
                at_times(
                    times,
                    CronDayFields(
                        day, format_cron_field(range(one, 13, months), 12, 1, stepped=False)
                    ),
                )
            )
        )
        for one in range(1, months + 1)
        if all(date <= _LENGTHS.get(one, 31) or months < 12 for date in days)
    )
    text = f"In which month of the {what}?"
    return SchedulePlan(asks="which_of_month", text=text, options=options, notes=plan.notes)


def _weekly(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    days = week_days_of(request)
    if days is None and unit != (1, "week"):
        return None
    plan = SchedulePlan()
    if days is not None and unit is not None and unit[1] in {"month", "quarter", "year"}:
        asked = _which_of_month(request, days, unit)
        if asked is not None:
            return asked
    if days is None:
        plan.notes.append("Monday, because no weekday was given")
        days = frozenset({1})
    elif "edge" in request.said and "days" not in request.said:
        plan.notes.append(f"{DAY_WORDS[min(days)]} is taken for that end of the week")
    months = months_of(request)
    times = times_of(request, plan)
    month = format_cron_field(months, 12, 1, stepped=False) if months else "*"
    return _set_option(plan, times, CronDayFields("*", month, week_days(days)))


def _which_of_month(
    request: ScheduleRequest, days: frozenset[int], unit: tuple[int, str]
) -> SchedulePlan | None:
    if len(days) > 1 or request.days_are_every:
        return None
    month = _month_field(request, unit)
    if isinstance(month, SchedulePlan):
        return month
    plan = SchedulePlan()
    times = times_of(request, plan)
    day = min(days)
    options = tuple(
        ScheduleOption(tuple(at_times(times, _nth_fields(month, [(which, day)])[0])))
        for which in (1, 2, 3, 4, -1)
    )
    text = f"Which {DAY_WORDS[day]} of the {unit[1]}?"
    return SchedulePlan(asks="which_of_month", text=text, options=options, notes=plan.notes)


def _monthly(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan | None:
    months = months_of(request)
    coarse = unit is not None and unit[1] in {"month", "quarter", "year"}
    if not coarse and (months is None or unit is not None):
        return None
    month = _month_field(request, unit)
    if isinstance(month, SchedulePlan):
        return month
    plan = SchedulePlan()
    if unit is not None and unit[1] == "year" and not months:
        if unit[0] > 1:
            return None
        plan.notes.append("1 January, because no day was given")
        return _set_option(plan, times_of(request, plan), CronDayFields("1", "1"))
    if month.quarterly:
        plan.notes.append(_QUARTERS)
    elif unit is not None and unit[1] == "month" and unit[0] > 1:
        plan.notes.append("counted from January, because no month was given")
    plan.notes.append("the 1st of the month, because no day was given")
    return _set_option(plan, times_of(request, plan), CronDayFields("1", month.field))


def _daily(request: ScheduleRequest, unit: tuple[int, str] | None) -> SchedulePlan:
    plan = SchedulePlan()
    times = times_of(request, plan)
    months = months_of(request)
    month = format_cron_field(months, 12, 1, stepped=False) if months else "*"
    said = unit is not None or "times" in request.said or "nightly" in request.parts
    if said or "working_hours" in request.said:
        days = WORKING if "working_hours" in request.said else frozenset(range(7))
        return _set_option(plan, times, CronDayFields("*", month, week_days(days)))
    options = tuple(
        ScheduleOption(tuple(at_times(times, CronDayFields(week_day=week_days(days)))))
        for days in (frozenset(range(7)), WORKING, frozenset({1}))
    )
    at = join_with_and([format_clock(one) for one in times])
    return SchedulePlan(
        asks="how_often", text=f"On which days at {at}?", options=options, notes=plan.notes
    )


WITHOUT: Final = frozenset(
    {"without", "without_times", "without_months", "without_month_days", "without_nth"}
)
# Kinds that select days of a month or a year.
_DATES: Final = frozenset(
    {"month_days", "date", "working_day", "before_end", "nth_or_other", "twofold"}
)
_COARSE: Final = frozenset({"month", "quarter", "year"})
_ASIDE: Final = frozenset({"limit", "own_zone", "vague", "once"})
_ALL_DAYS: Final = frozenset(range(7))
_NTHS: Final = frozenset(range(1, 6))


def plan_schedule(request: ScheduleRequest) -> SchedulePlan:
    """Plan a request with its exclusions."""
    plan = _exceptions(request) or plan_of(request) or plan_days(request)
    if plan.option is not None and not plan.option.crons:
        return _nothing_left()
    return plan


def _exceptions(request: ScheduleRequest) -> SchedulePlan | None:
    if not request.said.keys() & WITHOUT or "impossible" in request.said:
        return None
    if _is_alone(request):
        return _which_days(request)
    for way in (_without_days, _without_month_days, _without_nths, _without_times):
        plan = way(request)
        if plan is not None:
            return plan
    return None


def find_excluded_days(request: ScheduleRequest) -> frozenset[int]:
    return frozenset(day for days in request.said.get("without", ()) for day in days)


def _is_alone(request: ScheduleRequest) -> bool:
    """Report whether there is only an exclusion, or an hour that may belong to it."""
    if request.said.keys() - WITHOUT - _ASIDE or request.parts:
        return False
    return not request.clock or request.leaves_out_first


def _which_days(request: ScheduleRequest) -> SchedulePlan:
    plan = SchedulePlan()
    left = find_excluded_days(request)
    if not left:
        return SchedulePlan(
            asks="which_days",
            text="The request says what to skip, but not how often to run. How often?",
            options=(_on_days(request, _ALL_DAYS, plan), _on_days(request, WORKING, plan)),
        )
    rest = [one for one in (_ALL_DAYS - left, WORKING - left) if one]
    options = tuple(_on_days(request, one, plan) for one in dict.fromkeys(rest))
    return SchedulePlan(
        asks="which_days",
        text="The request says which days to skip, but not on which to run. On which days?",
        options=options,
    )


def _on_days(request: ScheduleRequest, days: frozenset[int], plan: SchedulePlan) -> ScheduleOption:
    times = times_of(request, plan)
    fields = CronDayFields(week_day=week_days(days))
    return ScheduleOption(tuple(at_times(times, fields)))


def _nothing_left() -> SchedulePlan:
    return SchedulePlan(
        asks="which_days", text="The exception cancels the whole schedule. When should it run?"
    )


def _unsayable(request: ScheduleRequest, text: str, *kinds: str) -> SchedulePlan:
    """No schedule can express this exclusion; the schedule without it is the closest."""
    plain = deepcopy(request)
    for kind in kinds:
        plain.said.pop(kind, None)
    plan = plan_of(plain) or plan_days(plain)
    options = plan.options if plan.option is None else (plan.option,)
    return SchedulePlan(refuses="not_sayable", text=text, options=options)


def _without_days(request: ScheduleRequest) -> SchedulePlan | None:
    left = find_excluded_days(request)
    if not left:
        return None
    said = frozenset(day for days in request.said.get("days", ()) for day in days)
    if said and not said - left:
        return _nothing_left()
    named = {day for _, days in request.said.get("nth", ()) for day in days}
    if named and not named & left:
        del request.said["without"]
        return None
    edges = any(unit != "week" for _, unit in request.said.get("edge", ()))
    coarse = (unit_of(request) or (1, request.first("soft")))[1] in _COARSE
    if "nth_or_other" not in request.said and not said and _is_weekly(request):
        return _which_day(request, left)
    if named or edges or request.said.keys() & _DATES or (coarse and not said):
        text = "A schedule cannot leave days of the week out of days of the month."
        return _unsayable(request, text, "without")
    return None


def _is_weekly(request: ScheduleRequest) -> bool:
    return (unit_of(request) or (1, request.first("soft"))) == (
        1,
        "week",
    ) and "times" not in request.said


def _which_day(request: ScheduleRequest, left: frozenset[int]) -> SchedulePlan:
    """Once a week, on any day but some."""
    plan = SchedulePlan()
    rest = sorted(_ALL_DAYS - left, key=lambda day: day or 7)
    options = tuple(_on_days(request, frozenset({day}), plan) for day in rest)
    return SchedulePlan(asks="which_days", text="On which day of the week?", options=options)


def _without_month_days(request: ScheduleRequest) -> SchedulePlan | None:
    found = request.said.get("without_month_days")
    if not found:
        return None
    left = frozenset(day for days in found for day in days)
    there = request.said.get("month_days")
    other = request.said.keys() & (_DATES - {"month_days"} | {"days", "nth", "edge", "without"})
    unit = unit_of(request) or (1, request.first("soft") or "day")
    coarse = unit[1] not in {"day", "hour"} or unit[0] > 1
    if -1 in left or other or (coarse and not there):
        text = "A schedule cannot leave these days of the month out."
        return _unsayable(request, text, "without_month_days")
    days = frozenset(day for one in there for day in one) if there else frozenset(range(1, 32))
    if not days - left:
        return _nothing_left()
    request.said["month_days"] = [days - left]
    return None


def _without_nths(request: ScheduleRequest) -> SchedulePlan | None:
    found = request.said.get("without_nth")
    if not found:
        return None
    said = frozenset(day for days in request.said.get("days", ()) for day in days)
    left: set[tuple[int, int]] = {
        (nth, day) for which, days in found for nth in which for day in days or said
    }
    sayable = said and not any(nth == -1 or day not in said for nth, day in left)
    if not sayable or request.said.keys() & (_DATES | {"nth", "edge"}) or request.is_small:
        text = "A schedule cannot leave one of the weeks of a month out of this."
        return _unsayable(request, text, "without_nth")
    kept: list[Any] = [
        (tuple(sorted(_NTHS - {nth for nth, one in left if one == day})), (day,))
        for day in sorted(said)
    ]
    del request.said["days"]
    request.said["nth"] = kept
    return None


def _without_times(request: ScheduleRequest) -> SchedulePlan | None:
    """Fixed times that are all excluded again, and limits that leave the time open."""
    if request.is_small or "without_times" not in request.said:
        return None
    bounds = [how for how, _ in request.said["without_times"] if how in ("before", "after")]
    hourly = request.first("soft") == "hour" or request.said.keys() & {
        "mark",
        "working_hours",
        "window",
    }
    if bounds and not request.clock and not request.parts and not hourly:
        text = f"At what time exactly, not {bounds[0]} the one in the request?"
        return SchedulePlan(asks="which_times", text=text)
    if not request.clock:
        return None
    out = find_excluded_times(request)
    if all(one.minutes in out for one in request.clock):
        return SchedulePlan(
            asks="which_times",
            text="The exception cancels this time of day. Which one do you mean?",
        )
    return None
