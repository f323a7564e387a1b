"""Words made into a definition by rules: always there, always the same, never guessing values.

Nothing here reads or writes anything: the words, the vocabulary and the names of the workspace
come in, a sketch goes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.shapes import AutomationRequest, ProposalQuestion, ProposalSketch
from mainspring.authoring.sketch.alarms import alarm_steps, split_alarms
from mainspring.authoring.sketch.caps import execution_of
from mainspring.authoring.sketch.changing import change
from mainspring.authoring.sketch.fortnights import on_steps
from mainspring.authoring.sketch.happenings import has_condition
from mainspring.authoring.sketch.intents import read_intent
from mainspring.authoring.sketch.languages import ONLY_ENGLISH, is_foreign
from mainspring.authoring.sketch.moments import (
    add_schedules,
    ask_how_often,
    ask_when,
    has_schedule,
    tell_assumed,
)
from mainspring.authoring.sketch.naming import goal_of, name_of
from mainspring.authoring.sketch.planning import build_plan
from mainspring.authoring.sketch.reading import Clause
from mainspring.authoring.sketch.request import ParsedRequest, read_request
from mainspring.authoring.sketch.rhythms import leaves_out_only
from mainspring.authoring.sketch.swapping import walk
from mainspring.authoring.sketch.texts import LONGEST, loose, quote_request, shorten_text
from mainspring.authoring.sketch.tool_steps import add_secret
from mainspring.authoring.sketch.triggers import add_happening, set_automation_name
from mainspring.authoring.sketch.watching import has_address, treat_watch_as_condition
from mainspring.authoring.sketch.wishes import ask_which, find_chosen_request, other_note, parts_of
from mainspring.authoring.sketch.workbench import SketchBuilder
from mainspring.contracts.plain_names import clean_name
from mainspring.contracts.registry import Vocabulary

_VERSION = "1.2"
MOST_CLAUSES = 20


def sketch(
    wish: AutomationRequest, words: Vocabulary, resources: WorkspaceResources
) -> ProposalSketch:
    """A definition out of words, with a question for everything that only a person can say."""
    if wish.before is not None:
        return change(wish, wish.before, words, resources)
    lines = wish.text.split("\n")
    foreign = dict.fromkeys(one for one in lines if is_foreign(one))
    read = "\n".join(one for one in lines if one not in foreign)
    if foreign and not read.strip():
        return _unread(wish, [*foreign], SketchBuilder(words, resources))
    return _read(replace(wish, text=read), [*foreign], words, resources)


def _read(
    wish: AutomationRequest,
    foreign: Sequence[str],
    words: Vocabulary,
    resources: WorkspaceResources,
) -> ProposalSketch:
    """The English lines of a request as a definition, and a question about the other lines."""
    request = treat_watch_as_condition(read_request(wish, resources))
    several = len(request.time.readings) + len(request.time.clarifications) > 1
    chosen = find_chosen_request(wish, resources) if several and "\n" in wish.text else None
    if chosen is not None:
        made = _read(chosen.wish, foreign, words, resources)
        return replace(made, notes=(*made.notes, other_note(chosen.others)))
    if parts := parts_of(request):
        first = _sketched(read_request(replace(wish, text=parts[0]), resources), words, resources)
        return ask_which(first, request.text, parts)
    made = _sketched(request, words, resources, foreign)
    if len(wish.text) > LONGEST:
        told = f"Only the first {LONGEST} characters of the request were read."
        made = replace(made, notes=(*made.notes, told))
    return made


def _unread(
    wish: AutomationRequest, foreign: Sequence[str], bench: SketchBuilder
) -> ProposalSketch:
    """Words in another language become nothing but a question."""
    question = ProposalQuestion(
        "words",
        "words",
        "/plan",
        "What should it do, and when? Say it in English.",
        why=ONLY_ENGLISH,
    )
    document = {
        "schema_version": _VERSION,
        "name": shorten_text(clean_name(loose(wish.text)), 60) or "Automation",
        # No text with this character can be stored.
        "goal": goal_of(wish.text.replace("\x00", " ")),
        "triggers": [],
        "metadata": {"created_from_nl": False},
    }
    # The notes name the lines, so that they are not asked about again after an answer.
    _lose_foreign(bench, foreign)
    return ProposalSketch(document, (question,), tuple(bench.notes))


def _lose_foreign(bench: SketchBuilder, foreign: Sequence[str]) -> None:
    if foreign:
        bench.note(ONLY_ENGLISH)
    for line in foreign:
        bench.lose(line.strip())


def _sketched(
    request: ParsedRequest,
    words: Vocabulary,
    resources: WorkspaceResources,
    foreign: Sequence[str] = (),
) -> ProposalSketch:
    bench = SketchBuilder(words, resources)
    _lose_foreign(bench, foreign)
    bench.text, bench.fields, bench.titles = request.text, request.fields, dict(request.titles)
    for said in request.unwanted:
        bench.note(f"This was said not to be done, so no step does it: {quote_request(said)}.")
    conditions = add_triggers(bench, request)
    first = next((one for one in request.happenings if one.sort != "failure"), None)
    happening = "" if first is None else f"{first.start} {first.text}"
    clauses, alarms = split_alarms(request)
    name = name_of(clauses, happening, resources.automations or ())
    intents = [read_intent(one, bench) for one in clauses[:MOST_CLAUSES]]
    if len(clauses) > MOST_CLAUSES:
        bench.note(f"Only the first {MOST_CLAUSES} parts of the request were read.")
    planned = build_plan(bench, intents, conditions, name, plainly=request.plainly)
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
    """Addresses that no step and no prompt uses: whose mails are meant would be lost."""
    configs = [one.get("config", {}) for one in walk(bench.steps)]
    used = " ".join(f"{one.get('to', '')} {one.get('prompt', '')}" for one in configs)
    for clause in clauses[:MOST_CLAUSES]:
        for one in clause.of("mail"):
            if one.text not in used:
                bench.lose(
                    one.text,
                    f"Nothing looks at whether something is from {quote_request(one.text)}.",
                )


def add_triggers(bench: SketchBuilder, request: ParsedRequest) -> list[str]:
    """The triggers of a request; what is left over are conditions for what is done."""
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
