"""Schedule triggers from a request's times, and questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.phrases.schedule_answers import ScheduleAnswer, ScheduleClarification
from mainspring.authoring.phrases.schedule_answers import ScheduleChoice as Meaning
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from mainspring.authoring.sketch.fortnights import ANY_STEP
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.definition.strict_json import join_pointer

BY_HAND: Final = "by hand"
_ZONE: Final = {"type": "string", "minLength": 1, "maxLength": 100}
WHEN_SCHEMA: Final[dict[str, Any]] = {"type": ["string", "object", "array", "null"]}
_MOST_CHOICES: Final = 12
_FIRST_DAY: Final = re.compile(r"\b(?:first|1st) (?:day|of)\b", re.IGNORECASE)
_UNKNOWN_TIME: Final = (QuestionChoice("only by hand", BY_HAND),)


def read_time(text: str, now: datetime, timezone: str | None) -> ScheduleAnswer:
    """Parse the times of a request."""
    return parse_schedules(text, now, timezone)


def find_zone_assumptions(text: str, now: datetime, read: ScheduleAnswer) -> tuple[str, ...]:
    """Return assumptions about a time whose zone is open."""
    if not any(one.kind == "time_zone" for one in read.clarifications):
        return ()
    told = [one for each in parse_schedules(text, now, "UTC").readings for one in each.assumptions]
    return tuple(one for one in told if not one.startswith("the time zone "))


def has_schedule(answer: ScheduleAnswer) -> bool:
    return bool(answer.readings or answer.clarifications or answer.refusals)


def add_schedules(bench: SketchBuilder, answer: ScheduleAnswer) -> None:
    """Add triggers for parsed times, and questions for the others."""
    for reading in answer.readings:
        for config in reading.configs:
            _add(bench, dict(config))
        tell_assumed(bench, reading.assumptions)
    asked = {one.span: one for one in answer.clarifications if one.kind != "time_zone"}
    zones = [one for one in answer.clarifications if one.kind == "time_zone"]
    _add_without_zone(bench, [one for one in zones if one.span not in asked])
    unzoned = {one.span: one for one in zones}
    for span, unclear in asked.items():
        _ask_schedule(bench, unclear, unzoned.get(span))
    for refusal in answer.refusals:
        bench.note(f"No schedule says “{refusal.span.words[:100]}”: {refusal.reason}")
        bench.ask(
            "when",
            join_pointer("/triggers", len(bench.triggers)),
            "When should it happen instead?",
            kind="schedule",
            schema=WHEN_SCHEMA,
            why=refusal.reason,
            choices=(*_choices(refusal.choices), *_UNKNOWN_TIME),
        )


def tell_assumed(bench: SketchBuilder, assumptions: Iterable[str]) -> None:
    """Report assumptions about a time, without that of the day when one was given."""
    said = _FIRST_DAY.search(bench.text) is not None
    for one in assumptions:
        if not (said and one.startswith("the 1st of the month")):
            bench.note(f"About the time I assumed {one}.")


def ask_when(bench: SketchBuilder) -> None:
    """Ask when to run."""
    bench.ask(
        "when",
        join_pointer("/triggers", len(bench.triggers)),
        "When should it happen?",
        kind="schedule",
        schema=WHEN_SCHEMA,
        choices=_UNKNOWN_TIME,
        why="The request names no time, such as every weekday at 9 Berlin time.",
    )


def ask_how_often(bench: SketchBuilder) -> None:
    """Ask how often to poll a watched URL."""
    bench.ask(
        "when",
        join_pointer("/triggers", len(bench.triggers)),
        "How often should it check the address?",
        kind="schedule",
        schema=WHEN_SCHEMA,
        choices=(
            QuestionChoice("every hour", {"cron": "0 * * * *", "timezone": "UTC"}),
            QuestionChoice("every day at 09:00 UTC", {"cron": "0 9 * * *", "timezone": "UTC"}),
            *_UNKNOWN_TIME,
        ),
        why="A web address sends no notification when it changes.",
    )


def _add(bench: SketchBuilder, config: dict[str, Any]) -> str:
    place = len(bench.triggers)
    count = sum(isinstance(one, dict) and one.get("type") == "schedule" for one in bench.triggers)
    bench.triggers.append({"id": f"schedule-{count + 1}", "type": "schedule", "config": config})
    return join_pointer("/triggers", place)


def _add_without_zone(bench: SketchBuilder, asked: Sequence[ScheduleClarification]) -> None:
    places = []
    zones: list[str] = []
    for one in asked:
        if not any(choice.crons for choice in one.choices):
            _ask_zone_first(bench, one, "When it starts depends on the zone.")
            continue
        if one.choices and all(_is_anywhere(cron) for cron in one.choices[0].crons):
            # The same fire times in every zone, so no question is needed.
            for cron in one.choices[0].crons:
                _add(bench, {"cron": cron, "timezone": "UTC"})
            bench.note("It runs all day, so the time zone does not matter: UTC is used.")
            continue
        # All choices have the same expressions in different zones.
        crons = one.choices[0].crons if one.choices else ()
        places += [
            join_pointer(_add(bench, {"cron": cron}), "config", "timezone") for cron in crons
        ]
        zones += [choice.timezone or choice.sentence for choice in one.choices]
    ask_zone(bench, places, zones)


def ask_zone(bench: SketchBuilder, places: Sequence[str], zones: Sequence[str] = ("UTC",)) -> None:
    """Ask once for the zone of all schedules without one."""
    if not places:
        return
    bench.ask(
        "time-zone",
        places[0],
        "In which time zone?",
        kind="time_zone",
        schema=_ZONE,
        choices=tuple(QuestionChoice(zone, zone) for zone in dict.fromkeys(zones)),
        why="9:00 is a different time in each zone.",
        others=tuple(places[1:]),
    )


def _is_anywhere(cron: str) -> bool:
    """Report whether an expression depends on minutes only."""
    fields = cron.split()
    return len(fields) == 5 and all(one == "*" for one in fields[1:])


def _ask_schedule(
    bench: SketchBuilder, one: ScheduleClarification, zone: ScheduleClarification | None
) -> None:
    at = join_pointer("/triggers", len(bench.triggers))
    if one.question.startswith("There is no "):
        bench.ask(
            "when",
            at,
            f"{one.question} Say all of it, such as every weekday at 9:00 Berlin time.",
            kind="schedule",
            schema=WHEN_SCHEMA,
            choices=_UNKNOWN_TIME,
            why=f"“{one.span.words[:100]}” is no time.",
        )
        return
    if zone is not None and not any(choice.crons for choice in one.choices):
        why = "The start date is the next question, because it depends on the zone."
        _ask_zone_first(bench, zone, why, one.question)
        return
    question = one.question if zone is None else f"{one.question} And in which time zone?"
    names = [] if zone is None else [choice.sentence for choice in zone.choices]
    choices = _choices(one.choices) if zone is None else _in_zones(one.choices, names)
    bench.ask(
        "when",
        at,
        question,
        kind="schedule",
        schema=WHEN_SCHEMA,
        choices=choices,
        why=f"“{one.span.words[:100]}” can be meant in more than one way.",
    )


def _ask_zone_first(
    bench: SketchBuilder, zone: ScheduleClarification, why: str, question: str | None = None
) -> None:
    """Ask for the zone that a schedule depends on; the request is parsed again with it."""
    at = join_pointer("/triggers", len(bench.triggers))
    if len(zone.choices) < 2:
        bench.ask(
            "time-zone",
            at,
            zone.question,
            kind="time_zone",
            schema=_ZONE,
            choices=tuple(QuestionChoice(name.sentence, name.sentence) for name in zone.choices),
            why=why,
        )
        return
    bench.ask(
        "time-zone",
        at,
        f"{zone.question} Say a place or a zone, such as Berlin time.",
        kind="words",
        schema=_ZONE,
        why=question or why,
    )


def _choices(meanings: Iterable[Meaning]) -> tuple[QuestionChoice, ...]:
    return tuple(_choice(one, one.timezone) for one in meanings if one.crons)[:_MOST_CHOICES]


def _in_zones(meanings: Iterable[Meaning], zones: Sequence[str]) -> tuple[QuestionChoice, ...]:
    made = [
        _choice(one, zone, f"{one.sentence}, {zone}")
        for zone in zones
        for one in meanings
        if one.crons
    ]
    return tuple(made[:_MOST_CHOICES])


def _choice(one: Meaning, zone: str | None, label: str | None = None) -> QuestionChoice:
    configs = [
        {"cron": cron} if zone is None else {"cron": cron, "timezone": zone} for cron in one.crons
    ]
    # The condition's pointers are known once the plan exists.
    also = () if one.when is None else ((ANY_STEP, one.when),)
    return QuestionChoice(label or one.sentence, configs[0] if len(configs) == 1 else configs, also)
