"""Building a definition from a request by rules: deterministic, and never guessing values.

Pure functions: request, vocabulary and workspace names in, a sketch out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.authoring.models import (
    AutomationRequest,
    ProposalQuestion,
    ProposalSketch,
    QuestionChoice,
)
from mainspring.authoring.phrases.schedule_answers import (
    ScheduleClarification,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.caps import execution_of
from mainspring.authoring.sketch.definition_changes import change
from mainspring.authoring.sketch.failure_alerts import alarm_steps, split_alarms
from mainspring.authoring.sketch.fortnights import on_steps
from mainspring.authoring.sketch.intents import read_intent
from mainspring.authoring.sketch.languages import ONLY_ENGLISH, is_foreign
from mainspring.authoring.sketch.naming import goal_of, name_of
from mainspring.authoring.sketch.planning import build_plan
from mainspring.authoring.sketch.replacements import walk
from mainspring.authoring.sketch.request import ParsedRequest, read_request
from mainspring.authoring.sketch.request_tokens import Clause, split_clauses, tokenise
from mainspring.authoring.sketch.schedule_changes import leaves_out_only
from mainspring.authoring.sketch.schedule_triggers import (
    add_schedules,
    ask_how_often,
    ask_when,
    has_schedule,
    tell_assumed,
)
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import LONGEST, loose, quote_request, shorten_text
from mainspring.authoring.sketch.tool_steps import add_secret
from mainspring.authoring.sketch.trigger_events import has_condition
from mainspring.authoring.sketch.triggers import (
    add_happening,
    answer_in_chat,
    set_automation_name,
)
from mainspring.authoring.sketch.url_watch import has_address, treat_watch_as_condition
from mainspring.contracts.display_text import clean_name
from mainspring.contracts.registry import Vocabulary

# Several requests in one, each with its own time: an automation has one plan for all its triggers.

_EDGES: Final = " \t\n,;.:-–&"
_JOINING: Final = ("and then ", "and also ", "and ", "also ", "then ", "plus ")
_JOINED: Final = ("and", "then", ",", ";", ".", "also")
_MOST: Final = 6
_SMALL: Final = frozenset({"the", "one", "please", "number", "wish", "automation"})
_KEPT: Final = ("schema_version", "name", "goal", "intent", "triggers", "execution", "metadata")
_ORDER: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


def parts_of(request: ParsedRequest) -> list[str]:
    """Split a request into parts with their own times; empty when there is only one."""
    time = request.time
    read: list[ScheduleReading | ScheduleClarification | ScheduleRefusal] = [
        *time.readings,
        *time.clarifications,
        *time.refusals,
    ]
    found = sorted({(one.span.start, one.span.end) for one in read})
    spans = [one for place, one in enumerate(found) if not place or one[0] >= found[place - 1][1]]
    if not 1 < len(spans) <= _MOST:
        return []
    text = request.text
    starts, ends = [one[0] for one in spans], [one[1] for one in spans]
    between = [text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)]
    deeds = [_has_deed(one) for one in between]
    if not deeds[0] and all(deeds[1:]):
        places = list(zip(starts, [*starts[1:], len(text)], strict=True))
    elif all(deeds[:-1]) and not deeds[-1]:
        places = list(zip([0, *ends[:-1]], [*ends[:-1], len(text)], strict=True))
    elif deeds == [True, False, True] and not _goes_on(between[2]):
        places = [(0, ends[0]), (starts[1], len(text))]
    else:
        return []
    return [_plain(text[start:end]) for start, end in places]


def _has_deed(text: str) -> bool:
    return any(one.verb and len(one.tokens) > 1 for one in split_clauses(tokenise(text), text))


def _goes_on(text: str) -> bool:
    return text.lstrip().lower().startswith(_JOINED)


def _plain(text: str) -> str:
    made = text.strip(_EDGES)
    for word in _JOINING:
        if made.lower().startswith(word):
            made = made[len(word) :]
    words = made.split(" ")
    while len(words) > 1 and words[-1].lower().strip(_EDGES) in {"and", "then", "also", ""}:
        words.pop()
    return " ".join(words).strip(_EDGES)


@dataclass(frozen=True, slots=True)
class ChosenRequest:
    """One of several requests, and the others."""

    request: AutomationRequest
    others: tuple[str, ...]


def find_chosen_request(
    request: AutomationRequest, resources: WorkspaceResources
) -> ChosenRequest | None:
    """Find the request that a later line chooses; None when none does."""
    lines = request.text.split("\n")
    for place in range(1, min(len(lines), _MOST)):
        head = read_request(replace(request, text="\n".join(lines[:place])), resources)
        parts = parts_of(head)
        chosen = match_answered_request(parts, lines[place]) if parts else None
        if chosen is not None:
            zones = {one.timezone for one in head.time.readings}
            zone = request.timezone or (zones.pop() if len(zones) == 1 else None)
            text = "\n".join((parts[chosen], *lines[place + 1 :]))
            others = tuple(one for at, one in enumerate(parts) if at != chosen)
            return ChosenRequest(replace(request, text=text, timezone=zone), others)
    return None


def match_answered_request(parts: Sequence[str], text: str) -> int | None:
    """Match an answer to one of the requests, by words or number."""
    low = text.strip(_EDGES).casefold()
    for place, one in enumerate(parts):
        if low == one.casefold():
            return place
    words = [one for one in low.split() if one not in _SMALL]
    for place, name in enumerate(_ORDER[: len(parts)]):
        if words in ([name], [str(place + 1)]):
            return place
    return None


def ask_which(first: ProposalSketch, text: str, parts: Sequence[str]) -> ProposalSketch:
    """Sketch one request without the parts that the answer decides, and ask which."""
    document = {key: first.document[key] for key in _KEPT}
    document |= {"goal": goal_of(text), "intent": loose(text)[:LONGEST], "triggers": []}
    count = {2: "two", 3: "three"}.get(len(parts), str(len(parts)))
    question = ProposalQuestion(
        "words",
        "words",
        "/plan",
        f"These are {count} automations. Which one do you want?",
        choices=tuple(QuestionChoice(one, one) for one in parts),
        why="Each has its own time, and an automation does all that it does each time.",
    )
    document["execution"] = {
        key: value for key, value in document["execution"].items() if key != "on_failure"
    }
    return ProposalSketch(document, (question,), ("Request the others separately.",))


def other_note(others: Sequence[str]) -> str:
    told = " and ".join(quote_request(one) for one in others)
    return f"This needs a separate automation. Request it separately: {told}."


_VERSION = "1.2"
MOST_CLAUSES = 20


def sketch(
    request: AutomationRequest, vocabulary: Vocabulary, resources: WorkspaceResources
) -> ProposalSketch:
    """Build a definition from a request, with a question for every missing value."""
    if request.before is not None:
        return change(request, request.before, vocabulary, resources)
    lines = request.text.split("\n")
    foreign = dict.fromkeys(one for one in lines if is_foreign(one))
    read = "\n".join(one for one in lines if one not in foreign)
    if foreign and not read.strip():
        return _ask_for_english(request, [*foreign], SketchBuilder(vocabulary, resources))
    return _read(replace(request, text=read), [*foreign], vocabulary, resources)


def _read(
    automation_request: AutomationRequest,
    foreign: Sequence[str],
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
) -> ProposalSketch:
    """Build from the English lines, with a question about the others."""
    request = treat_watch_as_condition(read_request(automation_request, resources))
    several = len(request.time.readings) + len(request.time.clarifications) > 1
    chosen = (
        find_chosen_request(automation_request, resources)
        if several and "\n" in automation_request.text
        else None
    )
    if chosen is not None:
        made = _read(chosen.request, foreign, vocabulary, resources)
        return replace(made, notes=(*made.notes, other_note(chosen.others)))
    if parts := parts_of(request):
        first = _sketch_request(
            read_request(replace(automation_request, text=parts[0]), resources),
            vocabulary,
            resources,
        )
        return ask_which(first, request.text, parts)
    made = _sketch_request(request, vocabulary, resources, foreign)
    if len(automation_request.text) > LONGEST:
        message = f"Only the first {LONGEST} characters of the request were read."
        made = replace(made, notes=(*made.notes, message))
    return made


def _ask_for_english(
    request: AutomationRequest, foreign: Sequence[str], bench: SketchBuilder
) -> ProposalSketch:
    """A request in another language becomes a question only."""
    question = ProposalQuestion(
        "words",
        "words",
        "/plan",
        "What should it do, and when? Say it in English.",
        why=ONLY_ENGLISH,
    )
    document = {
        "schema_version": _VERSION,
        "name": shorten_text(clean_name(loose(request.text)), 60) or "Automation",
        # NUL cannot be stored.
        "goal": goal_of(request.text.replace("\x00", " ")),
        "triggers": [],
        "metadata": {"created_from_nl": False},
    }
    # The notes name the lines, so that they are not asked about again.
    _lose_foreign(bench, foreign)
    return ProposalSketch(document, (question,), tuple(bench.notes))


def _lose_foreign(bench: SketchBuilder, foreign: Sequence[str]) -> None:
    if foreign:
        bench.note(ONLY_ENGLISH)
    for line in foreign:
        bench.lose(line.strip())


def _sketch_request(
    request: ParsedRequest,
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
    foreign: Sequence[str] = (),
) -> ProposalSketch:
    bench = SketchBuilder(vocabulary, resources)
    _lose_foreign(bench, foreign)
    bench.text, bench.fields, bench.titles = request.text, request.fields, dict(request.titles)
    for said in request.unwanted:
        bench.note(f"The request excludes this, so no step does it: {quote_request(said)}.")
    conditions = add_triggers(bench, request)
    first = next((one for one in request.happenings if one.sort != "failure"), None)
    happening = "" if first is None else f"{first.start} {first.text}"
    clauses, alarms = split_alarms(request)
    name = name_of(clauses, happening, resources.automations or ())
    intents = [read_intent(one, bench) for one in clauses[:MOST_CLAUSES]]
    if len(clauses) > MOST_CLAUSES:
        bench.note(f"Only the first {MOST_CLAUSES} parts of the request were read.")
    planned = build_plan(bench, intents, conditions, name, plainly=request.plainly)
    answer_in_chat(bench)
    _tell_unused(bench, clauses)
    add_secret(bench, request.text)
    document = _document(bench, request, name, planned, alarms)
    if not planned:
        bench.ask(
            "words",
            "/plan",
            "What should it do?",
            kind="words",
            why="Nothing that can be done was understood.",
        )
    else:
        bench.ask_lost(document)
    for title in bench.titles.values():
        bench.note(f"Nothing that is written here could be called {quote_request(title)}.")
    questions = bench.order_questions(len(document.get("writes", {}).get("boards", ())))
    return ProposalSketch(document, on_steps(questions, bench.steps), tuple(bench.notes))


def _tell_unused(bench: SketchBuilder, clauses: Sequence[Clause]) -> None:
    """Report addresses that no step and no prompt uses."""
    configs = [one.get("config", {}) for one in walk(bench.steps)]
    used = " ".join(f"{one.get('to', '')} {one.get('prompt', '')}" for one in configs)
    for clause in clauses[:MOST_CLAUSES]:
        for one in clause.of("mail"):
            if one.text not in used:
                bench.lose(
                    one.text,
                    f"Nothing checks whether something is from {quote_request(one.text)}.",
                )


def add_triggers(bench: SketchBuilder, request: ParsedRequest) -> list[str]:
    """Add a request's triggers; the rest are conditions."""
    conditions: list[str] = []
    vague = ("condition", "unknown", "failure")
    happens = any(one.sort not in vague for one in request.happenings)
    scheduled = has_schedule(request.time)
    if scheduled and happens and leaves_out_only(request.timed):
        bench.note("What happens starts it at any time, also when nothing was to be done.")
        scheduled = False
    else:
        add_schedules(bench, request.time)
    tell_assumed(bench, request.assumed)
    for one in request.happenings:
        if one.sort == "failure":
            continue
        known = one.sort not in ("condition", "unknown")
        if not known and not scheduled and not bench.triggers and has_address(one):
            ask_how_often(bench)
            conditions.append(one.text)
            continue
        alone = not scheduled and not bench.triggers and not bench.questions
        pending = bool(bench.triggers or bench.questions)
        later = one.start in {"if", "unless"} and (scheduled or pending)
        if later or (scheduled and not known) or not add_happening(bench, one, alone=alone):
            conditions.append(one.text if one.start != "unless" else f"not: {one.text}")
        elif has_condition(one):
            conditions.append(one.text)
    conditions += [one for one in bench.narrowed if one not in conditions]
    if not bench.triggers and not bench.questions and not request.by_hand:
        ask_when(bench)
    return conditions


