"""Exit codes: one table, because a script that starts runs decides by these numbers."""

from __future__ import annotations

from typing import Final

from mainspring.contracts.errors import Invalid, Problem

DONE: Final = 0
FAILED: Final = 1
INVALID: Final = 2
NOTHING_TO_DO: Final = 3
BLOCKED: Final = 4
OVER_BUDGET: Final = 5
TIMED_OUT: Final = 6
CANCELLED: Final = 7
SKIPPED: Final = 8
DEAD: Final = 9
UNFINISHED: Final = 10
DIFFERS: Final = 11
INTERRUPTED: Final = 130

EXITS: Final[tuple[tuple[int, str], ...]] = (
    (DONE, "It worked: the run had effects, left drafts, worked out an answer, or ran a script."),
    (FAILED, "The run failed, or the command could not do its work."),
    (INVALID, "What was given is not valid: a file, an input, an option or a setting."),
    (NOTHING_TO_DO, "The run found nothing to do."),
    (BLOCKED, "The run was refused something that was not granted."),
    (
        OVER_BUDGET,
        "A limit that was set is reached: money, tokens, or the turns or time of an agent.",
    ),
    (TIMED_OUT, "The run took longer than it may."),
    (CANCELLED, "The run was cancelled."),
    (SKIPPED, "The run was not started, for example because another one is running."),
    (DEAD, "The run was given up after it had lost its worker too often."),
    (UNFINISHED, "The run is unfinished. The next worker continues it."),
    (DIFFERS, "A rehearsed run would differ, or compared definitions differ."),
    (INTERRUPTED, "The command was interrupted before it had begun a run."),
)

_BY_STATUS: Final = {"timed_out": TIMED_OUT, "cancelled": CANCELLED, "dead": DEAD}
_BY_OUTCOME: Final = {"blocked": BLOCKED, "over_budget": OVER_BUDGET}
_ENDED: Final = {"skipped": SKIPPED, "failed": FAILED}


def of_run(status: str, outcome: str | None) -> int:
    """The code for a run in this status; what stopped it counts before how it ended."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if outcome in _BY_OUTCOME:
        return _BY_OUTCOME[outcome]
    if status in _ENDED:
        return _ENDED[status]
    if status != "succeeded":
        return UNFINISHED
    return NOTHING_TO_DO if outcome == "nothing_to_do" else DONE


def of_problem(problem: Problem) -> int:
    """The code for a command that ended in a problem."""
    return INVALID if isinstance(problem, Invalid) else FAILED
