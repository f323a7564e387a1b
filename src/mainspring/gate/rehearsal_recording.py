"""What an earlier run was answered, given once more to a run that rehearses it.

A rehearsal shows what another definition would have made of the same moment, so it has to see
the same world: the same page, the same rows, the same words of a model. A question is known by
what it asks, and not by its place in a plan that may have changed. The first time it is asked
it gets the first answer of then, the second time the second; who asks more often than that
hears the last one again, for nothing newer was known.

What changes anything is pretended, as in every dry run, and answers what it answered then: the
id of a row, the words of a draft. So what follows from it is the same as well.

What is on no record is asked of the house itself. Whether it may be asked outside is the
rehearsal's to say. What that costs is within what the automation may spend in a day, by the
version in force as much as by what is tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Conflict, Problem, problem_from_dict
from mainspring.definition.model import Execution
from mainspring.definition.tool_patterns import HOSTED
from mainspring.gate.agent_turns import RecordedTurn
from mainspring.gate.call_records import RecordedCall
from mainspring.gate.policy import Verdict

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# The outcome of a call that was answered from the record of an earlier run.
RECORDED: Final = "recorded"
NOT_RECORDED: Final = "not_recorded"
# A write that came to nothing then comes to nothing now.
_CHANGED_NOTHING: Final = frozenset({"read", "nothing", "unclear", RECORDED})

_REHEARSAL = """
    SELECT r.rehearses, r.automation_id, h.live_reads, e.started_at, e.trigger_type, e.trigger_id
    FROM runs r
    JOIN rehearsals h ON h.workspace_id = r.workspace_id AND h.id = r.rehearsal_id
    LEFT JOIN runs e ON e.workspace_id = r.workspace_id AND e.id = r.rehearses
    WHERE r.workspace_id = $1 AND r.id = $2