def _document(
    bench: SketchBuilder, request: ParsedRequest, name: str, planned: bool, alarms: list[Clause]
) -> dict[str, Any]:
    thinks = any(one.get("action") == "agent_task" for one in bench.steps)
    document: dict[str, Any] = {
        "schema_version": _VERSION,
        "name": clean_name(name) or "Automation",
        "goal": goal_of(request.text),
        "intent": loose(request.text)[:LONGEST] or "-",
    }
    if bench.inputs:
        document["inputs"] = {
            "schema": {
                "type": "object",
                "required": list(bench.inputs),
                "properties": dict(bench.inputs),
            }
        }
    document["triggers"] = [set_automation_name(one, name) for one in bench.triggers]
    if planned:
        document["plan"] = bench.steps
    document["execution"] = execution_of(request.caps.values, thinks=thinks)
    if any(one.sort == "failure" for one in request.happenings):
        document["execution"]["on_failure"] = alarm_steps(bench, alarms)
    elif bench.alarms:
        document["execution"]["on_failure"] = bench.alarms
    writes = _writes(bench)
    if writes:
        document["writes"] = writes
    document["metadata"] = {"created_from_nl": False}
    return document


def _writes(bench: SketchBuilder) -> dict[str, Any]:
    if not bench.boards and not bench.unknown_boards:
        return {}
    made: dict[str, Any] = {"boards": list(bench.boards)}
    if bench.key_field:
        made["dedupe_key_field"] = bench.key_field
    return made
