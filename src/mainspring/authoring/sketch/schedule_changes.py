"""Edits of a schedule that keep the rest: the time of day, when only days were given.

The inverse, a new time of day with the same days, is in ``definition_changes``. Exclusions are
subtracted from the existing schedules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from mainspring.authoring.phrases.crons import CronDayFields, at_steps, format_cron_field, week_days
from mainspring.authoring.phrases.normalization import DAYS, MONTHS, make_plain
from mainspring.authoring.phrases.schedule_answers import (
    PhraseSpan,
    ScheduleAnswer,
    ScheduleChoice,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from mainspring.authoring.phrases.schedule_planning import WITHOUT, find_excluded_days
from mainspring.authoring.phrases.schedule_plans import find_excluded_times
from mainspring.authoring.phrases.schedule_requests import ScheduleRequest as Rhythm
from mainspring.authoring.phrases.schedule_requests import find_schedule_requests
from mainspring.authoring.phrases.schedule_sentences import format_clock, say_schedule
from mainspring.authoring.phrases.time_phrases import find_pieces
from mainspring.authoring.sketch.request_tokens import Clause

HOUR_STAYS: Final = "No hour was given, so the schedule keeps its hour."
ALREADY: Final = "The schedule leaves that out already."
REST_STAYS: Final = "All else about when it runs stays as it is."
_DAYS_ONLY: Final = frozenset(
    {
        "days",
        "month_days",
        "nth",
        "nth_or_other",
        "date",
        "edge",
        "working_day",
        "before_end",
        "months",
        "every",
        "soft",
        "twofold",
        "times",
        "limit",
    }
)
_FINE: Final = frozenset({"second", "secs", "minute", "hour"})
_PART: Final = re.compile(r"(\*|[a-z0-9]{1,3})(?:-([a-z0-9]{1,3}))?(?:/(\d{1,2}))?")
_MOST_TIMES: Final = 12
_LONGEST: Final = 300
_ZONE_WORDS: Final = frozenset({"time", "zone", "timezone"})
# Additional days, rather than an action on these days.
_ALSO: Final = re.compile(
    r"^\W*(?:(?:please|run|runs|it|on|the|add|every|and|do|so|send|start|make|this) ?){0,12}"
    r"(?:also|too|add|as well|additionally)\b|\b(?:too|as well|also)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExistingSchedule:
    """An existing schedule."""

    fields: tuple[str, ...]
    timezone: str | None

    @property
    def clocks(self) -> tuple[int, ...]:
        """Its times of day, if few; None for intervals."""
        if not re.fullmatch(r"\d{1,2}", self.fields[0]) or not re.fullmatch(
            r"[\d,]{1,40}", self.fields[1]
        ):
            return ()
        hours = [int(one) for one in self.fields[1].split(",") if one]
        return tuple(hour * 60 + int(self.fields[0]) for hour in hours if hour < 24)

    @property
    def days(self) -> frozenset[int] | None:
        return values_of(self.fields[4].lower(), 0, 6, DAYS)


def keep_what_stays(
    text: str, read: ScheduleAnswer, schedules: Sequence[Any], now: datetime, timezone: str | None
) -> tuple[ScheduleAnswer, str]:
    """Complete an edit's reading from the existing schedules, with a note."""
    old = list(_old(schedules))
    requests = find_schedule_requests(find_pieces(make_plain(text)))
    if not old or len(old) != len(schedules) or len(requests) != 1:
        return read, ""
    (rhythm,) = requests
    if "impossible" in rhythm.said or (rhythm.clock and not rhythm.leaves_out_first):
        return read, ""
    said = rhythm.said.keys()
    if said & WITHOUT and not said - WITHOUT - {"limit", "own_zone"} and not rhythm.parts:
        return _remove_rhythm(rhythm, old, text, read, now, timezone)
    if rhythm.clock or rhythm.parts or said - _DAYS_ONLY - WITHOUT or _is_fine(rhythm):
        return read, ""
    if said == {"days"} and len(old) == 1 and _ALSO.search(text):
        return _add_days(rhythm, old[0], read)
    kept = _find_affected_schedules(rhythm, old)
    if all(one.clocks for one in kept):
        return _at_same_times(text, read, kept, now, timezone)
    if said - {"days", "months", "limit"} or len(read.readings) != 1:
        return read, ""
    if read.readings[0].times:
        return read, ""
    days = read.readings[0].crons[0].split()[2:]
    made = [((" ".join((*one.fields[:2], *days)),), one.timezone) for one in kept]
    return _answer(made, read, HOUR_STAYS)


