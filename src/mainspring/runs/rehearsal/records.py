"""Reads both sides of a rehearsal from the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.errors import NotFound
from mainspring.definition.approval import read_approvals
from mainspring.gate.policy import RunPolicy, WritePolicy, decide, effect_of
from mainspring.gate.rehearsal_recording import (
    RECORDED,
    RehearsalRecording,
    group_answers,
    is_external_read,
)
from mainspring.runs.rehearsal.comparison import (
    ComparedRun,
    FiringComparison,
    RunEffect,
    UnrecordedCall,
    What,
    compare,
)
from mainspring.runs.story import REASONS
from mainspring.workspace.versions import delete_unused_definitions

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Stored rehearsals: the candidate, and the firings it is tried on.

_ADD = """
    INSERT INTO rehearsals (workspace_id, id, automation_id, definition_hash, grants, live_reads,
        candidate, firings, asked_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (workspace_id, id) DO NOTHING
"""
_ONE = """
    SELECT h.id, h.automation_id, h.live_reads, h.candidate, h.firings, h.created_at, a.name,
        a.version
    FROM rehearsals h
    JOIN automations a ON a.workspace_id = h.workspace_id AND a.id = h.automation_id
    WHERE h.workspace_id = $1 AND h.id = $2
"""
_DROP = """
    DELETE FROM rehearsals WHERE workspace_id = $1 AND id = ANY($2::uuid[])
    RETURNING workspace_id, definition_hash
"""


@dataclass(frozen=True, slots=True)
class RehearsalCandidate:
    """What is tried: a stored definition and its grants."""

    digest: bytes
    grants: Sequence[Mapping[str, Any]]
    # Its display name: a version, a proposal, a definition.
    candidate: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RehearsedFiring:
    """One firing: the rehearsal run, and the run that it is compared with."""

    # None: it is only shown, because nothing was started then.
    run_id: UUID | None
    against: UUID | None
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        run, against = self.run_id, self.against
        return {
            "run_id": None if run is None else str(run),
            "against": None if against is None else str(against),
            "note": self.note,
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> RehearsedFiring:
        run, against = kept["run_id"], kept["against"]
        return cls(
            None if run is None else UUID(run),
            None if against is None else UUID(against),
            kept.get("note"),
        )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A stored rehearsal, and the currently active version."""

    id: UUID
    automation_id: UUID
    automation: str
    in_force: int
    live_reads: bool
    candidate: Mapping[str, Any]
    firings: tuple[RehearsedFiring, ...]
    created_at: datetime


async def keep_rehearsal(
    tx: Transaction,
    workspace_id: UUID,
    rehearsal_id: UUID,
    automation_id: UUID,
    tried: RehearsalCandidate,
    firings: Sequence[RehearsedFiring],
    asked_by: UUID,
    *,
    live_reads: bool,
) -> None:
    """Store what is to be tried; an existing one is not changed."""
    await tx.execute(
        _ADD,
        workspace_id,
        rehearsal_id,
        automation_id,
        tried.digest,
        [dict(grant) for grant in tried.grants],
        live_reads,
        dict(tried.candidate),
        [one.as_dict() for one in firings],
        asked_by,
    )


async def drop_rehearsals(tx: Transaction, workspace_id: UUID, ids: Sequence[UUID]) -> None:
    """Delete rehearsals that never began, with their candidates."""
    gone = await tx.fetch(_DROP, workspace_id, list(ids))
    await delete_unused_definitions(
        tx, [(row["workspace_id"], row["definition_hash"]) for row in gone]
    )


async def find_rehearsal(
    tx: Transaction, workspace_id: UUID, rehearsal_id: UUID
) -> Rehearsal | None:
    row = await tx.fetchrow(_ONE, workspace_id, rehearsal_id)
    if row is None:
        return None
    return Rehearsal(
        row["id"],
        row["automation_id"],
        row["name"],
        row["version"],
        row["live_reads"],
        row["candidate"],
        tuple(map(RehearsedFiring.read, row["firings"])),
        row["created_at"],
    )


async def read_rehearsal(tx: Transaction, workspace_id: UUID, rehearsal_id: UUID) -> Rehearsal:
    """A rehearsal of this workspace, as long as its runs are kept."""
    found = await find_rehearsal(tx, workspace_id, rehearsal_id)
    if found is None:
        raise NotFound("There is no such rehearsal.", code="no_rehearsal")
    return found


_RUNS = """
    SELECT r.id, r.status, r.reason, r.outcome, r.error, r.cost_usd, r.rehearsal_id,
        coalesce(r.started_at, r.created_at) AS at,
        d.document
    FROM runs r
    LEFT JOIN rehearsals h ON h.workspace_id = r.workspace_id AND h.id = r.rehearsal_id
    LEFT JOIN definitions d ON d.workspace_id = h.workspace_id AND d.hash = h.definition_hash
    WHERE r.workspace_id = $1 AND r.id = ANY($2::uuid[])
"""
_CALLS = """
    SELECT run_id, step, item, attempt, capability, outcome, arguments, arguments_hash, error,
        cost_usd, at, NULL AS result
    FROM calls WHERE workspace_id = $1 AND run_id = ANY($2::uuid[])
    ORDER BY at, step, item, attempt, call
"""
_TURNS = """
    SELECT run_id, step, asked_hash, cost_usd FROM agent_turns
    WHERE workspace_id = $1 AND run_id = ANY($2::uuid[]) AND turn > 0
"""
_DID: Final[Mapping[str, What]] = {
    "kept": "written",
    "sent": "sent",
    "held": "drafted",
    "confirmed": "drafted",
}
_GONE: Final = "The record of the original run is no longer kept."

Row = Mapping[str, Any]
# Used to determine what a simulated call would have been.
Words = Mapping[str, Capability]


@dataclass(frozen=True, slots=True)
class RehearsalRecords:
    """The rows of all runs on both sides."""

    runs: Mapping[UUID, Row]
    calls: Mapping[UUID, list[Row]]
    turns: Mapping[UUID, list[Row]]


async def read_records(
    tx: Transaction, workspace_id: UUID, runs: Sequence[UUID]
) -> RehearsalRecords:
    """All of them with three queries."""
    found = {
        row["id"]: {**dict(row), "policy": _build_policy(row["document"])}
        for row in await tx.fetch(_RUNS, workspace_id, list(runs))
    }
    calls: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in await tx.fetch(_CALLS, workspace_id, list(runs)):
        calls[row["run_id"]].append(row)
    turns: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in await tx.fetch(_TURNS, workspace_id, list(runs)):
        turns[row["run_id"]].append(row)
    return RehearsalRecords(found, calls, turns)


def _build_policy(document: Mapping[str, Any] | None) -> RunPolicy:
    """The write policy of this definition; the default without one."""
    if document is None:
        return RunPolicy(())
    safe = (document.get("execution") or {}).get("write_policy") == "auto_confirm_safe"
    policy: WritePolicy = "auto_confirm_safe" if safe else "always_draft"
    return RunPolicy((), policy, approvals=read_approvals(document))


def runs_of(rehearsal: Rehearsal) -> list[UUID]:
    """Every run on either side."""
    sides = ((one.run_id, one.against) for one in rehearsal.firings)
    return [run_id for pair in sides for run_id in pair if run_id is not None]


def compare_firings(
    rehearsal: Rehearsal, records: RehearsalRecords, words: Words
) -> list[FiringComparison]:
    """Each firing then and now."""
    return [_compare_firing(one, records, words) for one in rehearsal.firings]


def _compare_firing(
    firing: RehearsedFiring, records: RehearsalRecords, words: Words
) -> FiringComparison:
    then = side(firing.against, None, records, words)
    now = side(firing.run_id, firing.against, records, words)
    gone = firing.against is not None and then is None
    notes = [said for said in (firing.note, _GONE if gone else None) if said]
    return compare(then, now, " ".join(notes) or None)


def side(
    run_id: UUID | None, against: UUID | None, records: RehearsalRecords, words: Words
) -> ComparedRun | None:
    """One run; for a trial, what it would have done."""
    row = None if run_id is None else records.runs.get(run_id)
    if run_id is None or row is None:
        return None
    calls = records.calls.get(run_id, [])
    saved, live = _answers(run_id, against, records, words)
    return ComparedRun(
        run_id,
        row["status"],
        row["at"],
        row["reason"],
        row["outcome"],
        _describe_reason(row),
        row["cost_usd"] + saved,
        Decimal(0) if row["rehearsal_id"] is None else row["cost_usd"],
        tuple(_read_effects(row, calls, words)),
        sum(call["outcome"] == RECORDED for call in calls),
        tuple(live),
    )


def _describe_reason(row: Row) -> str | None:
    if row["error"]:
        return str(row["error"].get("detail") or "")
    return REASONS.get(row["reason"] or "")


def _read_effects(run: Row, calls: Sequence[Row], words: Words) -> Iterator[RunEffect]:
    for call in calls:
        what = _DID.get(call["outcome"])
        if call["outcome"] == "pretended":
            what = _would(run, call, words)
        if what is not None:
            yield RunEffect(
                what, call["step"], call["capability"], call["arguments"], call["arguments_hash"]
            )


def _would(run: Row, call: Row, words: Words) -> What | None:
    """What a simulated call would have been; an unavailable model is not an effect."""
    known = words.get(call["capability"])
    if known is None:
        return "sent"
    arguments = call["arguments"] if isinstance(call["arguments"], Mapping) else {}
    effect = effect_of(known, arguments)
    if effect is Effect.READ:
        return None
    if decide(known, effect, run["policy"], call["step"], arguments) == "hold":
        return "drafted"
    return "written" if effect is Effect.KEEP else "sent"


def _answers(
    run_id: UUID, against: UUID | None, records: RehearsalRecords, words: Words
) -> tuple[Decimal, list[UnrecordedCall]]:
    """What the recorded answers had cost, and which calls had no record."""
    if records.runs[run_id]["rehearsal_id"] is None:
        return Decimal(0), []
    earlier = RehearsalRecording(
        answers=group_answers(records.calls.get(against, []) if against else [])
    )
    turns = {row["asked_hash"]: row for row in records.turns.get(against, [])} if against else {}
    saved, live = Decimal(0), []
    thought: set[str] = set()
    for turn in records.turns.get(run_id, []):
        if turn["asked_hash"] in turns and not turn["cost_usd"]:
            saved += turns[turn["asked_hash"]]["cost_usd"]
        else:
            thought.add(turn["step"])
    for call in records.calls.get(run_id, []):
        if call["outcome"] in (RECORDED, "pretended"):
            found = earlier.take(call["capability"], call["arguments_hash"])
            saved += Decimal(0) if found is None else found.cost
        elif _was_live(call, thought, words):
            live.append(UnrecordedCall(call["step"], call["capability"], call["cost_usd"]))
    return saved, live


def _was_live(call: Row, thought: set[str], words: Words) -> bool:
    if call["outcome"] not in ("read", "failed"):
        return False
    if call["error"] and call["error"].get("code") in ("not_recorded", "arguments_invalid"):
        return False
    if call["capability"] == AGENT_RUN:
        return call["step"] in thought
    known = words.get(call["capability"])
    return known is None or is_external_read(known)
