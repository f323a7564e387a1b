"""Wishes that go by days, weeks, months and years become expressions."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.phrases.crons import DayFields, at_times, week_days, written
from mainspring.authoring.phrases.plans import (
    DAY_WORDS,
    MONTH_WORDS,
    NTH_WORDS,
    WORKING,
    Option,
    Plan,
    at_words,
    days_words,
    each_month,
    fortnight_plan,
    joined,
    month_day_field,
    months_of,
    months_words,
    near_weeks,
    on_words,
    ordinal,
    times_of,
    unit_of,
    week_days_of,
)
from mainspring.authoring.phrases.wishes import Wish

_QUARTER_STARTS: Final = frozenset({1, 4, 7, 10})
_QUARTER_ENDS: Final = frozenset({3, 6, 9, 12})
_SOFT_UNITS: Final = frozenset({"day", "week", "month", "quarter", "year"})
_MANY_DATES: Final = 5
# Of so many days of a month nobody misses one that some months lack.
_MOST_DAYS: Final = 20
_LENGTHS: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def plan_days(wish: Wish) -> Plan:
    """What a wish by the calendar comes to."""
    unit = unit_of(wish)
    if unit is None and wish.first("soft") in _SOFT_UNITS:
        unit = (1, wish.first("soft"))
    for way in (_dates, _counted, _nths, _edges, _month_days, _weekly, _monthly):
        plan = way(wish, unit)
        if plan is not None:
            return plan
    return _daily(wish, unit)


def _made(plan: Plan, words: str, times: list[int], *fields: DayFields) -> Plan:
    crons = tuple(cron for one in fields for cron in at_times(times, one))
    plan.option = Option(f"{words}{at_words(times)}", crons)
    return plan


def _dates(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    dates = wish.said.get("date")
    if not dates:
        return None
    for day, month, _ in dates:
        if day > _LENGTHS.get(month, 31):
            text = f"{MONTH_WORDS[month - 1]} has no {ordinal(day)}."
            return Plan(refuses="not_sayable", text=text)
    plan = Plan()
    times = times_of(wish, plan)
    by_day: dict[int, set[int]] = {}
    for day, month, _ in dates:
        by_day.setdefault(day, set()).add(month)
    alike: dict[str, set[int]] = {}
    for day, months in by_day.items():
        alike.setdefault(written(months, 12, 1, stepped=False), set()).add(day)
    fields = [DayFields(month_day_field(frozenset(days)), month) for month, days in alike.items()]
    said = [f"{day} {MONTH_WORDS[month - 1]}" for day, month, _ in dates]
    words = joined(said) if len(said) < _MANY_DATES else f"each day from {said[0]} to {said[-1]}"
    made = _made(plan, f"every year on {words}", times, *fields)
    yearly = unit is not None and (unit[1] == "year" or unit == (6, "month"))
    counted = any(per == "year" for _, per in wish.said.get("times", ()))
    if yearly or counted or any(every for _, _, every in dates):
        return made
    if "once" in wish.said:
        return Plan(refuses="not_recurring", text="This happens once, and a schedule is for what "
                    "comes again.")  # fmt: skip
    assert made.option is not None
    return Plan(
        asks="once_or_yearly",
        text=f"Is {words} meant every year? What happens only once needs no schedule.",
        options=(made.option,),
    )


def _counted(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    """Every so many days, weeks or years, which cron cannot count."""
    if unit is None:
        return None
    count, what = unit
    if (count, what) in {(1, "fortnight"), (2, "week"), (14, "day")}:
        days = week_days_of(wish)
        plan = fortnight_plan(wish, days or frozenset({1}))
        if days is None:
            plan.notes.append("Monday, because no day was said")
        return plan
    if count == 1 or what in {"month", "quarter"}:
        return None
    if (count, what) == (7, "day"):
        return _weekly(wish, (1, "week"))
    plan = Plan()
    times = times_of(wish, plan)
    at = at_words(times)
    options: list[Option] = []
    if what == "day" and count < 16:
        fields = DayFields(f"*/{count}")
        days_words_ = ", ".join(ordinal(day) for day in range(1, 32, count)[:4])
        said = f"on the {days_words_} and so on of every month{at}"
        options.append(Option(said, tuple(at_times(times, fields))))
    if what == "week":
        options += near_weeks(wish, times)
    if what == "day" and count in {2, 3}:
        some = frozenset({1, 3, 5} if count == 2 else {1, 4})
        fields = DayFields(week_day=week_days(some))
        options.append(Option(days_words(some) + at, tuple(at_times(times, fields))))
    text = (
        f"Cron begins to count anew with each month and year and cannot say every {count} {what}s."
    )
    return Plan(refuses="not_sayable", text=text, options=tuple(options))


def _month_field(wish: Wish, unit: tuple[int, str] | None) -> tuple[str, str] | Plan:
    """The month field and the words for it."""
    months = months_of(wish)
    if months:
        return written(months, 12, 1, stepped=False), months_words(months)
    if unit is None or unit[1] in {"day", "week", "year"} or unit == (1, "month"):
        return "*", "every month"
    count = unit[0] * (3 if unit[1] == "quarter" else 1)
    if count == 12:
        return "1", "January"
    if 12 % count:
        text = f"A year cannot be cut evenly into stretches of {count} months."
        return Plan(refuses="uneven", text=text)
    chosen = frozenset(range(1, 13, count))
    if count == 1:
        return "*", "every month"
    words = "every quarter" if count == 3 else months_words(chosen)
    return written(chosen, 12, 1, stepped=False), words


def _nths(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    found = wish.said.get("nth")
    if not found:
        return None
    month = _month_field(wish, unit)
    if isinstance(month, Plan):
        return month
    plan = Plan()
    if month[1] == "every quarter":
        plan.notes.append("quarters begin in January, April, July and October")
    times = times_of(wish, plan)
    pairs = [(which, day) for nths, days in found for which in nths for day in days]
    field = ",".join(f"{day}L" if which == -1 else f"{day}#{which}" for which, day in pairs)
    words = joined([f"{NTH_WORDS[which]} {DAY_WORDS[day]}" for which, day in pairs])
    if any(which == 5 for which, _ in pairs):
        plan.notes.append("months without a fifth one are left out")
    return _made(plan, f"on the {words} of {month[1]}", times, DayFields("*", month[0], field))


def _edges(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    edges = [edge for edge in wish.said.get("edge", ()) if edge[1] != "week"]
    if not edges:
        return None
    plan = Plan()
    times = times_of(wish, plan)
    last, what = edges[0]
    which = "last" if last else "first"
    if what == "month":
        month = _month_field(wish, unit)
        if isinstance(month, Plan):
            return month
        days = {-1 if one else 1 for one, name in edges if name == "month"}
        days |= {day for one in wish.said.get("month_days", ()) for day in one}
        if month[1] == "every quarter" and last:
            month = (written(_QUARTER_ENDS, 12, 1, stepped=False), "every quarter")
        field = DayFields(month_day_field(frozenset(days)), month[0])
        words = on_words(frozenset(days)) if len(days) > 1 else f"{which} day"
        return _made(plan, f"on the {words} of {month[1]}", times, field)
    if what == "quarter":
        plan.notes.append("quarters begin in January, April, July and October")
        months = _QUARTER_ENDS if last else _QUARTER_STARTS
        field = DayFields("L" if last else "1", written(months, 12, 1, stepped=False))
        return _made(plan, f"on the {which} day of every quarter", times, field)
    field = DayFields("31", "12") if last else DayFields("1", "1")
    return _made(plan, f"on the {which} day of every year", times, field)


def _month_days(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    found = wish.said.get("month_days")
    if not found:
        return None
    days = frozenset(day for one in found for day in one)
    month = _month_field(wish, unit)
    if isinstance(month, Plan):
        return month
    plan = Plan()
    if month[1] == "every quarter":
        plan.notes.append("quarters begin in January, April, July and October")
    elif unit is not None and unit[1] == "month" and unit[0] > 1:
        plan.notes.append("counted from January, because no month was said")
    missing = sorted(day for day in days if day > 28)
    if missing and month[0] == "*" and len(days) < _MOST_DAYS:
        plan.notes.append(f"months without a {ordinal(missing[-1])} are left out")
    times = times_of(wish, plan)
    field = DayFields(month_day_field(days), month[0])
    return _made(plan, f"on the {on_words(days)} of {month[1]}", times, field)


def _weekly(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    days = week_days_of(wish)
    if days is None and unit != (1, "week"):
        return None
    plan = Plan()
    if days is not None and unit is not None and unit[1] in {"month", "quarter", "year"}:
        asked = _which_of_month(wish, days, unit)
        if asked is not None:
            return asked
    if days is None:
        plan.notes.append("Monday, because no day of the week was said")
        days = frozenset({1})
    elif "edge" in wish.said and "days" not in wish.said:
        plan.notes.append(f"{DAY_WORDS[min(days)]} is taken for that end of the week")
    months = months_of(wish)
    times = times_of(wish, plan)
    month = written(months, 12, 1, stepped=False) if months else "*"
    tail = f" in {months_words(months)}" if months else ""
    return _made(plan, days_words(days) + tail, times, DayFields("*", month, week_days(days)))


def _which_of_month(wish: Wish, days: frozenset[int], unit: tuple[int, str]) -> Plan | None:
    if len(days) > 1 or wish.days_are_every:
        return None
    month = _month_field(wish, unit)
    if isinstance(month, Plan):
        return month
    plan = Plan()
    times = times_of(wish, plan)
    at = at_words(times)
    day = min(days)
    options = tuple(
        Option(
            f"on the {NTH_WORDS[which]} {DAY_WORDS[day]} of {month[1]}{at}",
            tuple(
                at_times(
                    times, DayFields("*", month[0], f"{day}L" if which < 0 else f"{day}#{which}")
                )
            ),
        )
        for which in (1, 2, 3, 4, -1)
    )
    text = f"Which {DAY_WORDS[day]} of the {unit[1]}?"
    return Plan(asks="which_of_month", text=text, options=options, notes=plan.notes)


def _monthly(wish: Wish, unit: tuple[int, str] | None) -> Plan | None:
    months = months_of(wish)
    coarse = unit is not None and unit[1] in {"month", "quarter", "year"}
    if not coarse and (months is None or unit is not None):
        return None
    month = _month_field(wish, unit)
    if isinstance(month, Plan):
        return month
    plan = Plan()
    if unit is not None and unit[1] == "year" and not months:
        if unit[0] > 1:
            return None
        plan.notes.append("1 January, because no day was said")
        return _made(plan, "every year on 1 January", times_of(wish, plan), DayFields("1", "1"))
    if month[1] == "every quarter":
        plan.notes.append("quarters begin in January, April, July and October")
    elif unit is not None and unit[1] == "month" and unit[0] > 1:
        plan.notes.append("counted from January, because no month was said")
    plan.notes.append("the 1st of the month, because no day was said")
    words = each_month(months) if months else month[1]
    return _made(plan, f"on the 1st of {words}", times_of(wish, plan), DayFields("1", month[0]))


def _daily(wish: Wish, unit: tuple[int, str] | None) -> Plan:
    plan = Plan()
    times = times_of(wish, plan)
    months = months_of(wish)
    month = written(months, 12, 1, stepped=False) if months else "*"
    said = unit is not None or "times" in wish.said or "nightly" in wish.parts
    tail = f" in {months_words(months)}" if months else ""
    if said or "working_hours" in wish.said:
        days = WORKING if "working_hours" in wish.said else frozenset(range(7))
        return _made(plan, days_words(days) + tail, times, DayFields("*", month, week_days(days)))
    at = at_words(times)
    options = tuple(
        Option(days_words(days) + at, tuple(at_times(times, DayFields(week_day=week_days(days)))))
        for days in (frozenset(range(7)), WORKING, frozenset({1}))
    )
    return Plan(asks="how_often", text=f"On which days{at}?", options=options, notes=plan.notes)
