"""The rows of a run as values: what is claimed, what is recorded, how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    Invalid,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import dumps
from mainspring.gate.call_records import CallRecord, read_calls
from mainspring.gate.call_records import Journal as Calls
from mainspring.gate.draft_resolution import is_draft
from mainspring.gate.policy import Mode
from mainspring.gate.usage_meter import RunModelUsage, read_run_usage
from mainspring.runs.output import StepOutputChunk

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


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
    """A run that this worker owns until it loses its lease; identified by its fencing token."""

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
    # The rehearsal that it belongs to, whose definition and grants it uses.
    rehearsal_id: UUID | None = None

    @property
    def resumed(self) -> bool:
        """Whether an earlier owner may have left records."""
        return self.fence > 1


@dataclass(frozen=True, slots=True)
class StepRow:
    """One finished attempt of a step."""

    step: str
    item: str
    attempt: int
    status: StepStatus
    ms: int
    # When it ended: rows of one commit are ordered by it.
    at: datetime
    output: Any = None
    error: dict[str, Any] | None = None
    until: datetime | None = None
    # The output as JSON, when it has been serialised already.
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
    """Everything that one run commits atomically."""

    run: ClaimedRun
    steps: list[StepRow] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    end: RunEnd | None = None
    # The automation's name, for the event of the end.
    automation: str = ""
    # The run is a suspect and is about to begin a step.
    trial: bool = False
    # The output of steps.
    output: list[StepOutputChunk] = field(default_factory=list)


# What a run came to, said in one word: a pure decision.
#
# A run that reached its end is not called a success for that alone. It had effects, or left
# drafts for a person, or only worked out an answer, or there was nothing to do. A script that
# ran counts as an answer, also when it returned nothing; the sentence says which it was.


OutcomeWord = Literal[
    "effects", "drafts_waiting", "answer_only", "nothing_to_do", "blocked", "over_budget", "failed"
]

SENTENCES: dict[OutcomeWord, str] = {
    "effects": "It made changes here or in outside services.",
    "drafts_waiting": "Outside writes are waiting for approval as drafts.",
    "answer_only": "It returned a result and changed nothing.",
    "nothing_to_do": "Every step was skipped or had nothing to do.",
    "blocked": "A call was denied, or an account it needs is not connected.",
    "over_budget": "It reached one of its limits.",
    "failed": "It did not finish.",
}
# The reason of a run that reached its end past items of a list that failed.
ITEMS_FAILED: Final = "items_failed"
# A script may reach its end without an answer: that it ran is all there is to say.
_NO_ANSWER: Final = "It finished without a result and changed nothing."


def sentence(word: str | None, output: Any) -> str:
    """What a word means for a run with this output; empty for a word that is not one of ours."""
    if word == "answer_only" and output is None:
        return _NO_ANSWER
    return {str(known): said for known, said in SENTENCES.items()}.get(word or "", "")


@dataclass(slots=True)
class EffectTally:
    """Counted while a run goes on."""

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
            # A draft of the run itself: it waits no longer.
            self.effects += 1
            self.drafts -= 1
        elif call_outcome == "discarded":
            self.drafts -= 1


def outcome_of_finished_run(tally: EffectTally) -> OutcomeWord:
    """The word for a run whose plan came to its end."""
    if tally.drafts:
        return "drafts_waiting"
    if tally.effects:
        return "effects"
    return "answer_only" if tally.answers else "nothing_to_do"


def classify_failure(problem: Problem) -> tuple[RunStatus, str, OutcomeWord]:
    """Status, reason code and word for a run whose plan failed."""
    if isinstance(problem, BudgetExceeded):
        return "failed", problem.code, "over_budget"
    if isinstance(problem, PermissionDenied) or problem.code == "not_connected":
        return "failed", problem.code, "blocked"
    if isinstance(problem, DeadlineExceeded):
        return "timed_out", problem.code, "failed"
    return "failed", problem.code, "failed"


# The journal of a run: what was recorded before this worker took it over.


_STEPS = """
    SELECT step, item, attempt, run_attempt, status, output, error, until
    FROM steps WHERE workspace_id = $1 AND run_id = $2
    ORDER BY attempt
"""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The last recorded attempt at a step."""

    status: str
    attempt: int
    run_attempt: int
    output: Any = None
    error: dict[str, Any] | None = None
    until: datetime | None = None


@dataclass(slots=True)
class RunJournal:
    """Steps by (step, item) and calls by their place; empty for a run that is new."""

    steps: dict[tuple[str, str], RecordedStep] = field(default_factory=dict)
    calls: Calls = field(default_factory=dict)
    used: RunModelUsage = field(default_factory=RunModelUsage)

    @property
    def awaits_draft(self) -> bool:
        """Whether a step waits for the answer to a held write."""
        steps = self.steps.values()
        return any(one.status == "waiting" and is_draft(one.output) for one in steps)


