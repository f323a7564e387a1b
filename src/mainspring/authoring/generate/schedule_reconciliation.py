"""Reconciling a model's schedules with the rule-based parser.

Two schedules are equal when they have the same fire times. A difference becomes a question with
both readings as choices. Questions of the rules are always asked. The rules alone decide only when
the model has no readable schedule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import merge
from itertools import groupby, islice, takewhile
from typing import Any, Final

from mainspring.authoring.generate.context import tidy
from mainspring.authoring.models import AutomationRequest, ProposalQuestion, QuestionChoice
from mainspring.authoring.phrases.schedule_answers import ScheduleAnswer, ScheduleReading
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from mainspring.authoring.phrases.schedule_sentences import say_schedule
from mainspring.authoring.phrases.weeks import iterate_fire_times
from mainspring.authoring.phrases.zones import is_zone
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.schedule_triggers import WHEN_SCHEMA, add_schedules
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.contracts.errors import Problem
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer, split_pointer

MOMENTS: Final = 50
_HORIZON: Final = timedelta(days=5 * 366)
# Periods to compare, covering nights, weekends, months and clock changes.
_WINDOWS: Final = tuple(
    timedelta(hours=hours) for hours in (0, 9, 17, 33, 57, 81, 105, 129, 153, 24 * 40, 24 * 200)
)
_CONDITION: Final = "/when"
_ONE_EXPRESSION: Final = re.compile(r"\s*\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}\s*", re.DOTALL)
_TAKES_BACK: Final = re.compile(
    r"\b(?:stop|not|no longer|never|don'?t|remove|drop|instead of|rather than|except|without|"
    r"from\b.{1,60}\bto)\b",
    re.IGNORECASE | re.DOTALL,
)

# A cron expression and its time zone.
Times = tuple[str, str]


@dataclass(slots=True)
class ReconciledTriggers:
    """The triggers after comparing both readings."""

    triggers: list[Any]
    questions: tuple[ProposalQuestion, ...] = ()
    notes: list[str] = field(default_factory=list)
    # New index of each of the model's triggers; dropped ones are missing.
    moved: dict[int, int] = field(default_factory=dict)
    # Whether they differ from what the model wrote.
    changed: bool = False

    def follow(self, pointer: str) -> str | None:
        """Map a pointer into the model's document; None when that place is gone."""
        parts = split_pointer(pointer)
        if parts[:1] != ["triggers"] or len(parts) < 2 or not parts[1].isdecimal():
            return pointer
        place = self.moved.get(int(parts[1]))
        return None if place is None else join_pointer("/triggers", place, *parts[2:])


def read_schedule(request: AutomationRequest) -> ScheduleAnswer:
    """Parse the schedule with the rules; an edited definition supplies its own time zone."""
    zones = (
        {zone for _, zone in _times(request.before.get("triggers"))} if request.before else set()
    )
    own = zones.pop() if len(zones) == 1 else None
    # The stored zone may be invalid, and is then ignored.
    return parse_schedules(
        request.text, request.now, own if own and is_zone(own) else request.timezone
    )


def reconcile_triggers(
    document: Mapping[str, Any],
    request: AutomationRequest,
    read: ScheduleAnswer,
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
) -> ReconciledTriggers:
    """Reconcile a document's triggers, asking where the readings differ."""
    given = document.get("triggers")
    triggers = list(given) if isinstance(given, list) else []
    kept = ReconciledTriggers(triggers, moved={place: place for place in range(len(triggers))})
    asks = bool(read.clarifications or read.refusals)
    sound = given is None or (isinstance(given, list) and all(map(_is_sound, given)))
    if not sound or not (read.readings or asks):
        return kept
    before = _times(request.before.get("triggers")) if request.before else []
    fresh = [
        place
        for place, one in enumerate(triggers)
        if _is_schedule(one) and not _among(one, before, request.now)
    ]
    if request.before is not None:
        return _reconcile_edit(kept, fresh, request, read, vocabulary, resources)
    if triggers and not fresh:
        said = "; ".join(one.sentence for one in read.readings)
        kept.notes += (
            [f"The request also mentions a time ({said}), which wakes nothing."] if said else []
        )
        return kept
    mine = [time for place in fresh for time in _times([triggers[place]])]
    if not asks and is_same_schedule(mine, _read_times(read), request.now):
        return kept
    if mine and not asks and all(map(_can_be_read, mine)):
        return _either(kept, fresh, mine, read, vocabulary, resources)
    return _by_rules(kept, fresh, read, vocabulary, resources, document, request.now)