def _at_same_times(
    text: str,
    read: ScheduleAnswer,
    old: Sequence[ExistingSchedule],
    now: datetime,
    timezone: str | None,
) -> tuple[ScheduleAnswer, str]:
    """Parse the words again with the existing times."""
    clocks = sorted({one for each in old for one in each.clocks})
    if not clocks or len(clocks) > _MOST_TIMES:
        return read, ""
    told = " and ".join(format_clock(one) for one in clocks)
    return parse_schedules(f"{text.rstrip(' .,;')} at {told}", now, timezone), HOUR_STAYS


def _add_days(
    rhythm: Rhythm, old: ExistingSchedule, read: ScheduleAnswer
) -> tuple[ScheduleAnswer, str]:
    """Additional days."""
    if old.days is None or old.fields[2] != "*":
        return read, ""
    days = old.days | {day for one in rhythm.said["days"] for day in one}
    cron = " ".join((*old.fields[:4], week_days(days)))
    return _answer([((cron,), old.timezone)], read, REST_STAYS)


def leaves_out_only(text: str) -> bool:
    """Report whether words only exclude times."""
    requests = find_schedule_requests(find_pieces(make_plain(text)))
    return bool(requests) and all(
        one.said.keys() <= WITHOUT and not one.clock and not one.parts for one in requests
    )


def find_named_zone(text: str, now: datetime) -> str | None:
    """Return the zone that an edit names, if any."""
    said = text[:_LONGEST]
    if not _ZONE_WORDS & set(said.lower().split()):
        return None
    for told in (said, f"{said} time"):
        read = parse_schedules(f"every day at 9:00, {told}", now, None)
        zones = {one.timezone for one in read.readings}
        if len(zones) == 1 and not read.clarifications:
            return zones.pop()
    return None


def names_zone(clause: Clause) -> bool:
    return bool(_ZONE_WORDS & set(clause.words))


def without_zone_note(reading: ScheduleReading) -> ScheduleReading:
    """Remove the note about an assumed zone."""
    told = tuple(one for one in reading.assumptions if not one.startswith("the time zone "))
    return replace(reading, assumptions=told)


def _old(schedules: Sequence[Any]) -> Iterator[ExistingSchedule]:
    for one in schedules:
        config = one.get("config") if isinstance(one, Mapping) else None
        given = config if isinstance(config, Mapping) else {}
        fields = tuple(str(given.get("cron")).split())
        zone = given.get("timezone")
        if len(fields) == 5 and isinstance(zone, str | None):
            yield ExistingSchedule(fields, zone)


def _is_fine(rhythm: Rhythm) -> bool:
    counted = [*rhythm.said.get("every", ()), *rhythm.said.get("times", ())]
    several = any(count > 1 and unit == "day" for count, unit in rhythm.said.get("times", ()))
    return several or rhythm.first("soft") == "hour" or any(unit in _FINE for _, unit in counted)


def _find_affected_schedules(
    rhythm: Rhythm, old: Sequence[ExistingSchedule]
) -> Sequence[ExistingSchedule]:
    """Return the schedules concerned: those of the named days, if any."""
    said = {day for days in rhythm.said.get("days", ()) for day in days}
    there = [one for one in old if said & (one.days or frozenset())]
    return there or old


