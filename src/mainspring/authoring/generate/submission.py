"""Validating a model's submission: normalized, reconciled with the rules, and validated.

A definition may lack a value that a question asks for. All other findings are returned to the
model, and no person sees that definition.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from mainspring.authoring.config_places import schema_at
from mainspring.authoring.generate.context import MOST_ROUNDS, GenerationContext, tidy
from mainspring.authoring.generate.name_checks import KnownNames, find_invented_names, remarks
from mainspring.authoring.generate.schedule_reconciliation import reconcile_triggers
from mainspring.authoring.json_pointers import NOT_THERE, is_within, parent_of, value_at
from mainspring.authoring.models import (
    AutomationRequest,
    ProposalQuestion,
    ProposalSketch,
    QuestionChoice,
)
from mainspring.authoring.phrases.schedule_answers import ScheduleAnswer
from mainspring.authoring.self_notices import propose_approval, walk_steps
from mainspring.authoring.sketch.texts import loose
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelTool, ToolCall
from mainspring.definition.json_in_text import parse_json_text
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.model import CURRENT_VERSION
from mainspring.definition.strict_json import check_value, join_pointer, read_json, split_pointer
from mainspring.definition.validate import ValidationReport

# Questions of the model: only for values inside a config, and normalized.

MOST: Final = 10
_MOST_CHOICES: Final = 12
_LONGEST: Final = 300
_LABEL: Final = 100
# A longer choice is for the person to type.
_LONGEST_CHOICE: Final = 200
_POINTER: Final = 500
# Places a question may concern: config values and caps; never a step, a name or a grant.
_PLACE: Final = re.compile(
    r"/(?:triggers/\d{1,4}/(?:config|inputs)/.+"
    r"|(?:plan|execution/on_failure)/\d{1,4}/config/.+"
    r"|inputs/schema/properties/[^/]+/default"
    r"|execution/(?:budget_cap_usd|cost_cap_daily_usd|timeout_seconds|model)"
    r"|writes/(?:dedupe_key_field|dedupe_target_field))",
    re.DOTALL,
)
# Keys that decide permissions, which an answer must not set.
_NEVER: Final = frozenset(
    {"grants", "tools", "tool", "params", "write_policy", "steps", "headers", "hosts", "definition"}
)
_NOT_NAME: Final = re.compile(r"[^a-z0-9_]+")
_WAY_OUT: Final = "Point at a value inside a config, such as /plan/0/config/channel."


def take(
    document: dict[str, Any], asked: Any, known: KnownNames
) -> tuple[list[ProposalQuestion], list[Finding]]:
    """Extract the questions, removing the values they ask for, and report problems."""
    if asked is None:
        return [], []
    if not isinstance(asked, list) or len(asked) > MOST:
        return [], [Finding("/questions", f"Questions are a list of at most {MOST}.", "questions")]
    made: dict[str, ProposalQuestion] = {}
    wrong: list[Finding] = []
    for place, one in enumerate(asked):
        found = _one(document, one, known)
        if isinstance(found, str):
            wrong.append(Finding(f"/questions/{place}", found, "question", _WAY_OUT))
        else:
            made.setdefault(found.pointer, found)
    for pointer in made:
        _take_out(document, pointer)
    return list(made.values()), wrong


def _one(document: dict[str, Any], one: Any, known: KnownNames) -> ProposalQuestion | str:
    given = one if isinstance(one, Mapping) else {}
    text, pointer = tidy(given.get("question"), _LONGEST), given.get("pointer")
    if not text or not isinstance(pointer, str):
        return "A question has a pointer and a text, question."
    place = _place(document, pointer)
    if place is None:
        return f"No question is possible at {tidy(pointer, _LABEL)!r}."
    return _question(document, place, text, known, given.get("choices"))


def _place(document: dict[str, Any], pointer: str) -> str | None:
    """The place for an answer: the nearest value that is not a list item."""
    if len(pointer) > _POINTER:
        return None
    while isinstance(value_at(document, parent_of(pointer)), list):
        pointer = parent_of(pointer)
    if not _PLACE.fullmatch(pointer) or _decides(document, pointer):
        return None
    above = value_at(document, parent_of(pointer))
    if above is NOT_THERE and parent_of(pointer).endswith("/config"):
        owner = value_at(document, parent_of(parent_of(pointer)))
        return pointer if isinstance(owner, dict) else None
    # Steps and nested steps are not values.
    if not isinstance(above, dict) or "step_id" in above or pointer.endswith("/steps"):
        return None
    return pointer


def _decides(document: Mapping[str, Any], pointer: str) -> bool:
    """Report whether a place decides what an automation may do."""
    *above, last = split_pointer(pointer)
    if last in _NEVER or "grants" in above or "tools" in above:
        return True
    owner = value_at(document, parent_of(parent_of(pointer)))
    return last == "source" and isinstance(owner, Mapping) and owner.get("action") == "script"


def _take_out(document: dict[str, Any], pointer: str) -> None:
    above = value_at(document, parent_of(pointer))
    if above is NOT_THERE:
        owner = value_at(document, parent_of(parent_of(pointer)))
        if isinstance(owner, dict):
            owner["config"] = {}
    elif isinstance(above, dict):
        above.pop(split_pointer(pointer)[-1], None)


def _question(
    document: Mapping[str, Any], pointer: str, text: str, known: KnownNames, choices: Any
) -> ProposalQuestion:
    """Build a question for the value at a pointer, with known choices."""
    schema = schema_at(document, pointer, known.vocabulary)
    shape = {"type": "string", "minLength": 1} if schema is None else schema
    offered = _there(pointer, known, document) or _keep_valid_choices(choices, shape, known)
    return ProposalQuestion(_name(document, pointer), "value", pointer, text, shape, tuple(offered))


def _name(document: Mapping[str, Any], pointer: str) -> str:
    """A name that is stable when the step moves: post-channel."""
    parts = split_pointer(pointer)
    for place in range(len(parts) - 1, 0, -1):
        owner = value_at(document, join_pointer("", *parts[:place]))
        named = owner.get("step_id") or owner.get("type") if isinstance(owner, Mapping) else None
        if isinstance(named, str):
            return _slug(f"{named} {' '.join(parts[place:])}".replace("config", "", 1))
    return _slug(" ".join(parts))


def _slug(text: str) -> str:
    return _NOT_NAME.sub("-", text.lower())[:_LABEL].strip("-") or "value"


def free(name: str, used: Collection[str]) -> str:
    """Return the name, made unique."""
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in used else next(one for one in numbered if one not in used)


def _there(pointer: str, known: KnownNames, document: Mapping[str, Any]) -> list[QuestionChoice]:
    """Return the workspace's own choices for such a place."""
    key, resources = split_pointer(pointer)[-1], known.resources
    if key == "board_id":
        return [
            QuestionChoice(tidy(one.name, _LABEL), one.id)
            for one in resources.boards[:_MOST_CHOICES]
        ]
    owner = value_at(document, parent_of(parent_of(pointer)))
    action = owner.get("action") if isinstance(owner, Mapping) else None
    called = known.vocabulary.capabilities.get(action) if isinstance(action, str) else None
    if called is not None and key in called.annotations.secret_arguments:
        return [
            QuestionChoice(name, f"{{{{ secrets.{name} }}}}")
            for name in resources.secrets[:_MOST_CHOICES]
        ]
    return []


