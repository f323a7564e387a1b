"""A proposal goes on: by answers, by edits, and by further words.

In this order: answers fill what was open, edits are a person's own hand, and words are read
last, with everything before them in place. Whatever comes out is judged and reviewed anew. A
hand that makes it wrong is told where, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mainspring.authoring.phrases.words import LONGEST
from mainspring.authoring.places import (
    NOT_THERE,
    PointerNotFound,
    parent_of,
    set_at_pointer,
    take_out,
    value_at,
)
from mainspring.authoring.proposals.answering import AnswerContext, apply_answers
from mainspring.authoring.proposals.body import ConversationEntry, ProposalBody
from mainspring.authoring.proposals.making import ProposalBuilder, make, validate_body
from mainspring.authoring.shapes import AutomationRequest, ProposalQuestion, ProposalSketch
from mainspring.authoring.sketch.texts import quote_request
from mainspring.authoring.sketch.workbench import NOT_UNDERSTOOD
from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.json_text import check_value
from mainspring.definition.pointers import join_pointer


async def refine_body(
    bench: ProposalBuilder,
    body: ProposalBody,
    given: Mapping[str, Any],
    before: Mapping[str, Any] | None,
) -> ProposalBody:
    """The body after answers, edits and words; ``before`` is what a change started from."""
    hand = bool(given.get("edits") or "definition" in given)
    answers = given.get("answers") or {}
    place = _place(bench, body)
    answered = apply_answers(body.document, body.questions, answers, place)
    document = _by_hand(answered.document, given, bench)
    left = [one for one in body.questions if one.id not in answers]
    made = await validate_body(bench, body, document, left)
    if hand:
        _refuse_new(body.problems, made.problems)
    if answers:
        known = {name: answers[name] for name in answers if name not in answered.worded}
        made = replace(made, answers={**made.answers, **known})
        # Not the answers themselves: the document has them, and a token typed by mistake has no
        # business in a conversation.
        made = made.saying(ConversationEntry("person", f"Answered: {', '.join(answers)}."))
    if answered.timezone is not None:
        made = replace(made, timezone=answered.timezone)
    if answered.words or answered.timezone is not None:
        made = await _reread_request(bench, made, "\n".join(answered.words), before)
    if given.get("instruction"):
        made = await _apply_instruction(bench, made, given["instruction"])
    return made


def _place(bench: ProposalBuilder, body: ProposalBody) -> AnswerContext:
    boards = {one.name: one.id for one in bench.resources.boards}
    return AnswerContext(bench.ctx.clock.now(), body.timezone, bench.studio.limits, boards)


def _by_hand(
    document: dict[str, Any], given: Mapping[str, Any], bench: ProposalBuilder
) -> dict[str, Any]:
    """What a person wrote themselves: a whole definition, or values at places."""
    if "definition" in given:
        document = dict(given["definition"])
    findings: list[Finding] = []
    for number, edit in enumerate(given.get("edits") or ()):
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
    check_value(document, bench.studio.limits)
    return document


def _refuse_new(before: Sequence[Finding], after: Sequence[Finding]) -> None:
    """An edit may leave what was wrong before, and may add nothing that is."""
    known = {(one.pointer, one.code) for one in before}
    new = [one for one in after if (one.pointer, one.code) not in known]
    if new:
        raise Invalid(
            f"With this the definition would not be right: {new[0].detail}",
            code="invalid_definition",
            findings=new,
        )


async def _reread_request(
    bench: ProposalBuilder, body: ProposalBody, words: str, before: Mapping[str, Any] | None
) -> ProposalBody:
    """The request is read again, with what was said since; with no words, in another zone."""
    whole = replace(body, request=f"{body.request}\n{words}") if words else body
    if len(whole.request) > LONGEST:
        detail = f"With this the request has more than {LONGEST:,} characters."
        way = "Throw the proposal away and say all of it in fewer words."
        raise Invalid(
            detail,
            code="too_many_words",
            findings=[Finding("/answers", detail, "too_many_words")],
            suggestion=way,
        )
    wish = AutomationRequest(whole.request, bench.ctx.clock.now(), body.timezone, before)
    found, making = await make(bench, wish, body.talk)
    made = replace(whole, notes=found.notes, making=making)
    if words:
        made = made.saying(ConversationEntry("person", words))
    found = replace(found, questions=tuple(_not_asked_again(found.questions, body)))
    document, questions = _answered_before(bench, made, found)
    return await validate_body(bench, made, document, questions)


def _not_asked_again(
    questions: Sequence[ProposalQuestion], body: ProposalBody
) -> Iterator[ProposalQuestion]:
    """Without what was told before as not understood: the new words are said instead of it."""
    known = " ".join((*body.notes, *(one.question for one in body.questions)))
    for one in questions:
        misses = one.choices[0].value if one.id == NOT_UNDERSTOOD else ()
        if not misses or not all(quote_request(miss) in known for miss in misses):
            yield one


def _answered_before(
    bench: ProposalBuilder, body: ProposalBody, found: ProposalSketch
) -> tuple[dict[str, Any], list[ProposalQuestion]]:
    """What was answered already is not asked again, as far as the answer still fits."""
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
    """A change of what stands there, in words."""
    wish = AutomationRequest(instruction, bench.ctx.clock.now(), body.timezone, body.document)
    found, making = await make(bench, wish, body.talk)
    left = (one for one in body.questions if _has_place(one, found.document))
    asked = {one.id: one for one in (*left, *found.questions)}
    made = replace(body, notes=found.notes, making=making)
    made = made.saying(
        ConversationEntry("person", instruction),
        ConversationEntry("proposal", " ".join(found.notes)),
    )
    return await validate_body(bench, made, found.document, tuple(asked.values()))


def _has_place(question: ProposalQuestion, document: Mapping[str, Any]) -> bool:
    """Whether an answer could still be put there; steps may have moved or be gone."""
    if question.kind in ("schedule", "words"):
        return True
    places = (question.pointer, *question.others)
    return all(value_at(document, parent_of(place)) is not NOT_THERE for place in places)
