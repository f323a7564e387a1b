"""``when``: a schedule in words, read without a database, and what was understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.authoring.phrases.schedule_answers import (
    ScheduleAnswer,
    ScheduleChoice,
    ScheduleReading,
)
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from mainspring.authoring.phrases.zones import is_zone
from mainspring.contracts.errors import Finding, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.screen import clean

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen


def tell_when(screen: Screen, text: str, timezone: str | None) -> int:
    """Prints what the words mean; what is no schedule yet ends with another exit code."""
    if timezone is not None and not is_zone(timezone):
        detail = "There is no time zone of this name."
        finding = Finding("/timezone", detail, "unknown_timezone")
        raise Invalid(detail, code="unknown_timezone", findings=[finding])
    answer = parse_schedules(text, datetime.now(UTC), timezone)
    if screen.for_programs:
        screen.answer(answer.as_dict())
    else:
        for line in _lines(answer):
            screen.note(line)
    unsure = answer.clarifications or answer.refusals or not answer.readings
    return exits.INVALID if unsure else exits.DONE


def _lines(answer: ScheduleAnswer) -> Iterator[str]:
    for reading in answer.readings:
        yield from _reading(reading)
    for question in answer.clarifications:
        yield f"Unclear: {clean(question.span.words)}"
        yield f"  {question.question}"
        yield from _choices(question.choices)
    for refusal in answer.refusals:
        yield f"Not a schedule: {clean(refusal.span.words)}"
        yield f"  {refusal.reason}"
        yield from _choices(refusal.choices)
    if not (answer.readings or answer.clarifications or answer.refusals):
        yield "This text contains no schedule."
    if answer.cut:
        yield f"Only the first {LONGEST:,} characters were read."


def _reading(reading: ScheduleReading) -> Iterator[str]:
    yield reading.sentence[:1].upper() + reading.sentence[1:]
    for cron in reading.crons:
        yield f"  cron      {cron}"
    for times in reading.times:
        for key, value in times.items():
            yield f"  {key:<9} {value}"
    yield f"  zone      {reading.timezone}"
    for assumption in reading.assumptions:
        yield f"  assumed   {assumption}"
    for moment in reading.moments:
        yield f"  next      {moment:%a %Y-%m-%d %H:%M %Z}"


def _choices(choices: Sequence[ScheduleChoice]) -> Iterator[str]:
    for choice in choices:
        yield f"  - {choice.sentence}"
        for cron in choice.crons:
            yield f"      cron    {cron}"
        if choice.when is not None:
            yield f"      when    {choice.when}"
