"""The parts of a proposal, as its makers and reviewers hand them on.

All of it is plain data: it is kept as JSON between one answer and the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

Kind = Literal["value", "schedule", "time_zone", "words"]
Level = Literal["note", "warning"]
By = Literal["rules", "model"]

KINDS: Final[tuple[Kind, ...]] = ("value", "schedule", "time_zone", "words")


@dataclass(frozen=True, slots=True)
class AutomationRequest:
    """What somebody wants, in their own words, and what it is to be read with."""

    text: str
    now: datetime
    # Where the words name no zone; None: it is asked for.
    timezone: str | None = None
    # The definition that is to be changed; None: a new one is wanted.
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """One answer that may be chosen, and what it puts elsewhere besides."""

    label: str
    value: Any
    also: tuple[tuple[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"label": self.label, "value": self.value}
        if self.also:
            shown["also"] = [{"pointer": at, "value": value} for at, value in self.also]
        return shown

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> QuestionChoice:
        also = tuple((one["pointer"], one["value"]) for one in kept.get("also", ()))
        return cls(kept["label"], kept["value"], also)


@dataclass(frozen=True, slots=True)
class ProposalQuestion:
    """What only a person can say. It must be answered before anything is saved.

    ``value``: the answer is put at the pointer as it is, or as the choice says that is like it.
    ``schedule``: words for a time, or ``{cron, timezone}``, for the trigger at the pointer.
    ``time_zone``: an IANA name or a place, put at the pointer and at ``others``.
    ``words``: more of the request; the whole is read again with it.
    """

    id: str
    kind: Kind
    pointer: str
    question: str
    # What the answer must look like, as JSON Schema.
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string", "minLength": 1})
    choices: tuple[QuestionChoice, ...] = ()
    why: str = ""
    others: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "pointer": self.pointer,
            "question": self.question,
            "why": self.why,
            "schema": dict(self.schema),
            "choices": [one.as_dict() for one in self.choices],
            "others": list(self.others),
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> ProposalQuestion:
        return cls(
            kept["id"],
            kept["kind"],
            kept["pointer"],
            kept["question"],
            kept["schema"],
            tuple(map(QuestionChoice.read, kept["choices"])),
            kept["why"],
            tuple(kept["others"]),
        )


@dataclass(frozen=True, slots=True)
class ProposalSketch:
    """What was made of a wish.

    Where a question is open the document has no value at its pointer, and is otherwise whole.
    """

    document: dict[str, Any]
    questions: tuple[ProposalQuestion, ...] = ()
    # What had to be assumed, and what of the wish found no place, each as a sentence.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewFlag:
    """Something that is worth a look before agreeing; it keeps nobody from saving."""

    pointer: str
    code: str
    text: str
    level: Level = "warning"
    by: By = "rules"
    suggestion: str | None = None

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "pointer": self.pointer,
            "code": self.code,
            "text": self.text,
            "level": self.level,
            "by": self.by,
        }
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        return shown


@dataclass(frozen=True, slots=True)
class ProposalOrigin:
    """How a proposal was made, honestly: by whom, in how many rounds, and at what cost."""

    by: By
    # A sentence for a person, such as that no model was used and why.
    note: str
    model: str | None = None
    # How often a definition was handed in, and what was wrong with those that were refused.
    rounds: int = 0
    refused: tuple[str, ...] = ()
    cost_usd: str = "0"

    def as_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "note": self.note,
            "model": self.model,
            "rounds": self.rounds,
            "refused": list(self.refused),
            "cost_usd": self.cost_usd,
        }
