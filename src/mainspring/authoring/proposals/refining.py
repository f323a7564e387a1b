"""Refining a proposal: by answers, edits and instructions.

In this order: answers fill open questions, edits are a person's own changes, and instructions are
applied last. The result is validated and reviewed again. An edit that breaks it is rejected with
its pointer, and nothing is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from mainspring.authoring.json_pointers import (
    NOT_THERE,
    PointerNotFound,
    parent_of,
    set_at_pointer,
    take_out,
    value_at,
)
from mainspring.authoring.models import (
    AutomationRequest,
    ProposalQuestion,
    ProposalSketch,
    QuestionChoice,
)
from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.authoring.phrases.schedule_parser import parse_schedules
from mainspring.authoring.phrases.zones import is_zone
from mainspring.authoring.proposals.builder import ProposalBuilder, make, validate_body
from mainspring.authoring.proposals.proposal_body import ConversationEntry, ProposalBody
from mainspring.authoring.sketch.sketch_builder import NOT_UNDERSTOOD
from mainspring.authoring.sketch.texts import quote_request
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.strict_json import (
    check_value,
    is_same_value,
    join_pointer,
    split_pointer,
)

# Answers, set at the pointers of their questions.

BY_HAND: Final = "by hand"
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TRIGGERS: Final = "/triggers"


@dataclass(frozen=True, slots=True)
class AnsweredDocument:
    """A document with answers applied, and additions to the request."""

    document: dict[str, Any]
    words: tuple[str, ...] = ()
    # The ids of the questions that the additions answer.
    worded: frozenset[str] = frozenset()
    # The time zone for parsing the request again.
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The context for reading answers."""

    now: datetime
    timezone: str | None
    limits: Limits
    # Existing boards: name to id.
    boards: Mapping[str, str] = field(default_factory=dict)


def apply_answers(
    document: Mapping[str, Any],
    questions: Sequence[ProposalQuestion],
    answers: Mapping[str, Any],
    place: AnswerContext,
) -> AnsweredDocument:
    """Set each answer at its place."""
    asked = {one.id: one for one in questions}
    findings = [
        Finding(
            join_pointer("/answers", name),
            f"There is no open question {name[:100]!r}.",
            "no_question",
        )
        for name in answers.keys() - asked.keys()
    ]
    made, words, worded = dict(document), [], set()
    timezone = None
    # In question order: a schedule that becomes two moves nothing before it.
    for question in questions:
        if question.id not in answers:
            continue
        at = join_pointer("/answers", question.id)
        try:
            if question.kind == "words" and _chosen(question, answers[question.id]) is None:
                words.append(_text(answers[question.id], at))
                worded.add(question.id)
            elif question.kind == "time_zone" and not question.pointer.endswith("/timezone"):
                # There is no schedule yet: the options depend on the zone.
                timezone = _zone(answers[question.id], at)
                worded.add(question.id)
            else:
                for pointer, value in _iterate_changes(
                    question, answers[question.id], made, place, at
                ):
                    made = set_at_pointer(made, pointer, value)
        except PointerNotFound as lost:
            findings.append(Finding(at, lost.finding.detail, "no_place"))
        except Invalid as wrong:
            findings += wrong.findings
    if findings:
        raise Invalid(findings[0].detail, code="answer_unusable", findings=findings)
    return AnsweredDocument(made, tuple(words), frozenset(worded), timezone)


def _iterate_changes(
    question: ProposalQuestion,
    answer: Any,
    document: Mapping[str, Any],
    place: AnswerContext,
    at: str,
) -> Iterator[tuple[str, Any]]:
    choice = _chosen(question, answer)
    if question.kind == "schedule":
        yield from _schedule(question, choice, answer, document, place, at)
    elif question.kind == "time_zone":
        zone = _zone(answer if choice is None else choice.value, at)
        for pointer in (question.pointer, *question.others):
            yield pointer, zone
    else:
        value = _resolve_answer(question, answer, place, at) if choice is None else choice.value
        if question.kind != "words":
            _check(question, value, place, at)
        for pointer in (question.pointer, *question.others):
            yield pointer, value
    if choice is not None:
        yield from choice.also


def _chosen(question: ProposalQuestion, answer: Any) -> QuestionChoice | None:
    """Find the choice by its value or its label."""
    for choice in question.choices:
        if is_same_value(choice.value, answer):
            return choice
    said = answer.strip().casefold() if isinstance(answer, str) else None
    return next((one for one in question.choices if one.label.casefold() == said), None)


def _resolve_answer(question: ProposalQuestion, answer: Any, place: AnswerContext, at: str) -> Any:
    """Return an answer; a board's name is replaced by its id."""
    if not question.pointer.endswith("/board_id") or not isinstance(answer, str):
        return answer
    if _UUID.fullmatch(answer.strip()):
        return answer.strip().lower()
    wanted = answer.strip().casefold()
    found = [id_ for name, id_ in place.boards.items() if name.casefold() == wanted]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(repr(name) for name in list(place.boards)[:5]) or "none yet"
    raise _wrong(
        at,
        f"There is no board called {answer.strip()[:100]!r}.",
        f"There are: {shown}. `mainspring boards create` makes one; then answer again.",
    )


