"""What a document still lacks, as questions.

Whoever made a proposal asks for what they know to be missing. What the validator misses beyond
that is asked for as well, in the words of the schema it comes from, so that every value which is
required is a question and never a mistake of the person who reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.authoring.config_places import schema_at
from mainspring.authoring.places import NOT_THERE, is_within, parent_of, value_at
from mainspring.authoring.proposals.row_keys import key_questions
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.shapes import ProposalQuestion, QuestionChoice
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.pointers import join_pointer, split_pointer

_ANYTHING: Final[Mapping[str, Any]] = {}
_LONGEST: Final = 300
# Codes of an object that lacks one key or another.
_EITHER: Final = frozenset({"any_of", "one_of"})
_MOST_CHOICES: Final = 20


@dataclass(frozen=True, slots=True)
class OpenItems:
    """What is still open about a document: questions, and what is plainly wrong."""

    questions: tuple[ProposalQuestion, ...]
    problems: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class LookupContext:
    """What a missing value is looked up in."""

    words: Vocabulary
    resources: WorkspaceResources
    limits: Limits


def still_open(
    document: Mapping[str, Any],
    findings: Iterable[Finding],
    asked: Sequence[ProposalQuestion],
    around: LookupContext,
) -> OpenItems:
    """The questions that remain, those that the validator's findings raise, and the rest."""
    remain = [one for one in asked if _is_open(one, document)]
    places = [pointer for one in remain for pointer in (one.pointer, *one.others)]
    problems = []
    for finding in findings:
        if any(is_within(finding.pointer, place) for place in places):
            continue
        if finding.code in _EITHER and finding.pointer in map(parent_of, places):
            continue
        if finding.code == "required":
            made = _question(finding, document, around, {one.id for one in remain})
            remain.append(made)
            places.append(made.pointer)
        else:
            problems.append(finding)
    for question in key_questions(document, around.resources, places):
        remain.append(replace(question, id=_free(question.id, {one.id for one in remain})))
    return OpenItems(tuple(remain), tuple(problems))


def _is_open(question: ProposalQuestion, document: Mapping[str, Any]) -> bool:
    """Whether a value is still lacking; more words are lacking until there is a plan."""
    places = (question.pointer, *question.others)
    return any(value_at(document, place) is NOT_THERE for place in places)


def _question(
    finding: Finding, document: Mapping[str, Any], around: LookupContext, taken: set[str]
) -> ProposalQuestion:
    parts = split_pointer(finding.pointer)
    name = parts[-1] if parts else "value"
    schema = schema_at(document, finding.pointer, around.words) or _ANYTHING
    where = _holder(document, finding.pointer)
    described = schema.get("description")
    said = f" {described}" if isinstance(described, str) else ""
    return ProposalQuestion(
        id=_free(_slug(where, name), taken),
        kind="value",
        pointer=finding.pointer,
        question=f"What is {name.replace('_', ' ')!r}{where}?{said}"[:_LONGEST],
        schema=_usable(schema, around.limits),
        choices=_choices(name, around.resources),
    )


def _holder(document: Mapping[str, Any], pointer: str) -> str:
    """Which step or trigger a place belongs to, in words."""
    parts = split_pointer(pointer)
    for length in range(len(parts), 1, -1):
        if parts[length - 1] != "config":
            continue
        holder = value_at(document, join_pointer("", *parts[: length - 1]))
        if isinstance(holder, Mapping) and isinstance(holder.get("action"), str):
            return f" of step {str(holder.get('step_id', holder['action']))[:100]!r}"
        if isinstance(holder, Mapping) and isinstance(holder.get("type"), str):
            return f" of the {holder['type'][:100]} trigger"
    return ""


def _usable(schema: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """A part of a schema that can judge a value by itself; else anything is taken for now."""
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    try:
        if check_schema(plain, limits):
            return _ANYTHING
        compile_schema(plain, limits)
    except Invalid:
        return _ANYTHING
    return plain


def _choices(name: str, resources: WorkspaceResources) -> tuple[QuestionChoice, ...]:
    """What the workspace has that could be meant."""
    if name == "board_id":
        return tuple(QuestionChoice(one.name, one.id) for one in resources.boards[:_MOST_CHOICES])
    if name == "token":
        return tuple(
            QuestionChoice(one, f"{{{{ secrets.{one} }}}}")
            for one in resources.secrets[:_MOST_CHOICES]
        )
    if name in ("page_type", "type"):
        return tuple(QuestionChoice(one, one) for one in resources.page_types[:_MOST_CHOICES])
    return ()


def _slug(where: str, name: str) -> str:
    words = "".join(one if one.isalnum() and one.isascii() else " " for one in f"{where} {name}")
    return "-".join(words.lower().replace(" of ", " ").split()[-4:]) or "value"


def _free(slug: str, taken: set[str]) -> str:
    number, made = 1, slug
    while made in taken:
        number += 1
        made = f"{slug}-{number}"
    return made
