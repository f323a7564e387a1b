"""The parts of a proposal.

All of it is plain data, stored as JSON between requests.
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
    """A person's request with its context."""

    text: str
    now: datetime
    # The default time zone; None: it is asked for.
    timezone: str | None = None
    # The definition to edit; None: a new one.
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """A choice for an answer, with further values that it sets."""

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
    """A question that must be answered before saving.

    ``value``: the answer is set at the pointer, or the value of the matching choice. ``schedule``:
    a schedule in words, or ``{cron, timezone}``, for the trigger at the pointer. ``time_zone``: an
    IANA name or a place, set at the pointer and at ``others``. ``words``: an addition to the
    request, which is then parsed again.
    """

    id: str
    kind: Kind
    pointer: str
    question: str
    # The JSON schema of the answer.
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
    """A sketched definition.

    Where a question is open the document has no value at its pointer; otherwise it is complete.
    """

    document: dict[str, Any]
    questions: tuple[ProposalQuestion, ...] = ()
    # Assumptions, and parts of the request that were not used, one sentence each.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewFlag:
    """An advisory finding for review; it does not block saving."""

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
    """How a proposal was made: by what, in how many rounds, at what cost."""

    by: By
    # A sentence for people, such as that no model was used and why.
    note: str
    model: str | None = None
    # How many definitions were submitted, and the problems of the rejected ones.
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
