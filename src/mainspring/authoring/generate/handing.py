"""What a model hands in: tidied, compared with the rules, and judged by the one validator.

A definition that lacks a value is right as long as a question asks for it. Everything else that
the validator finds is told to the model, and no person ever sees that definition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.authoring.generate.desk import MOST_ROUNDS, GenerationContext, tidy
from mainspring.authoring.generate.names import KnownNames, find_invented_names, remarks
from mainspring.authoring.generate.questions import MOST, free, take
from mainspring.authoring.generate.tidying import normalize_definition
from mainspring.authoring.generate.timing import reconcile_triggers
from mainspring.authoring.phrases.answers import ScheduleAnswer
from mainspring.authoring.places import NOT_THERE, is_within, parent_of, value_at
from mainspring.authoring.shapes import AutomationRequest, ProposalQuestion, ProposalSketch
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelTool, ToolCall
from mainspring.definition.json_in_text import parse_json_text
from mainspring.definition.json_text import read_json
from mainspring.definition.json_values import check_value
from mainspring.definition.validate import ValidationReport

HAND_IN: Final = "hand_in"
_MOST_TOLD: Final = 20
_MOST_NOTES: Final = 10
_NOTE: Final = 300
_SUMMARY: Final = 500
# Codes of a config that lacks one key or another.
_LACKS: Final = frozenset({"required", "any_of", "one_of"})
_TEXT_SCHEMA: Final[dict[str, Any]] = {"type": "string", "minLength": 1}

TOOL: Final = ModelTool(
    HAND_IN,
    "Hand in the whole definition. It is judged at once: either it is taken and you are done, or "
    f"you are told what is wrong. At most {MOST_ROUNDS} times.",
    {
        "type": "object",
        "required": ["definition"],
        "additionalProperties": False,
        "properties": {
            "definition": {"type": "object", "description": "The whole definition."},
            "questions": {
                "type": "array",
                "maxItems": MOST,
                "description": "What only the person can say; the definition has no value there.",
                "items": {
                    "type": "object",
                    "required": ["pointer", "question"],
                    "additionalProperties": False,
                    "properties": {
                        "pointer": {
                            **_TEXT_SCHEMA,
                            "description": "Where the answer is put, as a JSON pointer into the "
                            "definition, such as /plan/2/config/channel.",
                        },
                        "question": {
                            **_TEXT_SCHEMA,
                            "description": "In plain words, for the person.",
                        },
                        "choices": {
                            "type": "array",
                            "items": {"type": ["string", "number", "boolean"]},
                        },
                    },
                },
            },
            "notes": {
                "type": "array",
                "maxItems": _MOST_NOTES,
                "items": _TEXT_SCHEMA,
                "description": "What you had to assume, and what of the request has no place.",
            },
        },
    },
)


def parse_text_submission(text: str) -> ToolCall | None:
    """The hand-in of a model that wrote the JSON instead of calling the tool."""
    for value in parse_json_text(text, Limits()):
        if isinstance(value, dict) and "definition" in value:
            return ToolCall("", HAND_IN, value)
        if isinstance(value, dict) and "plan" in value:
            return ToolCall("", HAND_IN, {"definition": value})
    return None


@dataclass(frozen=True, slots=True)
class SubmissionVerdict:
    """A sketch, or what is wrong with what was handed in."""

    sketch: ProposalSketch | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def summary(self) -> str:
        """What was wrong, for the record."""
        told = "; ".join(f"{one.pointer or '/'}: {one.detail}" for one in self.findings[:3])
        more = len(self.findings) - 3
        return tidy(told, _SUMMARY) + (f" (and {more} more)" if more > 0 else "")

    @property
    def told(self) -> str:
        """What was wrong, for the model."""
        lines = []
        for one in self.findings[:_MOST_TOLD]:
            way = f" {one.suggestion}" if one.suggestion else ""
            lines.append(f"{one.pointer or '/'}: {one.detail}{way}")
        more = len(self.findings) - _MOST_TOLD
        if more > 0:
            lines.append(f"There are {more} more.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Submission:
    """What was handed in, brought into form."""

    document: dict[str, Any]
    questions: list[ProposalQuestion]
    notes: list[str]
    wrong: list[Finding]
    # What the model would have granted.
    grants: Any = None


@dataclass(frozen=True, slots=True)
class SubmissionReviewer:
    """Takes what is handed in for one wish."""

    desk: GenerationContext
    wish: AutomationRequest
    read: ScheduleAnswer
    known: KnownNames

    async def take(self, arguments: Mapping[str, Any] | str) -> SubmissionVerdict:
        """The verdict on one hand-in."""
        # A definition of a megabyte takes its time to walk.
        made = await asyncio.to_thread(self._made, arguments)
        if isinstance(made, SubmissionVerdict):
            return made
        document, found = await self._judged(made)
        wrong = (*made.wrong, *found)
        if wrong:
            return SubmissionVerdict(findings=wrong)
        told = [*made.notes, *await asyncio.to_thread(remarks, document, self.known)]
        if "grants" in (self.wish.before or {}) and "grants" not in document:
            told.append("Its grants were written down; now they follow from the plan.")
        return SubmissionVerdict(
            ProposalSketch(document, tuple(made.questions), tuple(dict.fromkeys(told)))
        )

    def _made(self, arguments: Mapping[str, Any] | str) -> _Submission | SubmissionVerdict:
        """What was handed in as it would be shown, and what is wrong with it before judging."""
        try:
            given = _read(arguments)
            check_value(given, Limits())
        except Invalid as problem:
            return SubmissionVerdict(findings=problem.findings)
        definition = given["definition"]
        document, notes = normalize_definition(definition, self.wish)
        asked, wrong = take(document, given.get("questions"), self.known)
        timed = reconcile_triggers(
            document, self.wish, self.read, self.desk.words, self.desk.resources
        )
        if timed.changed:
            document["triggers"] = timed.triggers
        wrong += find_invented_names(document, self.known)
        return _Submission(
            document,
            _joined(asked, timed.questions, timed.follow),
            [*_notes(given.get("notes")), *timed.notes, *notes],
            wrong,
            definition.get("grants"),
        )

    async def _judged(self, made: _Submission) -> tuple[dict[str, Any], list[Finding]]:
        """The document with the fewest grants that carry it, and what is still wrong with it."""
        document, questions = made.document, made.questions
        before = (self.wish.before or {}).get("grants")
        written = [] if made.grants is None else [made.grants]
        ways = [None, *written] if before is None else [before, *written, None]
        best, least = document, None
        for grants in ways:
            tried = document if grants is None else {**document, "grants": deepcopy(grants)}
            report = await self.desk.judge(tried)
            found = [
                one
                for one in report.findings
                if not _is_excused(one, questions) and not self._was_open(one, document)
            ]
            if least is None or len(found) < len(least):
                best, least = _drop_unused_grants(tried, report), found
            if not found:
                break
        return best, least or []

    def _was_open(self, finding: Finding, document: Mapping[str, Any]) -> bool:
        """Whether a value was missing before already: then a person has been asked for it."""
        if finding.code != "required" or self.wish.before is None:
            return False
        above = parent_of(finding.pointer)
        was, now = (value_at(one, parent_of(above)) for one in (self.wish.before, document))
        if not isinstance(was, Mapping) or not isinstance(now, Mapping):
            return False
        same = all(was.get(key) == now.get(key) for key in ("step_id", "action", "type"))
        lacked = isinstance(value_at(self.wish.before, above), Mapping)
        return same and lacked and value_at(self.wish.before, finding.pointer) is NOT_THERE


def _read(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """What was handed in; some models write an object inside an object as text."""
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    for name in ("definition", "questions", "notes"):
        if isinstance(given.get(name), str):
            given[name] = read_json(given[name], Limits())
    if not isinstance(given.get("definition"), Mapping):
        detail = "hand_in takes a JSON object with the whole definition in it."
        raise Invalid(detail, findings=[Finding("", detail, "no_definition")])
    return given


def _drop_unused_grants(document: dict[str, Any], report: ValidationReport) -> dict[str, Any]:
    """Without the grants that no step needs."""
    unused = {one.pointer for one in report.warnings if one.code == "unused_grant"}
    if not unused:
        return document
    grants = [
        one for place, one in enumerate(document["grants"]) if f"/grants/{place}" not in unused
    ]
    return {**document, "grants": grants}


def _joined(
    asked: Sequence[ProposalQuestion], rules: Sequence[ProposalQuestion], follow: Any
) -> list[ProposalQuestion]:
    """The rules' questions, and those of the model that they do not ask already."""
    made = list(rules)
    for one in asked:
        pointer = follow(one.pointer)
        if pointer is not None and not any(_covers(other, pointer) for other in made):
            name = free(one.id, [other.id for other in made])
            made.append(replace(one, id=name, pointer=pointer))
    return made


def _covers(question: ProposalQuestion, pointer: str) -> bool:
    return any(is_within(pointer, place) for place in (question.pointer, *question.others))


def _is_excused(finding: Finding, questions: Sequence[ProposalQuestion]) -> bool:
    """Whether an answer that is still to come will mend it."""
    for question in questions:
        for place in (question.pointer, *question.others):
            if is_within(finding.pointer, place):
                return True
            if finding.code in _LACKS and finding.pointer == parent_of(place):
                return True
    return False


def _notes(given: Any) -> list[str]:
    told = (tidy(one, _NOTE) for one in (given if isinstance(given, list) else ())[:_MOST_NOTES])
    return [f"The model says: {one}" for one in told if one]