"""
_DAY_CAP = """
    SELECT (d.document #>> '{execution,cost_cap_daily_usd}')::numeric AS usd
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""
# The result of a step that is one call is kept as the output of the step.
_CALLS = """
    SELECT c.step, c.item, c.attempt, c.capability, c.outcome, c.arguments_hash, c.arguments,
        c.error, c.cost_usd, c.at,
        coalesce(c.result, convert_from(l.content, 'UTF8')::json, s.output) AS result
    FROM calls c
    LEFT JOIN large_results l ON l.workspace_id = c.workspace_id AND l.run_id = c.run_id
        AND l.id = c.result_id
    LEFT JOIN steps s ON s.workspace_id = c.workspace_id AND s.run_id = c.run_id
        AND s.step = c.step AND s.item = c.item AND s.attempt = c.attempt
        AND c.result IS NULL AND c.result_id IS NULL AND c.error IS NULL
    WHERE c.workspace_id = $1 AND c.run_id = $2
    ORDER BY c.at, c.step, c.item, c.attempt, c.call
"""
_ASKED = """
    SELECT capability, arguments_hash, count(*) AS times FROM calls
    WHERE workspace_id = $1 AND run_id = $2 GROUP BY capability, arguments_hash
"""
_TURNS = """
    SELECT step, item, name, turn, at, asked_hash, reply, first_call, cost_usd, ms
    FROM agent_turns WHERE workspace_id = $1 AND run_id = $2
    ORDER BY at, step, item, name, turn
"""
_STEPS = """
    SELECT DISTINCT ON (step, item) step, item, status, output, error FROM steps
    WHERE workspace_id = $1 AND run_id = $2 AND status IN ('succeeded', 'failed')
    ORDER BY step, item, attempt DESC
"""

_USUAL: Final = Execution()

Question = tuple[str, bytes]
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RehearsedRun:
    """The run that is rehearsed, as far as a plan can tell which run it is."""

    run_id: UUID
    started_at: datetime | None
    trigger_type: str
    trigger_id: UUID | None


@dataclass(frozen=True, slots=True)
class RehearsedStep:
    """How a step ended then."""

    output: Any
    error: Mapping[str, Any] | None


@dataclass(slots=True)
class RehearsalRecording:
    """The answers of one earlier run, and how far they have been given out."""

    # None: nothing is rehearsed but a sample, of which nothing is on record.
    then: RehearsedRun | None = None
    # Whether what is on no record may be asked outside.
    live: bool = True
    answers: Mapping[Question, list[RecordedCall]] = field(default_factory=dict)
    asked: Counter[Question] = field(default_factory=Counter)
    # Conversations of agents by their place, each with its turns.
    talks: Mapping[Place, Mapping[int, RecordedTurn]] = field(default_factory=dict)
    steps: Mapping[tuple[str, str], RehearsedStep] = field(default_factory=dict)
    # What the automation may spend in a day, as the version in force says.
    day_cap: Decimal = Decimal(0)

    def take(self, capability: str, digest: bytes) -> RecordedCall | None:
        """The answer to a question that was asked then; None when it was not."""
        question = (capability, digest)
        found = self.answers.get(question)
        if not found:
            return None
        place = min(self.asked[question], len(found) - 1)
        self.asked[question] += 1
        return found[place]

    def talk(self, material: bytes, place: Place) -> Mapping[int, RecordedTurn]:
        """The turns of an agent that was given the same task; nothing when none was."""
        here = self.talks.get(place)
        if here is not None and _began_with(here, material):
            return here
        return next((one for one in self.talks.values() if _began_with(one, material)), {})

    def check_live(self, what: str) -> None:
        """Refuses to ask outside what nobody asked then, where only the record is to answer."""
        if not self.live:
            raise Conflict(
                f"The rehearsed run did not call {what} like this, and this rehearsal makes no "
                "outside calls.",
                code=NOT_RECORDED,
                suggestion="Rehearse with live_reads: true to make the call now.",
                retryable=False,
            )


@dataclass(frozen=True, slots=True)
class ReplayedAnswer:
    """What a call is answered from the record."""

    outcome: str
    value: Any = None
    problem: Problem | None = None
    # The arguments as they were made exact then, where that takes a look outside.
    arguments: Any = None


def replay_answer(
    memory: RehearsalRecording | None, capability: Capability, digest: bytes, verdict: Verdict
) -> ReplayedAnswer | None:
    """The answer of then, if the call is one that the record answers; None: make it.

    An agent is never answered whole: its turns and the calls of its tools are, one by one.
    """
    if memory is None or capability.id == AGENT_RUN:
        return None
    found = memory.take(capability.id, digest)
    if found is None:
        if verdict != "pretend" and is_external_read(capability):
            memory.check_live(capability.id)
        return None
    if verdict != "pretend":
        return ReplayedAnswer(RECORDED, found.result, _problem(found))
    if found.error is not None:
        # It was in the way of a write, and writes are pretended.
        return None
    nothing = found.outcome in _CHANGED_NOTHING
    exact = found.arguments if capability.write and capability.write.resolve else None
    return ReplayedAnswer(RECORDED if nothing else "pretended", found.result, arguments=exact)


def is_external_read(capability: Capability) -> bool:
    """Whether a read asks somebody outside of the house, or a model."""
    hints = capability.annotations
    return bool(
        capability.id in HOSTED
        or capability.uses_accounts
        or capability.may_cost
        or hints.hosts
        or hints.route is not None
        or hints.pin
        or hints.asks_outside
    )


def _problem(call: RecordedCall) -> Problem | None:
    if call.error is None:
        return None
    problem = problem_from_dict(dict(call.error))
    # It was tried as often as it was to be tried then.
    problem.retryable = False
    return problem


def _began_with(turns: Mapping[int, RecordedTurn], material: bytes) -> bool:
    return 0 in turns and turns[0].asked_hash == material


async def load_rehearsal_recording(
    tx: Transaction, workspace_id: UUID, run_id: UUID
) -> RehearsalRecording:
    """What a run of a rehearsal is given, as far as it has not been given it already."""
    row = await tx.fetchrow(_REHEARSAL, workspace_id, run_id)
    if row is None:
        # The rehearsal is gone; nothing may be asked in its name.
        return RehearsalRecording(live=False)
    day_cap = await read_active_day_cap(tx, workspace_id, row["automation_id"])
    if row["rehearses"] is None:
        return RehearsalRecording(live=row["live_reads"], day_cap=day_cap)
    earlier = (workspace_id, row["rehearses"])
    asked = await tx.fetch(_ASKED, workspace_id, run_id)
    turns: defaultdict[Place, dict[int, RecordedTurn]] = defaultdict(dict)
    for one in await tx.fetch(_TURNS, *earlier):
        turns[one["step"], one["item"], one["name"]][one["turn"]] = RecordedTurn(
            one["turn"],
            one["at"],
            one["asked_hash"],
            one["reply"],
            one["first_call"],
            one["cost_usd"],
            one["ms"],
        )
    return RehearsalRecording(
        RehearsedRun(
            row["rehearses"], row["started_at"], row["trigger_type"] or "", row["trigger_id"]
        ),
        row["live_reads"],
        group_answers(await tx.fetch(_CALLS, *earlier)),
        Counter({(one["capability"], one["arguments_hash"]): one["times"] for one in asked}),
        dict(turns),
        {
            (one["step"], one["item"]): RehearsedStep(one["output"], one["error"])
            for one in await tx.fetch(_STEPS, *earlier)
        },
        day_cap,
    )


async def read_active_day_cap(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> Decimal:
    """What an automation may spend in a day, as the version in force says."""
    row = await tx.fetchrow(_DAY_CAP, workspace_id, automation_id)
    if row is None:
        return Decimal(0)
    return _USUAL.cost_cap_daily_usd if row["usd"] is None else Decimal(row["usd"])


def limit_to_day_cap(execution: Execution, cap: Decimal) -> Execution:
    """The bounds of what is tried, which spends no more in a day than what is in force."""
    smaller = min(execution.cost_cap_daily_usd, cap)
    return execution.model_copy(update={"cost_cap_daily_usd": smaller})


def group_answers(rows: Iterable[Mapping[str, Any]]) -> dict[Question, list[RecordedCall]]:
    """Answers by question, without the failures that a later try has made good."""
    found: defaultdict[Question, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["capability"], row["arguments_hash"]].append(row)
    return {
        question: [
            RecordedCall(
                row["capability"],
                row["outcome"],
                row["arguments_hash"],
                row["result"],
                row["error"],
                row["cost_usd"],
                row["at"],
                row["arguments"],
            )
            for row in asked
            if not _is_retried_later(row, asked)
        ]
        for question, asked in found.items()
    }


def _is_retried_later(row: Mapping[str, Any], asked: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a later try at the same step has asked it once more."""
    return row["error"] is not None and any(
        other["step"] == row["step"]
        and other["item"] == row["item"]
        and other["attempt"] > row["attempt"]
        for other in asked
    )