async def read_journal(tx: Transaction, run: ClaimedRun) -> RunJournal:
    """Reads what earlier owners of the run recorded."""
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


# The events a run publishes when it ends, and the keys under which others publish.
#
# An event that somebody outside sends twice under one key is published once: the key is kept
# beside those of the other moments, for a day.


KEY_LIFETIME = timedelta(hours=24)
# The workspace is the source: the event does not exist yet, and no trigger is meant.
_KEEP_KEY = """
    INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
    VALUES ($1, $1, $2, now() + $3::interval, $4, $5)
    ON CONFLICT (workspace_id, source_id, key) DO UPDATE
        SET run_id = excluded.run_id, body_hash = excluded.body_hash,
            expires_at = excluded.expires_at, at = now()
        WHERE firings.expires_at < now()
    RETURNING run_id
"""
_KEPT_KEY = """
    SELECT run_id, body_hash FROM firings
    WHERE workspace_id = $1 AND source_id = $1 AND key = $2
"""

_PAYLOAD: dict[str, Any] = {
    "type": "object",
    "required": ["run_id", "automation_id", "automation_name", "status", "outcome"],
    "properties": {
        "run_id": {"type": "string", "format": "uuid"},
        "automation_id": {"type": "string", "format": "uuid"},
        "automation_name": {"type": "string"},
        "status": {"type": "string"},
        "outcome": {"type": ["string", "null"]},
        "reason": {"type": ["string", "null"]},
    },
}

SUCCEEDED = EventType("automation.run.succeeded", "A run succeeded.", _PAYLOAD)
FAILED = EventType(
    "automation.run.failed",
    "A run failed, timed out or was given up after losing its workers.",
    _PAYLOAD,
)
CANCELLED = EventType("automation.run.cancelled", "A run was cancelled.", _PAYLOAD)

EVENTS = (SUCCEEDED, FAILED, CANCELLED)
_BY_STATUS = {
    "succeeded": SUCCEEDED.type,
    "failed": FAILED.type,
    "timed_out": FAILED.type,
    "dead": FAILED.type,
    "cancelled": CANCELLED.type,
}


def run_event(
    workspace_id: UUID, run_id: UUID, automation_id: UUID, name: str, end: RunEnd, mode: Mode
) -> EventRow | None:
    """The row that tells of an end; None when the run has not ended for good.

    A run that only tried things out tells nobody: nothing is to start because of it, and
    nobody is to be alarmed by it.
    """
    kind = _BY_STATUS.get(end.status)
    if kind is None or mode != "live":
        return None
    payload: dict[str, Any] = {
        "run_id": str(run_id),
        "automation_id": str(automation_id),
        "automation_name": name,
        "status": end.status,
        "outcome": end.outcome,
    }
    if end.reason is not None:
        payload["reason"] = end.reason
    text = dumps(payload) or "{}"
    return EventRow(workspace_id, generate_id(), kind, str(automation_id), text, run_id)


async def keep_event_key(
    tx: Transaction, workspace_id: UUID, key: str, event_id: UUID, body_hash: bytes
) -> UUID:
    """The id of the event of this key: the given one, or an earlier one's."""
    named = f"told:{key}"
    fresh = await tx.fetchrow(_KEEP_KEY, workspace_id, named, KEY_LIFETIME, event_id, body_hash)
    if fresh is not None:
        return event_id
    row = await tx.fetchrow(_KEPT_KEY, workspace_id, named)
    if row["body_hash"] != body_hash:
        raise Invalid(
            "This idempotency key was already used with a different event.",
            code="idempotency_mismatch",
        )
    found: UUID = row["run_id"]
    return found


# Watching a run from inside the process that executes it.
#
# The record is the truth; this is for a face that wants to show a step while it is still
# going on. A watcher must be quick and must not raise.


Kind = Literal[
    "run_started", "run_resumed", "step_started", "step_retrying", "step_finished", "run_ended"
]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that was seen to happen in a run."""

    kind: Kind
    run_id: UUID
    step: str = ""
    item: str = ""
    status: str = ""
    attempt: int = 1
    ms: int = 0
    detail: Any = None


Watcher = Callable[[RunEvent], None]
# Called with the name of a commit point right before and right after it, so that a test
# can end the process exactly there.
Hook = Callable[[str], None]


def ignore_event(event: RunEvent) -> None:
    """No one is watching."""
    del event


def no_hook(point: str) -> None:
    """Nothing happens at commit points."""
    del point