def _check(question: ProposalQuestion, value: Any, place: AnswerContext, at: str) -> None:
    findings = compile_schema(question.schema, place.limits).findings(value, at)
    if findings:
        raise Invalid(findings[0].detail, code="answer_unusable", findings=findings)


def _schedule(
    question: ProposalQuestion,
    choice: QuestionChoice | None,
    answer: Any,
    document: Mapping[str, Any],
    place: AnswerContext,
    at: str,
) -> Iterator[tuple[str, Any]]:
    value = answer if choice is None else choice.value
    configs = _configs(value, place, at)
    triggers = value_at(document, _TRIGGERS)
    entries = list(triggers) if isinstance(triggers, list) else []
    here = int(split_pointer(question.pointer)[1])
    before, after = entries[:here], entries[here + 1 :]
    taken = {str(one.get("id")) for one in (*before, *after) if isinstance(one, Mapping)}
    made = [
        {"id": name, "type": "schedule", "config": config}
        for name, config in zip(_free(taken), configs, strict=False)
    ]
    yield _TRIGGERS, [*before, *made, *after]


def _free(used: set[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        if f"schedule-{number}" not in used:
            yield f"schedule-{number}"


def _configs(value: Any, place: AnswerContext, at: str) -> list[dict[str, Any]]:
    """The trigger configs for an answer; empty for manual start."""
    if value is None or (isinstance(value, str) and value.strip().casefold() == BY_HAND):
        return []
    if isinstance(value, str):
        return _read(value, place, at)
    entries = value if isinstance(value, list) else [value]
    configs = []
    for entry in entries:
        keys = ("cron", "at", "every", "anchor")
        written = {
            key: entry[key]
            for key in keys
            if isinstance(entry, Mapping) and isinstance(entry.get(key), str)
        }
        if not written.keys() & {"cron", "at", "every"}:
            raise _wrong(at, "Say when in words, or as cron and timezone.")
        zone = entry.get("timezone") or place.timezone
        if zone is None:
            raise _wrong(at, "Which time zone? Add timezone, such as Europe/Berlin.")
        configs.append({**written, "timezone": _zone(zone, at)})
    return configs


def _read(text: str, place: AnswerContext, at: str) -> list[dict[str, Any]]:
    answer = parse_schedules(text, place.now, place.timezone)
    configs: list[dict[str, Any]] = [
        dict(config) for one in answer.readings for config in one.configs
    ]
    if answer.clarifications:
        asked = answer.clarifications[0]
        choices = "; ".join(one.sentence for one in asked.choices[:5])
        raise _wrong(at, asked.question, f"Such as: {choices}." if choices else None)
    if answer.refusals:
        raise _wrong(at, answer.refusals[0].reason)
    if not configs:
        raise _wrong(
            at, "These words say nothing about when.", "Such as: every weekday at 9 Berlin time."
        )
    return configs


def _zone(value: Any, at: str) -> str:
    """Return an IANA name, or the zone of an unambiguous place."""
    text = value.strip() if isinstance(value, str) else ""
    if is_zone(text):
        return text
    # A place is parsed as in a sentence.
    read = parse_schedules(f"every day at 9:00 {text} time"[:200], _ANY_DAY, None)
    if text and len(read.readings) == 1 and not read.clarifications:
        return read.readings[0].timezone
    zones = [
        choice.timezone or choice.sentence
        for asked in read.clarifications[:1]
        for choice in asked.choices
    ]
    hint = f"Such as {', '.join(zones[:5])}." if zones and text else "Such as Europe/Berlin."
    raise _wrong(at, "There is no time zone of this name.", hint)


_ANY_DAY: Final = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def _text(value: Any, at: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(at, "Say it in words.")
    if len(value) > LONGEST:
        raise _wrong(at, f"At most {LONGEST:,} characters are read; say it in fewer words.")
    return value.strip()


def _wrong(at: str, detail: str, suggestion: str | None = None) -> Invalid:
    return Invalid(
        detail,
        code="answer_unusable",
        findings=[Finding(at, detail, "answer_unusable", suggestion)],
    )


async def refine_body(
    bench: ProposalBuilder,
    body: ProposalBody,
    arguments: Mapping[str, Any],
    before: Mapping[str, Any] | None,
) -> ProposalBody:
    """Apply answers, edits and instructions; ``before`` is the base of an edit."""
    hand = bool(arguments.get("edits") or "definition" in arguments)
    answers = arguments.get("answers") or {}
    place = _place(bench, body)
    answered = apply_answers(body.document, body.questions, answers, place)
    document = _by_hand(answered.document, arguments, bench)
    left = [one for one in body.questions if one.id not in answers]
    made = await validate_body(bench, body, document, left)
    if hand:
        _refuse_new(body.problems, made.problems)
    if answers:
        known = {name: answers[name] for name in answers if name not in answered.worded}
        made = replace(made, answers={**made.answers, **known})
        # Not the answers: the document has them, and a pasted token must not be stored in the
        # conversation.
        made = made.saying(ConversationEntry("person", f"Answered: {', '.join(answers)}."))
    if answered.timezone is not None:
        made = replace(made, timezone=answered.timezone)
    if answered.words or answered.timezone is not None:
        made = await _reread_request(bench, made, "\n".join(answered.words), before)
    if arguments.get("instruction"):
        made = await _apply_instruction(bench, made, arguments["instruction"])
    return made


def _place(bench: ProposalBuilder, body: ProposalBody) -> AnswerContext:
    boards = {one.name: one.id for one in bench.resources.boards}
    return AnswerContext(bench.ctx.clock.now(), body.timezone, bench.service.limits, boards)


def _by_hand(
    document: dict[str, Any], arguments: Mapping[str, Any], bench: ProposalBuilder
) -> dict[str, Any]:
    """Apply a person's edit: a whole definition, or values at pointers."""
    if "definition" in arguments:
        document = dict(arguments["definition"])
    findings: list[Finding] = []
    for number, edit in enumerate(arguments.get("edits") or ()):
        at = join_pointer("/edits", number)
        try:
            pointer = edit["pointer"]
            made = (
                take_out(document, pointer)
                if edit.get("remove")
                else set_at_pointer(document, pointer, edit["value"])
            )
        except PointerNotFound as lost:
            findings.append(Finding(join_pointer(at, "pointer"), lost.finding.detail, "no_place"))
            continue
        if not isinstance(made, dict):
            findings.append(Finding(at, "A definition is a JSON object.", "type"))
            continue
        document = made
    if findings:
        raise Invalid(findings[0].detail, code="edit_unusable", findings=findings)
    check_value(document, bench.service.limits)
    return document


def _refuse_new(before: Sequence[Finding], after: Sequence[Finding]) -> None:
    """Reject new errors; existing ones may stay."""
    known = {(one.pointer, one.code) for one in before}
    new = [one for one in after if (one.pointer, one.code) not in known]
    if new:
        raise Invalid(
            f"With this the definition would not be right: {new[0].detail}",
            code="invalid_definition",
            findings=new,
        )


async def _reread_request(
    bench: ProposalBuilder, body: ProposalBody, text: str, before: Mapping[str, Any] | None
) -> ProposalBody:
    """Parse the request again with additions, or in another zone."""
    whole = replace(body, request=f"{body.request}\n{text}") if text else body
    if len(whole.request) > LONGEST:
        detail = f"With this the request has more than {LONGEST:,} characters."
        way = "Throw the proposal away and say all of it in fewer words."
        raise Invalid(
            detail,
            code="too_many_words",
            findings=[Finding("/answers", detail, "too_many_words")],
            suggestion=way,
        )
    request = AutomationRequest(whole.request, bench.ctx.clock.now(), body.timezone, before)
    found, making = await make(bench, request, body.talk)
    made = replace(whole, notes=found.notes, making=making)
    if text:
        made = made.saying(ConversationEntry("person", text))
    found = replace(found, questions=tuple(_not_asked_again(found.questions, body)))
    document, questions = _reapply_answers(bench, made, found)
    return await validate_body(bench, made, document, questions)


def _not_asked_again(
    questions: Sequence[ProposalQuestion], body: ProposalBody
) -> Iterator[ProposalQuestion]:
    """Drop the earlier not-understood question, which the new words replace."""
    known = " ".join((*body.notes, *(one.question for one in body.questions)))
    for one in questions:
        misses = one.choices[0].value if one.id == NOT_UNDERSTOOD else ()
        if not misses or not all(quote_request(miss) in known for miss in misses):
            yield one


def _reapply_answers(
    bench: ProposalBuilder, body: ProposalBody, found: ProposalSketch
) -> tuple[dict[str, Any], list[ProposalQuestion]]:
    """Reapply earlier answers that are still valid."""
    place = _place(bench, body)
    document, left = found.document, []
    for question in found.questions:
        given = {question.id: body.answers[question.id]} if question.id in body.answers else {}
        try:
            document = apply_answers(document, [question], given, place).document
        except Invalid:
            given = {}
        if not given:
            left.append(question)
    return document, left


async def _apply_instruction(
    bench: ProposalBuilder, body: ProposalBody, instruction: str
) -> ProposalBody:
    """Apply an instruction to the existing definition."""
    request = AutomationRequest(instruction, bench.ctx.clock.now(), body.timezone, body.document)
    found, making = await make(bench, request, body.talk)
    left = (one for one in body.questions if _has_place(one, found.document))
    asked = {one.id: one for one in (*left, *found.questions)}
    made = replace(body, notes=found.notes, making=making)
    made = made.saying(
        ConversationEntry("person", instruction),
        ConversationEntry("proposal", " ".join(found.notes)),
    )
    return await validate_body(bench, made, found.document, tuple(asked.values()))


def _has_place(question: ProposalQuestion, document: Mapping[str, Any]) -> bool:
    """Report whether a question's place still exists; steps may have moved."""
    if question.kind in ("schedule", "words"):
        return True
    places = (question.pointer, *question.others)
    return all(value_at(document, parent_of(place)) is not NOT_THERE for place in places)
