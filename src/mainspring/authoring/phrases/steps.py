"""Wishes that go by minutes or hours, all day or between two times."""

from __future__ import annotations

from typing import Final

from mainspring.authoring.phrases.crons import (
    MINUTES_OF_DAY,
    DayFields,
    at_steps,
    at_times,
    week_days,
    written,
)
from mainspring.authoring.phrases.plans import (
    DAY_WORDS,
    WORKING,
    Option,
    Plan,
    clock_words,
    joined,
    left_out_times,
    month_day_field,
    months_of,
    months_words,
    on_words,
    ordered,
    week_days_of,
)
from mainspring.authoring.phrases.wishes import Wish

_FEW: Final = 2


def _small_step(wish: Wish) -> int | None:
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


def plan_steps(wish: Wish) -> Plan | None:
    if any(unit == "secs" for _, unit in wish.said.get("every", ())):
        return Plan(
            refuses="too_often",
            text="A schedule cannot fire more often than once a minute.",
            options=(Option("every minute", ("* * * * *",)),),
        )
    step = _small_step(wish)
    if step is None:
        if "working_hours" in wish.said or "window" in wish.said:
            return _window_alone(wish)
        return None
    if step % MINUTES_OF_DAY == 0:
        wish.said["every"] = [(step // MINUTES_OF_DAY, "day")]
        return None
    plan = Plan()
    days, tail = _small_days(wish)
    bounds = _bounds(wish, plan)
    if bounds is None and MINUTES_OF_DAY % step:
        return _uneven(step, days)
    marks = [mark for marks in wish.said.get("mark", ()) for mark in marks]
    minutes, between = _row(wish, step, bounds, marks, plan)
    out = left_out_times(wish, plan)
    minutes = [one for one in minutes if one % MINUTES_OF_DAY not in out]
    if not minutes:
        return Plan(refuses="uneven", text="There is no such moment between these two times.")
    if bounds is not None and bounds[1] > MINUTES_OF_DAY and days.week_day != "*":
        plan.notes.append("the hours after midnight are the first ones of the same days")
    crons = at_steps(minutes, days)
    said = step_words(step) + (f" at minute {joined([str(one) for one in marks])}" if marks else "")
    if out:
        between += _left_out(minutes, step, out)
    plan.option = Option(f"{said}{between}{tail}", tuple(crons))
    return plan


def _row(
    wish: Wish, step: int, bounds: tuple[int, int] | None, marks: list[int], plan: Plan
) -> tuple[list[int], str]:
    if marks and step == 60:
        inside = range(24) if bounds is None else range(bounds[0] // 60, bounds[1] // 60 + 1)
        row = [hour % 24 * 60 + mark for hour in inside for mark in marks]
        if bounds is not None:
            row = [one for one in row if bounds[0] <= one <= bounds[1]]
        return row, "" if bounds is None else _between(bounds)
    if bounds is None:
        first = wish.clock[0].minutes % step if wish.clock else 0
        if wish.clock:
            plan.notes.append("it goes on through the day and the night, because no end was said")
        return [*range(first, MINUTES_OF_DAY, step)], ""
    # By the hour the last one counts; by the minute it would be a moment of the next stretch.
    until = bounds[1] + 1 if step % 60 == 0 and bounds[1] % MINUTES_OF_DAY else bounds[1]
    row = [*range(bounds[0], until, step)]
    if row:
        plan.notes.append(
            f"the first is at {clock_words(row[0])}, the last at {clock_words(row[-1])}"
        )
    return row, _between(bounds)


def _left_out(minutes: list[int], step: int, out: frozenset[int]) -> str:
    """The times that a row lacks, as words; the hours it still has are told by its moments."""
    missing = [one for one in range(0, MINUTES_OF_DAY, step) if one in out]
    if not missing:
        return ""
    if len(missing) <= _FEW:
        return f" except at {joined([clock_words(one) for one in missing])}"
    return f" except {_stretches(missing, step)}"


def _stretches(missing: list[int], step: int) -> str:
    """Neighbouring times as stretches; one over midnight is one."""
    runs: list[list[int]] = []
    for one in missing:
        if runs and one == runs[-1][1] + step:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == MINUTES_OF_DAY - step:
        runs[0][0] = runs.pop()[0]
    return joined([f"from {clock_words(first)} to {clock_words(last)}" for first, last in runs])


def _between(bounds: tuple[int, int]) -> str:
    return f" from {clock_words(bounds[0])} to {clock_words(bounds[1])}"


def _bounds(wish: Wish, plan: Plan) -> tuple[int, int] | None:
    found = wish.first("window")
    if found is not None:
        first, last = found
        return ordered(first, last)
    if "working_hours" in wish.said:
        plan.notes.append("working hours are Monday to Friday from 09:00 to 17:00")
        return 9 * 60, 17 * 60
    return None


def _small_days(wish: Wish) -> tuple[DayFields, str]:
    days = week_days_of(wish)
    if days is None and "working_hours" in wish.said:
        days = WORKING
    months = months_of(wish)
    month = written(months, 12, 1) if months else "*"
    tail = ""
    if days == WORKING:
        tail = " on weekdays"
    elif days is not None:
        tail = f" on {joined([DAY_WORDS[day] for day in sorted(days, key=lambda one: one or 7)])}"
    if months:
        tail += f" in {months_words(months)}"
    if "month_days" in wish.said and days is None:
        on = frozenset(day for one in wish.said["month_days"] for day in one)
        return DayFields(month_day_field(on), month), f" on the {on_words(on)} of the month{tail}"
    return DayFields("*", month, "*" if days is None else week_days(days)), tail


def step_words(step: int) -> str:
    if step % 60 == 0:
        return "every hour" if step == 60 else f"every {step // 60} hours"
    return "every minute" if step == 1 else f"every {step} minutes"


def _uneven(step: int, days: DayFields) -> Plan:
    near = sorted(
        (one for one in range(1, 721) if MINUTES_OF_DAY % one == 0), key=lambda one: abs(one - step)
    )
    options = tuple(
        Option(step_words(one), tuple(at_steps([*range(0, MINUTES_OF_DAY, one)], days)))
        for one in sorted(near[:2])
    )
    text = (
        f"A day cannot be cut evenly into stretches of {step_words(step).removeprefix('every ')}."
    )
    return Plan(refuses="uneven", text=text, options=options)


def _window_alone(wish: Wish) -> Plan | None:
    if wish.clock:
        return None
    plan = Plan()
    bounds = _bounds(wish, plan)
    days, tail = _small_days(wish)
    assert bounds is not None
    if not wish.has_rhythm and "soft" not in wish.said:
        return Plan(asks="")
    row = [*range(bounds[0], bounds[1] + 1, 60)]
    return Plan(
        asks="which_times",
        text=f"How often between {clock_words(bounds[0])} and {clock_words(bounds[1])}?",
        options=(
            Option(f"every hour{_between(bounds)}{tail}", tuple(at_steps(row, days))),
            Option(f"once at {clock_words(bounds[0])}{tail}", tuple(at_times(row[:1], days))),
        ),
    )
