"""Reading both sides of a rehearsal from the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agency import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.definition.approval import read_approvals
from mainspring.gate.memory import RECORDED, RehearsalRecording, group_answers, is_external_read
from mainspring.gate.policy import RunPolicy, WritePolicy, decide, effect_of
from mainspring.runs.rehearsal.comparing import (
    ComparedRun,
    FiringComparison,
    RunEffect,
    UnrecordedCall,
    What,
    compare,
)
from mainspring.runs.rehearsal.keeping import Rehearsal, RehearsedFiring
from mainspring.runs.story import REASONS

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

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
_GONE: Final = "The record of what came of it then is not kept any more."

Row = Mapping[str, Any]
# By which it is told what a pretended call would have been.
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
    """All of them with three questions."""
    found = {
        row["id"]: {**dict(row), "posture": _build_policy(row["document"])}
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
    """How a run of this definition would treat its writes; of none, as is usual."""
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
    """One run; of one that tried things out, what it would have done."""
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
    """What a pretended call would have been; a model that nobody could ask is no deed."""
    known = words.get(call["capability"])
    if known is None:
        return "sent"
    arguments = call["arguments"] if isinstance(call["arguments"], Mapping) else {}
    effect = effect_of(known, arguments)
    if effect is Effect.READ:
        return None
    if decide(known, effect, run["posture"], call["step"], arguments) == "hold":
        return "drafted"
    return "written" if effect is Effect.KEEP else "sent"


def _answers(
    run_id: UUID, against: UUID | None, records: RehearsalRecords, words: Words
) -> tuple[Decimal, list[UnrecordedCall]]:
    """What the answers from the record had cost then, and what no record answered."""
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
