"""Every second week, which cron cannot express: a weekly schedule with a step condition.

Weeks are distinguished by the parity of their ISO number. A year of 53 weeks is followed by another
odd week, so parity flips from then on; those years are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from mainspring.authoring.phrases.schedule_answers import ScheduleChoice
from mainspring.authoring.phrases.schedule_plans import ScheduleOption
from mainspring.authoring.phrases.schedule_sentences import format_zone
from mainspring.definition.cron import parse_cron

_YEARS: Final = 20
_WEEKS_TRIED: Final = 120


def fortnight_choices(option: ScheduleOption, zone: str, now: datetime) -> list[ScheduleChoice]:
    """The two starting weeks; empty when the weeks would drift."""
    place = ZoneInfo(zone)
    year = now.astimezone(UTC).isocalendar().year
    turned = _list_flipped_years(year)
    choices = []
    for even in (True, False):
        kept = [
            moment
            for moment in islice(iterate_fire_times(option.crons[0], zone, now), _WEEKS_TRIED)
            if is_kept_week(moment, turned, even=even)
        ]
        if not _is_regular(kept, place):
            return [ScheduleChoice(f"{option.sentence}, {format_zone(zone)}")]
        first = kept[0].astimezone(place)
        message = f"{option.sentence}, from {first.day} {first:%B %Y} on, {format_zone(zone)}"
        choices.append(
            (kept[0], ScheduleChoice(message, option.crons, zone, _condition(turned, even=even)))
        )
    return [choice for _, choice in sorted(choices, key=lambda pair: pair[0])]


def is_kept_week(timestamp: datetime, turned: list[int], *, even: bool) -> bool:
    """Evaluate the condition in Python."""
    calendar = timestamp.astimezone(UTC).isocalendar()
    return ((calendar.week % 2 == 0) == even) != (calendar.year in turned)


def _list_flipped_years(first: int) -> list[int]:
    """The years in which parity is flipped, relative to the first one."""
    turned, swapped = [], False
    for year in range(first, first + _YEARS):
        if swapped:
            turned.append(year)
        swapped ^= date(year, 12, 28).isocalendar().week == 53
    return turned


def _condition(turned: list[int], *, even: bool) -> str:
    last = "02468" if even else "13579"
    figures = ", ".join(f"'{figure}'" for figure in last)
    years = ", ".join(f"'{year}'" for year in turned)
    week = f"(trigger.scheduled_for | date('%V') | last) in [{figures}]"
    return f"{{{{ ({week}) != ((trigger.scheduled_for | date('%G')) in [{years}]) }}}}"


def _is_regular(kept: list[datetime], place: ZoneInfo) -> bool:
    """Report whether each day comes every fourteen days, ignoring clock changes."""
    by_day: dict[tuple[int, int], list[date]] = {}
    for moment in kept:
        local = moment.astimezone(place)
        by_day.setdefault((local.weekday(), local.hour), []).append(local.date())
    return bool(kept) and all(
        (later - earlier).days == 14
        for days in by_day.values()
        for earlier, later in pairwise(days)
    )


def iterate_fire_times(cron: str, zone: str, now: datetime) -> Iterator[datetime]:
    """Yield every fire time of an expression after now, in UTC."""
    read, moment = parse_cron(cron), now
    while (found := read.after(moment, zone)) is not None:
        yield found
        moment = found
