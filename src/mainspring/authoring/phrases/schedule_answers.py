"""Parser results: a schedule, a clarification, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

CLARIFICATIONS: Final = (
    "time_zone",
    "how_often",
    "which_days",
    "which_times",
    "which_weeks",
    "which_of_month",
    "which_meaning",
    "once_or_yearly",
)
# How many of the next fire times are returned.
MOMENTS: Final = 5
REFUSALS: Final = ("not_recurring", "too_often", "uneven", "not_sayable")


@dataclass(frozen=True, slots=True)
class PhraseSpan:
    """The parsed words and their position in the text."""

    start: int
    end: int
    words: str

    def as_dict(self) -> dict[str, Any]:
        return {"start": self.start, "end": self.end, "words": self.words}


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """A choice of a clarification, with the schedule it leads to, as far as known.

    ``when`` is a condition for the steps, where the cron expressions alone would fire too often.
    """

    sentence: str
    crons: tuple[str, ...] = ()
    timezone: str | None = None
    when: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence,
            "crons": list(self.crons),
            "timezone": self.timezone,
            "when": self.when,
        }


@dataclass(frozen=True, slots=True)
class ScheduleReading:
    """A schedule: its trigger configs, and a sentence that describes them."""

    span: PhraseSpan
    crons: tuple[str, ...]
    timezone: str
    sentence: str
    assumptions: tuple[str, ...]
    moments: tuple[datetime, ...]
    # Configs with at or every, without their zone, instead of expressions.
    times: tuple[Mapping[str, str], ...] = ()

    @property
    def configs(self) -> list[dict[str, str]]:
        """The config of each schedule trigger."""
        written = [*({"cron": cron} for cron in self.crons), *self.times]
        return [{**one, "timezone": self.timezone} for one in written]

    def as_dict(self) -> dict[str, Any]:
        return {
            "span": self.span.as_dict(),
            "triggers": self.configs,
            "sentence": self.sentence,
            "assumptions": list(self.assumptions),
            "next": [moment.isoformat() for moment in self.moments],
        }


@dataclass(frozen=True, slots=True)
class ScheduleClarification:
    """A question with choices that only a person can answer."""

    span: PhraseSpan
    kind: str
    question: str
    choices: tuple[ScheduleChoice, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "span": self.span.as_dict(),
            "kind": self.kind,
            "question": self.question,
            "choices": [choice.as_dict() for choice in self.choices],
        }


@dataclass(frozen=True, slots=True)
class ScheduleRefusal:
    """Why no schedule can express this, with the closest alternative."""

    span: PhraseSpan
    kind: str
    reason: str
    choices: tuple[ScheduleChoice, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "span": self.span.as_dict(),
            "kind": self.kind,
            "reason": self.reason,
            "choices": [choice.as_dict() for choice in self.choices],
        }


@dataclass(frozen=True, slots=True)
class ScheduleAnswer:
    """All schedules in a text; empty when there are none."""

    readings: tuple[ScheduleReading, ...] = ()
    clarifications: tuple[ScheduleClarification, ...] = ()
    refusals: tuple[ScheduleRefusal, ...] = ()
    cut: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "readings": [one.as_dict() for one in self.readings],
            "clarifications": [one.as_dict() for one in self.clarifications],
            "refusals": [one.as_dict() for one in self.refusals],
            "cut": self.cut,
        }
