"""The rows of a run, as values: what is claimed, what is recorded, how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from mainspring.gate.call_records import CallRecord
from mainspring.gate.policy import Mode
from mainspring.runs.output import StepOutputChunk

RunStatus = Literal[
    "pending",
    "running",
    "waiting",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
    "skipped",
    "dead",
]
StepStatus = Literal["succeeded", "failed", "retrying", "skipped", "waiting"]

FINAL: frozenset[str] = frozenset(
    {"succeeded", "failed", "cancelled", "timed_out", "skipped", "dead"}
)


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run this worker owns until it loses its lease; the fence proves it."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID
    version: int
    trigger_id: UUID | None
    trigger_type: str
    fence: int
    attempt: int
    takeovers: int
    lane: int | None
    inputs: Mapping[str, Any]
    payload: Any
    started_at: datetime
    active_ms: int
    cost_usd: Decimal
    cancelled: bool
    queue: str
    due_at: datetime
    mode: Mode = "live"
    # The rehearsal that it belongs to: its definition and grants are that one's.
    rehearsal_id: UUID | None = None

    @property
    def resumed(self) -> bool:
        """Whether an earlier owner may have left records."""
        return self.fence > 1


@dataclass(frozen=True, slots=True)
class StepRow:
    """One finished attempt at a step."""

    step: str
    item: str
    attempt: int
    status: StepStatus
    ms: int
    # When it was over: rows of one commit keep their order by it.
    at: datetime
    output: Any = None
    error: dict[str, Any] | None = None
    until: datetime | None = None
    # The output as JSON, when it has been written out already.
    output_text: str | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The run leaves its worker: for good, to wait, or back to the queue."""

    status: RunStatus
    reason: str | None = None
    outcome: str | None = None
    output: Any = None
    error: dict[str, Any] | None = None
    effects: int = 0
    drafts: int = 0
    cost_usd: Decimal = Decimal(0)
    active_ms: int = 0
    due_at: datetime | None = None

    @property
    def final(self) -> bool:
        return self.status in FINAL


@dataclass(slots=True)
class RunCommit:
    """Everything one run commits at one moment, all of it or nothing."""

    run: ClaimedRun
    steps: list[StepRow] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    end: RunEnd | None = None
    # The automation's name, for the event that tells of the end.
    automation: str = ""
    # The run is under suspicion and is about to begin a step.
    trial: bool = False
    # What steps have said.
    output: list[StepOutputChunk] = field(default_factory=list)