def _keep_valid_choices(
    choices: Any, schema: Mapping[str, Any], known: KnownNames
) -> list[QuestionChoice]:
    """Return the model's choices that are valid and name only existing things."""
    given: Sequence[Any] = choices if isinstance(choices, list) else ()
    fits = _fitting(schema)
    made = []
    for value in given[:_MOST_CHOICES]:
        if not isinstance(value, str | int | float | bool) or not fits(value):
            continue
        if isinstance(value, str) and (
            value != tidy(value, _LONGEST_CHOICE) or not known.is_choice(value)
        ):
            continue
        made.append(QuestionChoice(_label(str(value)), value))
    return made


def _label(text: str) -> str:
    """Label a choice; a long one is truncated."""
    if len(text) <= _LABEL:
        return text
    return f"{tidy(text[:_LABEL], _LABEL)}… ({len(text)} characters)"


def _fitting(schema: Mapping[str, Any]) -> Any:
    try:
        return compile_schema(dict(schema), Limits()).is_valid
    except Problem:
        return lambda value: isinstance(value, str)


# Fields that the application sets, overriding the model.

_NAME: Final = 200
_MOST_TEXT: Final = 4_000
_DRAFT: Final = "always_draft"
_POLICY: Final = "write_policy"


def normalize_definition(
    arguments: Mapping[str, Any], request: AutomationRequest
) -> tuple[dict[str, Any], list[str]]:
    """Set the application's fields, drop the grants, and report what was corrected."""
    before = request.before or {}
    document = {**deepcopy(dict(arguments)), "schema_version": CURRENT_VERSION}
    document.pop("grants", None)
    for name, most in (("name", _NAME), ("goal", _MOST_TEXT)):
        if isinstance(document.get(name), str):
            document[name] = tidy(document[name], most)
    kept = before.get("intent")
    document["intent"] = (
        kept if isinstance(kept, str) and kept else loose(request.text)[:_MOST_TEXT]
    )
    _as_before(document, before, "metadata")
    if request.before is None:
        document["metadata"] = {"created_from_nl": True}
    _as_before(document, before, "retention")
    notes = _hold_writes(document, before)
    notes += _set_approvals(document, before)
    if request.before is not None:
        _keep_ids(document, before)
    return document, notes


