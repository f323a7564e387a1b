"""Describing a schedule in a sentence, from its cron expressions alone.

The displayed text and the fire times have one source, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from mainspring.authoring.phrases.crons import MINUTES_OF_DAY
from mainspring.authoring.phrases.normalization import DAYS, MONTHS
from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import Cron, describe, parse_cron

WORKING: Final = frozenset({1, 2, 3, 4, 5})
DAY_WORDS: Final = (
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
)
MONTH_WORDS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
NTH_WORDS: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
# Above this many days of a month, the missing ones are listed.
_MANY_DAYS: Final = 20
_MANY_MONTHS: Final = 8
_MOST_TIMES: Final = 4
_MOST_LISTED: Final = 12
_ETC: Final = re.compile(r"Etc/GMT([+-])(\d{1,2})")
_PART: Final = re.compile(r"(\*|[A-Z]{3}|\d{1,2})(?:-([A-Z]{3}|\d{1,2}))?(?:/(\d{1,2}))?")
_NTH: Final = re.compile(r"([A-Z]{3}|\d)(?:#(\d)|(L))")

# The day, month and weekday fields of an expression.
Days = tuple[str, str, str]


def say_crons(crons: Iterable[str], days_left: str = "") -> str:
    """``every weekday at 09:00``: describe expressions without their zone.

    ``days_left`` names the days of a month that a condition leaves.
    """
    written = tuple(crons)
    try:
        read = [parse_cron(one) for one in written]
    except Invalid:
        return ", ".join(written)
    times: dict[Days, set[int]] = {}
    for one in read:
        minutes, hours = one.hands
        days = (one.fields[2], one.fields[3], one.fields[4])
        times.setdefault(days, set()).update(
            hour * 60 + minute for hour in hours for minute in minutes
        )
    alike: dict[tuple[int, ...], list[Days]] = {}
    for days, row in times.items():
        alike.setdefault(tuple(sorted(row)), []).append(days)
    said = [_join_times_and_days(row, days, days_left) for row, days in alike.items()]
    if any(one is None for one in said):
        return join_with_and([_describe_cron(one) for one in read])
    return join_with_and([one for one in said if one is not None])


def format_zone(zone: str) -> str:
    """Format a zone; POSIX-style ones also show their offset."""
    found = _ETC.fullmatch(zone)
    if found is None:
        return zone
    return f"UTC{'-' if found[1] == '+' else '+'}{found[2]} ({zone})"


def say_schedule(crons: Iterable[str], zone: str) -> str:
    return f"{say_crons(crons)}, {format_zone(zone)}"


def join_with_and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def format_clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def ordinal(day: int) -> str:
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def format_days(days: frozenset[int]) -> str:
    if len(days) == 7:
        return "every day"
    if days == WORKING:
        return "every weekday"
    return f"every {_day_names(days)}"


def format_step(step: int) -> str:
    if step % 60 == 0:
        return "every hour" if step == 60 else f"every {step // 60} hours"
    return "every minute" if step == 1 else f"every {step} minutes"


def _day_names(days: frozenset[int]) -> str:
    return join_with_and([DAY_WORDS[day] for day in sorted(days, key=lambda day: day or 7)])


def _months_words(months: frozenset[int]) -> str:
    if _MANY_MONTHS < len(months) < 12:
        return f"every month but {_months_words(frozenset(range(1, 13)) - months)}"
    return join_with_and([MONTH_WORDS[month - 1] for month in sorted(months)])


def _describe_cron(cron: Cron) -> str:
    words = describe(cron)
    return words[:1].lower() + words[1:]


def _join_times_and_days(row: Sequence[int], groups: Sequence[Days], days_left: str) -> str | None:
    """Describe times and days; None when there is no wording for them."""
    times, days = _times(row), _days(groups, days_left)
    if times is None or days is None:
        return None
    if times.startswith("at "):
        return f"{days} {times}"
    for every, on in (("every day", ""), ("every weekday", " on weekdays"), ("every year", "")):
        if days.startswith(every):
            return f"{times}{on}{days.removeprefix(every)}"
    return f"{times} on {days.removeprefix('every ').removeprefix('on ')}"


def _times(row: Sequence[int]) -> str | None:
    if len(row) <= _MOST_TIMES:
        return f"at {join_with_and([format_clock(one) for one in row])}"
    return (
        _even(row)
        or _describe_spaced_hours(row)
        or _grid(row)
        or (
            f"at {join_with_and([format_clock(one) for one in row])}"
            if len(row) <= _MOST_LISTED
            else None
        )
    )


def _even(row: Sequence[int]) -> str | None:
    """Describe evenly spaced times."""
    step = row[1] - row[0]
    if any(later - earlier != step for earlier, later in pairwise(row)):
        return None
    if len(row) * step != MINUTES_OF_DAY or row[0] >= max(60, step):
        return f"{format_step(step)}{_from_to(row[0], row[-1])}"
    if row[0] == 0:
        return format_step(step)
    if step % 60 == 0 and row[0] < 60:
        return f"{format_step(step)} at minute {row[0]}"
    return f"{format_step(step)}{_from_to(row[0], row[-1])}"


def _describe_spaced_hours(row: Sequence[int]) -> str | None:
    """Describe the same minutes of evenly spaced hours."""
    minutes = sorted({one % 60 for one in row})
    hours = sorted({one // 60 for one in row})
    if len(hours) < 3 or len(row) != len(minutes) * len(hours):
        return None
    step = hours[1] - hours[0]
    if len(minutes) < 2 or hours != [*range(hours[0], hours[-1] + 1, step)]:
        return None
    apart = minutes[1] - minutes[0]
    if minutes == [*range(0, 60, apart)]:
        return None
    text = f"{format_step(step * 60)} at minute {join_with_and([str(one) for one in minutes])}"
    whole = hours[0] == 0 and len(hours) * step == 24
    return text if whole else f"{text}{_from_to(row[0], row[-1])}"


def _grid(row: Sequence[int]) -> str | None:
    """Describe an even grid with gaps."""
    step = min(later - earlier for earlier, later in pairwise(row))
    grid = [*range(row[0] % step, MINUTES_OF_DAY, step)]
    if MINUTES_OF_DAY % step or not set(row) <= set(grid):
        return None
    there, missing = _runs(row, step), [one for one in grid if one not in set(row)]
    gaps = _runs(missing, step)
    mostly = grid[0] == 0 and len(missing) < len(row) and len(gaps) <= 2
    if len(there) == 1 and not mostly:
        return f"{format_step(step)}{_from_to(*there[0])}"
    if not mostly:
        return None
    if len(missing) <= 2:
        return (
            f"{format_step(step)} except at {join_with_and([format_clock(one) for one in missing])}"
        )
    return f"{format_step(step)} except {join_with_and([_from_to(*one).strip() for one in gaps])}"


def _runs(row: Sequence[int], step: int) -> list[tuple[int, int]]:
    """Group consecutive times into ranges, across midnight too."""
    runs: list[list[int]] = []
    for one in row:
        if runs and one == runs[-1][1] + step:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    if len(runs) > 1 and runs[-1][1] + step - MINUTES_OF_DAY == runs[0][0]:
        runs[0][0] = runs.pop()[0]
    return [(first, last) for first, last in runs]


def _from_to(first: int, last: int) -> str:
    return f" from {format_clock(first)} to {format_clock(last)}"


def _days(groups: Sequence[Days], days_left: str) -> str | None:
    dates = [_dates(*one) for one in groups]
    lone = len(groups) > 1 or len({month for month, _ in dates[0]}) == 1
    if all(dates) and lone and not days_left:
        return f"every year {_in_year({pair for one in dates for pair in one})}"
    said = [_day_group(*one, days_left) for one in groups]
    return None if None in said else join_with_and([one for one in said if one is not None])


def _dates(month_day: str, month: str, week_day: str) -> set[tuple[int, int]]:
    """Return the months and days of single dates; None for other expressions."""
    if week_day != "*" or month == "*":
        return set()
    months, days = _values(month, 1, 12, MONTHS), _values(month_day, 1, 31)
    if not months or not days or month_day == "*":
        return set()
    return {(one, day) for one in months for day in days}


def _in_year(dates: set[tuple[int, int]]) -> str:
    """Order dates, with more than two in sequence as a range."""
    year = [
        (month, day)
        for month in range(1, 13)
        for day in range(1, 32)
        if day <= {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}.get(month, 31)
    ]
    runs: list[list[int]] = []
    for place, one in enumerate(year):
        if one not in dates:
            continue
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == len(year) - 1:
        runs[0][0] = runs.pop()[0]
    said, singles = [], []
    for first, last in runs:
        # A range across the end of the year starts after it ends.
        more = (last - first) % len(year)
        if more > 1:
            said.append(f"from {_date(year[first])} to {_date(year[last])}")
        else:
            singles += [_date(year[place]) for place in dict.fromkeys((first, last))]
    return join_with_and([*([f"on {join_with_and(singles)}"] if singles else []), *said])


def _date(one: tuple[int, int]) -> str:
    return f"{one[1]} {MONTH_WORDS[one[0] - 1]}"


def _day_group(month_day: str, month: str, week_day: str, days_left: str) -> str | None:
    months = _values(month, 1, 12, MONTHS)
    if months is None or (month_day != "*" and week_day != "*"):
        return None
    of = _months_words(months) if len(months) < 12 else ""
    if month_day != "*":
        dates = days_left or _month_days(month_day)
        return None if dates is None else f"on {dates} of {of or 'every month'}"
    found = [_NTH.fullmatch(one) for one in week_day.split(",")]
    if all(found):
        nths = [
            f"{NTH_WORDS[int(one[2] or -1)]} {DAY_WORDS[_number(one[1], DAYS) or 0]}"
            for one in found
            if one is not None and (one[2] or "1") in "12345"
        ]
        return f"on the {join_with_and(nths)} of {of or 'every month'}"
    days = _values(week_day, 0, 7, DAYS)
    if not days:
        return None
    named = format_days(frozenset(day % 7 for day in days))
    return f"{named} in {of}" if of else named


def _month_days(written: str) -> str | None:
    if written == "LW":
        return "the last working day"
    parts = written.split(",")
    plain = ",".join(one for one in parts if one != "L")
    days = _values(plain, 1, 31) if plain else frozenset()
    if days is None:
        return None
    last = ["last day"] if "L" in parts else []
    numbers = sorted(days)
    if len(numbers) > 3 and not last and numbers == [*range(numbers[0], numbers[-1] + 1)]:
        return f"the {ordinal(numbers[0])} to the {ordinal(numbers[-1])}"
    if len(numbers) > _MANY_DAYS and not last:
        rest = sorted(set(range(1, 32)) - days)
        return f"the days other than the {join_with_and([ordinal(one) for one in rest])}"
    return f"the {join_with_and([*(ordinal(one) for one in numbers), *last])}"


def _values(field: str, first: int, last: int, names: Sequence[str] = ()) -> frozenset[int] | None:
    """Return the numbers of a field of lists, ranges and steps; None otherwise."""
    values: set[int] = set()
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            return None
        low = first if found[1] == "*" else _number(found[1], names, first)
        high = (
            _number(found[2], names, first)
            if found[2]
            else (last if found[1] == "*" or found[3] else low)
        )
        if low is None or high is None:
            return None
        values |= set(range(low, high + 1, int(found[3] or 1)))
    return frozenset(values)


def _number(text: str, names: Sequence[str], first: int = 0) -> int | None:
    if text.isdigit():
        return int(text)
    return names.index(text.lower()) + first if text.lower() in names else None
