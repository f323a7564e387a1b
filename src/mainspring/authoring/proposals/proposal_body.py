"""The stored body of a proposal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from mainspring.authoring.models import ProposalOrigin, ProposalQuestion
from mainspring.contracts.errors import Finding

MOST_TURNS: Final = 60
Status = Literal["asks", "invalid", "ready", "saved"]
Wanted = Literal["auto", "rules", "model"]


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """A turn of the conversation about a proposal."""

    by: Literal["person", "proposal"]
    text: str

    def as_dict(self) -> dict[str, str]:
        return {"by": self.by, "text": self.text}


@dataclass(frozen=True, slots=True)
class ProposalBody:
    """A proposal without its row."""

    # The original request; later instructions are conversation turns.
    request: str
    timezone: str | None
    document: dict[str, Any]
    questions: tuple[ProposalQuestion, ...]
    # Errors that block saving.
    problems: tuple[Finding, ...]
    notes: tuple[str, ...]
    making: ProposalOrigin
    # The capabilities that a run may call, from the validator; empty while incomplete.
    grants: tuple[Mapping[str, Any], ...] = ()
    # The requested maker: a model or the rules.
    maker: Wanted = "auto"
    # The answers so far, by question id.
    answers: Mapping[str, Any] = field(default_factory=dict)
    talk: tuple[ConversationEntry, ...] = ()
    review: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        if self.questions:
            return "asks"
        return "invalid" if self.problems else "ready"

    def saying(self, *turns: ConversationEntry) -> ProposalBody:
        """Return a copy with a turn added; the oldest turns except the first are dropped."""
        talk = (*self.talk, *turns)
        if len(talk) > MOST_TURNS:
            talk = (talk[0], *talk[1 - MOST_TURNS :])
        return replace(self, talk=talk)

    def as_dict(self) -> dict[str, Any]:
        return {
            "request": self.request,
            "timezone": self.timezone,
            "document": self.document,
            "questions": [one.as_dict() for one in self.questions],
            "problems": [one.as_dict() for one in self.problems],
            "notes": list(self.notes),
            "making": self.making.as_dict(),
            "grants": [dict(one) for one in self.grants],
            "wanted": self.maker,
            "answers": dict(self.answers),
            "talk": [one.as_dict() for one in self.talk],
            "review": dict(self.review),
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> ProposalBody:
        making = dict(kept["making"])
        return cls(
            request=kept["request"],
            timezone=kept["timezone"],
            document=kept["document"],
            questions=tuple(map(ProposalQuestion.read, kept["questions"])),
            problems=_findings(kept["problems"]),
            notes=tuple(kept["notes"]),
            making=ProposalOrigin(**{**making, "refused": tuple(making["refused"])}),
            # A proposal stored by an earlier release.
            grants=tuple(kept.get("grants", ())),
            maker=kept.get("wanted", "auto"),
            answers=kept.get("answers", {}),
            talk=tuple(ConversationEntry(one["by"], one["text"]) for one in kept["talk"]),
            review=_review(kept["review"]),
        )


def _review(kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """A review stored before external writes were listed offers no choice of modes."""
    if "impact" not in kept:
        return kept
    return {**kept, "impact": {"writes": [], **kept["impact"]}}


def _findings(kept: Sequence[Mapping[str, str]]) -> tuple[Finding, ...]:
    return tuple(
        Finding(one["pointer"], one["detail"], one["code"], one.get("suggestion")) for one in kept
    )
