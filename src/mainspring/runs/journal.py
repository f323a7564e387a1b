"""The journal of a run: what was recorded before this worker took it over."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mainspring.gate.call_records import Journal as Calls
from mainspring.gate.call_records import read_calls
from mainspring.gate.draft_resolution import is_draft
from mainspring.gate.usage_meter import RunModelUsage, read_run_usage
from mainspring.runs.rows import ClaimedRun

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_STEPS = """
    SELECT step, item, attempt, run_attempt, status, output, error, until
    FROM steps WHERE workspace_id = $1 AND run_id = $2
    ORDER BY attempt
"""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The last recorded attempt of a step."""

    status: str
    attempt: int
    run_attempt: int
    output: Any = None
    error: dict[str, Any] | None = None
    until: datetime | None = None


@dataclass(slots=True)
class RunJournal:
    """Steps by (step, item) and calls by their position; empty for a new run."""

    steps: dict[tuple[str, str], RecordedStep] = field(default_factory=dict)
    calls: Calls = field(default_factory=dict)
    used: RunModelUsage = field(default_factory=RunModelUsage)

    @property
    def awaits_draft(self) -> bool:
        """Whether a step waits for the answer to a held write."""
        steps = self.steps.values()
        return any(one.status == "waiting" and is_draft(one.output) for one in steps)


async def read_journal(tx: Transaction, run: ClaimedRun) -> RunJournal:
    """Read what earlier owners of the run recorded."""
    journal = RunJournal(
        calls=await read_calls(tx, run.workspace_id, run.id),
        used=await read_run_usage(tx, run.workspace_id, run.id),
    )
    for row in await tx.fetch(_STEPS, run.workspace_id, run.id):
        journal.steps[row["step"], row["item"]] = RecordedStep(
            row["status"],
            row["attempt"],
            row["run_attempt"],
            row["output"],
            row["error"],
            row["until"],
        )
    return journal
