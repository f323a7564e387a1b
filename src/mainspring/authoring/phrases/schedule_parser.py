"""Parser for the schedules in a request.

The result depends only on the text, the caller's time zone and the current time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from mainspring.authoring.phrases.normalization import LONGEST, NormalizedText, make_plain
from mainspring.authoring.phrases.schedule_answers import (
    MOMENTS,
    PhraseSpan,
    ScheduleAnswer,
    ScheduleChoice,
    ScheduleClarification,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.phrases.schedule_planning import plan_schedule
from mainspring.authoring.phrases.schedule_plans import ScheduleOption, SchedulePlan
from mainspring.authoring.phrases.schedule_requests import ScheduleRequest, find_schedule_requests
from mainspring.authoring.phrases.schedule_sentences import format_zone, say_schedule
from mainspring.authoring.phrases.time_phrases import find_pieces
from mainspring.authoring.phrases.weeks import fortnight_choices, iterate_fire_times
from mainspring.definition.schedules import describe_schedule, parse_schedule

MOST_WISHES: Final = 8
# More than the times of three days.
_MOMENTS_TRIED: Final = 200
_EVENT: Final = re.compile(r"\b(?:when|whenever|as soon as|if|after|upon|once a)\b")


def parse_schedules(text: str, now: datetime, timezone: str | None = None) -> ScheduleAnswer:
    """Parse every schedule in a text."""
    plain = make_plain(text)
    readings: list[ScheduleReading] = []
    questions: list[ScheduleClarification] = []
    refusals: list[ScheduleRefusal] = []
    for wish in find_schedule_requests(find_pieces(plain))[:MOST_WISHES]:
        if _is_adjective(wish, plain):
            continue
        plan = plan_schedule(wish)
        span = _span(plain, wish)
        if plan.refuses:
            choices = _choices(plan.options, _zones(wish, timezone), now)
            refusals.append(ScheduleRefusal(span, plan.refuses, plan.text, choices))
        elif plan.option is not None:
            made = _reading(plan, wish, span, timezone, now)
            if isinstance(made, ScheduleReading):
                if not any(_same(made, other) for other in readings):
                    readings.append(made)
            elif isinstance(made, ScheduleRefusal):
                refusals.append(made)
            else:
                questions.append(made)
        elif plan.asks:
            questions += _questions(plan, wish, span, timezone, now)
    return ScheduleAnswer(tuple(readings), tuple(questions), tuple(refusals), len(text) > LONGEST)


def _same(one: ScheduleReading, other: ScheduleReading) -> bool:
    return one.configs == other.configs


def _is_adjective(request: ScheduleRequest, plain: NormalizedText) -> bool:
    """An adjective: a "daily digest" of an event-driven automation is not a schedule."""
    alone = (
        not request.has_rhythm
        and not request.clock
        and not request.parts
        and "once" not in request.said
    )
    return alone and _EVENT.search(plain.text) is not None


def _span(plain: NormalizedText, request: ScheduleRequest) -> PhraseSpan:
    start, end = plain.span(request.start, request.end)
    return PhraseSpan(start, end, plain.original[start:end])


def _zones(request: ScheduleRequest, timezone: str | None) -> tuple[str, ...]:
    if request.place is not None:
        return request.place.zones
    return () if timezone is None else (timezone,)


def _reading(
    plan: SchedulePlan,
    request: ScheduleRequest,
    span: PhraseSpan,
    timezone: str | None,
    now: datetime,
) -> ScheduleReading | ScheduleClarification | ScheduleRefusal:
    assert plan.option is not None
    zones = _zones(request, timezone)
    exact = plan.option.every or plan.option.days_ahead is not None
    if len(zones) != 1:
        return _which_zone(request, span, None if exact else plan.option)
    if exact:
        return _exact_reading(plan, request, span, zones[0], now)
    notes = [*plan.notes]
    if "limit" in request.said:
        notes.append("its beginning, end or exception was ignored, because a schedule has none")
    if request.place is None:
        notes.append(f"the time zone {zones[0]}, because none was given")
    elif request.place.supposed:
        notes.append(request.place.supposed)
    return ScheduleReading(
        span=span,
        crons=plan.option.crons,
        timezone=zones[0],
        sentence=say_schedule(plan.option.crons, zones[0]),
        assumptions=tuple(dict.fromkeys(notes)),
        moments=tuple(next_fire_times(plan.option.crons, zones[0], now)),
    )


def _exact_reading(
    plan: SchedulePlan, request: ScheduleRequest, span: PhraseSpan, zone: str, now: datetime
) -> ScheduleReading | ScheduleRefusal:
    """Read an interval of days or weeks, or a single moment, which cron cannot express."""
    assert plan.option is not None
    place, notes = ZoneInfo(zone), [*plan.notes]
    times: list[dict[str, str]]
    if plan.option.days_ahead is not None:
        day = (now.astimezone(place) + timedelta(plan.option.days_ahead)).date()
        found = [
            local
            for moment in islice(_all_moments(plan.option.crons, zone, now), _MOMENTS_TRIED)
            if (local := moment.astimezone(place)).date() == day
        ]
        if not found:
            return ScheduleRefusal(span, "not_recurring", "This time of today has passed.", ())
        times = [{"at": _local(one)} for one in found]
    else:
        period = timedelta(days=1 if plan.option.every.endswith("d") else 7)
        coming = _all_moments(plan.option.crons, zone, now)
        first = next(coming).astimezone(place).replace(tzinfo=None)
        found = [first]
        for moment in coming:
            local = moment.astimezone(place).replace(tzinfo=None)
            if local - first >= period:
                break
            found.append(local)
        times = [{"every": plan.option.every, "anchor": _local(one)} for one in found]
        notes.append(f"the first time is on {first.day} {first:%B %Y}, because no other was given")
    if request.place is None:
        notes.append(f"the time zone {zone}, because none was given")
    elif request.place.supposed:
        notes.append(request.place.supposed)
    schedule = parse_schedule({"times": times, "timezone": zone})
    return ScheduleReading(
        span=span,
        crons=(),
        timezone=zone,
        sentence=f"{describe_schedule(schedule)}, {format_zone(zone)}",
        assumptions=tuple(dict.fromkeys(notes)),
        moments=tuple(one.astimezone(place) for one in schedule.next_fire_times(now, MOMENTS)),
        times=tuple(times),
    )


def _local(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="minutes")


def _which_zone(
    request: ScheduleRequest, span: PhraseSpan, option: ScheduleOption | None
) -> ScheduleClarification:
    zones = request.place.zones if request.place is not None else ("UTC",)
    question = (
        f"Which time zone is meant by {request.place.said}?"
        if request.place is not None
        else "In which time zone?"
    )
    choices = tuple(
        ScheduleChoice(zone, ())
        if option is None
        else ScheduleChoice(say_schedule(option.crons, zone), option.crons, zone)
        for zone in zones
    )
    return ScheduleClarification(span, "time_zone", question, choices)


def _questions(
    plan: SchedulePlan,
    request: ScheduleRequest,
    span: PhraseSpan,
    timezone: str | None,
    now: datetime,
) -> list[ScheduleClarification]:
    assert plan.asks is not None
    zones = _zones(request, timezone)
    choices = _choices(plan.options, zones, now)
    asked = [ScheduleClarification(span, plan.asks, plan.text, choices)]
    if len(zones) != 1:
        asked.append(_which_zone(request, span, None))
    return asked


def _choices(
    options: Sequence[ScheduleOption], zones: Sequence[str], now: datetime
) -> tuple[ScheduleChoice, ...]:
    zone = zones[0] if len(zones) == 1 else None
    choices: list[ScheduleChoice] = []
    for option in options:
        if option.fortnight and zone is not None:
            choices += fortnight_choices(option, zone, now)
        elif option.fortnight:
            choices.append(ScheduleChoice(option.sentence))
        elif option.when is None or (zone is not None and _same_day_in_utc(option, zone, now)):
            told = option.sentence if zone is None else f"{option.sentence}, {format_zone(zone)}"
            choices.append(ScheduleChoice(told, option.crons, zone, option.when))
    return tuple(choices)


def _same_day_in_utc(option: ScheduleOption, zone: str, now: datetime) -> bool:
    """Conditions see times in UTC, so their days must equal the days of the zone."""
    place = ZoneInfo(zone)
    return all(
        moment.date() == moment.astimezone(place).date()
        for moment in islice(_all_moments(option.crons, zone, now), 60)
    )


def next_fire_times(crons: Sequence[str], zone: str, now: datetime) -> list[datetime]:
    """Return the next fire times of several expressions, in local time."""
    place = ZoneInfo(zone)
    found: list[datetime] = []
    for moment in _all_moments(crons, zone, now):
        if not found or moment != found[-1]:
            found.append(moment)
        if len(found) == MOMENTS:
            break
    return [moment.astimezone(place) for moment in found]


def _all_moments(crons: Sequence[str], zone: str, now: datetime) -> Iterator[datetime]:
    return merge(*(iterate_fire_times(cron, zone, now) for cron in crons))