def _reconcile_edit(
    kept: ReconciledTriggers,
    fresh: list[int],
    request: AutomationRequest,
    read: ScheduleAnswer,
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
) -> ReconciledTriggers:
    """For an edit, only new triggers are compared."""
    zones = [one for one in read.clarifications if one.kind == "time_zone"]
    asks = bool(read.clarifications or read.refusals)
    clear = len(read.readings) == 1 and not asks and not _is_guessed(read.readings[0])
    if len(fresh) == 1 and len(read.readings) + len(zones) == 1 and (clear or zones):
        mine = _times([kept.triggers[fresh[0]]])
        differ = zones or not is_same_schedule(mine, _read_times(read), request.now)
        if differ and not _TAKES_BACK.search(request.text):
            if mine and not zones and all(map(_can_be_read, mine)):
                return _either(kept, fresh, mine, read, vocabulary, resources)
            return _by_rules(kept, fresh, read, vocabulary, resources, {}, request.now)
    wanted = _read_times(read)
    if clear and not is_same_schedule(_times(kept.triggers), wanted, request.now):
        mine = [time for place in fresh for time in _times([kept.triggers[place]])]
        if not is_same_schedule(mine, wanted, request.now):
            kept.notes.append(
                f"The request mentions {read.readings[0].sentence}; look whether the triggers say "
                "what is meant."
            )
    return kept


def _is_guessed(reading: ScheduleReading) -> bool:
    """Report whether more than the zone was assumed; the stored definition may be more precise."""
    return any(not _of_zone(one) for one in reading.assumptions)


def _of_zone(assumption: str) -> bool:
    return assumption.startswith("the time zone ")


def _either(
    kept: ReconciledTriggers,
    fresh: list[int],
    mine: Sequence[Times],
    read: ScheduleAnswer,
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
) -> ReconciledTriggers:
    """Replace the schedules by a question with both readings as choices."""
    rest = [place for place in range(len(kept.triggers)) if place not in fresh]
    bench = SketchBuilder(vocabulary, resources, triggers=[kept.triggers[place] for place in rest])
    ours = _read_times(read)
    said = "; ".join(one.sentence for one in read.readings)
    theirs = _describe_times(mine)
    supposed = [one for each in read.readings for one in each.assumptions if not _of_zone(one)]
    why = "The rules and the model read the time differently."
    if supposed:
        why = f"{why} The rules had to assume {'; '.join(supposed)}."
    bench.ask(
        "when",
        join_pointer("/triggers", len(rest)),
        "When should it happen?",
        kind="schedule",
        schema=WHEN_SCHEMA,
        choices=(
            QuestionChoice(said, _value(ours), _extras(kept, fresh, len(ours), len(rest))),
            QuestionChoice(
                f"{theirs}, as the model read it",
                _value(mine),
                _extras(kept, fresh, len(mine), len(rest)),
            ),
        ),
        why=why,
    )
    moved = {place: new for new, place in enumerate(rest)}
    return ReconciledTriggers(bench.triggers, tuple(bench.questions), [], moved, changed=True)


def _extras(
    kept: ReconciledTriggers, fresh: list[int], count: int, at: int
) -> tuple[tuple[str, Any], ...]:
    """The model's other trigger settings, for triggers made from an answer."""
    found: list[tuple[str, Any]] = []
    for place in range(count):
        own = kept.triggers[fresh[min(place, len(fresh) - 1)]]
        more = {name: own[name] for name in own.keys() - {"id", "type", "config"}}
        found += [
            (join_pointer("/triggers", at + place, name), more[name]) for name in sorted(more)
        ]
        config = {**_config(own)}
        found += [
            (join_pointer("/triggers", at + place, "config", name), config[name])
            for name in sorted(config.keys() - {"cron", "timezone"})
        ]
    return tuple(found)


def _describe_times(times: Sequence[Times]) -> str:
    """Describe schedules, grouped by zone."""
    zones: dict[str, list[str]] = {}
    for cron, zone in times:
        zones.setdefault(zone, []).append(cron)
    return "; ".join(tidy(say_schedule(crons, zone), 200) for zone, crons in zones.items())


def _value(times: Sequence[Times]) -> Any:
    configs = [{"cron": cron, "timezone": zone} for cron, zone in times]
    return configs[0] if len(configs) == 1 else configs


def _by_rules(
    kept: ReconciledTriggers,
    fresh: list[int],
    read: ScheduleAnswer,
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
    document: Mapping[str, Any],
    now: datetime,
) -> ReconciledTriggers:
    """Replace the model's schedules by the rules' triggers and questions."""
    mine = [kept.triggers[place] for place in fresh]
    rest = [place for place in range(len(kept.triggers)) if place not in fresh]
    bench = SketchBuilder(vocabulary, resources, triggers=[kept.triggers[place] for place in rest])
    add_schedules(bench, read)
    made = bench.triggers[len(rest) :]
    triggers = [*bench.triggers[: len(rest)], *_like(made, mine)]
    notes = [*_difference(mine, made, read, now), *bench.notes]
    offered = _as_model_read(mine)
    questions = tuple(_with_conditions(one, document, offered) for one in bench.questions)
    moved = {place: new for new, place in enumerate(rest)}
    return ReconciledTriggers(triggers, questions, notes, moved, changed=True)


