"""The builder of a sketch: steps, questions and assumptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mainspring.authoring.json_pointers import parent_of
from mainspring.authoring.models import Kind, ProposalQuestion, QuestionChoice
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.texts import quote_request
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer

_HINTS: Final = ("$schema", "examples", "x-mainspring-anti-examples", "default")
_WHOLE_TRIGGER: Final = re.compile(r"/triggers/\d{1,4}")
_BOARDS: Final = "/writes/boards"
_UNKNOWN: Final = f"{_BOARDS}/@"
MOST_CHOICES: Final = 20
# The question for what was not understood, and where its answer is stored.
NOT_UNDERSTOOD: Final = "not-understood"
LEFT_OUT: Final = "/metadata/not_understood"
_MOST_MISSES: Final = 10
_LONGEST_MISS: Final = 200
_MOST_NOTES: Final = 30


@dataclass(frozen=True, slots=True)
class OuterScope:
    """The builder's state before a nested step was entered."""

    steps: list[dict[str, Any]]
    first: int
    root: str
    taken: set[str]
    action: str


@dataclass(slots=True)
class SketchBuilder:
    """Builds one sketch."""

    vocabulary: Vocabulary
    resources: WorkspaceResources
    steps: list[dict[str, Any]] = field(default_factory=list)
    questions: list[ProposalQuestion] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Parts of the request without any step.
    misses: list[str] = field(default_factory=list)
    inputs: dict[str, Any] = field(default_factory=dict)
    triggers: list[Any] = field(default_factory=list)
    # Ids of boards that get rows, and the dedup key field.
    boards: list[str] = field(default_factory=list)
    key_field: str | None = None
    # How many written boards only a person can name.
    unknown_boards: int = 0
    # The request as written.
    text: str = ""
    # Conditions for the model to judge, and a test of changed rows.
    narrowed: list[str] = field(default_factory=list)
    row_test: str | None = None
    # Fields of rows that the request lists.
    fields: tuple[str, ...] = ()
    # Whether an agent step can judge a condition.
    judges: bool = True
    # Replacements and what they replaced, for messages.
    swapped: list[tuple[str, str]] = field(default_factory=list)
    # Steps for failed runs.
    alarms: list[dict[str, Any]] = field(default_factory=list)
    # Titles by kind of thing.
    titles: dict[str, str] = field(default_factory=dict)
    # The index of the first new step, and its list.
    first: int = 0
    root: str = "/plan"

    @property
    def next_at(self) -> str:
        """The pointer of the next step."""
        return join_pointer(self.root, self.first + len(self.steps))

    def step(
        self,
        name: str,
        action: str,
        config: Mapping[str, Any],
        *,
        when: str | None = None,
        approval: str | None = None,
    ) -> str:
        """Append a step, and return the name of its output."""
        step_id = self.free(name)
        made: dict[str, Any] = {"step_id": step_id, "action": action}
        if when is not None:
            made["when"] = when
        made["config"] = dict(config)
        if approval is not None:
            made["approval"] = approval
        self.steps.append(made)
        return step_id

    def enter(self, action: str) -> OuterScope:
        """Nest the following steps in a step of this action."""
        there = OuterScope(self.steps, self.first, self.root, self.taken, action)
        self.taken = self.taken | {str(one.get("step_id")) for one in self.steps} | {"each"}
        self.steps, self.first, self.root = [], 0, join_pointer(self.next_at, "config", "steps")
        return there

    def leave(self, there: OuterScope, name: str, items: str, when: str | None) -> None:
        """Close the nested step."""
        inner = self.steps
        self.drop(there)
        if inner:
            self.step(name, there.action, {"items": items, "steps": inner}, when=when)

    def drop(self, there: OuterScope) -> None:
        """Return to the outer state; the steps since then are used elsewhere and keep their ids."""
        self.taken = there.taken | {str(one.get("step_id")) for one in self.steps}
        self.steps, self.first, self.root = there.steps, there.first, there.root

    def free(self, name: str) -> str:
        taken = {str(one.get("step_id")) for one in self.steps} | self.taken
        made, number = name, 1
        while made in taken:
            number += 1
            made = f"{name}_{number}"
        return made

    # Step ids used elsewhere in the document.
    taken: set[str] = field(default_factory=set)

    def ask(
        self,
        name: str,
        pointer: str,
        question: str,
        *,
        schema: Mapping[str, Any] | None = None,
        choices: tuple[QuestionChoice, ...] = (),
        why: str = "",
        kind: Kind = "value",
        others: tuple[str, ...] = (),
    ) -> None:
        taken = {one.id for one in self.questions}
        made, number = name, 1
        while made in taken:
            number += 1
            made = f"{name}-{number}"
        told = {"type": "string", "minLength": 1} if schema is None else usable(schema)
        self.questions.append(
            ProposalQuestion(
                made, kind, pointer, question, told, choices[:MOST_CHOICES], why, others
            )
        )

    def unknown_board(self) -> str:
        """The pointer of an unknown board in the definition's list: after all known ones."""
        self.unknown_boards += 1
        return f"{_UNKNOWN}{self.unknown_boards - 1}"

    def order_questions(self, known: int) -> list[ProposalQuestion]:
        """Order the questions, with list entries after the known ones."""
        made = []
        at = len(self.triggers)
        for one in self.questions if self.unknown_boards < 2 else map(_by_choice, self.questions):
            others = tuple(_describe_settled(place, known) for place in one.others)
            pointer = one.pointer
            if _WHOLE_TRIGGER.fullmatch(pointer):
                # An open trigger comes after all existing ones.
                pointer, at = f"/triggers/{at}", at + 1
            made.append(replace(one, pointer=pointer, others=others))
        return made

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def lose(self, text: str, note: str = "") -> None:
        """Record an unused part of the request, with a note."""
        self.note(note or f"I did not understand: {quote_request(text)}.")
        if text.strip() and text not in self.misses and len(self.misses) < _MOST_MISSES:
            self.misses.append(text)

    def ask_lost(self, document: Mapping[str, Any]) -> None:
        """Ask once about all unused parts: rephrase, or continue without."""
        if not self.misses:
            return
        left = [one[:_LONGEST_MISS] for one in self.misses]
        has_metadata = isinstance(document.get("metadata"), Mapping)
        self.ask(
            NOT_UNDERSTOOD,
            LEFT_OUT if has_metadata else parent_of(LEFT_OUT),
            f"This was not understood: {'; '.join(map(quote_request, left))}. Say it in other words, or "  # noqa: E501
            "leave it out.",
            kind="words",
            choices=(
                QuestionChoice("Leave it out", left if has_metadata else {"not_understood": left}),
            ),
            why="Otherwise the automation differs from the request.",
        )

    def argument(self, action: str, name: str) -> Mapping[str, Any]:
        """Return the schema of an argument of an action or capability."""
        if action in self.vocabulary.actions:
            schema = self.vocabulary.actions[action].config_schema
        elif action in self.vocabulary.capabilities:
            schema = self.vocabulary.capabilities[action].input_schema
        else:
            return {}
        found = schema.get("properties", {}).get(name)
        return found if isinstance(found, Mapping) else {}

    def knows(self, action: str) -> bool:
        """Report whether a step may use it here."""
        if action in self.vocabulary.actions:
            return True
        found = self.vocabulary.capabilities.get(action)
        return found is not None and found.grantable


def _by_choice(question: ProposalQuestion) -> ProposalQuestion:
    """Resolve a question's list position per choice, since any may be answered first."""
    if not any(one.startswith(_UNKNOWN) for one in question.others):
        return question
    listed = tuple(
        replace(one, also=(*one.also, (f"{_BOARDS}/-", one.value))) for one in question.choices
    )
    others = tuple(one for one in question.others if not one.startswith(_UNKNOWN))
    return replace(question, choices=listed, others=others)


def _describe_settled(place: str, known: int) -> str:
    if not place.startswith(_UNKNOWN):
        return place
    return f"{_BOARDS}/{known + int(place.removeprefix(_UNKNOWN))}"


def usable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a schema without annotations."""
    return {
        key: value
        for key, value in schema.items()
        if key not in _HINTS and key != "x-mainspring-scope"
    }