def _remove_rhythm(
    rhythm: Rhythm,
    old: Sequence[ExistingSchedule],
    text: str,
    read: ScheduleAnswer,
    now: datetime,
    timezone: str | None,
) -> tuple[ScheduleAnswer, str]:
    made: list[tuple[tuple[str, ...], str | None]] = []
    for one in old:
        crons = _without(rhythm, one)
        if crons is None:
            return ScheduleAnswer(refusals=(_build_refusal(old, read),)), ""
        if crons:
            made.append((crons, one.timezone))
    before = [((" ".join(one.fields),), one.timezone) for one in old]
    if not made:
        return _at_same_times(text, read, old, now, timezone)
    return _answer(made, read, ALREADY if made == before else REST_STAYS)


def _build_refusal(old: Sequence[ExistingSchedule], read: ScheduleAnswer) -> ScheduleRefusal:
    reason = "The exception cannot be added to the existing schedule."
    stays = tuple(
        ScheduleChoice(
            f"as before: {' '.join(one.fields)}, {one.timezone}",
            (" ".join(one.fields),),
            one.timezone,
        )
        for one in old
    )
    return ScheduleRefusal(_span(read), "not_sayable", reason, stays)


def _without(rhythm: Rhythm, old: ExistingSchedule) -> tuple[str, ...] | None:
    """Subtract an exclusion; None when cron cannot express it."""
    left, out = find_excluded_days(rhythm), find_excluded_times(rhythm)
    dates = {day for one in rhythm.said.get("without_month_days", ()) for day in one}
    gone = {month for one in rhythm.said.get("without_months", ()) for month in one}
    _, _, month_day, month, week_day = old.fields
    if "without_nth" in rhythm.said or -1 in dates:
        return None
    if (left and month_day != "*") or (dates and (week_day != "*" or month_day != "*")):
        return None
    days, months = old.days, values_of(month.lower(), 1, 12, ("", *MONTHS))
    if (left and days is None) or (gone and months is None):
        return None
    if left and days is not None:
        week_day = week_days(days - left) if days - left else ""
    if gone and months is not None:
        month = format_cron_field(months - gone, 12, 1, stepped=False) if months - gone else ""
    if dates:
        month_day = format_cron_field(set(range(1, 32)) - dates, 31, 1, stepped=False)
    if not week_day or not month:
        return ()
    fields = CronDayFields(month_day, month, week_day)
    if not out:
        return (f"{old.fields[0]} {old.fields[1]} {fields}",)
    minutes, hours = values_of(old.fields[0], 0, 59), values_of(old.fields[1], 0, 23)
    if minutes is None or hours is None:
        return None
    row = sorted({hour * 60 + minute for hour in hours for minute in minutes} - out)
    return tuple(at_steps(row, fields))


def values_of(
    field: str, first: int, last: int, names: Sequence[str] = ()
) -> frozenset[int] | None:
    """Return the numbers of a cron field; None when it has more than numbers."""
    values: set[int] = set()
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            return None
        begin = first if found[1] == "*" else _value(found[1], names)
        end = last if found[1] == "*" else begin
        end = _value(found[2], names) if found[2] else last if found[3] and end == begin else end
        if begin is None or end is None or not 0 <= begin <= end <= max(last, 7):
            return None
        values |= {one % 7 if last == 6 else one for one in range(begin, end + 1, _step(found[3]))}
    return frozenset(values)


def _step(said: str | None) -> int:
    return max(1, int(said)) if said else 1


def _value(text: str, names: Sequence[str]) -> int | None:
    if text.isdecimal():
        return int(text)
    return names.index(text) if text in names and text else None


def _span(read: ScheduleAnswer) -> PhraseSpan:
    spans = [
        *(one.span for one in read.readings),
        *(one.span for one in read.clarifications),
        *(one.span for one in read.refusals),
    ]
    return spans[0] if spans else PhraseSpan(0, 0, "")


def _answer(
    made: Sequence[tuple[tuple[str, ...], str | None]], read: ScheduleAnswer, note: str
) -> tuple[ScheduleAnswer, str]:
    """Expressions as an answer; with an open zone, the earlier reading is kept."""
    readings = [
        ScheduleReading(_span(read), crons, zone, say_schedule(crons, zone), (), ())
        for crons, zone in made
        if zone is not None
    ]
    return (ScheduleAnswer(tuple(readings)), note) if len(readings) == len(made) > 0 else (read, "")