def _like(made: Sequence[Mapping[str, Any]], mine: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The rules' fire times with the model's other trigger settings."""
    if not mine:
        return [dict(one) for one in made]
    shaped = []
    for place, one in enumerate(made):
        own = mine[place] if place < len(mine) else {**mine[0], "id": one.get("id")}
        config = own.get("config")
        extra = dict(config) if isinstance(config, Mapping) else {}
        extra.pop("cron", None)
        extra.pop("timezone", None)
        shaped.append({**one, **own, "config": {**one["config"], **extra}})
    return shaped


def _difference(
    mine: Sequence[Any], made: Sequence[Any], read: ScheduleAnswer, now: datetime
) -> Iterator[str]:
    """Describe the difference, where both have schedules."""
    ours, theirs = _times(made, "UTC"), _times(mine)
    if read.clarifications:
        # The rules have no zone yet, so only the time of day is compared.
        theirs = _times([{**one, "config": {**_config(one), "timezone": "UTC"}} for one in mine])
    if not ours or not mine or is_same_schedule(ours, theirs, now):
        return
    shown = ", ".join(f"{tidy(cron, 60)} in {tidy(zone, 60)}" for cron, zone in _times(mine)[:3])
    said = "; ".join(one.sentence for one in read.readings) or ", ".join(cron for cron, _ in ours)
    yield (
        f"The model's schedule ({shown or 'incomplete'}) means other moments than the words do by "
        f"the rules ({said}). The rules' was taken."
    )


def _as_model_read(mine: Sequence[Any]) -> tuple[QuestionChoice, ...]:
    """The model's schedule as one choice of the rules' question."""
    times = [time for one in mine for time in _times([one])]
    if len(times) != 1 or not _can_be_read(times[0]):
        return ()
    cron, zone = times[0]
    return (
        QuestionChoice(
            f"{_describe_times(times)}, as the model read it", {"cron": cron, "timezone": zone}
        ),
    )


def _with_conditions(
    question: ProposalQuestion, document: Mapping[str, Any], offered: tuple[QuestionChoice, ...]
) -> ProposalQuestion:
    """Conditions of an answer apply to every step; the model's reading is an additional choice."""
    choices = [
        replace(one, also=tuple(place for entry in one.also for place in _spread(entry, document)))
        for one in question.choices
    ]
    if question.kind == "schedule":
        choices += [one for one in offered if all(one.value != other.value for other in choices)]
    return replace(question, choices=tuple(choices))


def _spread(entry: tuple[str, Any], document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    pointer, value = entry
    plan = document.get("plan")
    if pointer != _CONDITION:
        yield entry
        return
    for place, step in enumerate(plan if isinstance(plan, list) else ()):
        own = step.get("when") if isinstance(step, Mapping) else None
        joined = f"{{{{ ({_bare(value)}) and ({_bare(own)}) }}}}" if isinstance(own, str) else value
        yield join_pointer("/plan", place, "when"), joined


def _bare(condition: str) -> str:
    found = _ONE_EXPRESSION.fullmatch(condition)
    return (found[1] if found else condition).strip()


def is_same_schedule(left: Sequence[Times], right: Sequence[Times], now: datetime) -> bool:
    """Report whether two schedules have the same fire times in the compared periods."""
    if not left or not right:
        return not left and not right
    if not all(map(_can_be_read, (*left, *right))):
        return False
    if set(left) == set(right):
        return True
    return all(_moments(left, now + later) == _moments(right, now + later) for later in _WINDOWS)


def _moments(times: Sequence[Times], start: datetime) -> list[datetime]:
    end = start + _HORIZON
    together = merge(*(iterate_fire_times(cron, zone, start) for cron, zone in times))
    once = (moment for moment, _ in groupby(together))
    return list(takewhile(lambda moment: moment < end, islice(once, MOMENTS)))


def _can_be_read(time: Times) -> bool:
    try:
        next(iterate_fire_times(*time, datetime.fromisoformat("2026-01-01T00:00:00+00:00")), None)
    except Problem:
        return False
    return True


def _among(trigger: Mapping[str, Any], times: Sequence[Times], now: datetime) -> bool:
    own = _times([trigger])
    return any(own == [one] or is_same_schedule(own, [one], now) for one in times)


def _read_times(read: ScheduleAnswer) -> list[Times]:
    return [(cron, one.timezone) for one in read.readings for cron in one.crons]


def _is_sound(trigger: Any) -> bool:
    """Report whether it can be compared; otherwise the validator reports the error."""
    return isinstance(trigger, Mapping) and isinstance(trigger.get("type"), str)


def _is_schedule(trigger: Any) -> bool:
    return isinstance(trigger, Mapping) and trigger.get("type") == "schedule"


def _config(trigger: Mapping[str, Any]) -> Mapping[str, Any]:
    config = trigger.get("config")
    return config if isinstance(config, Mapping) else {}


def _times(triggers: Any, zone: str | None = None) -> list[Times]:
    """Return the complete schedules among triggers, with a default zone."""
    found = []
    for one in triggers if isinstance(triggers, list | tuple) else ():
        if _is_schedule(one):
            cron, place = _config(one).get("cron"), _config(one).get("timezone", zone)
            if isinstance(cron, str) and isinstance(place, str):
                found.append((cron, place))
    return found
