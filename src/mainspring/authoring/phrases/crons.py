"""Times and days as cron expressions, as few as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MINUTES_OF_DAY: Final = 1_440


@dataclass(frozen=True, slots=True)
class CronDayFields:
    """The day, month and weekday fields of a cron expression."""

    month_day: str = "*"
    month: str = "*"
    week_day: str = "*"

    def __str__(self) -> str:
        return f"{self.month_day} {self.month} {self.week_day}"


def format_cron_field(
    values: Iterable[int], whole: int, first: int = 0, *, stepped: bool = True
) -> str:
    """Format numbers as a star, a step, a range or a list."""
    numbers = sorted(set(values))
    if len(numbers) == whole:
        return "*"
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    even = len(numbers) > 1 and numbers == [*range(numbers[0], numbers[-1] + 1, step)]
    if (
        stepped
        and even
        and numbers[0] == first
        and whole % step == 0
        and len(numbers) == whole // step
    ):
        return f"*/{step}"
    if stepped and even and step > 1 and len(numbers) > 2:
        return f"{numbers[0]}-{numbers[-1]}/{step}"
    return ",".join(_runs(numbers))


def _runs(numbers: Sequence[int]) -> list[str]:
    """Format numbers, with three or more in sequence as a range."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return [
        part
        for run in runs
        for part in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))
    ]


def week_days(days: Iterable[int]) -> str:
    """Format days of the week from Monday on, Sunday as 0: ``1-5``, ``0,6``."""
    numbers = sorted(set(days))
    if len(numbers) == 7:
        return "*"
    return format_cron_field(numbers, 7, stepped=False)


def at_times(minutes: Iterable[int], days: CronDayFields) -> list[str]:
    """Format fixed times of day; times with the same minute share an expression."""
    by_minute: dict[int, list[int]] = {}
    for one in sorted(set(minutes)):
        by_minute.setdefault(one % 60, []).append(one // 60)
    return [
        f"{minute} {format_cron_field(hours, 24, stepped=False)} {days}"
        for minute, hours in by_minute.items()
    ]


def at_steps(minutes: Sequence[int], days: CronDayFields) -> list[str]:
    """Format a series of times; hours with the same minutes share an expression."""
    by_hour: dict[int, list[int]] = {}
    for one in minutes:
        by_hour.setdefault(one // 60 % 24, []).append(one % 60)
    alike: dict[tuple[int, ...], list[int]] = {}
    for hour, marks in sorted(by_hour.items()):
        alike.setdefault(tuple(sorted(marks)), []).append(hour)
    return [
        f"{format_cron_field(marks, 60)} {format_cron_field(hours, 24)} {days}"
        for marks, hours in alike.items()
    ]