def _as_before(document: dict[str, Any], before: Mapping[str, Any], name: str) -> None:
    document.pop(name, None)
    if name in before:
        document[name] = deepcopy(before[name])


def _hold_writes(document: dict[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Whether writes need no approval is a person's decision, never the model's."""
    execution = document.get("execution")
    earlier = before.get("execution")
    was = earlier.get(_POLICY, _DRAFT) if isinstance(earlier, Mapping) else _DRAFT
    if not isinstance(execution, dict):
        if was != _DRAFT and "execution" not in document:
            document["execution"] = {_POLICY: was}
        return []
    wanted = execution.pop(_POLICY, was)
    if was != _DRAFT:
        execution[_POLICY] = was
    if wanted == was:
        return []
    return ["The model would have changed which writes wait for a person; that was set back."]


def _set_approvals(document: dict[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Require approval for what is sent; a notification to oneself is exempt by default."""
    known = {
        one["step_id"]: one for one in walk_steps(before) if isinstance(one.get("step_id"), str)
    }
    changed = False
    for step in walk_steps(document):
        wanted = step.pop("approval", None)
        name = step.get("step_id")
        was = known.get(name, {}) if isinstance(name, str) else {}
        kept = was.get("approval") if was.get("action") == step.get("action") else None
        mode = kept if kept is not None else propose_approval(step)
        if mode is not None:
            step["approval"] = deepcopy(mode)
        changed |= wanted is not None and wanted != mode
    if not changed:
        return []
    return ["The model would have chosen what is sent without asking; that was set back."]


def _keep_ids(document: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Restore the id of a trigger that the model rewrote without it."""
    triggers, earlier = document.get("triggers"), before.get("triggers")
    if not isinstance(triggers, list) or not isinstance(earlier, list):
        return
    taken = [one.get("id") for one in triggers if isinstance(one, Mapping)]
    for place, one in enumerate(triggers):
        was = earlier[place] if place < len(earlier) else None
        if (
            isinstance(one, dict)
            and isinstance(was, Mapping)
            and not one.get("id")
            and one.get("type") == was.get("type")
            and was.get("id")
            and was["id"] not in taken
        ):
            one["id"] = was["id"]


HAND_IN: Final = "hand_in"
_MOST_TOLD: Final = 20
_MOST_NOTES: Final = 10
_NOTE: Final = 300
_SUMMARY: Final = 500
# Codes of a config that lacks a key.
_LACKS: Final = frozenset({"required", "any_of", "one_of"})
_TEXT_SCHEMA: Final[dict[str, Any]] = {"type": "string", "minLength": 1}

TOOL: Final = ModelTool(
    HAND_IN,
    "Hand in the whole definition. It is checked immediately: either it is accepted and you are "
    f"done, or the problems are returned. At most {MOST_ROUNDS} times.",
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
    """Parse a submission that the model wrote as text instead of a tool call."""
    for value in parse_json_text(text, Limits()):
        if isinstance(value, dict) and "definition" in value:
            return ToolCall("", HAND_IN, value)
        if isinstance(value, dict) and "plan" in value:
            return ToolCall("", HAND_IN, {"definition": value})
    return None


@dataclass(frozen=True, slots=True)
class SubmissionVerdict:
    """A sketch, or the problems of a submission."""

    sketch: ProposalSketch | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def summary(self) -> str:
        """The problems, for the record."""
        told = "; ".join(f"{one.pointer or '/'}: {one.detail}" for one in self.findings[:3])
        more = len(self.findings) - 3
        return tidy(told, _SUMMARY) + (f" (and {more} more)" if more > 0 else "")

    @property
    def feedback(self) -> str:
        """The problems, for the model."""
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
    """A normalized submission."""

    document: dict[str, Any]
    questions: list[ProposalQuestion]
    notes: list[str]
    wrong: list[Finding]
    # The grants that the model proposed.
    grants: Any = None


@dataclass(frozen=True, slots=True)
class SubmissionReviewer:
    """Reviews the submissions for one request."""

    context: GenerationContext
    request: AutomationRequest
    read: ScheduleAnswer
    known: KnownNames

    async def review(self, arguments: Mapping[str, Any] | str) -> SubmissionVerdict:
        """Review a submission."""
        # In a thread: a definition of a megabyte is slow to traverse.
        made = await asyncio.to_thread(self._made, arguments)
        if isinstance(made, SubmissionVerdict):
            return made
        document, found = await self._validate_document(made)
        wrong = (*made.wrong, *found)
        if wrong:
            return SubmissionVerdict(findings=wrong)
        told = [*made.notes, *await asyncio.to_thread(remarks, document, self.known)]
        if "grants" in (self.request.before or {}) and "grants" not in document:
            told.append("Its grants were written down; now they follow from the plan.")
        return SubmissionVerdict(
            ProposalSketch(document, tuple(made.questions), tuple(dict.fromkeys(told)))
        )

    def _made(self, arguments: Mapping[str, Any] | str) -> _Submission | SubmissionVerdict:
        """Normalize a submission, with the problems found before validation."""
        try:
            given = _read(arguments)
            check_value(given, Limits())
        except Invalid as problem:
            return SubmissionVerdict(findings=problem.findings)
        definition = given["definition"]
        document, notes = normalize_definition(definition, self.request)
        asked, wrong = take(document, given.get("questions"), self.known)
        timed = reconcile_triggers(
            document, self.request, self.read, self.context.vocabulary, self.context.resources
        )
        if timed.changed:
            document["triggers"] = timed.triggers
        wrong += find_invented_names(document, self.known)
        return _Submission(
            document,
            _merge_questions(asked, timed.questions, timed.follow),
            [*_notes(given.get("notes")), *timed.notes, *notes],
            wrong,
            definition.get("grants"),
        )

    async def _validate_document(self, made: _Submission) -> tuple[dict[str, Any], list[Finding]]:
        """Validate the document with minimal grants, and return its problems."""
        document, questions = made.document, made.questions
        before = (self.request.before or {}).get("grants")
        written = [] if made.grants is None else [made.grants]
        ways = [None, *written] if before is None else [before, *written, None]
        best, least = document, None
        for grants in ways:
            tried = document if grants is None else {**document, "grants": deepcopy(grants)}
            report = await self.context.validate(tried)
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
        """Report whether a value was already missing: then a question exists for it."""
        if finding.code != "required" or self.request.before is None:
            return False
        above = parent_of(finding.pointer)
        was, now = (value_at(one, parent_of(above)) for one in (self.request.before, document))
        if not isinstance(was, Mapping) or not isinstance(now, Mapping):
            return False
        same = all(was.get(key) == now.get(key) for key in ("step_id", "action", "type"))
        lacked = isinstance(value_at(self.request.before, above), Mapping)
        return same and lacked and value_at(self.request.before, finding.pointer) is NOT_THERE


def _read(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """Parse a submission; some models encode nested objects as text."""
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    for name in ("definition", "questions", "notes"):
        if isinstance(given.get(name), str):
            given[name] = read_json(given[name], Limits())
    if not isinstance(given.get("definition"), Mapping):
        detail = "hand_in takes a JSON object with the whole definition in it."
        raise Invalid(detail, findings=[Finding("", detail, "no_definition")])
    return given


def _drop_unused_grants(document: dict[str, Any], report: ValidationReport) -> dict[str, Any]:
    """Drop grants that no step needs."""
    unused = {one.pointer for one in report.warnings if one.code == "unused_grant"}
    if not unused:
        return document
    grants = [
        one for place, one in enumerate(document["grants"]) if f"/grants/{place}" not in unused
    ]
    return {**document, "grants": grants}


def _merge_questions(
    asked: Sequence[ProposalQuestion], rules: Sequence[ProposalQuestion], follow: Any
) -> list[ProposalQuestion]:
    """Merge the rules' questions with the model's additional ones."""
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
    """Report whether an open question will fix a problem."""
    for question in questions:
        for place in (question.pointer, *question.others):
            if is_within(finding.pointer, place):
                return True
            if finding.code in _LACKS and finding.pointer == parent_of(place):
                return True
    return False


def _notes(value: Any) -> list[str]:
    told = (tidy(one, _NOTE) for one in (value if isinstance(value, list) else ())[:_MOST_NOTES])
    return [f"The model says: {one}" for one in told if one]
