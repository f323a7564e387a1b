"""The outcome of a run in one word: a pure function.

A run that completed is not called a success for that alone. It had effects, or left drafts for a
person, or only produced a result, or there was nothing to do. A script that ran counts as a result,
even when it returned nothing; the sentence says which it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from mainspring.contracts.errors import BudgetExceeded, DeadlineExceeded, PermissionDenied, Problem
from mainspring.runs.rows import RunStatus

OutcomeWord = Literal[
    "effects", "drafts_waiting", "answer_only", "nothing_to_do", "blocked", "over_budget", "failed"
]

SENTENCES: dict[OutcomeWord, str] = {
    "effects": "It changed something, here or outside.",
    "drafts_waiting": "Outside writes wait as drafts until a person confirms them.",
    "answer_only": "It worked out an answer and changed nothing.",
    "nothing_to_do": "Every step was skipped or found nothing to do.",
    "blocked": "A call was refused at the door, or an account it needs is not connected.",
    "over_budget": "It reached a limit that was set for it.",
    "failed": "It did not reach the end of its plan.",
}
# The reason of a run that completed although items of a list failed.
ITEMS_FAILED: Final = "items_failed"
# A script may complete without a result: then only the fact that it ran is reported.
_NO_ANSWER: Final = "It ran to its end, answered nothing and changed nothing."


def sentence(word: str | None, output: Any) -> str:
    """What an outcome means for a run with this output; empty for an unknown outcome."""
    if word == "answer_only" and output is None:
        return _NO_ANSWER
    return {str(known): said for known, said in SENTENCES.items()}.get(word or "", "")


@dataclass(slots=True)
class EffectTally:
    """Counted while a run executes."""

    effects: int = 0
    drafts: int = 0
    answers: int = 0
    failed_items: int = 0

    def count(self, call_outcome: str) -> None:
        if call_outcome in ("kept", "sent"):
            self.effects += 1
        elif call_outcome == "held":
            self.drafts += 1
        elif call_outcome == "confirmed":
            # A draft of the run itself that has been decided.
            self.effects += 1
            self.drafts -= 1
        elif call_outcome == "discarded":
            self.drafts -= 1


def outcome_of_finished_run(tally: EffectTally) -> OutcomeWord:
    """The outcome of a run whose plan completed."""
    if tally.drafts:
        return "drafts_waiting"
    if tally.effects:
        return "effects"
    return "answer_only" if tally.answers else "nothing_to_do"


def classify_failure(problem: Problem) -> tuple[RunStatus, str, OutcomeWord]:
    """Status, reason code and outcome of a run whose plan failed."""
    if isinstance(problem, BudgetExceeded):
        return "failed", problem.code, "over_budget"
    if isinstance(problem, PermissionDenied) or problem.code == "not_connected":
        return "failed", problem.code, "blocked"
    if isinstance(problem, DeadlineExceeded):
        return "timed_out", problem.code, "failed"
    return "failed", problem.code, "failed"
